"""The smallest move in ℓ1 or ℓ∞ into a few half-spaces, compiled: a simplex method in their multipliers.

The dual of ``min ‖δ‖ s.t. Aδ ≥ b`` asks for weights λ ≥ 0 whose merged half-space ``vᵀδ ≥ λ·b``, ``v = Aᵀλ``, is
furthest away: in ℓ1 ``max λ·b`` with every ``|v_k| ≤ 1``, in ℓ∞ ``max λ·b / Σ|v_k|``. There are few weights and many
features, so the method walks over the corners of the dual: a corner has some rows with a positive weight, and about as
many *basic* features whose v_k is where the cost has its kink (±1 in ℓ1, 0 in ℓ∞). All other features are at an end of
their range, on the side that v_k points to. The rows with weight are met exactly; that gives the basic features. What
is out of its range then (a basic feature, the slack of a row) shows an edge along which the bound rises, and the walk
goes along it past every kink until it rises no more (Barrodale and Roberts).

A side with less room than the radius ends where its room does, not at the radius (ℓ∞). The radius only grows from
corner to corner, so that a side once short of room remains so.

A free feature costs nothing: its kink is at 0 in ℓ1, and in ℓ∞ its room is its own from the start.

No proof rests on the answer: whoever needs a bound evaluates the weights himself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.compiled import compiled

OPTIMAL, INFEASIBLE, ASTRAY = 0, 1, 2

BEYOND = 1e-10  # of the radius: what is further out of its range is out of it
PARALLEL = 1e-11  # of the largest entry: v_k does not change along the edge
NOISE = 1e-13  # of the change of the weights: no change at all
UNEVEN = 1e-10
SINGULAR = 1e-11
HUGE = 1e12  # times the distance of a single row: no radius, and no end of a range
VANISHED = 1e-11  # of the weighted rows' lengths: a merged normal that is zero
CONTRADICTED = 1e-9
AGREED = 1e-9  # how far the two sides of an answer may be apart, and a row be missed, relative to the radius
MOST_STEPS_PER_ROW = 16


@compiled
def least_move(
    normals: FloatArray,
    offsets: FloatArray,
    norm: float,
    down: FloatArray,
    up: FloatArray,
    limit: float,
    is_free: Any,
) -> tuple[FloatArray, FloatArray, int]:
    """Minimise ‖δ‖ subject to ``normals @ δ ≥ offsets`` and ``-down ≤ δ ≤ up``, for the norm 1 or inf.

    Features that are free do not count in ‖δ‖.

    Returns δ, the multipliers of the rows, and OPTIMAL; INFEASIBLE, where the multipliers merge the rows into one that
    cannot be met within the ranges, or not by a move of size `limit`; or ASTRAY, where neither was reached and nothing
    else is meant.
    """
    n, width = normals.shape
    rows, columns = np.empty((n, width)), np.empty((width, n))
    b, lengths = np.empty(n), np.empty(n)
    delta, weights = np.zeros(width), np.zeros(n)
    scale, first = 0.0, -1
    for i in range(n):
        length = 0.0
        for k in range(width):
            length = length + abs(normals[i, k]) if norm != 1 else max(length, abs(normals[i, k]))
        if not (length < np.inf and abs(offsets[i]) < np.inf):
            return delta, weights, ASTRAY
        if length < 1e-290:  # no move changes it
            if offsets[i] > 0:
                weights[i] = 1.0
                return np.full(width, np.inf), weights, INFEASIBLE
            length = 1.0
        lengths[i] = length
        b[i] = offsets[i] / length
        if b[i] > scale:
            scale, first = b[i], i
    if first < 0:
        return delta, weights, OPTIMAL
    if not scale < np.inf:
        return delta, weights, ASTRAY
    for i in range(n):
        b[i] /= scale
        for k in range(width):
            rows[i, k] = normals[i, k] / lengths[i]
            columns[k, i] = rows[i, k]
    low, high = np.empty(width), np.empty(width)
    for k in range(width):
        low[k], high[k] = down[k] / scale, up[k] / scale
    if norm != 1:  # from the corner of the row that is furthest away
        first = _furthest(rows, b, low, high, is_free)
        if first < 0:
            return delta, weights, ASTRAY
        weights[first] = 1.0
    state = _walk(rows, columns, b, low, high, norm, limit / scale, is_free, delta, weights)
    for k in range(width):
        delta[k] = min(max(delta[k] * scale, -down[k]), up[k]) if state == OPTIMAL else np.inf
    for i in range(n):
        weights[i] /= lengths[i]
    return delta, weights, state


@compiled
def _furthest(rows: Any, b: Any, low: Any, high: Any, is_free: Any) -> int:
    """The row that is furthest away in ℓ∞ when free features do what they can; -1 where they meet every single one."""
    furthest, first = 0.0, -1
    for i in range(len(b)):
        missing, length = b[i], 0.0
        for k in range(len(low)):
            if is_free[k]:
                missing -= rows[i, k] * (high[k] if rows[i, k] > 0 else -low[k])
            else:
                length += abs(rows[i, k])
        if missing > furthest * length:
            furthest, first = missing / length if length > 0 else HUGE, i
    return first


@compiled
def _walk(
    rows: Any,
    columns: Any,
    b: Any,
    low: Any,
    high: Any,
    norm: float,
    limit: float,
    is_free: Any,
    delta: FloatArray,
    weights: FloatArray,
) -> int:
    """From corner to corner, starting from the one row that has a weight (ℓ∞) or from none (ℓ1).

    The moves are the features (ℓ∞), or the rise and the fall of each of them (ℓ1), so that each has one kink: where
    its `pull`, v_k less its cost, is zero. On either side of it a move is at an end of its range, which is at
    ``fixed + t * free`` for the radius t: the lower ends come first. In ℓ1 there is no t among the unknowns.
    """
    n, width = rows.shape
    in_l1 = norm == 1
    n_moves, with_radius = (2 * width, 0) if in_l1 else (width, 1)
    pull, rate = np.empty(n_moves), np.empty(n_moves)
    fixed, free = np.zeros((2, n_moves)), np.zeros((2, n_moves))
    side, is_basic = np.zeros(n_moves, dtype=np.int8), np.zeros(n_moves, dtype=np.bool_)
    listed, basic, is_listed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), weights > 0
    fixed_sum, free_sum = np.zeros(n), np.zeros(n)  # rows @ δ of the moves at an end: fixed_sum + t * free_sum
    system, order = np.empty((n, n)), np.empty(n, dtype=np.int64)
    values, direction, slacks = np.empty(n), np.empty(n), np.empty(n)
    steps, who = np.empty(n_moves), np.empty(n_moves, dtype=np.int64)
    change, m, bound = np.zeros(width), 0, 0.0
    for i in range(n):
        if is_listed[i]:
            listed[m] = i
            m += 1
            change += weights[i] * rows[i]
    _pulls(change, in_l1, pull)
    if in_l1:
        for move in range(n_moves):  # costs that are all the same let the walk go round in circles among equal entries
            cost = 0.0 if is_free[move % width] else 1.0
            pull[move] -= cost + UNEVEN * (0.6180339887498949 * (move + 1) % 1.0)
        for k in range(width):
            fixed[1, k], fixed[1, width + k] = high[k], low[k]
    else:
        for k in range(width):
            side[k] = 1 if pull[k] >= 0 else 0
            if is_free[k]:
                fixed[0, k], fixed[1, k] = -low[k], high[k]
                fixed_sum += fixed[side[k], k] * columns[k]
            else:
                free[0, k], free[1, k] = -1.0, 1.0
                free_sum += free[side[k], k] * columns[k]

    for _ in range(MOST_STEPS_PER_ROW * (n + 4)):
        n_basic = m - with_radius
        for a in range(m):
            for c in range(n_basic):
                system[a, c] = _entry(rows[listed[a]], basic[c])
            if with_radius:
                system[a, n_basic] = free_sum[listed[a]]
            values[a] = b[listed[a]] - fixed_sum[listed[a]]
        if not _factor(system, m, order):
            return _contradiction_or_astray(rows, b, low, high, weights)
        _solve(system, m, order, values)
        radius = values[n_basic] if with_radius else 0.0
        if with_radius:
            if not 0 < radius < HUGE:
                return _contradiction_or_astray(rows, b, low, high, weights)
            if _shorten(radius, low, high, fixed, free, side, is_basic, columns, fixed_sum, free_sum):
                continue
            bound = radius
        if bound > limit * (1 + AGREED):
            for i in range(n):
                weights[i] = max(weights[i], 0.0)
            return INFEASIBLE

        # what is furthest out of its range
        size = max(radius, 1.0)
        for c in range(n_basic):
            size = max(size, abs(values[c]))
        worst, row, leaving, upwards = BEYOND * size, -1, -1, False
        for i in range(n):
            slacks[i] = fixed_sum[i] + radius * free_sum[i] - b[i]
        for c in range(n_basic):
            column, value = columns[basic[c] % width], values[c] if basic[c] < width else -values[c]
            for i in range(n):
                slacks[i] += column[i] * value
        for i in range(n):
            if not is_listed[i] and -slacks[i] > worst:
                worst, row = -slacks[i], i
        for c in range(n_basic):
            move = basic[c]
            above_top = values[c] - (fixed[1, move] + radius * free[1, move])
            below_bottom = fixed[0, move] + radius * free[0, move] - values[c]
            if max(above_top, below_bottom) > worst:
                worst, row, leaving, upwards = max(above_top, below_bottom), -1, c, above_top > 0
        if row < 0 and leaving < 0:
            for move in range(n_moves):
                if is_basic[move]:
                    continue
                value = fixed[side[move], move] + radius * free[side[move], move]
                delta[move % width] += value if move < width else -value
            for c in range(n_basic):
                delta[basic[c] % width] += values[c] if basic[c] < width else -values[c]
            for k in range(width):
                delta[k] = min(max(delta[k], -low[k]), high[k])
            for i in range(n):
                weights[i] = max(weights[i], 0.0) / (1 + UNEVEN if in_l1 else 1.0)
            return OPTIMAL if _agree(rows, b, low, high, norm, is_free, delta, weights) else ASTRAY

        # the edge along which it comes into its range, and the bound rises
        for c in range(m):
            values[c] = 0.0
        if leaving >= 0:
            values[leaving] = 1.0 if upwards else -1.0
            change[:] = 0.0
        else:
            for c in range(n_basic):
                values[c] = -_entry(rows[row], basic[c])
            if with_radius:
                values[n_basic] = -free_sum[row]
            change[:] = rows[row]
        _solve_transposed(system, m, order, values, direction)
        for a in range(m):
            entries, weight = rows[listed[a]], direction[a]
            for k in range(width):
                change[k] += weight * entries[k]
        _pulls(change, in_l1, rate)
        if with_radius:  # the bound is a quotient: any factor will do, and with a constant sum every edge has an end
            surplus = (1.0 if row >= 0 else 0.0) + direction[:m].sum()
            for a in range(m):
                direction[a] -= surplus * weights[listed[a]]
            for move in range(n_moves):
                rate[move] -= surplus * pull[move]
        if leaving >= 0:
            move = basic[leaving]
            is_basic[move] = False
            side[move] = 1 if upwards else 0
            pull[move], rate[move] = 0.0, 1.0 if upwards else -1.0
            _add(columns, move, fixed[side[move], move], fixed_sum)
            _add(columns, move, free[side[move], move], free_sum)
            n_basic -= 1
            basic[leaving] = basic[n_basic]
        noise = NOISE * (1.0 + np.abs(direction[:m]).sum())
        unchanged = max(PARALLEL * np.abs(change).max(), noise)
        above, below = 0.0, 0.0 if with_radius else 1.0  # the bound is above / below
        above_rate, below_rate = b[row] if row >= 0 else 0.0, 0.0
        end, dropped = np.inf, -1
        for a in range(m):
            above += weights[listed[a]] * b[listed[a]]
            above_rate += direction[a] * b[listed[a]]
            if direction[a] < -noise and -weights[listed[a]] / direction[a] < end:
                end, dropped = max(-weights[listed[a]] / direction[a], 0.0), a
        kinks = 0
        for move in range(n_moves):
            if is_basic[move]:
                rate[move] = 0.0
                continue
            at_fixed, at_free = fixed[side[move], move], free[side[move], move]
            if at_fixed != 0:
                above -= pull[move] * at_fixed
                above_rate -= rate[move] * at_fixed
            below += pull[move] * at_free
            below_rate += rate[move] * at_free
            if abs(rate[move]) > unchanged and (rate[move] < 0) == (side[move] == 1):
                steps[kinks], who[kinks] = max(-pull[move] / rate[move], 0.0), move
                kinks += 1
        for root in range(kinks // 2 - 1, -1, -1):
            _sink(steps, who, root, kinks)
        at, entering = 0.0, -1
        while kinks > 0 and steps[0] < end:
            step, move = steps[0], who[0]
            kinks -= 1
            steps[0], who[0] = steps[kinks], who[kinks]
            _sink(steps, who, 0, kinks)
            above, below = above + (step - at) * above_rate, below + (step - at) * below_rate
            at = step
            here, there = side[move], 1 - side[move]
            above_rate -= abs(rate[move]) * (fixed[1, move] - fixed[0, move])
            below_rate += abs(rate[move]) * (free[1, move] - free[0, move])
            _add(columns, move, -fixed[here, move], fixed_sum)
            _add(columns, move, -free[here, move], free_sum)
            if below <= VANISHED or above_rate * below <= above * below_rate:
                entering, end = move, step
                break
            _add(columns, move, fixed[there, move], fixed_sum)
            _add(columns, move, free[there, move], free_sum)
            side[move] = there
        if end == np.inf:  # the bound rises for ever
            weights[:] = 0.0
            for a in range(m):
                weights[listed[a]] = max(direction[a], 0.0)
            if row >= 0:
                weights[row] = 1.0
            return _contradiction_or_astray(rows, b, low, high, weights)

        # the next corner
        bound = above if end == at else above + (end - at) * above_rate  # in ℓ∞ the equations have it
        for a in range(m):
            weights[listed[a]] += end * direction[a]
        if row >= 0:
            weights[row] += end
        for move in range(n_moves):
            pull[move] += end * rate[move]
        if entering >= 0:
            basic[n_basic] = entering
            is_basic[entering] = True
        else:
            m -= 1
            weights[listed[dropped]] = 0.0
            is_listed[listed[dropped]] = False
            listed[dropped] = listed[m]
        if row >= 0:
            listed[m] = row
            is_listed[row] = True
            m += 1
        if with_radius:
            total = weights.sum()
            if not 0 < total < np.inf:
                return ASTRAY
            weights /= total
            pull /= total
    return ASTRAY


@compiled
def _pulls(merged: Any, in_l1: bool, out: Any) -> None:
    """Of every move, less its cost: the fall of a feature is pulled the other way."""
    width = len(merged)
    for k in range(width):
        out[k] = merged[k]
        if in_l1:
            out[width + k] = -merged[k]


@compiled
def _entry(row: Any, move: int) -> float:
    return float(row[move] if move < len(row) else -row[move - len(row)])


@compiled
def _add(columns: Any, move: int, factor: float, sums: Any) -> None:
    if factor == 0:
        return
    column = columns[move % len(columns)]
    factor = factor if move < len(columns) else -factor
    for i in range(len(sums)):
        sums[i] += factor * column[i]


@compiled
def _shorten(
    radius: float,
    low: Any,
    high: Any,
    fixed: Any,
    free: Any,
    side: Any,
    is_basic: Any,
    columns: Any,
    fixed_sum: Any,
    free_sum: Any,
) -> bool:
    """Let the sides that have less room than the radius end there; whether there were new ones."""
    found = False
    for k in range(len(low)):
        for end in range(2):
            room = high[k] if end == 1 else low[k]
            if free[end, k] == 0 or room >= radius:
                continue
            found = True
            value = room if end == 1 else -room
            if not is_basic[k] and side[k] == end:
                _add(columns, k, -free[end, k], free_sum)
                _add(columns, k, value, fixed_sum)
            free[end, k], fixed[end, k] = 0.0, value
    return found


@compiled
def _agree(rows: Any, b: Any, low: Any, high: Any, norm: float, is_free: Any, delta: Any, weights: Any) -> bool:
    """Whether δ meets the rows and is no larger than the weights say it must be, both nearly."""
    n, width = rows.shape
    size = 0.0
    for k in range(width):
        if is_free[k]:
            continue
        size = size + abs(delta[k]) if norm == 1 else max(size, abs(delta[k]))
    merged, owed = np.zeros(width), 0.0
    for i in range(n):
        reached = 0.0
        for k in range(width):
            reached += rows[i, k] * delta[k]
            merged[k] += weights[i] * rows[i, k]
        if not reached >= b[i] - AGREED * max(size, 1.0):
            return False
        owed += weights[i] * b[i]
    if norm == 1:
        longest = 1.0
        for k in range(width):
            cost = 0.0 if is_free[k] else 1.0
            beyond, room = abs(merged[k]) - cost, high[k] if merged[k] > 0 else low[k]
            if beyond > 0 and room < HUGE:
                owed -= beyond * room
            elif beyond > 0:
                longest = max(longest, 1.0 + beyond)
        return bool(longest < 1 + AGREED and size <= owed / longest + AGREED * max(size, 1.0))
    below = 0.0
    for k in range(width):
        room = high[k] if merged[k] > 0 else low[k]
        if room >= size and not is_free[k]:
            below += abs(merged[k])
        else:
            owed -= abs(merged[k]) * room
    return bool(below * size <= owed + AGREED * size * below)


@compiled
def _contradiction_or_astray(rows: Any, b: Any, low: Any, high: Any, weights: Any) -> int:
    """INFEASIBLE if the weighted rows ask for more than any move within the ranges gives."""
    n, width = rows.shape
    merged, owed, total, left_over = np.zeros(width), 0.0, 0.0, 0.0
    for i in range(n):
        weights[i] = max(weights[i], 0.0)
        owed += weights[i] * b[i]
        total += weights[i]
        for k in range(width):
            merged[k] += weights[i] * rows[i, k]
    for k in range(width):
        room = high[k] if merged[k] > 0 else low[k]
        if room < HUGE:
            owed -= abs(merged[k]) * room
        else:
            left_over += abs(merged[k])
    return INFEASIBLE if owed > CONTRADICTED * total and left_over <= VANISHED * total else ASTRAY


# small systems of equations, and a heap --------------------------------------------------------------------------


@compiled
def _factor(matrix: Any, n: int, order: Any) -> bool:
    """L and U of the leading n x n block, in place, rows exchanged as `order` says; False where it is singular."""
    for c in range(n):
        pivot = c
        for a in range(c + 1, n):
            if abs(matrix[a, c]) > abs(matrix[pivot, c]):
                pivot = a
        order[c] = pivot
        if not abs(matrix[pivot, c]) > SINGULAR:
            return False
        if pivot != c:
            for k in range(n):
                matrix[c, k], matrix[pivot, k] = matrix[pivot, k], matrix[c, k]
        for a in range(c + 1, n):
            factor = matrix[a, c] / matrix[c, c]
            matrix[a, c] = factor
            if factor != 0:
                for k in range(c + 1, n):
                    matrix[a, k] -= factor * matrix[c, k]
    return True


@compiled
def _solve(matrix: Any, n: int, order: Any, values: Any) -> None:
    """Solve the factored system, in place."""
    for c in range(n):
        values[c], values[order[c]] = values[order[c]], values[c]
    for c in range(n):
        for a in range(c):
            values[c] -= matrix[c, a] * values[a]
    for c in range(n - 1, -1, -1):
        for a in range(c + 1, n):
            values[c] -= matrix[c, a] * values[a]
        values[c] /= matrix[c, c]


@compiled
def _solve_transposed(matrix: Any, n: int, order: Any, values: Any, out: Any) -> None:
    """Solve with the transpose of the matrix that was factored."""
    for c in range(n):
        out[c] = values[c]
        for a in range(c):
            out[c] -= matrix[a, c] * out[a]
        out[c] /= matrix[c, c]
    for c in range(n - 1, -1, -1):
        for a in range(c + 1, n):
            out[c] -= matrix[a, c] * out[a]
    for c in range(n - 1, -1, -1):
        out[c], out[order[c]] = out[order[c]], out[c]


@compiled
def _sink(steps: Any, who: Any, root: int, count: int) -> None:
    """Restore a heap whose smallest step is first, after its `root` was replaced."""
    step, move = steps[root], who[root]
    child = 2 * root + 1
    while child < count:
        if child + 1 < count and steps[child + 1] < steps[child]:
            child += 1
        if steps[child] >= step:
            break
        steps[root], who[root] = steps[child], who[child]
        root, child = child, 2 * child + 1
    steps[root], who[root] = step, move
