"""What a missing cell may hold: a number in the range of its column, or a whole value of its category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..knn import MahalanobisKNN
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..threat import Switch, ThreatModel
from ..threat.switches import MOST_COMBINATIONS
from .protection import feature_names

MOST_REFERENCES = 100
STEPS = 33
"""Values of a missing number that are looked at: those of so many references, and so many evenly spaced ones."""

Ranges = Mapping[int | str, tuple[float, float]] | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class Category:
    """Features that have one value together, and the patterns they may have, the most frequent one first."""

    places: tuple[int, ...]
    patterns: FloatArray

    def of(self, row: NDArray[np.floating], name: str) -> NDArray[np.floating]:
        """The patterns that agree with the cells of a row that are not missing."""
        own, patterns = row[list(self.places)], self.patterns.astype(row.dtype)
        agree = (np.isnan(own) | (patterns == own)).all(axis=1)
        if not agree.any():
            raise ValueError(
                f"{name} has missing cells in features {list(self.places)}, and no training row has the values that "
                "are there. Leave the row out, or let the whole category be missing"
            )
        found: NDArray[np.floating] = patterns[agree]
        return found


@dataclass(frozen=True, eq=False)
class Fills:
    """Between which values each feature lies, one value to begin with, and which features are of one category."""

    low: FloatArray
    high: FloatArray
    start: FloatArray
    categories: tuple[Category, ...]

    @classmethod
    def of(
        cls, knn: MahalanobisKNN, threat: ThreatModel, ranges: Ranges | None, categories: Iterable[Sequence[int | str]]
    ) -> Fills:
        """From the training rows and what is given; ranges that neither has are NaN. `threat` has places and values.

        What switches together is of one category, too.
        """
        train, names = knn.training_rows(), feature_names(knn)
        low, high, start = (np.full(len(names), np.nan) for _ in range(3))
        if train is not None:
            low, high = train.min(axis=0).astype(np.float64), train.max(axis=0).astype(np.float64)
            start = np.percentile(train, 50, axis=0, method="lower").astype(np.float64)
        if ranges is not None:
            low, high = _given(ranges, names, low, high)
        start = np.where(np.isnan(start), low / 2 + high / 2, np.clip(start, low, high))
        return cls(low, high, start, tuple(_categories(threat, categories, names, train)))

    def check(self, missing: BoolArray, names: Sequence[str]) -> None:
        """Refuse a column with missing numbers and without a range."""
        unknown = np.flatnonzero(missing & np.isnan(self.start))
        if len(unknown):
            raise ValueError(
                f"{names[unknown[0]]} has missing cells and no range: the training rows are too many to be kept beside "
                "references. Give ranges"
            )

    def is_category(self) -> BoolArray:
        """Which features belong to a category."""
        found = np.zeros(len(self.low), dtype=bool)
        found[[place for category in self.categories for place in category.places]] = True
        return found

    def versions(self, x: NDArray[np.floating], index: IntArray) -> tuple[NDArray[np.floating], IntArray]:
        """The rows with every combination of values for their missing categories, and which row each belongs to.

        Missing numbers are at their start. All rows have the same cells missing; `index` says what they are called.
        """
        missing = np.isnan(x[0])
        broken = [category for category in self.categories if missing[list(category.places)].any()]
        points, row = [], []
        for b, at in enumerate(x):
            options = [category.of(at, f"row {index[b]}") for category in broken]
            count = prod(len(patterns) for patterns in options)
            if count > MOST_COMBINATIONS:
                raise ValueError(
                    f"the missing categories of row {index[b]} have {count:,} combinations of values; at most "
                    f"{MOST_COMBINATIONS:,} are gone through. Leave the row out, or fill some of its cells"
                )
            whole = np.where(missing, self.start, at).astype(x.dtype)
            for picked in product(*options):
                version = whole.copy()
                for category, pattern in zip(broken, picked, strict=True):
                    version[list(category.places)] = pattern
                points.append(version)
                row.append(b)
        return np.array(points), np.array(row, dtype=np.intp)

    def likely(self, numbers: IntArray, references: NDArray[np.floating]) -> FloatArray:
        """Values of missing numbers that may well change an answer, a line for each fill.

        Those of references, and evenly spaced ones of one number while the others are at their start.
        """
        few = np.unique(np.linspace(0, len(references) - 1, MOST_REFERENCES).astype(np.intp))
        low, high, start = self.low[numbers], self.high[numbers], self.start[numbers]
        found = [np.clip(references[few][:, numbers].astype(np.float64), low, high)]
        for k in range(len(numbers)):
            alone = np.tile(start, (STEPS, 1))
            alone[:, k] = np.linspace(low[k], high[k], STEPS)
            found.append(alone)
        return np.concatenate(found)

    def with_certain(self, x: NDArray[np.floating], index: IntArray) -> NDArray[np.floating]:
        """`x` with the cells filled for which there is one value alone: these are not missing."""
        filled, alone = x.copy(), (self.low == self.high) & ~self.is_category()
        at, column = np.nonzero(np.isnan(x) & alone)
        filled[at, column] = self.low[column]
        for category in self.categories:
            places = list(category.places)
            for b in np.flatnonzero(np.isnan(x[:, places]).any(axis=1)):
                patterns = category.of(x[b], f"row {index[b]}")
                if len(patterns) == 1:
                    filled[b, places] = patterns[0]
        return filled


def _given(ranges: Ranges, names: Sequence[str], low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The ranges of all features, from those that are given and the ones of the training rows."""
    low, high = low.copy(), high.copy()
    if isinstance(ranges, Mapping):
        for feature, limits in ranges.items():
            place = _places([feature], names)[0]
            pair = np.asarray(limits, dtype=np.float64)
            if pair.shape != (2,):
                raise ValueError(f"the range of {names[place]} must be (low, high); got {limits!r}")
            low[place], high[place] = pair
    else:
        if not isinstance(ranges, tuple | list) or len(ranges) != 2:
            raise ValueError(f"ranges must be (low, high), or a (low, high) for each of some features; got {ranges!r}")
        low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), low.shape).copy() for side in ranges)
    wrong = np.flatnonzero(~np.isnan(low) & ~(np.isfinite(low) & np.isfinite(high) & (low <= high)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(
            f"the range of {names[k]} must be two finite numbers, low at most high; got ({low[k]:g}, {high[k]:g})"
        )
    return low, high


def _categories(
    threat: ThreatModel,
    given: Iterable[Sequence[int | str]],
    names: Sequence[str],
    train: NDArray[np.floating] | None,
) -> list[Category]:
    """The categories that are given, and what switches together, each once."""
    switched = {_places(switch.features, names): switch for switch in threat.switches}
    groups = list(dict.fromkeys([*(_places(Switch.of(group).features, names) for group in given), *switched]))
    flat = [place for group in groups for place in group]
    twice = next((place for place in flat if flat.count(place) > 1), None)
    if twice is not None:
        raise ValueError(f"{names[twice]} is in two categories: a feature belongs to one, and a switch is one")
    found = []
    for group in groups:
        if train is not None:
            patterns, counts = np.unique(train[:, list(group)].astype(np.float64), axis=0, return_counts=True)
            patterns = patterns[np.argsort(-counts, kind="stable")]
        elif group in switched:
            patterns = np.array(switched[group].values)
        else:
            raise ValueError(
                "the training rows are too many to be kept beside references, so the values of a category are not "
                'known: give them as a switch, {"features": …, "values": …}'
            )
        found.append(Category(group, patterns))
    return found


def _places(features: Iterable[Any], names: Sequence[str]) -> tuple[int, ...]:
    """The places of features, in rising order."""
    found = ThreatModel(frozen=list(features)).for_features(names).frozen or ()
    beyond = next((place for place in found if int(place) >= len(names)), None)
    if beyond is not None:
        raise ValueError(f"feature {beyond} does not exist; the data has {len(names)} features")
    return tuple(int(place) for place in found)
