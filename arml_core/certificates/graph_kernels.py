"""Sets as rows of bits, and the peeling of the pair graph, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.arrays import IntArray
from ..numerics.compiled import compiled


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
def popcount(x: Any) -> int:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


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
                partners += popcount(both)
                own += popcount(both & in_class[word])
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
