"""What an attacker may do: the norm, the cost of each feature, what is frozen or free, and a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .numerics.arrays import BoolArray, FloatArray, IntArray
from .numerics.error_bounds import norm, size_rounded_up
from .vocabulary import NORMS, norm_of

Side = tuple[tuple[float, ...], ...] | tuple[float, ...] | float
"""One side of a box: a number, one number per feature, or a line of these for each row."""

_LISTS = ("frozen", "only_up", "only_down", "free")
_ACCEPTED = {key: norm.p for norm in NORMS.values() for key in (norm.p, norm.spelling)} | {"inf": np.inf}


@dataclass(frozen=True, init=False)
class ThreatModel:
    """The perturbations δ an attacker may add to a point, and how their size is measured.

    The size of δ is ``‖costs ∘ δ‖`` in the chosen norm: a feature with cost 2 is twice as expensive to move.
    Frozen features cannot move at all. With a box, ``x + δ`` must stay in it; where x itself lies outside,
    the box is widened just enough to hold x. Some features may only grow, or only fall. Free features may take any
    value in their range at no cost: their part of δ does not count in its size.

    Parameters
    ----------
    norm : 1, 2 or inf (also "l1", "l2", "linf").
    costs : one positive number per feature, or None for all 1.
    frozen : indices of the features that cannot move, or a boolean mask, or None.
    box : (low, high), each a number, one number per feature, or a line of these for each row that is asked about; or
        None for no box.
    only_up, only_down : features that may only grow, or only fall, as `frozen` has them.
    free : features that may move at no cost, as `frozen` has them. Each needs a finite limit on both sides.
    """

    norm: float = 2.0
    costs: tuple[float, ...] | None = None
    frozen: tuple[int, ...] | None = None
    box: tuple[Side, Side] | None = None
    only_up: tuple[int, ...] | None = None
    only_down: tuple[int, ...] | None = None
    free: tuple[int, ...] | None = None
    _width: int | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        norm: float | str = 2,
        costs: ArrayLike | None = None,
        frozen: ArrayLike | Sequence[int] | None = None,
        box: tuple[ArrayLike, ArrayLike] | None = None,
        only_up: ArrayLike | Sequence[int] | None = None,
        only_down: ArrayLike | Sequence[int] | None = None,
        free: ArrayLike | Sequence[int] | None = None,
    ) -> None:
        key = norm.lower() if isinstance(norm, str) else norm
        if not isinstance(key, (int, float, str)) or key not in _ACCEPTED:
            raise ValueError(f"norm must be 1, 2 or inf; got {norm!r}")
        put = object.__setattr__
        put(self, "norm", _ACCEPTED[key])
        widths: set[int] = set()
        put(self, "costs", None if costs is None else _checked_costs(costs, widths))
        for name, features in zip(_LISTS, (frozen, only_up, only_down, free), strict=True):
            put(self, name, None if features is None else _checked_features(name, features, widths))
        put(self, "box", None if box is None else _checked_box(box, widths))
        both = set(self.only_up or ()) & set(self.only_down or ())
        if both:
            raise ValueError(f"feature {min(both)} may only grow and only fall: it cannot move. Use frozen for that")
        stuck = set(self.frozen or ()) & set(self.free or ())
        if stuck:
            raise ValueError(f"feature {min(stuck)} is frozen and free: it cannot be both")
        if len(widths) > 1:
            raise ValueError(f"costs, masks and box disagree on the number of features: {sorted(widths)}")
        put(self, "_width", widths.pop() if widths else None)

    @property
    def n_lines(self) -> int | None:
        """For how many rows the box has a line each; None where it is the same for all."""
        return next((lines for side in self.box or () if (lines := _n_lines(side)) is not None), None)

    @property
    def norm_name(self) -> str:
        return norm_of(self.norm).name

    def arguments(self) -> dict[str, Any]:
        """The arguments that build this threat model again, as JSON has them.

        Directions and free features are there only if there are any: what was asked before they could be given keeps
        its key.
        """
        always = {
            "norm": norm_of(self.norm).spelling,
            "costs": _lists(self.costs),
            "frozen": _lists(self.frozen),
            "box": _lists(self.box),
        }
        others = {name: _lists(getattr(self, name)) for name in ("only_up", "only_down", "free")}
        return always | {name: value for name, value in others.items() if value}

    def python(self) -> str:
        """The call that builds this threat model again, where `arml` is this package; defaults are left out."""
        given = {name: value for name, value in self.arguments().items() if value not in (None, "l2")}
        return f"arml.ThreatModel({', '.join(f'{name}={_literal(value)}' for name, value in given.items())})"

    def describe(self) -> str:
        """One line in words, for captions and reports."""
        parts = [f"{self.norm_name} norm"]
        if self.costs is not None:
            parts.append("per-feature costs")
        if self.frozen:
            parts.append(f"{len(self.frozen)} frozen feature{'s' if len(self.frozen) > 1 else ''}")
        if self.box is not None:
            low, high = self.box
            scalar = not isinstance(low, tuple) and not isinstance(high, tuple)
            ranges = "inside a box for each row" if self.n_lines is not None else "inside a box"
            parts.append(f"inside [{low:g}, {high:g}]" if scalar else ranges)
        for features, words in ((self.only_up, "may only grow"), (self.only_down, "may only fall")):
            if features:
                parts.append(f"{len(features)} feature{'s' if len(features) > 1 else ''} that {words}")
        if self.free:
            parts.append(f"{len(self.free)} free feature{'s' if len(self.free) > 1 else ''}")
        return ", ".join(parts)

    def of_rows(self, rows: IntArray, n: int) -> ThreatModel:
        """The same threat for some of `n` rows: of a box with a line for each of them, the lines of `rows`."""
        if self.box is None or self.n_lines is None:
            return self
        _check_lines(self.n_lines, n)
        sides = [np.asarray(side)[rows] if _n_lines(side) is not None else side for side in self.box]
        return ThreatModel(**{**self.arguments(), "box": tuple(sides)})

    def resolve(self, n_features: int) -> ResolvedThreat:
        """The same threat as plain arrays for data with `n_features` columns."""
        if self._width not in (None, n_features):
            raise ValueError(f"the threat model is for {self._width} features; the data has {n_features}")
        movable = np.ones(n_features, dtype=bool)
        for name in _LISTS:
            beyond = [i for i in getattr(self, name) or () if i >= n_features]
            if beyond:
                raise ValueError(f"{name} feature {beyond[0]} does not exist; the data has {n_features} features")
        movable[list(self.frozen or ())] = False
        if not movable.any():
            raise ValueError("every feature is frozen; leave at least one that may move")
        only_up, only_down, free = (
            np.isin(np.flatnonzero(movable), getattr(self, name) or ()) for name in ("only_up", "only_down", "free")
        )
        if free.all():
            raise ValueError("every feature that may move is free; leave at least one whose moves are measured")
        costs = np.ones(n_features) if self.costs is None else np.array(self.costs)
        costs[list(self.free or ())] = 1.0
        box = None
        if self.box is not None:
            sides = (np.asarray(side, dtype=np.float64) for side in self.box)
            low, high = (np.broadcast_to(side, (*side.shape[:-1], n_features)) for side in sides)
            box = (low[..., movable].copy(), high[..., movable].copy())
        elif (only_up | only_down | free).any():
            box = (np.full(movable.sum(), -np.inf), np.full(movable.sum(), np.inf))
        return ResolvedThreat(
            self.norm, np.flatnonzero(movable), costs[movable], box, n_features, only_up, only_down, free
        )


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
            _check_lines(lines, len(x) if x.ndim == 2 else None)
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


def _checked_costs(costs: ArrayLike, widths: set[int]) -> tuple[float, ...]:
    values = np.asarray(costs, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"costs must be one number per feature; got shape {values.shape}")
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"costs must be positive and finite; feature {i} has {values[i]:g}. Use frozen for 'never'")
    widths.add(values.size)
    return tuple(values.tolist())


def _checked_features(name: str, features: Any, widths: set[int]) -> tuple[int, ...]:
    values: NDArray[Any] = np.asarray(features)
    if values.ndim != 1:
        raise ValueError(f"{name} must be a list of feature indices or a mask; got shape {values.shape}")
    if values.dtype == bool:
        widths.add(values.size)
        return tuple(int(i) for i in np.flatnonzero(values))
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"{name} must hold feature indices; got {values.tolist()}")
    if (values < 0).any():
        raise ValueError(f"{name} must hold feature indices from 0; got {int(values.min())}")
    return tuple(sorted({int(i) for i in values}))


def _checked_box(box: Any, widths: set[int]) -> tuple[Side, Side]:
    if not isinstance(box, (tuple, list)) or len(box) != 2:
        raise ValueError(f"box must be (low, high); got {box!r}")
    low, high = (np.asarray(b, dtype=np.float64) for b in box)
    for side in (low, high):
        if side.ndim > 2 or side.size == 0:
            raise ValueError(
                "each side of the box is a number, one number per feature, or a line of these for each row; "
                f"got shape {side.shape}"
            )
        if side.ndim:
            widths.add(side.shape[-1])
    if low.ndim == high.ndim == 2 and len(low) != len(high):
        raise ValueError(f"the box has lower limits for {len(low)} rows and upper limits for {len(high)}")
    if low.ndim and high.ndim and low.shape[-1] != high.shape[-1]:
        raise ValueError(f"the box has {low.shape[-1]} lower and {high.shape[-1]} upper limits")
    if np.isnan(low).any() or np.isnan(high).any() or not (low <= high).all():
        raise ValueError("every lower limit of the box must be at most the upper one")
    return _tuples(low.tolist()), _tuples(high.tolist())


def _check_lines(lines: int, rows: int | None) -> None:
    """Refuse a box with a line for each of another number of rows; None is a single row that is no table."""
    if rows != lines:
        raise ValueError(f"the box has a line for each of {lines} rows; asked about are {1 if rows is None else rows}")


def _n_lines(side: Side) -> int | None:
    return len(side) if isinstance(side, tuple) and isinstance(side[0], tuple) else None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _literal(value: Any) -> str:
    """The value as Python reads it; `repr` writes an endless limit of a box as a name that is not defined."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return f"float('{value}')" if value in (np.inf, -np.inf) else repr(value)
