"""The smallest move inside a box: into one half-space in closed form, into several by a small program.

``min ‖δ‖`` subject to ``vᵀδ ≥ b`` and ``-down ≤ δ ≤ up``. Moving a feature only ever helps in the direction of
its v, so with ``c`` the room in that direction the problem is one-dimensional: all features move together until
they hit their limits. ℓ2 moves feature d by ``λ|v_d|``, ℓ∞ by the same λ, ℓ1 empties the features one by one,
largest |v| first (a fractional knapsack). Each is solved exactly by sorting the limits.

Free features do not count in ‖δ‖. They contribute up to ``max(v_d up_d, -v_d down_d)`` each: that is taken off b, and
the rest is measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.compiled import compiled
from ..numerics.error_bounds import LARGEST, UNDERFLOW, rounded_down, rounded_up

NEWTON_STEPS = 40
HALVINGS = 60
ENOUGH = 0.1  # of what the slope promises: a step far beyond the limits gains hardly anything
REGULARISED = 1e-10
AS_GOOD_AS_FREE = 1e-4  # of a size, which all the room of a free feature may add to it in squares
LARGEST_STRETCH = 1e12
CLOSE = 1e-10  # of the offsets: so far a constraint may be missed


def rounding_in_box(n_features: int) -> float:
    """A factor that covers the rounding of sums over the features."""
    return float(rounded_down(1.0, 4 * n_features + 16))


def boxed_distance(
    v: FloatArray,
    v_error: FloatArray,
    b: FloatArray,
    room: tuple[FloatArray, FloatArray],
    norm: float,
    free: BoolArray | None = None,
) -> FloatArray:
    """A lower bound, tight up to rounding, on ``‖δ‖`` for each row; +inf where the box makes it impossible.

    Parameters
    ----------
    v, v_error : (n, D), the half-spaces' normals and bounds on their errors.
    b : (n,) positive offsets.
    room : (down, up), each (D,), how far each feature may fall and rise.
    free : (D,) which features do not count in ‖δ‖; their room is finite.
    """
    is_free = np.zeros(v.shape[1], dtype=bool) if free is None else free
    down, up = (np.ascontiguousarray(side, dtype=np.float64) for side in room)
    return np.asarray(_distances(v, v_error, b, down, up, float(norm), rounding_in_box(v.shape[1]), is_free))


def free_gain(
    front: FloatArray, rear: FloatArray, error: FloatArray, room: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Upper bounds on what free features contribute to the half-spaces ``(front_a - rear_b)ᵀδ ≥ …``, for all a and b.

    `front` and `rear` hold the free features only, each difference off by up to `error` (a, b) in every entry; `room`
    is how far each may fall and rise.
    """
    total = error * float(np.maximum(*room).sum())
    for k, (down, up) in enumerate(zip(*room, strict=True)):
        v = front[:, None, k] - rear[None, :, k]
        total += np.maximum(v * up, -v * down)
    return np.asarray(rounded_up(total, 4 * len(room[0]) + 16))


def stretch_of_free(free: BoolArray, room: tuple[FloatArray, FloatArray], size: float) -> FloatArray:
    """By what to divide each feature of moves in ℓ2 so that free ones are as good as free; 1 for all others.

    Small solvers know features with a small cost, and none without: here all the room of a free feature adds little to
    a move of that size.
    """
    stretch = np.ones(len(free))
    most = np.maximum(*room)[free] / max(AS_GOOD_AS_FREE * size, 1e-150)
    stretch[free] = np.clip(most, 1 / LARGEST_STRETCH, LARGEST_STRETCH)
    return stretch


@compiled
def _distances(v: Any, error: Any, b: Any, down: Any, up: Any, norm: float, rounding: float, is_free: Any) -> Any:
    result = np.empty(len(v))
    for row in range(len(v)):
        result[row] = distance_in_box(v[row], error[row], b[row], down, up, norm, rounding, is_free)
    return result


@compiled
def distance_in_box(
    v: Any, error: Any, b: float, down: Any, up: Any, norm: float, rounding: float, is_free: Any
) -> float:
    """The same for one half-space."""
    n = len(v)
    given = 0.0  # by free features
    for d in range(n):
        if is_free[d]:
            given += max(v[d] * up[d], -v[d] * down[d]) + error[d] * max(up[d], down[d])
    b = rounding * b - given / rounding if given > 0 else b
    if not b > 0:
        return 0.0
    slope, limit = np.empty(n), np.empty(n)
    largest = 0.0
    for d in range(n):
        slope[d] = 0.0 if is_free[d] else abs(v[d]) + error[d]  # in favour of the attacker, as is the limit where
        # the sign is in doubt
        limit[d] = max(up[d], down[d]) if abs(v[d]) <= error[d] else up[d] if v[d] > 0 else down[d]
        largest = max(largest, slope[d])
    if largest == 0:
        return np.inf
    scale = 2.0 ** np.ceil(np.log2(largest))
    scale = scale if 0 < scale < np.inf else largest
    for d in range(n):
        slope[d] = max(slope[d] / scale, UNDERFLOW) if slope[d] > 0 else 0.0  # squares stay in range
        limit[d] = limit[d] if slope[d] > 0 else 0.0
    target = rounding * (b / scale)
    return float(
        rounding * (_empty_features(slope, limit, target) if norm == 1 else _together(slope, limit, target, norm))
    )


