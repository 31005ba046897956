"""Rows of a file with what was proved about them, and the changes that flip them in the file's units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..certificates.training_rows import TrainingChanges
from ..datasets.table import Layout, Rounding, counterfactuals_in_units, possible_counterfactuals
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.directed_rounding import digits_down
from ..radii import Radii
from ..threat import ResolvedThreat, ThreatModel
from ..vocabulary import TABLE_DIGITS

Predict = Callable[[FloatArray, IntArray], IntArray]
"""Class codes of scaled points; the second argument says to which rows they belong (for leave-one-out)."""


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """Rows of a file and their radii.

    `X` is scaled, `raw` in the file's units, `lines` leads back to the file. `labels` is None where the classifier's
    own answer was certified. `radii.predicted` holds class codes. `training` says how many training rows must be wrong
    before the answers change, None where that was not counted. Empty cells are NaN, and `ranges` the smallest and the
    largest scaled value that such a cell of each feature may have; None where there are none.
    """

    layout: Layout
    X: FloatArray
    raw: FloatArray
    lines: IntArray
    labels: IntArray | None
    radii: Radii
    training: TrainingChanges | None = None
    ranges: tuple[FloatArray, FloatArray] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def missing(self) -> BoolArray:
        """Which cells are empty."""
        return np.asarray(np.isnan(self.X))

    @property
    def kept(self) -> IntArray:
        """The answers that a change is to flip."""
        return self.radii.predicted if self.labels is None else self.labels

    def take(self, index: IntArray | Sequence[int]) -> CertifiedTable:
        """Some of the rows, in the order of `index`."""
        labels = None if self.labels is None else self.labels[index]
        training = None if self.training is None else self.training.take(np.asarray(index))
        chosen = (
            self.X[index],
            self.raw[index],
            self.lines[index],
            labels,
            self.radii.take(index),
            training,
            self.ranges,
        )
        return CertifiedTable(self.layout, *chosen)


@dataclass(frozen=True, eq=False)
class Flips:
    """For each row a changed version in the file's units (NaN where there is none) and the answer it then gets (-1).

    `upper` is the size of the changed row where it had to be rounded, else the upper side of the radii; +inf where no
    row that could exist was found. None where every feature may take any value.
    """

    raw: FloatArray
    answers: IntArray
    upper: FloatArray | None = None

    @property
    def known(self) -> BoolArray:
        return np.asarray(self.answers >= 0)

    @classmethod
    def concatenate(cls, parts: Sequence[Flips]) -> Flips:
        """The flips of parts of a table, one after the other."""
        sizes = [part.upper for part in parts if part.upper is not None]
        upper = np.concatenate(sizes) if len(sizes) == len(parts) else None
        return cls(np.concatenate([part.raw for part in parts]), np.concatenate([p.answers for p in parts]), upper)


@dataclass(frozen=True)
class Change:
    """One feature of a changed row. Numbers are in the file's units, except `step`: the signed move in scaled units.

    `alone` is how far the feature may move by itself without reaching the proven radius; None for a category, 0 for
    a frozen feature.
    """

    feature: str
    before: float
    after: float
    step: float
    alone: float | None

    @property
    def change(self) -> float:
        return self.after - self.before


def counterfactuals(rows: CertifiedTable, predict: Predict) -> Flips:
    """The changed rows behind `upper`, in the file's units, each checked to flip after being written and read again.

    A row whose answer is wrong already has none, and neither has one that no attack changed. Categories switch whole
    and whole numbers stay whole: where the change that was found does not do so, a rounded one is looked for. Empty
    cells hold what flips the answer, be it by itself or with the change of others.
    """
    if not rows.layout.is_continuous:
        return _possible_counterfactuals(rows, predict)
    answers = np.full(len(rows), -1, dtype=np.intp)

    def flips(points: FloatArray) -> BoolArray:
        moved = np.flatnonzero((points != rows.X).any(axis=1) & np.isfinite(points).all(axis=1))
        if len(moved):
            answers[moved] = predict(points[moved], moved)
        found = np.zeros(len(rows), dtype=bool)
        found[moved] = answers[moved] != rows.kept[moved]
        return found

    wanted, missing, limits = _wanted(rows), rows.missing, None
    x, own = np.where(missing, wanted, rows.X), np.where(missing, rows.layout.scaling.inverse(wanted), rows.raw)
    if missing.any():
        limits = MeasuredChanges.of(rows).limits
    raw = counterfactuals_in_units(rows.layout.scaling, x, wanted, flips, own, limits)
    return Flips(raw, np.where(np.isfinite(raw).all(axis=1), answers, -1))


def _wanted(rows: CertifiedTable) -> FloatArray:
    sought = rows.radii.correct | rows.missing.any(axis=1)
    return np.where(sought[:, None], rows.radii.adversarial.astype(np.float64), np.nan)


def _possible_counterfactuals(rows: CertifiedTable, predict: Predict) -> Flips:
    """The same where some features hold categories or whole numbers."""
    measured, wanted = MeasuredChanges.of(rows), _wanted(rows)

    def flips(points: FloatArray, of: IntArray) -> BoolArray:
        return np.asarray(predict(points, of) != rows.kept[of])

    low, high = measured.limits
    proved = rows.radii.lower
    changes = Rounding(
        rows.layout, rows.X, rows.raw, wanted, low, high, measured.switched, measured.sizes, flips, proved
    )
    raw, exists = possible_counterfactuals(changes)
    known = np.flatnonzero(np.isfinite(raw).all(axis=1))
    answers, upper = np.full(len(rows), -1, dtype=np.intp), np.full(len(rows), np.inf)
    if len(known):
        written = rows.layout.from_units(raw[known])
        answers[known] = predict(written, known)
        upper[known] = measured.sizes(written, known)
    itself = ~rows.radii.correct | ~rows.missing.any(axis=1)
    settled = exists | ((rows.radii.upper == 0) & itself)  # what was found is a row that could exist, or the row itself
    return Flips(raw, answers, np.where(settled, rows.radii.upper, upper))


@dataclass(frozen=True, eq=False)
class MeasuredChanges:
    """How large changes of rows are and where they end: `threat` without its switches, which have no size.

    Neither has what an empty cell holds.

    `switched` are the features that are exchanged whole; `limits` the least and the largest value of each feature.
    """

    x: FloatArray
    threat: ResolvedThreat | None
    switched: BoolArray
    limits: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, rows: CertifiedTable) -> MeasuredChanges:
        threat, x = rows.radii.threat.for_features(rows.layout.feature_names), rows.X
        switched = np.zeros(x.shape[1], dtype=bool)
        switched[[int(feature) for switch in threat.switches for feature in switch.features]] = True
        fixed = switched.copy()
        fixed[[int(feature) for feature in threat.frozen or ()]] = True
        limits = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        if fixed.all():
            return cls(x, None, switched, _with_ranges(limits, rows))
        if threat.n_lines is not None:
            threat = threat.of_rows(rows.radii.index, threat.n_lines)
        resolved = threat.without_switches().resolve(x.shape[1])
        at = np.where(rows.missing, 0.0, x)  # the limits of empty cells are not those of the threat
        return cls(x, resolved, switched, _with_ranges(resolved.limits(at) or limits, rows))

    def sizes(self, points: FloatArray, rows: IntArray) -> FloatArray:
        """The sizes of the changes that turn `rows` into `points`, never too small; +inf where a frozen one moved."""
        costless = self.switched | np.isnan(self.x[rows])
        delta = np.where(costless, 0.0, points - self.x[rows])
        if self.threat is None:
            return np.where((delta != 0).any(axis=1), np.inf, 0.0)
        return self.threat.size_rounded_up(delta)


def _with_ranges(limits: tuple[FloatArray, FloatArray], rows: CertifiedTable) -> tuple[FloatArray, FloatArray]:
    """`limits`, and in empty cells the range of the feature: 0 and 1 for a category, which has none."""
    if rows.ranges is None:
        return limits
    category = np.zeros(rows.X.shape[1], dtype=bool)
    category[[place for group in rows.layout.groups for place in group]] = True
    ends = zip(limits, rows.ranges, (0.0, 1.0), strict=True)
    low, high = (np.where(rows.missing, np.where(category, whole, own), side) for side, own, whole in ends)
    return low, high


def with_possible_changes(rows: CertifiedTable, flips: Flips) -> CertifiedTable:
    """The same rows with upper sides of changes that could exist: a verdict says "attackable" only where one does."""
    if flips.upper is None:
        return rows
    found = rows.radii
    exact = found.exact & (flips.upper == found.upper)
    return replace(rows, radii=replace(found, upper=np.maximum(flips.upper, found.lower), exact=exact))


def only_by_parts(rows: CertifiedTable, flips: Flips, radius: float) -> BoolArray:
    """Which rows a change up to `radius` flips, but none that was found with whole categories and whole numbers."""
    if flips.upper is None:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray((rows.radii.upper <= radius) & (flips.upper > radius))


def step_alone(layout: Layout, threat: ThreatModel, radius: float) -> dict[str, float | None]:
    """What a radius means for each feature alone: ± this much in the file's units, 0 for a frozen feature.

    Infinite for a free one, which may be anything in its range; None for the 0/1 features of categories, where a part
    of a step has no unit.
    """
    steps, threat = layout.radius_in_units(radius), threat.for_features(layout.feature_names)
    costs = np.ones(len(steps)) if threat.costs is None else np.array(threat.costs, dtype=np.float64)
    switched = {feature for switch in threat.switches for feature in switch.features}
    frozen, free = {*(threat.frozen or ()), *switched}, set(threat.free or ())
    pairs = zip(steps.items(), costs, strict=True)
    return {
        name: 0.0 if k in frozen else np.inf if k in free else None if step is None else float(step / cost)
        for k, ((name, step), cost) in enumerate(pairs)
    }


def measured_in(layout: Layout, threat: ThreatModel) -> str:
    """A sentence: in what the size of a change is measured."""
    numeric = np.array([column.categories is None for column in layout.columns for _ in column.feature_names])
    units = np.where(numeric, layout.scaling.scale, 1.0)  # with these costs a step of one unit in the file has size 1
    costs = np.ones(len(units)) if threat.costs is None else np.array(threat.costs)
    if numeric.any() and np.array_equal(costs, units):
        return "Radii are measured in the file's units."
    if threat.costs is None:
        return "Radii are measured after scaling."
    return "Radii are measured after scaling, the change of each feature times its cost."


def alone_words(step: float | None) -> str:
    """One entry of :func:`step_alone` as it is shown."""
    if step is None:
        return "category"
    if np.isinf(step):
        return "free"
    return "frozen" if step == 0 else f"{digits_down(step, TABLE_DIGITS):g}"


def changes_of(rows: CertifiedTable, row: int, after: FloatArray) -> list[Change]:
    """The features of one row before and after, the largest moves (as the threat model measures them) first."""
    before = rows.raw[row]
    steps = rows.layout.from_units(after) - rows.X[row]
    alone = step_alone(rows.layout, rows.radii.threat, float(rows.radii.lower[row]))
    costs = np.asarray(rows.radii.threat.costs) if rows.radii.threat.costs is not None else np.ones(len(before))
    order = np.argsort(-np.abs(steps * costs), kind="stable")
    names = rows.layout.feature_names
    return [
        Change(names[k], float(before[k]), float(after[k]), float(steps[k]), alone[names[k]]) for k in order.tolist()
    ]
