"""Changed rows that could exist: whole categories, whole numbers, nothing beyond its limits.

What a certificate or an attack finds may turn 46 % of an island into another one, or 3.4 children into 3.6. The rows
here are versions of it as a file can have them: of each such column the value is one of two, the rest stays, and the
smallest one that flips the answer, as it is written, is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ...numerics.arrays import BoolArray, FloatArray, IntArray
from .export import counterfactuals_in_units, within_limits
from .layout import Layout

MOST_TRIES = 256
"""Versions of one row that are tried."""
BOTH_WAYS = 5
"""Columns that are rounded both ways; the others of a row go to the nearest value."""
STRETCHED = (0.0, 1e-6, 0.01, 0.1, 0.3, 1.0)
"""Parts of itself by which a change is made longer: rounding may have taken too much of it."""
ROUNDS = (1, 7, 56, MOST_TRIES)
"""How many versions of a row are asked about at once: most rows need few."""

Flips = Callable[[FloatArray, IntArray], BoolArray]
Sizes = Callable[[FloatArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Rounding:
    """Rows, their changed versions and what a change of them must keep to.

    Attributes
    ----------
    x, own, adversarial : the rows scaled, the same as the file has them, and their changed versions, scaled; NaN where
        there is none. Of `x` and `own`, empty cells are NaN: what they hold in the changed version may be rounded, too.
    low, high : the smallest and largest scaled value of each feature of each row.
    held : features that keep their changed value as it is, because it was exchanged as a whole.
    sizes : the sizes of scaled versions of the rows that are named, +inf for a change that is not allowed.
    flips : whether the answers to scaled versions of the rows that are named are other ones.
    proved : no smaller change flips a row.
    """

    layout: Layout
    x: FloatArray
    own: FloatArray
    adversarial: FloatArray
    low: FloatArray
    high: FloatArray
    held: BoolArray
    sizes: Sizes
    flips: Flips
    proved: FloatArray
    _groups: list[IntArray] = field(init=False)
    _whole: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", self.layout.groups)
        object.__setattr__(self, "_whole", self.layout.whole)

    def exists(self) -> BoolArray:
        """Which of the changed versions could exist as they are."""
        known: BoolArray = np.asarray(np.isfinite(self.adversarial).all(axis=1))
        changed = np.where(known[:, None], self.adversarial, self.x)
        for places in self._groups:
            moved = (changed[:, places] != self.x[:, places]).any(axis=1)
            known &= ~moved | _is_whole_category(changed[:, places])
        moved_numbers = changed[:, self._whole] != self.x[:, self._whole]
        rounded = self.layout.from_units(np.where(self._is_exact, np.rint(self._in_units(changed)), self.own))
        known &= (~moved_numbers | (rounded == changed)[:, self._whole]).all(axis=1)
        return known

    @property
    def _is_exact(self) -> BoolArray:
        """The features that hold whole numbers: 0 and 1 of a category, or any."""
        mask = np.zeros(self.x.shape[1], dtype=bool)
        mask[np.concatenate([self._whole, *self._groups])] = True
        return mask

    def _in_units(self, points: FloatArray) -> FloatArray:
        return self.layout.scaling.inverse(points)

    def as_they_are(self, rows: BoolArray) -> FloatArray:
        """The changed versions of `rows` in the file's units, which could exist but for the digits of other columns."""
        wanted = np.where(rows[:, None], self.adversarial, np.nan)

        def flips(points: FloatArray) -> BoolArray:
            found = np.zeros(len(points), dtype=bool)
            moved = np.flatnonzero(rows & (points != self.x).any(axis=1))
            if len(moved):
                found[moved] = self.flips(points[moved], moved)
            return found

        settled = rows[:, None] & self._is_exact & (self.adversarial != self.x)
        empty = np.isnan(self.x)
        x = np.where(settled | empty, self.adversarial, self.x)
        own = np.where(empty, self._in_units(x), self.own)
        own = np.where(settled, np.rint(self._in_units(x)) + 0.0, own)
        low = np.where(self.held, np.fmax(self.low, self.adversarial), self.low)
        high = np.where(self.held, np.fmin(self.high, self.adversarial), self.high)
        return counterfactuals_in_units(self.layout.scaling, x, wanted, flips, own, (low, high))

    def rounded(self, rows: IntArray) -> FloatArray:
        """The smallest version of each of `rows` that could exist and flips, in the file's units; NaN without one."""
        found = np.full((len(rows), self.x.shape[1]), np.nan)
        tries = [self._versions(int(row)) for row in rows]
        start = 0
        for end in ROUNDS:
            waiting = [i for i in range(len(rows)) if len(tries[i]) > start and np.isnan(found[i, 0])]
            if not waiting:
                break
            asked = [tries[i][start:end] for i in waiting]
            of = np.repeat(waiting, [len(part) for part in asked])
            raw = np.concatenate(asked)
            flipped = np.flatnonzero(self.flips(self.layout.from_units(raw), rows[of]))
            first = np.unique(of[flipped], return_index=True)[1]
            found[of[flipped[first]]] = raw[flipped[first]]
            start = end
        return found

    def _versions(self, row: int) -> FloatArray:
        """What is to be tried for a row, in the file's units, the smallest first."""
        raw = np.unique(np.array(list(self._candidates(row))).reshape(-1, self.x.shape[1]), axis=0)
        scaled = self.layout.from_units(raw)
        inside = ((scaled >= self.low[row]) & (scaled <= self.high[row])).all(axis=1)
        inside &= ((scaled == self.adversarial[row]) | ~self.held).all(axis=1)
        sizes = self.sizes(scaled, np.full(len(scaled), row))
        larger = sizes > self.proved[row]
        if np.isnan(self.x[row]).any():  # what the empty cells hold may flip the answer without any change
            larger = sizes >= self.proved[row]
        keep = inside & np.isfinite(sizes) & larger & (raw != self.own[row]).any(axis=1)
        order = np.flatnonzero(keep)[np.argsort(sizes[keep], kind="stable")]
        chosen: FloatArray = raw[order][:MOST_TRIES]
        return chosen

    def _candidates(self, row: int) -> Iterator[FloatArray]:
        """Versions of a row as a file can have them; some may be too large, or beyond the limits."""
        x, changed, own = self.x[row], self.adversarial[row], self.own[row]
        low = np.where(self.held, changed, self.low[row])
        high = np.where(self.held, changed, self.high[row])
        exact, held = self._is_exact, self.held | (changed == x)
        for places in self._groups:
            if _is_whole_category(changed[None, places])[0]:
                held = held | np.isin(np.arange(len(x)), places)
        start = np.where(np.isnan(x), changed, x)
        for part in STRETCHED:
            point = np.where(held, changed, np.clip(changed + part * (changed - start), low, high))
            raw = self._in_units(point)
            raw = np.where(exact, raw, within_limits(self.layout.scaling, raw, low, high))
            raw = np.where(changed == x, own, raw)
            if np.isfinite(raw).all():
                yield from self._both_ways(row, raw, held)

    def _both_ways(self, row: int, raw: FloatArray, held: BoolArray) -> Iterator[FloatArray]:
        """Roundings of a row in the file's units: the nearest one, the farthest one, and combinations of both ways."""
        moved, own = self.adversarial[row] != self.x[row], self.own[row]
        base = np.where(self._is_exact & moved, np.rint(raw) + 0.0, raw)
        choices = [_of_category(places, raw, own) for places in self._groups if not held[places].all()]
        choices += [_of_number(int(k), raw) for k in self._whole if not held[k] and raw[k] != np.rint(raw[k])]
        away = base.copy()
        for choice in choices:
            base[choice.places] = choice.values[0]
            away[choice.places] = choice.farther_from(own)
        yield base
        yield away
        choices.sort(key=lambda choice: choice.certainty)
        for values in product(*(choice.values for choice in choices[:BOTH_WAYS])):
            version = base.copy()
            for choice, value in zip(choices, values, strict=False):
                version[choice.places] = value
            yield version


