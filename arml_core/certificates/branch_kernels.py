"""The inner loops of branch and bound, compiled.

Sets of negatives and of positives are rows of bits. An open decision ("node") is a row of :class:`Nodes`; `heap` holds
the numbers of the open ones, the smallest bound first. Nothing here decides whether a bound is valid but
:func:`dual_bound` and :func:`clique_bound`: all else only chooses where to look.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.compiled import compiled
from .box import distance_in_box, least_distance_in_box

MOST_PAIRS = 48  # constraints of one relaxation
NEW_PAIRS = 6
ROUNDS = 40
MEETING = 1e-7  # relative: closer than this, both sides count as met
INFEASIBLE = 1e-12
DEPENDENT = 1e-13  # of a pivot: the column adds nothing
CLOSE = 1e-8  # how far a solution may miss a constraint, relative to the largest offset
AHEAD = 1e-11  # of the keys: a pair out of order by more is violated
BLOCKS = 1e-10

DONE, SOLVE = 0, 1


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


class Graph(NamedTuple):
    """The pair graph: `values[first_value[m]:first_value[m+1]]` are its distinct weights for m, ascending.

    A row of `cases` is (m, c, t, negatives).
    """

    weight: FloatArray
    classes: IntArray
    cases: IntArray
    values: FloatArray
    first_value: IntArray


class Nodes(NamedTuple):
    """Partial decisions, a row each: `lower` bounds the radius of every way to complete it.

    `pool` are the negatives not ruled out, `w` those taken; `inside` are the positives that may be ahead, `behind` the
    rows of the rear that must stay behind; `pairs` are the constraints that were binding.
    """

    lower: FloatArray
    serial: IntArray
    case: IntArray
    pool: NDArray[np.uint64]
    w: NDArray[np.uint64]
    inside: NDArray[np.uint64]
    behind: NDArray[np.uint64]
    n_pairs: IntArray
    pairs: NDArray[np.int16]


@compiled
def has(bits: Any, k: int) -> bool:
    return bool((bits[k >> 6] >> np.uint64(k & 63)) & np.uint64(1))


@compiled
def put(bits: Any, k: int) -> None:
    bits[k >> 6] |= np.uint64(1) << np.uint64(k & 63)


@compiled
def drop(bits: Any, k: int) -> None:
    bits[k >> 6] &= ~(np.uint64(1) << np.uint64(k & 63))


@compiled
def members(bits: Any, count: int, out: IntArray) -> int:
    """Write the members of a set into `out`; returns how many there are."""
    n = 0
    for k in range(count):
        if has(bits, k):
            out[n] = k
            n += 1
    return n


@compiled
def rear_of(space: Any, nodes: Any, node: int, complete: bool, out: IntArray) -> int:
    """Write the rows that must stay behind w into `out`: those decided so, and every other negative once w is complete.

    W is the set of all negatives among the neighbours, so what is not in it is farther away.
    """
    n = members(nodes.behind[node], len(space.p), out)
    if complete:
        for j in range(len(space.n)):
            if not has(nodes.w[node], j) and not has(nodes.behind[node], j):
                out[n] = j
                n += 1
    return n


@compiled
def _popcount(x: Any) -> int:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


# the pair graph --------------------------------------------------------------------------------------------------


@compiled
def _has_core(cost: Any, n: int, n_chosen: int, in_class: Any, needed: int, of_class: int, limit: float) -> bool:
    """Whether enough negatives are left when those with too few partners at most `limit` apart are peeled off.

    `cost` is (n, n), the chosen negatives first.
    """
    words = (n + 63) >> 6
    alive = np.zeros(words, dtype=np.uint64)
    for a in range(n):
        cheap = cost[a, a] <= limit
        for b in range(n_chosen):
            cheap = cheap and cost[a, b] <= limit
        if cheap:
            put(alive, a)
        elif a < n_chosen:
            return False
    near = np.zeros((n, words), dtype=np.uint64)
    for a in range(n):
        if has(alive, a):
            for b in range(n):
                if cost[a, b] <= limit:
                    put(near[a], b)
    while True:
        changed, left, left_of_class = False, 0, 0
        for a in range(n):
            if not has(alive, a):
                continue
            partners, own = 0, 0
            for word in range(words):
                both = near[a, word] & alive[word]
                partners += _popcount(both)
                own += _popcount(both & in_class[word])
            if partners < needed or own < of_class:
                if a < n_chosen:
                    return False
                drop(alive, a)
                changed = True
            else:
                left += 1
                left_of_class += has(in_class, a)
        if not changed:
            return left >= needed and left_of_class >= of_class


@compiled
def clique_bound(
    weight: Any, values: Any, classes: Any, case: Any, taken: Any, pool: Any, proved: float, upper: float
) -> float:
    """The smallest radius at which a case (m, c, t, negatives) still has its clique, as far as peeling can tell.

    The negatives `taken` are in it and only those in `pool` are left. The result lies between `proved`, a bound known
    before, and `upper`. `values` are all distinct weights of this m, ascending.
    """
    m, c, t, negatives = case[0], case[1], case[2], case[3]
    n_all = weight.shape[0]
    place = np.empty(n_all, dtype=np.int64)
    n_chosen = members(taken, n_all, place)
    n = n_chosen
    for j in range(n_all):
        if not has(pool, j) or has(taken, j):
            continue
        cheap = weight[j, j, m] < upper
        for k in range(n_chosen):
            cheap = cheap and weight[j, place[k], m] < upper
        if cheap:
            place[n] = j
            n += 1
    if n < negatives:
        return upper
    cost = np.empty((n, n))
    in_class = np.zeros((n + 63) >> 6, dtype=np.uint64)
    for a in range(n):
        for b in range(n):
            cost[a, b] = weight[place[a], place[b], m]
        if classes[place[a]] == c:
            put(in_class, a)
    low = np.searchsorted(values, proved, side="right")
    high = np.searchsorted(values, upper, side="left")
    if high == 0 or not _has_core(cost, n, n_chosen, in_class, negatives, t, values[high - 1]):
        return upper
    if _has_core(cost, n, n_chosen, in_class, negatives, t, proved):
        return proved
    while low < high:  # the first value at which the case is possible
        middle = (low + high) // 2
        if _has_core(cost, n, n_chosen, in_class, negatives, t, values[middle]):
            high = middle
        else:
            low = middle + 1
    return min(values[low], upper) if low < len(values) else upper


# the relaxation --------------------------------------------------------------------------------------------------


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


@compiled
def _dearest(space: Any, front: Any, back: Any, ahead: Any, behind: Any, best: Any) -> bool:
    """The pair of one of `ahead` and one of `behind` that is furthest out of order, as a distance; False if none is."""
    furthest = 0.0
    for j in ahead:
        for i in behind:
            gap = front[j] - back[i]
            if not gap > AHEAD * (abs(front[j]) + abs(back[i])):
                continue
            square = space.front_products[j, j] - 2 * space.mixed_products[j, i] + space.rear_products[i, i]
            if gap * gap > furthest * square:
                furthest = gap * gap / square if square > 0 else np.inf
                best[0], best[1] = j, i
    return furthest > 0


@compiled
def settle_undecided(
    space: Any,
    graph: Any,
    nodes: Any,
    node: int,
    w: Any,
    behind: Any,
    multipliers: Any,
    settled: float,
    front: Any,
    back: Any,
) -> float:
    """Decide what can only go one way after a relaxation (ℓ2), and bound the rest by order statistics.

    A negative that cannot be ahead of the rear below `settled` is not in w: it joins the rear. A positive that cannot
    be behind w stays inside. Of the other negatives as many as are missing must come in, and of the other positives
    that are ahead no more than there is room for stay: the bounds of the dearest of those hold for the node. Returns
    the largest of them.
    """
    case = graph.cases[nodes.case[node]]
    m, c, t, negatives = case[0], case[1], case[2], case[3]
    n_negatives, n_rear, n = len(front), len(back), nodes.n_pairs[node]
    merged, pair, one = np.empty(space.front_h.shape[1]), np.empty(2, dtype=np.int64), np.empty(1, dtype=np.int64)
    so_far = merge(space, nodes.pairs[node], n, multipliers, merged)
    proved = 0.0
    missing, missing_of_class = negatives - len(w), t
    for j in w:
        missing_of_class -= graph.classes[j] == c
    if missing > 0 and len(behind) > 0:
        found, found_of_class = np.full(missing, np.inf), np.full(max(missing_of_class, 1), np.inf)
        for j in range(n_negatives):
            if not has(nodes.pool[node], j) or has(nodes.w[node], j):
                continue
            one[0] = j
            bound = 0.0
            if _dearest(space, front, back, one, behind, pair):
                bound = bound_with(space, so_far, merged, n, pair[0], pair[1])
            if bound >= settled:
                drop(nodes.pool[node], j)
                put(nodes.behind[node], j)
                continue
            keep_least(found, bound)
            if graph.classes[j] == c:
                keep_least(found_of_class, bound)
        proved = max(proved, found[-1])
        if missing_of_class > 0:
            proved = max(proved, found_of_class[-1])
    capacity = m
    for word in range(nodes.inside.shape[1]):
        capacity -= _popcount(nodes.inside[node, word])
    if len(w) > 0:
        dearest = np.full(m + 1, 0.0)  # negated: the smallest of them are the dearest
        for i in range(n_negatives, n_rear):
            if has(nodes.inside[node], i) or has(nodes.behind[node], i):
                continue
            one[0] = i
            if not _dearest(space, front, back, w, one, pair):
                continue
            bound = bound_with(space, so_far, merged, n, pair[0], pair[1])
            if bound >= settled:
                put(nodes.inside[node], i)
                capacity -= 1
                if capacity < 0:
                    return np.inf
            else:
                keep_least(dearest, -bound)
        proved = max(proved, -dearest[capacity])
    return proved


@compiled
def keep_least(ascending: Any, value: float) -> None:
    """Put a value into its place among the smallest; the largest drops out."""
    k = len(ascending) - 1
    if not value < ascending[k]:
        return
    while k > 0 and ascending[k - 1] > value:
        ascending[k] = ascending[k - 1]
        k -= 1
    ascending[k] = value


# the search ------------------------------------------------------------------------------------------------------


@compiled
def _less(lower: Any, serial: Any, a: int, b: int) -> bool:
    return bool(lower[a] < lower[b] or (lower[a] == lower[b] and serial[a] < serial[b]))


@compiled
def push(nodes: Any, heap: Any, counts: Any, node: int) -> None:
    """Put a node on the heap; counts[0] is the heap's size."""
    k = counts[0]
    counts[0] += 1
    while k > 0 and _less(nodes.lower, nodes.serial, node, heap[(k - 1) >> 1]):
        heap[k] = heap[(k - 1) >> 1]
        k = (k - 1) >> 1
    heap[k] = node