@compiled
def _together(slope: Any, limit: Any, target: float, norm: float) -> float:
    """ℓ2 and ℓ∞: δ_d = min(λ·speed_d, limit_d) with speed = slope for ℓ2 and 1 for ℓ∞."""
    n = len(slope)
    rate, free = 0.0, True
    for d in range(n):
        rate += slope[d] * (slope[d] if norm == 2 else 1.0)
    for d in range(n):
        free = free and target / rate * (slope[d] if norm == 2 else 1.0) <= limit[d]
    if free:  # no limit is hit: the common case
        return float(target / rate * (np.sqrt(rate) if norm == 2 else 1.0))
    stops = np.empty(n)
    for d in range(n):
        stops[d] = (limit[d] / slope[d] if norm == 2 else limit[d]) if slope[d] > 0 else 0.0
    order = np.argsort(stops)
    rates = np.zeros(n + 1)  # of the features still moving, summed from the end: they lose no digits to those stopped
    for k in range(n - 1, -1, -1):
        d = order[k]
        rates[k] = rates[k + 1] + slope[d] * (slope[d] if norm == 2 else 1.0)
    gain, size = 0.0, 0.0
    for k in range(n):
        d = order[k]
        if rates[k] > 0 and gain + stops[d] * rates[k] >= target:
            step = max(target - gain, 0.0) / rates[k]
            return float(np.hypot(np.sqrt(size), step * np.sqrt(rates[k])) if norm == 2 else step)
        gain += slope[d] * limit[d]
        size += min(limit[d], LARGEST) ** 2
    return np.inf


@compiled
def _empty_features(slope: Any, limit: Any, target: float) -> float:
    gain, size = 0.0, 0.0
    for d in np.argsort(-slope):
        if slope[d] == 0:
            break
        if gain + slope[d] * limit[d] >= target:
            return float(size + max(target - gain, 0.0) / slope[d])
        gain += slope[d] * limit[d]
        size += limit[d]
    return np.inf


@compiled
def _value(normals: Any, offsets: Any, down: Any, up: Any, multipliers: Any, pull: Any, delta: Any) -> float:
    """The dual objective of :func:`least_distance_in_box` at some multipliers; writes their pull and δ."""
    value = 0.0
    pull[:] = 0.0
    for k in range(len(offsets)):
        if multipliers[k] != 0:
            value += multipliers[k] * offsets[k]
            for d in range(len(pull)):
                pull[d] += multipliers[k] * normals[k, d]
    for d in range(len(pull)):
        delta[d] = min(max(pull[d], -down[d]), up[d])
        value -= (pull[d] - delta[d] / 2) * delta[d]
    return value


@compiled
def _newton_step(normals: Any, missing: Any, chosen: Any, down: Any, up: Any, pull: Any) -> Any:
    """The change of the chosen multipliers that would make up for what is missing if no further limit were hit."""
    count = len(chosen)
    matrix, target = np.zeros((count, count)), np.empty(count)
    for a in range(count):
        target[a] = missing[chosen[a]]
        for b in range(a + 1):
            total = 0.0
            for d in range(len(pull)):
                if -down[d] <= pull[d] <= up[d]:  # at a limit, too: it may be left again
                    total += normals[chosen[a], d] * normals[chosen[b], d]
            matrix[a, b] = matrix[b, a] = total
        matrix[a, a] += REGULARISED * (matrix[a, a] if matrix[a, a] > 2 else 1.0)
    return np.linalg.solve(matrix, target)


@compiled
def least_distance_in_box(normals: Any, offsets: Any, down: Any, up: Any, multipliers: Any, delta: Any) -> bool:
    """Minimise ‖δ‖₂ subject to ``normals @ δ ≥ offsets`` (unit normals) inside the box, by Newton's method on the dual.

    Writes δ and the multipliers it belongs to, starting from those given; returns whether it came to an end. What
    multipliers prove does not depend on that.
    """
    n, width = normals.shape
    scale = max(offsets.max(), 0.0)
    pull, trial_pull, trial_delta = np.empty(width), np.empty(width), np.empty(width)
    trial, missing, chosen = np.empty(n), np.empty(n), np.empty(n, np.int64)
    value = _value(normals, offsets, down, up, multipliers, pull, delta)
    for _ in range(NEWTON_STEPS):
        count, worst = 0, 0.0
        for k in range(n):
            missing[k] = offsets[k] - (normals[k] * delta).sum()
            if multipliers[k] > 0 or missing[k] > 0:
                chosen[count] = k
                count += 1
                worst = max(worst, abs(missing[k]))
        if worst <= CLOSE * scale:
            return True
        while True:  # without those that would only be pushed back to 0: what is left rises
            step = _newton_step(normals, missing, chosen[:count], down, up, pull)
            kept = 0
            for a in range(count):
                if multipliers[chosen[a]] > 0 or step[a] > 0:
                    chosen[kept] = chosen[a]
                    kept += 1
            if kept == count:
                break
            count = kept
        share, improved = 1.0, False
        for _ in range(HALVINGS):
            trial[:] = multipliers
            promised = 0.0
            for a in range(count):
                k = chosen[a]
                trial[k] = max(multipliers[k] + share * step[a], 0.0)
                promised += missing[k] * (trial[k] - multipliers[k])
            found = _value(normals, offsets, down, up, trial, trial_pull, trial_delta)
            if found > value and found - value >= ENOUGH * promised:
                improved = True
                break
            share /= 2
        if not improved:
            return False
        value = found
        multipliers[:], pull[:], delta[:] = trial, trial_pull, trial_delta
    return False
