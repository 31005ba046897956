"""From bounds on the distances of all rows to the few whose order decides how many training rows matter, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.arrays import BoolArray, IntArray
from ..numerics.compiled import compiled
from ..numerics.distance_kernels import Floats


@compiled
def is_turned(counts: IntArray, k: int, label: int, adding: bool) -> bool:
    """Whether the nearest rows, so many of each class, are too many for the change of K votes in question.

    Adding: even with K - m rows of one class put before these m rows, `label` wins. Removing: with m - K rows of
    `label` taken out of these m rows, another class wins. Either stays true for a larger set of rows.
    """
    size, rival = 0, -(2**31)
    for c in range(len(counts)):
        size += counts[c]
        if c != label:
            rival = max(rival, counts[c] - (1 if c > label else 0))
    ahead = rival - counts[label]
    if adding:
        return bool(ahead + k - size < 0)
    return bool(ahead + size - k >= 0)


@compiled
def first_turned(counts: IntArray, labels: IntArray, k: int, label: int, adding: bool) -> int:
    """How many rows there are once they are too many: those of `counts`, and of `labels` one after the other."""
    counts = counts.copy()
    for j in range(len(labels)):
        counts[labels[j]] += 1
        if is_turned(counts, k, label, adding):
            break
    return int(counts.sum())


@compiled
def bracket(
    lower: Floats,
    own: Floats,
    slack: Floats,
    twice_gamma: Any,
    class_of: IntArray,
    k: int,
    labels: IntArray,
    adding: bool,
    inside: IntArray,
    doubtful: BoolArray,
) -> BoolArray:
    """For each point, on which side of the row that turns the vote (:func:`is_turned`) the others lie.

    `lower` are lower bounds on squared distances (+inf: left out), ``lower + twice_gamma (own + slack)²`` upper ones.
    `inside` is filled with the rows per class that are certainly nearer than the row in question, and `doubtful` is
    set at that row and at those which may be on either side. The answer is False where all rows do not turn it.

    In the order of `lower` the turning row has the bound t. Rows that are truly nearer than t come before it in this
    order, too, so they are too few to turn it; all rows up to it are truly no farther than the largest of their upper
    bounds, so the true one is not beyond. Hence rows below t are inside and rows beyond that bound outside.
    """
    n_classes = inside.shape[1]
    found = np.zeros(len(lower), dtype=np.bool_)
    values, codes = np.empty(lower.shape[1], lower.dtype), np.empty(lower.shape[1], class_of.dtype)
    for b in range(len(lower)):
        row, size = lower[b], 0
        for i in range(len(row)):
            if row[i] < np.inf:
                values[size], codes[size] = row[i], class_of[i]
                size += 1
        everyone = np.zeros(n_classes, dtype=np.intp)
        for i in range(size):
            everyone[codes[i]] += 1
        if not is_turned(everyone, k, labels[b], adding):
            continue
        found[b] = True
        turning = _turning_value(values[:size], codes[:size], k, labels[b], adding, n_classes)
        reach = turning
        for i in range(len(row)):
            if row[i] <= turning:
                width = own[b] + slack[i]
                reach = max(reach, row[i] + twice_gamma * width * width)
        for i in range(len(row)):
            if row[i] <= reach:
                width = own[b] + slack[i]
                if row[i] + twice_gamma * width * width < turning:
                    inside[b, class_of[i]] += 1
                else:
                    doubtful[b, i] = True
    return found


@compiled
def _turning_value(values: Floats, codes: IntArray, k: int, label: int, adding: bool, n_classes: int) -> Any:
    """The value at which the rows up to it turn the vote, by halving as in quickselect; both arrays are reordered."""
    before = np.zeros(n_classes, dtype=np.intp)
    start, end = 0, len(values)
    while end - start > 1:
        a, b, c = values[start], values[(start + end) // 2], values[end - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = start, end - 1
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                codes[i], codes[j] = codes[j], codes[i]
                i += 1
                j -= 1
        middle = i if i < end else j + 1
        for at in range(start, middle):
            before[codes[at]] += 1
        if is_turned(before, k, label, adding):
            for at in range(start, middle):
                before[codes[at]] -= 1
            end = middle
        else:
            start = middle
    return values[start]
