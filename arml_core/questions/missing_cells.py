"""Rows with missing cells: what is certain about their answers whatever the missing values are.

A missing number is a *free* feature of that row: it may be anything in the range of its column, at no cost, and only
the changes of the others are measured. The columns of a category that is missing have one whole value: each that was
seen in training is tried, and the least certain one counts. So ``lower`` holds for every way to fill the row.

A missing value stays inside its range, also where the threat lets known values of its column move farther or only one
way; and it is unknown also where the threat freezes the column, because that only says that known values do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..attacks.boundary import STEPS as BOUNDARY_STEPS
from ..checks import checked_labels
from ..knn import MahalanobisKNN
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..progress import Callback
from ..radii import Radii
from ..switching import AT_ONCE, MEET, QUICK
from ..threat import ThreatModel
from .fills import Fills, Ranges
from .protection import feature_names
from .rows import as_rows, left_out_of, part_of, seconds_for, still, taken


def certify_missing(
    knn: MahalanobisKNN,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    threat: ThreatModel | None = None,
    ranges: Ranges | None = None,
    categories: Iterable[Sequence[int | str]] = (),
    method: str = "votes",
    budget: ArrayLike = 1.0,
    at: ArrayLike | None = None,
    exclude: ArrayLike | Sequence[ArrayLike] | None = None,
    callback: Callback | None = None,
) -> Radii:
    """How far each row of X can move before its answer changes, whatever its missing cells (NaN) hold.

    Rows without missing cells give what :meth:`~arml_core.MahalanobisKNN.certify` gives.

    Parameters
    ----------
    y : the true labels. Without them the answer is kept that the row gets when each missing number is the median of
        its column in the training rows (the lower one of two; moved into its range), and each missing category the
        most frequent one. `predicted` is that answer, and `correct` says whether it is the label.
    ranges : what missing numbers may be: ``{feature: (low, high)}`` for some features by name or place, or
        ``(low, high)`` for all; by default the range of the column in the training rows. With a range of one value the
        value is known: it is filled in, and is then like any other.
    categories : groups of features that are the columns of one category, by name or place. What switches together is
        one, too. Where some of these cells are missing, the patterns of the training rows count that agree with the
        others. Trying them counts for nothing in `max_switches`.
    threat, method, budget, at, exclude, callback : of ``certify``; `budget` is for a row, however many fills it has.

    Returns
    -------
    :class:`~arml_core.Radii`. Where some fill gets another answer and it was found, `lower` and `upper` are 0, and
    `adversarial` is the row filled in that way; "votes" and "theorem1", which attack nothing, look for it among whole
    categories and some likely numbers only. What missing cells hold never counts in a size.
    """
    filling = _Filling.of(knn, X, y, threat, ranges, categories, exclude, callback)
    seconds = seconds_for(budget, len(filling.x))

    def question(rows: IntArray, share: FloatArray, measured: bool) -> dict[str, Any]:
        return {"budget": seconds[rows] * share, "at": at if measured else None}

    return filling.ask("certify", method, question)


def attack_missing(
    knn: MahalanobisKNN,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    threat: ThreatModel | None = None,
    ranges: Ranges | None = None,
    categories: Iterable[Sequence[int | str]] = (),
    method: str = "whitebox",
    exclude: ArrayLike | Sequence[ArrayLike] | None = None,
    steps: int = BOUNDARY_STEPS,
    random_state: int = 0,
    callback: Callback | None = None,
) -> Radii:
    """A way to fill the missing cells of each row, and a small change of the others, that change its answer.

    Parameters are those of :func:`certify_missing` and of :meth:`~arml_core.MahalanobisKNN.attack`.
    """
    filling = _Filling.of(knn, X, y, threat, ranges, categories, exclude, callback)
    return filling.ask("attack", method, lambda *_: {"steps": steps, "random_state": random_state})


Question = Callable[[IntArray, FloatArray, bool], dict[str, Any]]
"""What else a method is asked, for rows with a share of their budget each, and whether any move is measured."""


@dataclass(frozen=True, eq=False)
class _Filling:
    """Rows with what they may be filled with; `missing` says which cells are, after those with one value alone."""

    knn: MahalanobisKNN
    x: NDArray[np.floating]
    labels: NDArray[Any] | None
    missing: BoolArray
    threat: ThreatModel
    fills: Fills
    left_out: Sequence[Any] | None
    callback: Callback | None

    @classmethod
    def of(
        cls,
        knn: MahalanobisKNN,
        X: ArrayLike,
        y: ArrayLike | None,
        threat: ThreatModel | None,
        ranges: Ranges | None,
        categories: Iterable[Sequence[int | str]],
        exclude: ArrayLike | Sequence[ArrayLike] | None,
        callback: Callback | None,
    ) -> _Filling:
        x, whole = as_rows(knn, X, missing=True), knn.spelled_out(threat)
        fills = Fills.of(knn, whole, ranges, categories)
        fills.check(np.isnan(x).any(axis=0) & ~fills.is_category(), feature_names(knn))
        labels = None if y is None else knn.classes_[checked_labels(y, len(x), knn.classes_)]
        filled = fills.with_certain(x, np.arange(len(x)))
        left_out = left_out_of(exclude, len(x))
        return cls(knn.without_names(), filled, labels, np.isnan(filled), whole, fills, left_out, callback)

    def ask(self, kind: str, method: str, question: Question) -> Radii:
        """The radii of all rows, those with the same missing cells at once."""
        parts, done = [], 0
        kinds, kind_of = np.unique(self.missing, axis=0, return_inverse=True)
        for place, missing in enumerate(kinds):
            rows = np.flatnonzero(kind_of.ravel() == place)
            found = self._rows(rows, missing, kind, method, question, done)
            parts.append(replace(found, index=rows))
            done += len(rows)
        whole = Radii.concatenate(parts)
        assert whole is not None
        settings = {**whole.settings, "missing": "anything in its range"} if self.missing.any() else whole.settings
        return replace(whole, threat=self.threat, method=method, settings=settings)

    def _rows(self, rows: IntArray, missing: BoolArray, kind: str, method: str, question: Question, done: int) -> Radii:
        n = len(self.x)
        progress = part_of(self.callback, done, len(rows), n)
        ask = getattr(self.knn, kind)
        if not missing.any():
            given = question(rows, np.ones(len(rows)), True) | {"exclude": taken(self.left_out, rows)}
            own = None if self.labels is None else self.labels[rows]
            found: Radii = ask(
                self.x[rows], own, method, threat=self.threat.of_rows(rows, n), callback=progress, **given
            )
            return found
        points, of = self.fills.versions(self.x[rows], rows)
        at, first = rows[of], np.unique(of, return_index=True)[1]
        left_out, stop = taken(self.left_out, at), still(self.callback, done, n)
        predicted = self.knn.predict(points[first], taken(self.left_out, rows), stop)
        kept = predicted if self.labels is None else self.labels[rows]
        free = self._threat(at, missing)
        measured = _measured(free, len(missing))
        threat: ThreatModel | None = free if measured else _one_measured(free, len(missing))
        stop = still(self.callback, done + len(rows), n)
        if threat is None:
            radii = self._only_fills(points, kept[of], left_out, stop, kind)
        else:
            share = 1 / np.bincount(of)[of]
            asked: dict[str, Any] = {"threat": threat, "exclude": left_out}
            given = question(at, share, bool(measured))
            radii = ask(points, kept[of], method, **asked, **given, callback=progress)
            versions = _Versions(self.knn, points, kept[of], left_out, measured, stop)
            radii = versions.with_fills_alone(radii) if measured else _decided(radii)
            if kind == "certify" and method in QUICK:
                radii = versions.with_likely_fills(radii, self.fills, missing)
        return replace(_least(radii, of), predicted=predicted, correct=predicted == kept)

    def _threat(self, at: IntArray, missing: BoolArray) -> ThreatModel:
        """The threat for versions of the rows `at`: missing numbers are free, and missing categories stay."""
        threat, d = self.threat.of_rows(at, len(self.x)), len(missing)
        numbers = np.flatnonzero(missing & ~self.fills.is_category())
        switched = {int(feature) for switch in threat.switches for feature in switch.features}
        broken = [c.places for c in self.fills.categories if missing[list(c.places)].any()]
        still_ = {place for places in broken for place in places} - switched
        gone = {*numbers.tolist(), *still_}

        def others(features: Iterable[Any] | None) -> list[int]:
            return [int(feature) for feature in features or () if feature not in gone]

        low, high = threat.limits(d)
        low[..., numbers], high[..., numbers] = self.fills.low[numbers], self.fills.high[numbers]
        limited = threat.box is not None or len(numbers) > 0
        return ThreatModel(
            threat.norm,
            threat.costs,
            frozen=[*others(threat.frozen), *still_] or None,
            box=(low, high) if limited else None,
            only_up=others(threat.only_up) or None,
            only_down=others(threat.only_down) or None,
            free=[*others(threat.free), *numbers.tolist()] or None,
            switches=threat.switches,
            max_switches=threat.max_switches,
        )

    def _only_fills(
        self, points: NDArray[np.floating], kept: NDArray[Any], left_out: Any, stop: Callback | None, kind: str
    ) -> Radii:
        """Where nothing can change but which value is missing: an answer is another one, or nothing flips it."""
        flipped = self.knn.predict(points, left_out, stop) != kept
        sides = np.where(flipped, 0.0, np.inf)
        return Radii(
            index=np.arange(len(points)),
            lower=sides if kind == "certify" else np.zeros(len(points)),
            upper=sides.copy(),
            exact=flipped,
            correct=~flipped,
            predicted=kept,
            adversarial=np.where(flipped[:, None], points, np.nan).astype(points.dtype),
        )


def _movable(threat: ThreatModel, n_features: int) -> set[int]:
    switched = {int(feature) for switch in threat.switches for feature in switch.features}
    return set(range(n_features)) - {int(feature) for feature in threat.frozen or ()} - switched


def _measured(threat: ThreatModel, n_features: int) -> list[int]:
    """The features whose moves count."""
    return sorted(_movable(threat, n_features) - {int(feature) for feature in threat.free or ()})


def _one_measured(threat: ThreatModel, n_features: int) -> ThreatModel | None:
    """The same with the first free feature measured, for :func:`_decided`; None where nothing at all can change."""
    movable = _movable(threat, n_features)
    if not movable:
        return threat if threat.switches else None
    free = [feature for feature in threat.free or () if feature != min(movable)]
    return ThreatModel(
        threat.norm,
        threat.costs,
        frozen=threat.frozen,
        box=threat.limits(n_features),
        only_up=threat.only_up,
        only_down=threat.only_down,
        free=free or None,
        switches=threat.switches,
        max_switches=threat.max_switches,
    )


def _decided(radii: Radii) -> Radii:
    """Radii where nothing is measured, from those where one free feature is: all that counts is whether they end."""
    ends = np.isfinite(radii.upper)
    return replace(
        radii,
        lower=np.where(np.isinf(radii.lower), np.inf, 0.0),
        upper=np.where(ends, 0.0, np.inf),
        exact=ends,
    )


@dataclass(frozen=True, eq=False)
class _Versions:
    """Filled rows as they were asked about; `measured` are the features whose moves count, if there are any."""

    knn: MahalanobisKNN
    points: NDArray[np.floating]
    kept: NDArray[Any]
    left_out: list[Any] | None
    measured: list[int]
    stop: Callback | None

    def with_likely_fills(self, radii: Radii, fills: Fills, missing: BoolArray) -> Radii:
        """`radii` with 0 where one of some likely fills changes the answer by itself."""
        numbers = np.flatnonzero(missing & ~fills.is_category())
        some = np.flatnonzero((radii.lower == 0) & (radii.upper > 0))
        if not len(some) or not len(numbers):
            return radii
        likely = fills.likely(numbers, self.knn.references_)
        step, flipping, upper = max(1, AT_ONCE // len(likely)), radii.adversarial.copy(), radii.upper.copy()
        for part in (some[start : start + step] for start in range(0, len(some), step)):
            tried = np.repeat(self.points[part], len(likely), axis=0)
            tried[:, numbers] = np.tile(likely, (len(part), 1))
            at = np.repeat(part, len(likely))
            other = np.flatnonzero(self.knn.predict(tried, self._left_out(at), self.stop) != self.kept[at])
            rows, first = np.unique(at[other], return_index=True)
            flipping[rows], upper[rows] = tried[other[first]], 0.0
        return radii.join(replace(radii, upper=upper, adversarial=flipping))

    def with_fills_alone(self, radii: Radii) -> Radii:
        """`radii` with 0 where the answer is another one without what was moved: a search may stop just beside it."""
        some = np.flatnonzero(np.isfinite(radii.upper) & (radii.upper > 0))
        if not len(some):
            return radii
        found = radii.take(some)
        at = found.index
        points = found.adversarial.copy()
        points[:, self.measured] = self.points[at][:, self.measured]
        alone = self.knn.predict(points, self._left_out(at), self.stop) != self.kept[at]
        return radii.join(replace(found, upper=np.zeros(len(some)), adversarial=points).take(alone))

    def _left_out(self, some: IntArray) -> list[Any] | None:
        return taken(self.left_out, some)


def _least(radii: Radii, of: IntArray) -> Radii:
    """For each row the least sides over its versions; `of` says which row a version is of."""
    order = np.lexsort((np.arange(len(of)), radii.upper, of))
    rows, first = np.unique(of[order], return_index=True)
    best = radii.take(order[first])
    lower = np.full(len(rows), np.inf)
    np.minimum.at(lower, of, radii.lower)
    with np.errstate(invalid="ignore"):
        meet = (lower >= best.lower) | (best.upper - lower <= MEET * best.upper)
    return replace(best, index=np.arange(len(rows)), lower=lower, exact=best.exact & np.isfinite(best.upper) & meet)