@dataclass(frozen=True, eq=False)
class _Choice:
    """The two values that some features may be rounded to, the nearer one first, and how clear it is which."""

    places: IntArray
    values: tuple[FloatArray, FloatArray]
    certainty: float

    def farther_from(self, own: FloatArray) -> FloatArray:
        first, second = (float(np.abs(value - own[self.places]).sum()) for value in self.values)
        return self.values[0] if first >= second else self.values[1]


def _of_category(places: IntArray, raw: FloatArray, own: FloatArray) -> _Choice:
    """The category of the largest part, or that of the row; the next one where these are the same."""
    order = np.argsort(-raw[places], kind="stable")
    kinds = np.eye(len(places))
    if np.isnan(own[places]).any():
        return _Choice(places, (kinds[order[0]], kinds[order[min(1, len(order) - 1)]]), 0.0)
    other = next((kinds[k] for k in order if (kinds[k] != own[places]).any()), kinds[order[0]])
    return _Choice(places, (other, own[places]), 0.0)


def _of_number(place: int, raw: FloatArray) -> _Choice:
    low, high = np.floor(raw[place]), np.ceil(raw[place])
    nearer, farther = (low, high) if raw[place] - low <= 0.5 else (high, low)
    return _Choice(
        np.array([place]), (np.array([nearer]) + 0.0, np.array([farther]) + 0.0), abs(float(farther - raw[place]))
    )


def possible_counterfactuals(changes: Rounding) -> tuple[FloatArray, BoolArray]:
    """Changed rows in the file's units that could exist and flip the answer as they are written; NaN without one.

    Also which of them are the adversarial rows themselves: these have the size that was found.
    """
    exists = changes.exists()
    raw = changes.as_they_are(exists)
    others = np.flatnonzero(~exists & np.isfinite(changes.adversarial).all(axis=1))
    if len(others):
        raw[others] = changes.rounded(others)
    return raw, exists


def _is_whole_category(values: FloatArray) -> BoolArray:
    """Which rows of 0/1 features have exactly one 1."""
    return np.asarray(np.isin(values, (0.0, 1.0)).all(axis=1) & (values.sum(axis=1) == 1))
