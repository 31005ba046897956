"""Joint bounds for pairs of negatives in ℓ1 and ℓ∞, compiled.

Any weights μ, ν ≥ 0 merge the half-spaces "j ahead of i" and "j' ahead of i" into one, whose distance bounds both. In
ℓ2 the best weights are known in closed form; here they are where a short search begins. Only :func:`_merged_bound`
makes a bound, with its rounding errors; all else chooses weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.compiled import compiled

MORE_POSITIVES = 4  # than the orders of weight asked for: those whose bounds promise most
MOST_TRIES = 4
LARGEST_BOUND = 1e300


class HalfSpacesOfPairs(NamedTuple):
    """Half-spaces of one test point: "j ahead of i" is ``(h_j - h_i)ᵀδ ≥ half[j, i]``, for negatives j and positives i.

    `half` is rounded down; `length[j, i]`, an upper bound on the norm of the normal, and both `slack`, the errors of h,
    are in the norm `dual`, 1 or inf. The products of the vectors (centred) only steer. `sum_error` is the error of a
    sum of two terms, relative to their magnitudes; `rounding` a factor that covers a quotient of norms.
    """

    negative_h: FloatArray
    positive_h: FloatArray
    half: FloatArray
    length: FloatArray
    negative_slack: FloatArray
    positive_slack: FloatArray
    negative_products: FloatArray
    mixed_products: FloatArray
    positive_squares: FloatArray
    dual: float
    sum_error: float
    rounding: float


@compiled
def pair_weights(spaces: Any, single: FloatArray, depth: int, ceiling: float) -> FloatArray:
    """(n, n, depth) lower bounds on what both negatives of a pair cost, with up to depth - 1 positives let ahead.

    `single` holds those of each negative alone; pairs with a dearer one than `ceiling` are left out, as zeros.
    """
    n, n_positives = spaces.half.shape
    weight = np.zeros((n, n, depth))
    few = min(depth + MORE_POSITIVES, n_positives)
    promise, who = np.empty(few), np.empty(few, dtype=np.int64)
    for a in range(n):
        for b in range(a):
            if max(single[a, depth - 1], single[b, depth - 1]) >= ceiling:
                continue
            count = _most_promising(spaces, a, b, promise, who)
            for c in range(count):
                promise[c] = _joint_bound(spaces, a, b, who[c])
            found = -np.sort(-promise[:count])
            for m in range(min(depth, count)):
                weight[a, b, m] = weight[b, a, m] = found[m]
    return weight


@compiled
def _products(spaces: Any, a: int, b: int, i: int) -> tuple[float, float, float]:
    """(h_a - h_i)², (h_b - h_i)² and the product of the two."""
    own, mixed = spaces.positive_squares[i], spaces.mixed_products
    aa = spaces.negative_products[a, a] - 2 * mixed[a, i] + own
    bb = spaces.negative_products[b, b] - 2 * mixed[b, i] + own
    ab = spaces.negative_products[a, b] - mixed[a, i] - mixed[b, i] + own
    return max(aa, 0.0), max(bb, 0.0), ab


@compiled
def _most_promising(spaces: Any, a: int, b: int, promise: FloatArray, who: Any) -> int:
    """The positives against which the pair costs most, by what it costs in ℓ2; how many there are."""
    count = 0
    for i in range(spaces.half.shape[1]):
        first, second = spaces.half[a, i], spaces.half[b, i]
        if not (first > 0 or second > 0):
            continue
        alone = max(first / spaces.length[a, i], second / spaces.length[b, i])
        aa, bb, ab = _products(spaces, a, b, i)
        left, right = first * bb - second * ab, second * aa - first * ab
        if left > 0 and right > 0:
            apart = aa * bb - ab * ab
            joint = (first * left + second * right) / apart if apart > 0 else np.inf  # squared, as is the next
            dearer = max(first * abs(first) / aa, second * abs(second) / bb)
            alone *= min(np.sqrt(joint / dearer), 4.0)
        if count < len(promise):
            place = count
            count += 1
        elif alone > promise[count - 1]:
            place = count - 1
        else:
            continue
        while place > 0 and promise[place - 1] < alone:
            promise[place], who[place] = promise[place - 1], who[place - 1]
            place -= 1
        promise[place], who[place] = alone, i
    return count


@compiled
def _joint_bound(spaces: Any, a: int, b: int, i: int) -> float:
    """The best merged bound of a short search: at first by the weights that are best in ℓ2, then between slopes."""
    half = spaces.half
    best = 0.0
    if half[a, i] > 0:
        best = max(best, spaces.rounding * (half[a, i] / spaces.length[a, i]))
    if half[b, i] > 0:
        best = max(best, spaces.rounding * (half[b, i] / spaces.length[b, i]))
    aa, bb, ab = _products(spaces, a, b, i)
    left, right = half[a, i] * bb - half[b, i] * ab, half[b, i] * aa - half[a, i] * ab
    middle = left / (left + right) if left > 0 and right > 0 else 0.5
    low, high = 0.0, 1.0
    low_norm, low_slope, high_norm, high_slope = -1.0, 0.0, -1.0, 0.0
    rise = half[a, i] - half[b, i]
    for _ in range(MOST_TRIES):
        bound, norm, slope = _merged_bound(spaces, a, b, i, middle)
        best = max(best, bound)
        above = middle * half[a, i] + (1 - middle) * half[b, i]
        if rise * norm > above * slope:
            low, low_norm, low_slope = middle, norm, slope
        else:
            high, high_norm, high_slope = middle, norm, slope
        if low_norm >= 0 and high_norm >= 0:  # where the two tangents of the norm meet
            if not high_slope > low_slope:
                break
            middle = (low_norm - low * low_slope - high_norm + high * high_slope) / (high_slope - low_slope)
        else:
            middle = (low + high) / 2
        if not low < middle < high:
            break
    return min(best, LARGEST_BOUND)


@compiled
def _merged_bound(spaces: Any, a: int, b: int, i: int, weight: float) -> tuple[float, float, float]:
    """A valid bound from the weights `weight` and 1 - `weight`; the norm of the merged normal, and its slope."""
    other = 1.0 - weight
    front, second, back = spaces.negative_h[a], spaces.negative_h[b], spaces.positive_h[i]
    width = len(front)
    norm, slope = 0.0, 0.0
    if spaces.dual == 1:
        norms, slopes = np.zeros(4), np.zeros(4)
        for start in range(0, width - 3, 4):  # four sums at once: one would wait for itself
            for lane in range(4):
                d = start + lane
                left, right = front[d] - back[d], second[d] - back[d]
                entry = weight * left + other * right
                norms[lane] += abs(entry)
                slopes[lane] += left - right if entry > 0 else right - left
        for d in range(width - width % 4, width):
            left, right = front[d] - back[d], second[d] - back[d]
            entry = weight * left + other * right
            norms[0] += abs(entry)
            slopes[0] += left - right if entry > 0 else right - left
        norm, slope = norms.sum(), slopes.sum()
    else:
        for d in range(width):
            left, right = front[d] - back[d], second[d] - back[d]
            entry = weight * left + other * right
            if abs(entry) > norm:
                norm, slope = abs(entry), left - right if entry > 0 else right - left
    first, last = weight * spaces.half[a, i], other * spaces.half[b, i]
    above = first + last - spaces.sum_error * (abs(first) + abs(last))
    below = norm + weight * spaces.negative_slack[a] + other * spaces.negative_slack[b] + spaces.positive_slack[i]
    below += spaces.sum_error * (weight * spaces.length[a, i] + other * spaces.length[b, i])
    bound = spaces.rounding * (above / below) if above > 0 and below > 0 else 0.0
    return bound, norm, slope
