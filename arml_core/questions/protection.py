"""Columns to protect: how many rows would be safe if one column could be trusted, by freezing each column anew.

Asked about are the rows that are answered right and not proved safe at ε. A column that is frozen does not move and is
not switched; every row is then certified again, so what is said of a column is as sure as any other verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..knn import MahalanobisKNN
from ..numerics.arrays import IntArray
from ..progress import Callback, report
from ..radii import ATTACKABLE, CERTIFIED, UNDECIDED, Radii
from ..threat import ThreatModel
from .rows import as_rows, left_out_of, part_of, seconds_for, taken

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Sequence[int | str]]
"""Names of columns, or of groups of them such as the 0/1 columns of a category, and their features."""


@dataclass(frozen=True, eq=False)
class ProtectedColumn:
    """The verdicts on the rows in question once the `features` of a column are frozen."""

    name: str
    features: tuple[int, ...]
    verdicts: NDArray[np.str_]

    @property
    def safe(self) -> int:
        """How many of the rows become safe."""
        return int((self.verdicts == CERTIFIED).sum())

    @property
    def open(self) -> int:
        """Of how many it is not known."""
        return int((self.verdicts == UNDECIDED).sum())

    @property
    def breakable(self) -> int:
        """How many can still be flipped."""
        return int((self.verdicts == ATTACKABLE).sum())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Protection:
    """What freezing each column would do for the rows that are answered right and not proved safe.

    Attributes
    ----------
    epsilon, threat : the question.
    n_asked, n_safe : how many rows were looked at, and how many of them are right and safe as it is.
    rows : (m,) those that are right and not proved safe, by their place in X.
    before : (m,) the verdicts on them while nothing more is frozen: "attackable" or "undecided".
    columns : what each column does, in the order they were given.
    """

    epsilon: float
    threat: ThreatModel
    n_asked: int
    n_safe: int
    rows: IntArray
    before: NDArray[np.str_]
    columns: tuple[ProtectedColumn, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        best = self.ranked()[:1]
        words = "".join(f"; {column.name}: {column.safe} become safe" for column in best)
        return f"Protection(ε = {self.epsilon:g}: {len(self.rows)} rows not proved safe{words})"

    @classmethod
    def of(cls, base: Radii, epsilon: float, rows: IntArray, frozen: Iterable[ProtectedColumn]) -> Protection:
        """From the radii of `rows` while nothing more is frozen, and what each column does for those in question."""
        asked = in_question(base, epsilon)
        return cls(
            epsilon=epsilon,
            threat=base.threat,
            n_asked=len(base),
            n_safe=int((base.correct & (base.lower > epsilon)).sum()),
            rows=rows[asked],
            before=base.verdict(epsilon)[asked],
            columns=tuple(frozen),
        )

    def ranked(self) -> list[ProtectedColumn]:
        """The columns, those first that make most rows safe; of equal ones the first."""
        return sorted(self.columns, key=lambda column: -column.safe)

    def to_frame(self) -> pd.DataFrame:
        """A line for each column, ranked: how many rows are safe, open and breakable once it is frozen."""
        import pandas as pd  # a second of import for those who want a table

        found = [(column.name, column.safe, column.open, column.breakable) for column in self.ranked()]
        return pd.DataFrame(found, columns=["column", "safe", "open", "breakable"])


def in_question(base: Radii, epsilon: float) -> IntArray:
    """The places of the rows that are answered right and not proved safe at ε."""
    return np.flatnonzero(base.correct & ~(base.lower > epsilon))


def columns_to_protect(
    knn: MahalanobisKNN,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    eps: float,
    threat: ThreatModel | None = None,
    columns: Columns | None = None,
    method: str = "search",
    budget: ArrayLike = 1.0,
    exclude: ArrayLike | Sequence[ArrayLike] | None = None,
    rows: ArrayLike | None = None,
    callback: Callback | None = None,
) -> Protection:
    """How many rows become safe at `eps` when each column is frozen anew.

    Parameters
    ----------
    columns : names and the features of each, by place or name; default: every feature that can change, and every
        group that switches as one.
    rows : the places of the rows of X that are looked at; default: all.
    y, threat, method, budget, exclude, callback : of :meth:`~arml_core.MahalanobisKNN.certify`. Without `y` a row
        counts as answered right. Only "search" and "exact" can say that a row stays breakable.
    """
    epsilon = checked_epsilon(eps)
    x, plain, whole = as_rows(knn, X), knn.without_names(), knn.spelled_out(threat)
    names = feature_names(knn)
    named = protected_features(whole, names, columns)
    index = np.arange(len(x)) if rows is None else _checked_rows(rows, len(x))
    labels = None if y is None else np.asarray(y)
    left_out, seconds = left_out_of(exclude, len(x)), seconds_for(budget, len(x))
    steps = (1 + len(named)) * len(index)

    def ask(asked: ThreatModel, at: IntArray, before: int) -> Radii:
        part = None if labels is None else labels[at]
        question: dict[str, Any] = {"at": [epsilon]} if method == "search" else {}
        question |= {"budget": seconds[at], "exclude": taken(left_out, at)}
        progress = part_of(callback, before * len(index), len(index), steps)
        return plain.certify(x[at], part, method, asked.of_rows(at, len(x)), callback=progress, **question)

    base = ask(whole, index, 0)
    again = index[in_question(base, epsilon)]
    found = []
    for number, (name, features) in enumerate(named.items(), start=1):
        frozen = whole.with_frozen(features, len(names))
        radii = ask(frozen, again, number) if frozen is not None and len(again) else None
        found.append(protected_column(name, features, radii, len(again), epsilon))
        report(callback, (number + 1) * len(index), steps)
    return Protection.of(base, epsilon, index, found)


def protected_column(
    name: str, features: tuple[int, ...], radii: Radii | None, n: int, epsilon: float
) -> ProtectedColumn:
    """What a column does, by the `radii` of the n rows in question; None where nothing is left that could change."""
    verdicts = np.full(n, CERTIFIED) if radii is None else radii.verdict(epsilon)
    return ProtectedColumn(name, features, verdicts)


def protected_features(
    threat: ThreatModel, names: Sequence[str], columns: Columns | None = None
) -> dict[str, tuple[int, ...]]:
    """The places of the features of each column; `threat` has its features by place."""
    if columns is None:
        return _everything_that_changes(threat, names)
    found = {}
    for name, features in columns.items():
        if isinstance(features, str) or not len(features):
            raise ValueError(f"column {name!r} must be a list of features, at least one; got {features!r}")
        places = ThreatModel(frozen=list(features)).for_features(names).frozen or ()
        beyond = next((place for place in places if int(place) >= len(names)), None)
        if beyond is not None:
            raise ValueError(f"column {name!r} has feature {beyond}; the data has {len(names)} features")
        found[str(name)] = tuple(int(place) for place in places)
    if not found:
        raise ValueError("name at least one column, or leave columns out: then every feature that can change is one")
    return found


def _everything_that_changes(threat: ThreatModel, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    switched = {int(switch.features[0]): switch for switch in threat.switches}
    still = {*(threat.frozen or ()), *(feature for switch in threat.switches for feature in switch.features)}
    found: dict[str, tuple[int, ...]] = {}
    for place, name in enumerate(names):
        if place in switched:
            switch = switched[place]
            found[switch.named(names)] = tuple(int(feature) for feature in switch.features)
        elif place not in still:
            found[str(name)] = (place,)
    return found


def feature_names(knn: MahalanobisKNN) -> list[str]:
    """The names of the features, "feature 0", "feature 1", … where the training rows had none."""
    named = getattr(knn, "feature_names_in_", None)
    return [f"feature {place}" for place in range(knn.n_features_in_)] if named is None else [str(n) for n in named]


def checked_epsilon(eps: Any) -> float:
    """One radius, at least 0."""
    if not np.ndim(eps) == 0 or not np.isfinite(eps) or eps < 0:
        raise ValueError(f"eps must be one finite number, at least 0; got {eps!r}")
    return float(eps)


def _checked_rows(rows: ArrayLike, n: int) -> IntArray:
    given = np.asarray(rows)
    if given.ndim != 1 or not len(given) or given.dtype == bool or not np.issubdtype(given.dtype, np.integer):
        raise ValueError("rows must be a list of places in X, at least one")
    wrong = given[(given < 0) | (given >= n)]
    if len(wrong):
        raise ValueError(f"rows names row {wrong[0]}; X has {n} rows, counted from 0")
    return given.astype(np.intp)