@compiled
def pop(nodes: Any, heap: Any, counts: Any) -> int:
    """Take the node with the smallest bound."""
    top = heap[0]
    counts[0] -= 1
    n = counts[0]
    last = heap[n]
    k = 0
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n and _less(nodes.lower, nodes.serial, heap[child + 1], heap[child]):
            child += 1
        if not _less(nodes.lower, nodes.serial, heap[child], last):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = last
    return int(top)


@compiled
def new_node(nodes: Any, counts: Any, free: Any) -> int:
    """A row for another node; counts[1] rows were used so far, counts[2] of them are free again, counts[3] serials."""
    if counts[2]:
        counts[2] -= 1
        node = free[counts[2]]
    else:
        node = counts[1]
        counts[1] += 1
    nodes.serial[node] = counts[3]
    counts[3] += 1
    return int(node)


@compiled
def release(counts: Any, free: Any, node: int) -> None:
    free[counts[2]] = node
    counts[2] += 1


@compiled
def _copy(nodes: Any, node: int, other: int) -> None:
    nodes.lower[other] = nodes.lower[node]
    nodes.case[other] = nodes.case[node]
    nodes.n_pairs[other] = nodes.n_pairs[node]
    nodes.pool[other, :] = nodes.pool[node]
    nodes.w[other, :] = nodes.w[node]
    nodes.inside[other, :] = nodes.inside[node]
    nodes.behind[other, :] = nodes.behind[node]
    nodes.pairs[other, :, :] = nodes.pairs[node]


