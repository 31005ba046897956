"""Radii against an attacker who may also switch: the smallest one over all combinations of switched values.

A combination turns a row into another one, whose switched features then stay as they are: each is an ordinary question
about an ordinary point, with the label of the unchanged row to be kept. So whatever is proved or found about the
combinations of a row holds for the row: nothing smaller than the least `lower` flips any of them, and the least `upper`
belongs to a point that does.

Most combinations need no more than `votes`: once a small change is known, those that are proved further than that are
done. What costs time is asked for one combination of a row after the other, the least certain first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .numerics.arrays import BoolArray, FloatArray, IntArray
from .progress import Callback, report
from .radii import Radii, at_most_upper
from .threat import Combinations, ThreatModel
from .threat.switches import KEPT, counted

AT_ONCE = 8192  # versions of rows
BYTES = 2**26  # of versions
MEET = 1e-6  # of `upper`: where both sides of a radius count as one
QUICK = ("votes", "theorem1")
MEASURED = 64  # versions whose certificates are timed for an estimate


class Classifier(Protocol):
    """What is asked about each version of a row: see :class:`~arml_core.MahalanobisKNN`."""

    classes_: NDArray[Any]

    def predict(self, X: Any, exclude: Any = None, callback: Callback | None = None) -> NDArray[Any]:
        """The answers."""

    def certify(self, X: Any, y: Any = None, method: str = "votes", **question: Any) -> Radii:
        """Lower sides, or both."""

    def attack(self, X: Any, y: Any = None, method: str = "whitebox", **question: Any) -> Radii:
        """Upper sides."""

    def count_combinations(self, X: Any, threat: ThreatModel) -> IntArray:
        """How many versions each row has."""

    def spelled_out(self, threat: ThreatModel | None) -> ThreatModel:
        """The threat with places and values."""

    def without_names(self) -> Classifier:
        """The same for arrays."""


@dataclass(frozen=True, eq=False)
class SwitchedRows:
    """Rows that are asked about, with what is to be kept of them and what each is not compared with.

    `kept` are the answers that must not change, None where a target counts instead; `open` says for which rows there
    is anything to ask, `rule` is ``ties`` and ``target``.
    """

    knn: Classifier
    x: NDArray[np.floating]
    kept: NDArray[Any] | None
    open: BoolArray
    exclude: list[Any] | None
    threat: ThreatModel
    rule: dict[str, Any]

    def chunks(self) -> list[IntArray]:
        """The open rows, in parts whose versions fit into memory."""
        rows = np.flatnonzero(self.open)
        if not len(rows):
            return []
        versions = int(counted(self.x[rows], self.threat.switches, self.threat.max_switches).max())
        few = max(1, min(AT_ONCE, BYTES // (8 * self.x.shape[1])) // versions)
        return [rows[start : start + few] for start in range(0, len(rows), few)]

    def versions(self, rows: IntArray) -> Combinations:
        """All versions of some rows; :attr:`Combinations.row` are places in `rows`."""
        return Combinations.of(self.x[rows], self.threat.switches, self.threat.max_switches)


@dataclass(eq=False)
class Versions:
    """What is known of the versions of some rows, and the asking for more."""

    asked: SwitchedRows
    rows: IntArray
    of: Combinations
    lower: FloatArray = field(init=False)
    upper: FloatArray = field(init=False)
    exact: BoolArray = field(init=False)
    adversarial: NDArray[np.floating] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.of)
        self.lower, self.upper = np.zeros(n), np.full(n, np.inf)
        self.exact, self.adversarial = (
            np.zeros(n, dtype=bool),
            np.full(self.of.points.shape, np.nan, self.of.points.dtype),
        )
        self.nothing_moves = not _movable(self.asked.threat, self.of.points.shape[1])

    def ask(self, which: IntArray, kind: str, method: str, **question: Any) -> None:
        """Narrow what is known of some versions by one call."""
        if self.nothing_moves:
            return self._look(which)
        asked, rows = self.asked, self.rows[self.of.row[which]]
        question |= asked.rule
        if asked.exclude is not None:
            question["exclude"] = [asked.exclude[row] for row in rows]
        threat = asked.threat.of_rows(rows, len(asked.x)).without_switches()
        kept = None if asked.kept is None else asked.kept[rows]
        found: Radii = getattr(asked.knn, kind)(self.of.points[which], kept, method=method, threat=threat, **question)
        nearer = which[found.upper < self.upper[which]]
        self.adversarial[nearer] = found.adversarial[found.upper < self.upper[which]]
        self.upper[which] = np.minimum(self.upper[which], found.upper)
        if kind == "certify":
            self.lower[which] = np.maximum(self.lower[which], found.lower)
            self.exact[which] |= found.exact
        else:
            self.exact[which] |= found.upper == 0
        self.lower[which] = at_most_upper(self.lower[which], self.upper[which], rows)
        return None

    def _look(self, which: IntArray) -> None:
        """Where nothing can move but by switching: an answer is another one, or nothing flips it."""
        asked, rows = self.asked, self.rows[self.of.row[which]]
        left_out = None if asked.exclude is None else [asked.exclude[row] for row in rows]
        points = self.of.points[which]
        flipped = flips(asked, points, rows, left_out)
        self.lower[which] = np.where(flipped, 0.0, np.inf)
        self.upper[which] = np.where(flipped, 0.0, np.inf)
        self.exact[which] = flipped
        self.adversarial[which[flipped]] = points[flipped]

    def least_upper(self) -> FloatArray:
        """The smallest `upper` of each row."""
        best = np.full(len(self.rows), np.inf)
        np.minimum.at(best, self.of.row, self.upper)
        return best

    def in_question(self, at: tuple[float, ...] | None) -> BoolArray:
        """The versions that may still decide about their row: nothing smaller is known to flip it.

        With `at`, they must also lie below a radius of which it is not known whether the row is safe there.
        """
        best = self.least_upper()
        open_ = self.lower < np.minimum(best[self.of.row], self.upper)
        if at is not None:
            radii = np.sort(at)
            below = np.searchsorted(radii, best, side="left")  # how many of the radii are below the least upper side
            ceiling = np.where(below > 0, radii[np.maximum(below - 1, 0)], -1.0)
            open_ &= self.lower <= ceiling[self.of.row]
        return np.asarray(open_)

    def one_after_the_other(
        self,
        kind: str,
        method: str,
        budget: FloatArray | None,
        at: tuple[float, ...] | None,
        progress: Callback | None,
        settings: dict[str, Any],
    ) -> None:
        """Ask about the versions in question, of each row the one with the least `lower` first.

        `settings` are those of the method. `budget` are the seconds for each row; what the versions so far were not
        given goes to those that are left.
        """
        waiting = np.ones(len(self.of), dtype=bool)
        left = None if budget is None else budget[self.rows].astype(np.float64)
        while True:
            waiting &= self.in_question(at)
            pending = np.flatnonzero(waiting)
            report(progress, len(self.of) - len(pending), len(self.of))
            if not len(pending):
                return
            order = pending[np.lexsort((self.lower[pending], self.of.row[pending]))]
            rows, first, counts = np.unique(self.of.row[order], return_index=True, return_counts=True)
            chosen = order[first]
            question = dict(settings)
            if left is not None:
                share = left[rows] / counts
                limited = np.isfinite(share)
                left[rows[limited]] -= share[limited]
                question |= {"budget": share, "at": at}
            self.ask(chosen, kind, method, **question, callback=_stoppable(progress))
            waiting[chosen] = False

    def result(self, whole: Radii) -> None:
        """Write the least sides of each row into the columns of `whole`."""
        order = np.lexsort((np.arange(len(self.of)), self.upper, self.of.row))
        rows, first = np.unique(self.of.row[order], return_index=True)
        best, at = order[first], self.rows[rows]
        lower = np.full(len(self.rows), np.inf)
        np.minimum.at(lower, self.of.row, self.lower)
        lower, upper = lower[rows], self.upper[best]
        whole.lower[at], whole.upper[at] = np.minimum(lower, upper), upper
        whole.adversarial[at] = self.adversarial[best]
        found = np.isfinite(upper)
        whole.switched[at] = np.where(found[:, None], self.of.codes[best], KEPT)
        with np.errstate(invalid="ignore"):
            meet = (lower >= self.lower[best]) | (upper - lower <= MEET * upper)
        whole.exact[at] = found & self.exact[best] & meet


def over_combinations(
    asked: SwitchedRows,
    whole: Radii,
    kind: str,
    method: str,
    budget: ArrayLike | None = None,
    at: tuple[float, ...] | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Radii:
    """The radii of rows that may be switched, from those of their versions; `settings` are those of the method.

    `whole` has the rows that are settled: its columns are completed, and none of them is shared with it afterwards.
    """
    n, groups = len(asked.x), len(asked.threat.switches)
    columns = {name: getattr(whole, name).copy() for name in ("lower", "upper", "exact", "adversarial")}
    result = replace(whole, **columns, switched=np.full((n, groups), KEPT, dtype=np.intp))
    seconds = None if budget is None else np.broadcast_to(np.asarray(budget, dtype=np.float64), (n,))
    settled = int((~asked.open).sum())
    report(callback, settled, n)
    done = settled
    for rows in asked.chunks():
        progress = _of_rows(callback, done, len(rows), n)
        versions = Versions(asked, rows, asked.versions(rows))
        everyone = np.arange(len(versions.of))
        quick = method if method in QUICK else "votes"
        versions.ask(everyone, "certify", quick, callback=_stoppable(progress))
        if method not in QUICK and not versions.nothing_moves:
            versions.one_after_the_other(kind, method, seconds, at, progress, settings)
        if kind == "attack":
            versions.lower[:] = 0.0
            versions.exact &= versions.upper == 0
        versions.result(result)
        done += len(rows)
        report(callback, done, n)
    return result


def estimated_seconds(
    knn: Classifier,
    X: ArrayLike,
    threat: ThreatModel,
    method: str = "votes",
    budget: ArrayLike = 1.0,
    exclude: Sequence[Any] | None = None,
    callback: Callback | None = None,
) -> float:
    """About how long :meth:`~arml_core.MahalanobisKNN.certify` takes against a threat with switches.

    `votes` is timed on a few versions of a few rows, and every version gets it; a search takes at most `budget` more
    for each row, about. How many versions there are is :meth:`~arml_core.MahalanobisKNN.count_combinations`.
    """
    n, versions = len(np.asarray(X)), int(knn.count_combinations(X, threat).sum())
    whole = knn.spelled_out(threat)
    few = np.unique(np.linspace(0, n - 1, MEASURED).astype(np.intp))
    some = Combinations.of(np.asarray(X)[few], whole.switches, whole.max_switches)
    chosen = np.unique(np.linspace(0, len(some) - 1, MEASURED).astype(np.intp))
    rows, plain = few[some.row[chosen]], knn.without_names()
    left_out = None if exclude is None else [exclude[row] for row in rows.tolist()]
    nothing_moves = not _movable(whole, some.points.shape[1])

    def take_time() -> float:
        began, stop = time.perf_counter(), _stoppable(callback)
        if nothing_moves:
            plain.predict(some.points[chosen], left_out, stop)
        else:
            own = whole.of_rows(rows, n).without_switches()
            plain.certify(some.points[chosen], None, "votes", threat=own, exclude=left_out, callback=stop)
        return time.perf_counter() - began

    take_time()  # the first time compiles, and prepares the metric for this threat
    seconds = versions * take_time() / len(chosen)
    if method in QUICK or nothing_moves:
        return seconds
    return seconds + float(np.broadcast_to(np.asarray(budget, dtype=np.float64), (n,)).sum())


def flips(asked: SwitchedRows, points: NDArray[np.floating], rows: IntArray, left_out: list[Any] | None) -> BoolArray:
    """Which versions of `rows` get another answer than the one to be kept, or the target's."""
    ask = asked.knn
    if asked.rule.get("ties") == "any":
        possible = ask.possible_answers(points, left_out)  # type: ignore[attr-defined]
        wanted = asked.rule["target"] if asked.kept is None else asked.kept[rows]
        is_wanted = ask.classes_[None, :] == (wanted if asked.kept is None else np.asarray(wanted)[:, None])
        return np.asarray((possible & (is_wanted if asked.kept is None else ~is_wanted)).any(axis=1))
    answers = ask.predict(points, left_out)
    if asked.kept is None:
        return np.asarray(answers == asked.rule["target"])
    return np.asarray(answers != asked.kept[rows])


def _movable(threat: ThreatModel, n_features: int) -> bool:
    """Whether anything is left to move beside what is switched."""
    fixed = {*(threat.frozen or ()), *(feature for switch in threat.switches for feature in switch.features)}
    return len(fixed) < n_features


def _stoppable(callback: Callback | None) -> Callback | None:
    """`callback` for a part of the work that says nothing of its own progress, but can be stopped."""
    return None if callback is None else lambda done, total, info: callback(-1, total, info)


def _of_rows(callback: Callback | None, before: int, rows: int, total: int) -> Callback | None:
    """`callback` in rows, for work that counts versions of some of them; a count below 0 repeats the last one."""
    if callback is None:
        return None
    last = [before]

    def told(done: int, of: int, info: Any) -> None:
        if done >= 0:
            last[0] = max(last[0], before + rows * done // max(1, of))
        callback(last[0], total, info)

    return told
