"""Fairness: whose answer depends on sensitive columns, and how stable the answers of the others are.

The answer of a row depends on the sensitive columns where it is another one for some combination of their values, all
else being as it is. That is found by asking the classifier about every combination, so it is exact. How far a row can
change before its answer does, *for every combination at once*, is then the radius against a threat that switches the
sensitive columns (:mod:`arml_core.switching`): 0 for the rows whose answer depends on them.

Nothing is said of other columns from which the sensitive ones could be guessed, nor of what is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_labels
from ..curves import check_confidence, share_bounds
from ..knn import MahalanobisKNN
from ..numerics.arrays import BoolArray, IntArray
from ..progress import Callback, none_done, report
from ..radii import Radii
from ..switching import SwitchedRows
from ..threat import Switch, ThreatModel
from ..threat.switches import KEPT
from .rows import as_rows, left_out_of, part_of, still, taken

if TYPE_CHECKING:
    import pandas as pd

NAMED_CHANGES = 5
"""How many kinds of changes are told in words."""


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """How many rows have another answer for the same sensitive values: `after` instead of `before`.

    `codes` has for each sensitive group the value, as a place among the values of the switch; -1 where it is as it was.
    """

    codes: tuple[int, ...]
    before: Any
    after: Any
    rows: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Fairness:
    """Which answers depend on sensitive columns.

    Attributes
    ----------
    sensitive : the groups of sensitive columns, by place, each with the values that were tried.
    predicted : (n,) the answers to the rows as they are.
    correct : (n,) where these are the labels; None where none were given.
    depends : (n,) where the answer is another one for some combination of sensitive values. Exact.
    codes : (n, groups) the first combination that gives another answer, one with the fewest switches: for each group
        the place among its values, -1 where it is as it was.
    answers : (n,) the answer to it; that of `predicted` where the answer does not depend.
    changes : which values change which answer to which, the most frequent first. Of each row all combinations count
        that change its answer with the fewest switches, so a row may be in several.
    radii : how far each row can move whatever its sensitive values are, without another answer than `predicted`.
    confidence : of `low` and `high`.
    """

    sensitive: tuple[Switch, ...]
    predicted: NDArray[Any]
    correct: BoolArray | None
    depends: BoolArray
    codes: IntArray
    answers: NDArray[Any]
    changes: tuple[AnswerChange, ...]
    radii: Radii
    confidence: float

    def __len__(self) -> int:
        return len(self.depends)

    def __repr__(self) -> str:
        names = ", ".join(switch.named() for switch in self.sensitive)
        return f"Fairness({len(self)} points, {self.count} depend on {names})"

    @property
    def count(self) -> int:
        """How many answers depend on the sensitive columns."""
        return int(self.depends.sum())

    @property
    def share(self) -> float:
        """Which part of these rows that is."""
        return self.count / len(self)

    @property
    def low(self) -> float:
        """With `high`: where the share of all rows drawn like these lies, at `confidence` (Clopper and Pearson)."""
        return self._bounds()[0]

    @property
    def high(self) -> float:
        """See `low`."""
        return self._bounds()[1]

    def _bounds(self) -> tuple[float, float]:
        return share_bounds(self.count, len(self), self.confidence)

    def value_words(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """For each row the values that give it another answer, such as "sex=Male"; empty where none do."""
        return [_named(self.sensitive, codes, feature_names) for codes in self.codes.tolist()]

    def describe(
        self, feature_names: Sequence[str] | None = None, class_names: Sequence[Any] | None = None
    ) -> list[str]:
        """What was found, in sentences; answers are called as in `class_names` where labels are places in it."""
        groups = " or ".join(switch.named(feature_names) for switch in self.sensitive)
        low, high = math.floor(1000 * self.low) / 10, math.ceil(1000 * self.high) / 10
        found = [
            f"Of these {len(self):,} rows the answer of {self.count:,} ({100 * self.share:.1f} %) depends on {groups}; "
            f"at {100 * self.confidence:g} % confidence between {low:g} % and {high:g} % of rows drawn like these."
        ]
        for change in self.changes[:NAMED_CHANGES]:
            value = _named(self.sensitive, change.codes, feature_names)
            before, after = (_class(label, class_names) for label in (change.before, change.after))
            rows = "1 row" if change.rows == 1 else f"{change.rows:,} rows"
            found.append(f"With {value} instead, {rows} would be answered {after}, not {before}.")
        if len(self.changes) > NAMED_CHANGES:
            found.append(f"{len(self.changes) - NAMED_CHANGES} more kinds of changes are rarer.")
        return found

    def to_frame(self) -> pd.DataFrame:
        """A row for each point: predicted, depends, value and answer of the first change, and the radius left."""
        import pandas as pd  # a second of import for those who want a table

        columns: dict[str, Any] = {"predicted": self.predicted}
        columns |= {} if self.correct is None else {"correct": self.correct}
        columns |= {"depends": self.depends, "value": self.value_words(), "answer": self.answers}
        return pd.DataFrame({**columns, **{name: getattr(self.radii, name) for name in ("lower", "upper", "exact")}})


def fairness(
    knn: MahalanobisKNN,
    X: ArrayLike,
    sensitive: Iterable[Any],
    y: ArrayLike | None = None,
    *,
    threat: ThreatModel | None = None,
    method: str = "votes",
    budget: ArrayLike = 1.0,
    at: ArrayLike | None = None,
    exclude: ArrayLike | Sequence[ArrayLike] | None = None,
    max_switches: int | None = None,
    confidence: float = 0.95,
    callback: Callback | None = None,
) -> Fairness:
    """Whose answer depends on the `sensitive` columns, and how far the others are stable whatever stands there.

    Parameters
    ----------
    sensitive : groups of columns that are exchanged whole, as `switches` of :class:`~arml_core.ThreatModel` takes them:
        lists of features by place or name, or ``{"features": …, "values": …}``; without values, those that the
        training rows have.
    y : the true labels. They only say which rows are answered right: what is kept is the classifier's own answer.
    threat : what else may change, for the radii. It may have switches of its own, of other columns. Sensitive columns
        may be frozen in it: they change by being exchanged alone.
    max_switches : how many groups may be switched at once, those of `threat` included; None for as many as it says.
    confidence : of the bounds of the share, which take the rows for a sample, drawn independently.
    method, budget, at, exclude, callback : of :meth:`~arml_core.MahalanobisKNN.certify`, for the radii. Which answers
        depend on the columns does not hang on method or budget.
    """
    check_confidence(confidence)
    groups = list(sensitive)
    everything = _with_sensitive(knn, threat, groups, max_switches)
    alone = ThreatModel(switches=everything.switches[: len(groups)], max_switches=everything.max_switches)
    x, plain = as_rows(knn, X), knn.without_names()
    n, left_out = len(x), left_out_of(exclude, len(x))
    predicted = plain.predict(x, left_out, none_done(callback))
    correct = None if y is None else knn.classes_[checked_labels(y, n, knn.classes_)] == predicted
    kept = None if left_out is None else list(left_out)
    asked = SwitchedRows(plain, x, predicted, np.ones(n, dtype=bool), kept, alone, {})
    codes, answers, changes = _try_all(asked, predicted, part_of(callback, 0, n, 2 * n))
    progress = part_of(callback, n, n, 2 * n)
    question: dict[str, Any] = {"budget": budget, "at": at, "exclude": left_out, "callback": progress}
    return Fairness(
        sensitive=alone.switches,
        predicted=predicted,
        correct=correct,
        depends=answers != predicted,
        codes=codes,
        answers=answers,
        changes=changes,
        radii=plain.certify(x, None, method, everything, **question),
        confidence=confidence,
    )


def _with_sensitive(
    knn: MahalanobisKNN, threat: ThreatModel | None, sensitive: Sequence[Any], max_switches: int | None
) -> ThreatModel:
    """`threat` with the sensitive groups as its first switches."""
    if not sensitive:
        raise ValueError("name at least one sensitive column: sensitive=[['sex']]")
    own, names = knn.spelled_out(threat), getattr(knn, "feature_names_in_", None)
    groups = knn.spelled_out(ThreatModel(switches=sensitive)).switches
    features = [feature for group in groups for feature in group.features]
    switched = [feature for switch in own.switches for feature in switch.features]
    roles = {"switches": switched, "only_up": own.only_up, "only_down": own.only_down, "free": own.free}
    for role, others in roles.items():
        for feature in features:
            if feature in (others or ()):
                name = f"feature {feature}" if names is None else repr(str(names[int(feature)]))
                raise ValueError(
                    f"{name} is sensitive and in the threat's {role}: a sensitive column changes by being exchanged "
                    "and in no other way. Take it out of one of them"
                )
    return own.with_switches((*groups, *own.switches), max_switches)


def _try_all(
    asked: SwitchedRows, predicted: NDArray[Any], callback: Callback | None
) -> tuple[IntArray, NDArray[Any], tuple[AnswerChange, ...]]:
    """For each row the first combination that changes its answer, the answer to it; and all changes, counted."""
    n, groups = len(asked.x), len(asked.threat.switches)
    codes, answers = np.full((n, groups), KEPT, dtype=np.intp), predicted.copy()
    counted: Counter[tuple[tuple[int, ...], Any, Any]] = Counter()
    done = 0
    for rows in asked.chunks():
        versions = asked.versions(rows)
        at = rows[versions.row]
        given = asked.knn.predict(versions.points, taken(asked.exclude, at), still(callback, done, n))
        other = np.flatnonzero(given != predicted[at])
        changed, first = np.unique(at[other], return_index=True)
        codes[changed], answers[changed] = versions.codes[other[first]], given[other[first]]
        n_switched = (versions.codes != KEPT).sum(axis=1)
        fewest = np.zeros(n, dtype=np.intp)
        fewest[changed] = n_switched[other[first]]
        simple = other[n_switched[other] == fewest[at[other]]]
        told = zip(versions.codes[simple].tolist(), predicted[at[simple]].tolist(), given[simple].tolist(), strict=True)
        counted.update((tuple(code), before, after) for code, before, after in told)
        done += len(rows)
        report(callback, done, n)
    changes = [AnswerChange(codes=c, before=b, after=a, rows=rows) for (c, b, a), rows in counted.items()]
    return codes, answers, tuple(sorted(changes, key=lambda c: (-c.rows, c.codes, str(c.before), str(c.after))))


def _named(switches: Sequence[Switch], codes: Sequence[int], feature_names: Sequence[str] | None) -> str:
    """The values of some codes in words."""
    pairs = zip(switches, codes, strict=True)
    return ", ".join(switch.value_named(code, feature_names) for switch, code in pairs if code != KEPT)


def _class(label: Any, class_names: Sequence[Any] | None) -> str:
    return str(label if class_names is None else class_names[int(label)])
