"""The relaxation of branch and bound, compiled: the smallest move that puts some rows ahead of others.

Nothing here decides whether a bound is valid but :func:`dual_bound` and :func:`bound_with`: all else only chooses
weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.compiled import compiled
from .box import distance_in_box, least_distance_in_box

MOST_PAIRS = 48  # constraints of one relaxation
NEW_PAIRS = 6
ROUNDS = 40
INFEASIBLE = 1e-12
DEPENDENT = 1e-13  # of a pivot: the column adds nothing
CLOSE = 1e-8  # how far a solution may miss a constraint, relative to the largest offset
AHEAD = 1e-11  # of the keys: a pair out of order by more is violated


class Space(NamedTuple):
    """The half-spaces around one test point, and the products of their vectors (centred), which only steer.

    In front are negatives; in the rear the same negatives, because one that is not among the neighbours stays behind
    those that are, and after them positives.

    `sum_error[n]` bounds the error of a sum of n terms, relative to their magnitudes; `rounding` is a factor that
    covers the rounding of a quotient of norms. Where it is `boxed`, features fall by at most `down` and rise by at most
    `up`; `free` ones cost nothing, which the small solver takes for a small cost: it works with h times `stretch`.
    """

    front_h: FloatArray
    rear_h: FloatArray
    n: FloatArray
    p: FloatArray
    front_slack: FloatArray
    rear_slack: FloatArray
    front_products: FloatArray
    mixed_products: FloatArray
    rear_products: FloatArray
    sum_error: FloatArray
    rounding: float
    norm: float
    boxed: bool
    down: FloatArray
    up: FloatArray
    box_rounding: float
    free: BoolArray
    stretch: FloatArray


@compiled
def dual_bound(space: Any, pairs: Any, n: int, multipliers: Any) -> float:
    """Any weights merge the half-spaces of the first n `pairs` into one; its distance, rounded down, is a valid bound.

    What is infinite or not a number proves nothing.
    """
    largest = 0.0
    for k in range(n):
        if not 0 <= multipliers[k] < np.inf:
            return 0.0
        largest = max(largest, multipliers[k])
    if largest == 0:
        return 0.0
    width = space.front_h.shape[1]
    merged = np.zeros(width)
    above, magnitude, below, entries = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        weight = multipliers[k] / largest  # at most 1, so that `slack` covers what a norm loses to underflow
        if weight == 0:
            continue
        j, i = pairs[k, 0], pairs[k, 1]
        term = weight * ((space.n[j] - space.p[i]) / 2)
        above += term
        magnitude += abs(term)
        below += weight * (space.front_slack[j] + space.rear_slack[i])
        front, back, total = space.front_h[j], space.rear_h[i], 0.0
        for d in range(width):
            entry = front[d] - back[d]
            merged[d] += weight * entry
            total += abs(entry)
        entries += weight * total
    above -= space.sum_error[n] * magnitude
    below += space.sum_error[n] * entries
    if not (above > 0 and below >= 0):
        return 0.0
    if space.boxed:  # the error of the merged normal is no larger in any of its entries
        error = np.full(width, below)
        room = space.down, space.up
        found = distance_in_box(merged, error, above, *room, space.norm, space.box_rounding, space.free)
        return float(space.rounding * found)
    if space.norm == 2:
        below += np.sqrt((merged * merged).sum())
    elif space.norm == 1:
        below += np.abs(merged).max()
    else:
        below += np.abs(merged).sum()
    if not below >= 0:
        return 0.0
    return space.rounding * (above / below) if below > 0 else np.inf


@compiled
def _cholesky_solve(matrix: Any, chosen: Any, n: int, target: Any, out: Any) -> bool:
    """Solve for the first n `chosen` rows and columns; False where they depend on each other."""
    factor = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            value = matrix[chosen[a], chosen[b]]
            for k in range(b):
                value -= factor[a, k] * factor[b, k]
            if a == b:
                if not value > DEPENDENT:
                    return False
                factor[a, a] = np.sqrt(value)
            else:
                factor[a, b] = value / factor[b, b]
    for a in range(n):
        value = target[chosen[a]]
        for k in range(a):
            value -= factor[a, k] * out[k]
        out[a] = value / factor[a, a]
    for a in range(n - 1, -1, -1):
        value = out[a]
        for k in range(a + 1, n):
            value -= factor[k, a] * out[k]
        out[a] = value / factor[a, a]
    return True


@compiled
def least_distance_by_gram(gram: Any, offsets: Any, multipliers: Any) -> int:
    """Minimise ‖δ‖₂ subject to unit normals · δ ≥ offsets, from the normals' products alone.

    Lawson and Hanson's reduction to non-negative least squares, solved through its normal equations. Writes δ's
    weights on the normals; returns 1, or 0 where the constraints contradict each other (the weights then combine them
    into a contradiction), or -1 where it lost too many digits to tell.
    """
    n = len(offsets)
    scale = offsets.max()
    target = offsets / scale
    matrix = gram + np.outer(target, target)
    u, passive = np.zeros(n), np.zeros(n, dtype=np.bool_)
    blocked = np.zeros(n, dtype=np.bool_)
    chosen, z = np.empty(n, dtype=np.int64), np.empty(n)
    gradient = target.copy()
    for _ in range(4 * n + 20):
        entering, steepest = -1, 1e-12
        for k in range(n):
            if not passive[k] and not blocked[k] and gradient[k] > steepest:
                entering, steepest = k, gradient[k]
        if entering < 0:
            break
        passive[entering] = True
        while True:
            count = 0
            for k in range(n):
                if passive[k]:
                    chosen[count] = k
                    count += 1
            if not _cholesky_solve(matrix, chosen, count, target, z):
                passive[entering] = False
                blocked[entering] = True
                break
            step, leaving = 1.0, -1
            for a in range(count):
                k = chosen[a]
                if z[a] <= 0:
                    share = u[k] / (u[k] - z[a]) if u[k] > z[a] else 0.0
                    if share < step or leaving < 0:
                        step, leaving = min(share, step), k
            if leaving < 0:
                for a in range(count):
                    u[chosen[a]] = z[a]
                blocked[:] = False
                break
            for a in range(count):
                u[chosen[a]] += step * (z[a] - u[chosen[a]])
            u[leaving] = 0.0
            passive[leaving] = False
            for k in range(n):
                if passive[k] and u[k] <= 0:
                    u[k], passive[k] = 0.0, False
            if not passive[entering]:
                blocked[entering] = True
                break
        for k in range(n):
            gradient[k] = target[k] - (matrix[k] * u).sum()
    left_over = 1.0
    for k in range(n):
        left_over -= target[k] * u[k]
    if left_over < INFEASIBLE:
        multipliers[:] = u
        return 0
    multipliers[:] = u * (scale / left_over)
    for k in range(n):
        if (gram[k] * multipliers).sum() < offsets[k] - CLOSE * scale:
            return -1
    return 1


@compiled
def keys_after(space: Any, pairs: Any, n: int, multipliers: Any, front: Any, back: Any) -> None:
    """The keys d(x + δ, ·) of all, less what is common to them, for δ = Σ multiplier · normal."""
    front[:] = space.n
    back[:] = space.p
    for k in range(n):
        weight = 2 * multipliers[k]
        if weight == 0:
            continue
        j, i = pairs[k, 0], pairs[k, 1]
        for a in range(len(front)):
            front[a] -= weight * (space.front_products[j, a] - space.mixed_products[a, i])
        for b in range(len(back)):
            back[b] -= weight * (space.mixed_products[j, b] - space.rear_products[i, b])


@compiled
def add_violated(front: Any, back: Any, w: Any, behind: Any, pairs: Any, n: int) -> int:
    """Append the pairs that are most out of order and not listed yet; returns how many there are now."""
    gaps = np.empty(NEW_PAIRS)
    worst = np.empty((NEW_PAIRS, 2), dtype=np.int64)
    found = 0
    for j in w:
        for i in behind:
            gap = front[j] - back[i]
            if not gap > AHEAD * (abs(front[j]) + abs(back[i])):
                continue
            if found == NEW_PAIRS and gap <= gaps[found - 1]:
                continue
            k = found if found < NEW_PAIRS else NEW_PAIRS - 1
            found = min(found + 1, NEW_PAIRS)
            while k > 0 and gaps[k - 1] < gap:
                gaps[k] = gaps[k - 1]
                worst[k, 0], worst[k, 1] = worst[k - 1, 0], worst[k - 1, 1]
                k -= 1
            gaps[k] = gap
            worst[k, 0], worst[k, 1] = j, i
    for k in range(found):
        listed = False
        for other in range(n):
            listed = listed or (pairs[other, 0] == worst[k, 0] and pairs[other, 1] == worst[k, 1])
        if not listed and n < MOST_PAIRS:
            pairs[n, 0], pairs[n, 1] = worst[k, 0], worst[k, 1]
            n += 1
    return n


@compiled
def _solve(space: Any, pairs: Any, n: int, multipliers: Any) -> int:
    """Weights of the normals for the first n pairs, from products; as :func:`least_distance_by_gram` returns it."""
    gram, offsets, lengths = np.empty((n, n)), np.empty(n), np.empty(n)
    for a in range(n):
        ja, ia = pairs[a, 0], pairs[a, 1]
        offsets[a] = (space.n[ja] - space.p[ia]) / 2
        for b in range(a + 1):
            jb, ib = pairs[b, 0], pairs[b, 1]
            gram[a, b] = (
                space.front_products[ja, jb]
                - space.mixed_products[ja, ib]
                - space.mixed_products[jb, ia]
                + space.rear_products[ia, ib]
            )
            gram[b, a] = gram[a, b]
        own = space.front_products[ja, ja] + space.rear_products[ia, ia]
        if not gram[a, a] > 1e-9 * own:
            return -1  # the two all but coincide: products have lost what tells them apart
        lengths[a] = np.sqrt(gram[a, a])
    multipliers[:n] = 0.0
    if offsets.max() <= 0:
        return 1
    for a in range(n):
        offsets[a] /= lengths[a]
        for b in range(n):
            gram[a, b] /= lengths[a] * lengths[b]
    if not offsets.max() < np.inf:
        return -1
    found = least_distance_by_gram(gram, offsets, multipliers[:n])
    for a in range(n):
        multipliers[a] /= lengths[a]
    return found


@compiled
def counted_length(normal: Any, free: Any) -> float:
    """The length of a normal without its free features; with them where nothing else is left of it."""
    counted, whole = 0.0, 0.0
    for d in range(len(normal)):
        square = normal[d] * normal[d]
        whole += square
        counted += 0.0 if free[d] else square
    return float(np.sqrt(counted if counted > 0 else whole))


@compiled
def solve_in_box(space: Any, pairs: Any, n: int, multipliers: Any, delta: Any) -> bool:
    """δ and the multipliers of the first n pairs inside the box (ℓ2), from those given; False where not found."""
    normals, offsets, lengths = np.empty((n, len(delta))), np.empty(n), np.empty(n)
    for k in range(n):
        j, i = pairs[k, 0], pairs[k, 1]
        normals[k] = (space.front_h[j] - space.rear_h[i]) * space.stretch
        lengths[k] = counted_length(normals[k], space.free)
        if not 1e-150 < lengths[k] < 1e150:
            return False
        normals[k] /= lengths[k]
        offsets[k] = (space.n[j] - space.p[i]) / 2 / lengths[k]
        if not abs(offsets[k]) < 1e150:
            return False
    scaled = multipliers[:n] * lengths
    found = least_distance_in_box(normals, offsets, space.down / space.stretch, space.up / space.stretch, scaled, delta)
    delta *= space.stretch
    multipliers[:n] = scaled / lengths
    return bool(found)


@compiled
def relax_in_box(space: Any, w: Any, behind: Any, settled: float, pairs: Any, n: int, front: Any, back: Any) -> Any:
    """As :func:`relax`, inside the box."""
    front[:] = space.n
    back[:] = space.p
    lower = 0.0
    multipliers, delta = np.zeros(MOST_PAIRS), np.zeros(space.front_h.shape[1])
    if len(w) == 0 or len(behind) == 0:
        return 1, lower, 0
    for _ in range(ROUNDS):
        if n:
            found = solve_in_box(space, pairs, n, multipliers, delta)
            lower = max(lower, dual_bound(space, pairs, n, multipliers))
            if lower == np.inf:
                return 0, lower, 0
            if not found:
                return -1, lower, n
            n = _keep_binding(pairs, n, multipliers)
            front[:] = space.n - 2 * (space.front_h @ delta)
            back[:] = space.p - 2 * (space.rear_h @ delta)
            if lower >= settled:
                break
        before = n
        n = add_violated(front, back, w, behind, pairs, n)
        multipliers[before:n] = 0.0
        if n == before:
            break
    return 1, lower, n


@compiled
def _keep_binding(pairs: Any, n: int, multipliers: Any) -> int:
    """Forget the pairs without weight; returns how many are left."""
    kept = 0
    for k in range(n):
        if multipliers[k] > 0:
            pairs[kept, 0], pairs[kept, 1] = pairs[k, 0], pairs[k, 1]
            multipliers[kept] = multipliers[k]
            kept += 1
    return kept


@compiled
def relax(
    space: Any, w: Any, behind: Any, settled: float, pairs: Any, n: int, multipliers: Any, front: Any, back: Any
) -> Any:
    """The smallest move (ℓ2) with all of w ahead of all of behind.

    Returns (how, lower, n): `lower` bounds its size, the first n `pairs` are binding, with their `multipliers`; `front`
    and `back` are the keys after it. `how` is 1; 0 where a contradiction proves that there is none; -1 where digits
    were lost.
    """
    front[:] = space.n
    back[:] = space.p
    lower = 0.0
    multipliers[:] = 0.0
    if len(w) == 0 or len(behind) == 0:
        return 1, lower, 0
    for _ in range(ROUNDS):
        if n:
            how = _solve(space, pairs, n, multipliers)
            if how < 0:
                return -1, lower, n
            lower = max(lower, dual_bound(space, pairs, n, multipliers))
            if how == 0:  # believed only if the multipliers prove it
                return (0, np.inf, 0) if lower >= settled else (-1, lower, n)
            n = _keep_binding(pairs, n, multipliers)
            keys_after(space, pairs, n, multipliers, front, back)
            if lower >= settled:
                break
        before = n
        n = add_violated(front, back, w, behind, pairs, n)
        multipliers[before:n] = 0.0
        if n == before:
            break
    return 1, lower, n


@compiled
def merge(space: Any, pairs: Any, n: int, multipliers: Any, merged: Any) -> Any:
    """The half-spaces of the first n pairs as one: writes its normal; returns (above, magnitude, slack, entries).

    All are divided by the largest multiplier. `magnitude` and `entries` are the sums of the terms' sizes.
    """
    largest = 0.0
    for k in range(n):
        largest = max(largest, multipliers[k])
    merged[:] = 0.0
    above, magnitude, slack, entries = 0.0, 0.0, 0.0, 0.0
    if not 0 < largest < np.inf:
        return above, magnitude, slack, entries
    for k in range(n):
        weight = multipliers[k] / largest
        if not weight > 0:
            continue
        j, i = pairs[k, 0], pairs[k, 1]
        term = weight * ((space.n[j] - space.p[i]) / 2)
        above += term
        magnitude += abs(term)
        slack += weight * (space.front_slack[j] + space.rear_slack[i])
        front, back = space.front_h[j], space.rear_h[i]
        for d in range(len(merged)):
            entry = front[d] - back[d]
            merged[d] += weight * entry
            entries += weight * abs(entry)
    return above, magnitude, slack, entries


@compiled
def bound_with(space: Any, so_far: Any, merged: Any, n: int, j: int, i: int) -> float:
    """What "j ahead of i" proves together with n merged half-spaces, with the best weight for it (ℓ2), rounded down."""
    above, magnitude, slack, entries = so_far[0], so_far[1], so_far[2], so_far[3]
    front, back = space.front_h[j], space.rear_h[i]
    half = (space.n[j] - space.p[i]) / 2
    vv, va, aa, size = 0.0, 0.0, 0.0, 0.0
    for d in range(len(merged)):
        entry = front[d] - back[d]
        vv += merged[d] * merged[d]
        va += merged[d] * entry
        aa += entry * entry
        size += abs(entry)
    rise, fall = half * vv - above * va, above * aa - half * va
    if not vv > 0 or (rise > 0 and not fall > 0):
        weight, old = 1.0, 0.0  # it says most alone
    elif not rise > 0:
        return 0.0  # nor does it say more
    else:
        weight, old = rise / fall, 1.0
        if weight > 1:
            weight, old = 1.0, 1 / weight
    length = 0.0
    for d in range(len(merged)):
        entry = old * merged[d] + weight * (front[d] - back[d])
        length += entry * entry
    error = space.sum_error[n + 8]
    total = old * above + weight * half - error * (old * magnitude + weight * abs(half))
    below = np.sqrt(length) + old * slack + weight * (space.front_slack[j] + space.rear_slack[i])
    below += error * (old * entries + weight * size)
    if not (total > 0 and below > 0):
        return 0.0
    return float(space.rounding * (total / below))
