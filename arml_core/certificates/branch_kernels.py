"""The inner loops of branch and bound, compiled.

Sets of negatives and of positives are rows of bits. An open decision ("node") is a row of :class:`Nodes`; `heap` holds
the numbers of the open ones, the smallest bound first. What a bound rests on is in :mod:`.relaxation_kernels` and
:mod:`.graph_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.compiled import compiled
from .graph_kernels import clique_bound, drop, has, members, popcount, put
from .relaxation_kernels import AHEAD, MOST_PAIRS, bound_with, merge, relax, relax_in_box

MEETING = 1e-7  # relative: closer than this, both sides count as met
BLOCKS = 1e-10

DONE, SOLVE = 0, 1


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
        capacity -= popcount(nodes.inside[node, word])
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
        capacity -= popcount(nodes.inside[node, word])
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