@compiled
def expand(
    space: Any,
    graph: Any,
    nodes: Any,
    heap: Any,
    counts: Any,
    free: Any,
    node: int,
    settled: float,
    front: Any,
    back: Any,
) -> bool:
    """Branch on a relaxed node by the keys after its move; True where its decision is complete."""
    case = graph.cases[nodes.case[node]]
    m, c, t, negatives = case[0], case[1], case[2], case[3]
    n_negatives, n_rear = len(front), len(back)
    w = np.empty(n_negatives, dtype=np.int64)
    n_w = members(nodes.w[node], n_negatives, w)
    capacity = m
    for word in range(nodes.inside.shape[1]):
        capacity -= _popcount(nodes.inside[node, word])
    if n_w:
        farthest = w[0]
        for k in range(1, n_w):
            farthest = w[k] if front[w[k]] > front[farthest] else farthest
        last = front[farthest]
        dearest, n_ahead = np.empty(capacity + 1, dtype=np.int64), 0
        ease = np.empty(n_rear)  # negated: how far the move would have to go for the last of w to overtake it
        for b in range(n_negatives, n_rear):  # the dearest of the undecided positives that are ahead of some of w
            if not back[b] < last - BLOCKS * (abs(last) + 1e-300):
                continue
            if has(nodes.inside[node], b) or has(nodes.behind[node], b):
                continue
            square = space.front_products[farthest, farthest] + space.rear_products[b, b]
            square -= 2 * space.mixed_products[farthest, b]
            ease[b] = -((last - back[b]) ** 2) / square if square > 0 else -np.inf
            if n_ahead == capacity + 1 and ease[b] >= ease[dearest[capacity]]:
                continue
            k = n_ahead if n_ahead <= capacity else capacity
            n_ahead = min(n_ahead + 1, capacity + 1)
            while k > 0 and ease[dearest[k - 1]] > ease[b]:
                dearest[k] = dearest[k - 1]
                k -= 1
            dearest[k] = b
        if n_ahead > capacity:  # one of them must stay behind: the first that does
            for count in range(capacity + 1):
                child = new_node(nodes, counts, free)
                _copy(nodes, node, child)
                for k in range(count):
                    put(nodes.inside[child], dearest[k])
                put(nodes.behind[child], dearest[count])
                push(nodes, heap, counts, child)
            return False
    if n_w == negatives:
        return True
    others = 0
    for k in range(n_w):
        others += graph.classes[w[k]] != c
    best, best_cost = -1, np.inf
    for j in range(n_negatives):
        if not has(nodes.pool[node], j) or has(nodes.w[node], j):
            continue
        if others >= negatives - t and graph.classes[j] != c:
            continue  # the places for other classes are taken
        cost = graph.weight[j, j, m]
        for k in range(n_w):
            cost = max(cost, graph.weight[j, w[k], m])
        if best < 0 or cost < best_cost or (cost == best_cost and front[j] < front[best]):
            best, best_cost = j, cost
    if best < 0:
        return False
    for taken in (True, False):
        child = new_node(nodes, counts, free)
        _copy(nodes, node, child)
        if taken:
            put(nodes.w[child], best)
        else:
            drop(nodes.pool[child], best)
            put(nodes.behind[child], best)
        start, stop = graph.first_value[m], graph.first_value[m + 1]
        bound = clique_bound(
            graph.weight,
            graph.values[start:stop],
            graph.classes,
            case,
            nodes.w[child],
            nodes.pool[child],
            nodes.lower[node],
            settled,
        )
        nodes.lower[child] = max(nodes.lower[child], bound)
        if nodes.lower[child] < settled:
            push(nodes, heap, counts, child)
        else:
            release(counts, free, child)
    return False


