"""The smallest entries of a long row, compiled: one sweep that keeps the best so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import IntArray
from .compiled import compiled


@compiled
def keep_smallest(row: NDArray[np.floating], values: NDArray[np.floating], places: IntArray) -> None:
    """Fill `values` with the smallest entries of `row`, ascending, and `places` with where they are.

    There are at least as many entries as room; what is not a number counts as infinite. Every 64th entry is looked at
    first, then every eighth, then all: in a row that falls all the way, each would replace another.
    """
    count, n = len(values), len(row)
    stride = 64 if n >= 64 * count else 8 if n >= 8 * count else 1
    for k in range(count):
        value = row[k * stride]
        values[k] = value if value == value else np.inf
        places[k] = k * stride
    for root in range(count // 2 - 1, -1, -1):
        _sink(values, places, root, count)
    for place in range(count * stride, n, stride):
        if row[place] < values[0]:
            _replace(values, places, row[place], place)
    while stride > 1:
        finer = stride // 8
        for start in range(0, n, stride):
            for place in range(start + finer, min(start + stride, n), finer):
                if row[place] < values[0]:
                    _replace(values, places, row[place], place)
        stride = finer
    for last in range(count - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        places[0], places[last] = places[last], places[0]
        _sink(values, places, 0, last)


@compiled
def _replace(values: NDArray[np.floating], places: IntArray, value: float, place: int) -> None:
    """Put a smaller entry in place of the largest."""
    values[0], places[0] = value, place
    _sink(values, places, 0, len(values))


@compiled
def _sink(values: NDArray[np.floating], places: IntArray, root: int, count: int) -> None:
    """Restore a heap whose largest entry is first, after its `root` was replaced."""
    value, place = values[root], places[root]
    child = 2 * root + 1
    while child < count:
        if child + 1 < count and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[root], places[root] = values[child], places[child]
        root, child = child, 2 * child + 1
    values[root], places[root] = value, place
