"""The triplet problem inside a box: the closest point of a half-space when x + δ must stay within limits.

``min ‖δ‖`` subject to ``vᵀδ ≥ b`` and ``-down ≤ δ ≤ up``. Moving a feature only ever helps in the direction of
its v, so with ``c`` the room in that direction the problem is one-dimensional: all features move together until
they hit their limits. ℓ2 moves feature d by ``λ|v_d|``, ℓ∞ by the same λ, ℓ1 empties the features one by one,
largest |v| first (a fractional knapsack). Each is solved exactly by sorting the limits.
"""

from __future__ import annotations

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.error_bounds import LARGEST, UNDERFLOW, rounded_down


def boxed_distance(
    v: FloatArray, v_error: FloatArray, b: FloatArray, room: tuple[FloatArray, FloatArray], norm: float
) -> FloatArray:
    """A lower bound, tight up to rounding, on ``‖δ‖`` for each row; +inf where the box makes it impossible.

    Parameters
    ----------
    v, v_error : (n, D), the half-spaces' normals and bounds on their errors.
    b : (n,) positive offsets.
    room : (down, up), each (D,), how far each feature may fall and rise.
    """
    down, up = room
    slope = np.abs(v) + v_error  # in favour of the attacker, as are the limits where the sign is in doubt
    limit = np.where(v > 0, up, down)
    limit = np.where(np.abs(v) <= v_error, np.maximum(up, down), limit)
    limit = np.where(slope == 0, 0.0, limit)
    scale = np.ldexp(1.0, np.frexp(slope.max(axis=1))[1])
    slope = np.where(slope > 0, np.maximum(slope / scale[:, None], UNDERFLOW), 0.0)  # squares stay in range
    with np.errstate(over="ignore"):
        target = rounded_down(b / scale, 4 * v.shape[1] + 16)
    if norm == 1:
        return _knapsack(slope, limit, target)
    return _together(slope, limit, target, euclidean=norm == 2)


def _together(slope: FloatArray, limit: FloatArray, target: FloatArray, euclidean: bool) -> FloatArray:
    """ℓ2 and ℓ∞: δ_d = min(λ·speed_d, limit_d) with speed = slope for ℓ2 and 1 for ℓ∞."""
    speed = slope if euclidean else np.ones_like(slope)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        stops = np.where(slope > 0, limit / speed, 0.0)
    order = np.argsort(stops, axis=1)
    slope, limit, stops, speed = (np.take_along_axis(a, order, axis=1) for a in (slope, limit, stops, speed))
    finite_limit = np.where(np.isfinite(limit), limit, 0.0)  # a feature without a limit never stops
    stopped_gain = _shifted_cumsum(slope * finite_limit)  # (n, D): gain of the features stopped before each
    stopped_size = _shifted_cumsum(np.minimum(finite_limit, LARGEST) ** 2)
    rate = np.cumsum((slope * speed)[:, ::-1], axis=1)[:, ::-1]  # of the features still moving
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reached = stopped_gain + np.where(rate > 0, stops * rate, 0.0) >= target[:, None]
    at = np.argmax(reached, axis=1)[:, None]
    gain, size, remaining = (np.take_along_axis(a, at, axis=1)[:, 0] for a in (stopped_gain, stopped_size, rate))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        step = np.maximum(target - gain, 0.0) / remaining
        length = np.hypot(np.sqrt(size), step * np.sqrt(remaining)) if euclidean else step
    return np.where(reached.any(axis=1), rounded_down(length, slope.shape[1] + 16), np.inf)


def _knapsack(slope: FloatArray, limit: FloatArray, target: FloatArray) -> FloatArray:
    order = np.argsort(-slope, axis=1)
    slope, limit = np.take_along_axis(slope, order, axis=1), np.take_along_axis(limit, order, axis=1)
    before = _shifted_cumsum(np.where(np.isfinite(limit), slope * np.where(np.isfinite(limit), limit, 0.0), 0.0))
    spent = _shifted_cumsum(np.where(np.isfinite(limit), limit, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        reached = before + np.where(slope > 0, slope * limit, 0.0) >= target[:, None]
    at = np.argmax(reached, axis=1)[:, None]
    gain, size, rate = (np.take_along_axis(a, at, axis=1)[:, 0] for a in (before, spent, slope))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        length = size + np.maximum(target - gain, 0.0) / rate
    return np.where(reached.any(axis=1), rounded_down(length, slope.shape[1] + 16), np.inf)


def _shifted_cumsum(values: FloatArray) -> FloatArray:
    """The sum of all entries before each one."""
    total: FloatArray = np.cumsum(values, axis=1)
    return np.concatenate([np.zeros((len(values), 1)), total[:, :-1]], axis=1)