@compiled
def run(
    space: Any, graph: Any, nodes: Any, heap: Any, counts: Any, free: Any, upper: float, settled: float, most: int
) -> Any:
    """Refine up to `most` nodes in ℓ2. Returns (status, refined, node).

    With the status SOLVE the node has lost digits here and is to be relaxed with care; with DONE, node ≥ 0 is a
    complete decision whose move was found.
    """
    n_negatives, n_rear = len(space.n), len(space.p)
    front, back = np.empty(n_negatives), np.empty(n_rear)
    w, behind = np.empty(n_negatives, dtype=np.int64), np.empty(n_rear, dtype=np.int64)
    multipliers = np.zeros(MOST_PAIRS)
    refined = 0
    room = nodes.lower.shape[0] - 8 - graph.cases[:, 0].max()
    while counts[0] and refined < most and counts[1] - counts[2] < room:
        first = nodes.lower[heap[0]]
        if not (first < upper * (1 - MEETING) and first < settled):
            break
        node = pop(nodes, heap, counts)
        refined += 1
        n_w = members(nodes.w[node], n_negatives, w)
        n_behind = rear_of(space, nodes, node, n_w == graph.cases[nodes.case[node], 3], behind)
        sets = w[:n_w], behind[:n_behind]
        known = nodes.pairs[node], nodes.n_pairs[node]
        if space.boxed:
            how, lower, n_pairs = relax_in_box(space, *sets, settled, *known, front, back)
        else:
            how, lower, n_pairs = relax(space, *sets, settled, *known, multipliers, front, back)
        if how < 0:
            return SOLVE, refined, node
        nodes.n_pairs[node] = n_pairs
        nodes.lower[node] = max(nodes.lower[node], lower)
        is_open = how and nodes.lower[node] < settled
        if is_open and not space.boxed:
            bound = settle_undecided(space, graph, nodes, node, *sets, multipliers, settled, front, back)
            nodes.lower[node] = max(nodes.lower[node], bound)
            is_open = nodes.lower[node] < settled
        if is_open and expand(space, graph, nodes, heap, counts, free, node, settled, front, back):
            return DONE, refined, node
        release(counts, free, node)
    return DONE, refined, -1
