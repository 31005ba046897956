"""A threat model as plain arrays for data of a known width: what may move how far, and the size of a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.error_bounds import norm, size_rounded_up


def dual_norm(norm: float) -> float:
    """The norm below the line of a triplet radius: ℓ1 for an ℓ∞ threat, ℓ∞ for ℓ1, ℓ2 for itself."""
    return {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[float(norm)]


class Ranges(NamedTuple):
    """Between which values the movable features of some rows may move, a line for each row."""

    low: FloatArray
    high: FloatArray

    def of(self, rows: IntArray | int) -> Ranges:
        """Those of some of the rows, or of one."""
        return Ranges(self.low[rows], self.high[rows])


@dataclass(frozen=True)
class ResolvedThreat:
    """A threat model for data of a known width: movable features, their costs, and the box, all as arrays.

    Free features are movable, with a cost of 1; what they contribute is left out of every size.
    """

    norm: float
    movable: IntArray
    costs: FloatArray  # of the movable features
    box: tuple[FloatArray, FloatArray] | None  # of the movable features; also where only directions limit them.
    # Each side has a line for each row, or one for all.
    n_features: int
    only_up: BoolArray  # of the movable features
    only_down: BoolArray
    free: BoolArray

    @property
    def dual_norm(self) -> float:
        return dual_norm(self.norm)

    @property
    def is_plain(self) -> bool:
        """No costs, nothing frozen, nothing free: δ is measured as it is."""
        everything = len(self.movable) == self.n_features and not self.free.any()
        return everything and bool(np.all(self.costs == 1.0))

    def counted(self, scaled: FloatArray) -> FloatArray:
        """The columns of scaled movable parts that count in a size: all but those of free features."""
        return np.ascontiguousarray(scaled[..., ~self.free]) if self.free.any() else scaled

    def reduce(self, gradients: FloatArray) -> FloatArray:
        """Vectors v of constraints ``vᵀδ ≥ b``, rewritten for the scaled movable part ``costs ∘ δ``."""
        if self.is_plain:
            return gradients
        return gradients.take(self.movable, axis=-1) / self.costs  # in C order, as :meth:`reduce_move`

    def expand(self, scaled: FloatArray) -> FloatArray:
        """The full δ for a scaled movable part."""
        delta = np.zeros((*scaled.shape[:-1], self.n_features))
        delta[..., self.movable] = scaled / self.costs
        return delta

    def reduce_move(self, delta: FloatArray) -> FloatArray:
        """The scaled movable part ``costs ∘ δ`` of a full δ: the inverse of :meth:`expand`.

        In C order: indexing would give another, in which sums along a row round differently if the row is alone.
        """
        return delta.take(self.movable, axis=-1) * self.costs

    def size(self, delta: FloatArray) -> FloatArray:
        """``‖costs ∘ δ‖`` for each row, without its free features; +inf where a frozen feature moved."""
        moved = norm(self.counted(self.reduce_move(delta)), self.norm)
        frozen = np.setdiff1d(np.arange(self.n_features), self.movable)
        if frozen.size:
            moved = np.where(np.any(delta[..., frozen] != 0.0, axis=-1), np.inf, moved)
        return np.asarray(moved)

    def size_rounded_up(self, delta: FloatArray) -> FloatArray:
        """The same, never smaller than the true size."""
        return size_rounded_up(self.size(delta), self.n_features)

    def keep_within(self, points: NDArray[Any], x: NDArray[Any], ranges: Ranges | None) -> NDArray[Any]:
        """`points` in their own dtype, with frozen features as in `x` and the others inside their `ranges`."""
        result = np.array(np.broadcast_to(x, points.shape)).astype(points.dtype)
        moved = points[..., self.movable]
        if ranges is not None:
            moved = np.clip(moved, ranges.low, ranges.high)
            if points.dtype != moved.dtype:
                moved = _rounded_within(moved, ranges.low, ranges.high, points.dtype)
        result[..., self.movable] = moved
        return result

    def limits(self, x: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """The smallest and largest value of every feature of the rows `x` after a move; None without a box."""
        ranges = self.ranges(x)
        if ranges is None:
            return None
        low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        low[..., self.movable], high[..., self.movable] = ranges
        return low, high

    def ranges(self, x: NDArray[Any]) -> Ranges | None:
        """Between which values the movable features of the rows `x` may move: the box, widened to x, one way or both.

        None without a box. A box with a line for each row is for as many rows, and a free feature needs two limits.
        """
        if self.box is None:
            return None
        lines = next((len(side) for side in self.box if side.ndim == 2), None)
        if lines is not None:
            check_lines(lines, len(x) if x.ndim == 2 else None)
        at = x[..., self.movable].astype(np.float64)
        low, high = np.minimum(self.box[0], at), np.maximum(self.box[1], at)
        found = Ranges(np.where(self.only_up, at, low), np.where(self.only_down, at, high))
        endless = self.free & ~(np.isfinite(found.low) & np.isfinite(found.high))
        if endless.any():
            feature = int(self.movable[np.flatnonzero(endless.any(axis=tuple(range(endless.ndim - 1))))[0]])
            raise ValueError(f"feature {feature} is free and needs a finite limit on both sides: give a box")
        return found

    def room(self, x: FloatArray, ranges: Ranges | None) -> tuple[FloatArray, FloatArray] | None:
        """How far each scaled movable feature of the rows `x` may fall and rise (both ≥ 0); None without ranges."""
        if ranges is None:
            return None
        at = x[..., self.movable]
        return (at - ranges.low) * self.costs, (ranges.high - at) * self.costs


def _rounded_within(values: FloatArray, low: FloatArray, high: FloatArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`values` in a coarser type, rounded to the nearest number that is still between the two bounds."""
    rounded = values.astype(dtype)
    rounded = np.where(rounded > high, np.nextafter(rounded, -np.inf, dtype=dtype), rounded)
    return np.where(rounded < low, np.nextafter(rounded, np.inf, dtype=dtype), rounded)


def check_lines(lines: int, rows: int | None) -> None:
    """Refuse a box with a line for each of another number of rows; None is a single row that is no table."""
    if rows != lines:
        raise ValueError(f"the box has a line for each of {lines} rows; asked about are {1 if rows is None else rows}")
