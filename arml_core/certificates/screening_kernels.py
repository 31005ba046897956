"""The sweeps over all negatives of a test point, compiled: bound (a), and the list of the few that it leaves.

Values err to the small side up to the rounding of a few operations, which :mod:`.candidates` covers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.compiled import compiled
from ..numerics.distance_kernels import Floats, Vectors, as_columns, upper_distances_to
from ..numerics.smallest import keep_smallest

FIRST_LIST = 16  # negatives of the first guess, four times as many where these do not give one
OVERFLOWN = 1e30  # no bound is that large, in the units of the distance bounds
NOTHING = 1e-30  # added to denominators: 0/0, where nothing is known, becomes 0


class Near(NamedTuple):
    """What bound (a) knows of the nearest positives, each entry with one value per test point.

    `p` is the distance to the (m+1)-th of them, `last` that to the last; `mean` and `variance` are those of all but
    the m nearest. Around the centre of all, `reach` is how far the m+1 nearest lie at most, `scatter` the mean square,
    and `share` which part of all is left without m; 0 where the norm has no use for squares.
    """

    p: Floats
    last: Floats
    mean: Floats
    variance: Floats
    reach: Floats
    scatter: Floats
    share: Floats


class Stop(NamedTuple):
    """When a list is long enough: at negatives whose bound (a) is as large as `factor` times a guess of the result.

    The guess takes each bound (b) for the value. It is no less than the `negatives`-th smallest of all, nor than the
    smallest of the t-th smallest in a class: t by class, 0 for classes that cannot win; empty where classes do not
    count.
    """

    factor: float
    negatives: int
    t: IntArray


class Seen(NamedTuple):
    """The smallest bounds (b) so far, ascending: of all negatives, and by class; `best` is the best t-th of a class."""

    overall: FloatArray
    by_class: FloatArray
    best: FloatArray


@compiled
def bound_a(lower: Floats, squares: Floats, near: Near) -> None:
    """Bound (a) of every training point, in place of `squares`: upper bounds on squared distances to the centres."""
    zero = squares.dtype.type(0)
    for b in range(len(lower)):
        n, row = lower[b], squares[b]
        p, last, mean, variance = near.p[b], near.last[b], near.mean[b], near.variance[b]
        reach, scatter, share = near.reach[b], near.scatter[b], near.share[b]
        for j in range(len(row)):
            single = (n[j] - p) / (np.sqrt(row[j]) + reach)
            ahead = n[j] - mean
            ahead = ahead if ahead > zero else zero
            several = np.sqrt((ahead * ahead + variance) * share / (row[j] + scatter))
            several = several if n[j] >= last else single
            bound = several if several > single else single
            row[j] = bound if zero < bound < OVERFLOWN else zero  # where it overflows or is no number, nothing is known


@compiled
def shortlist(
    which: IntArray,
    bound: Floats,
    lower: Floats,
    near_value: Floats,
    near_place: IntArray,
    vectors: Vectors,
    classes: IntArray,
    m: int,
    n_negatives: int,
    stop: Stop,
    guessing: bool,
    below: FloatArray,
    place: IntArray,
    sharpened: FloatArray,
    rest: FloatArray,
    guess: FloatArray,
) -> None:
    """The negatives of the test points `which` with the smallest bound (b), ascending, as many as there is room for.

    They are sharpened in rising order of bound (a): those under `below`, and, when `guessing`, only as far as `stop`
    says. `rest` bounds all that are not listed. Room that is left over has infinite bounds.
    """
    width, listed, known = place.shape[1], np.empty(n_negatives, np.intp), np.full(bound.shape[1], np.nan)
    denominators, best = np.empty(near_place.shape[1], vectors.points.dtype), np.empty(m + 1)
    for a in range(len(which)):
        b = which[a]
        columns = as_columns(vectors.points, near_place[b])
        limit = below[a]
        first = np.empty(0, np.intp)
        while guessing:
            # The smallest few give a first guess, which tells how many are worth ranking.
            first = np.empty(min(max(FIRST_LIST, 4 * len(first)), n_negatives), np.intp)
            keep_smallest(bound[b], np.empty(len(first), bound.dtype), first)
            seen = _nothing_seen(stop)
            for k in range(len(first)):
                j = int(first[k])
                upper_distances_to(vectors, j, near_place[b], columns, denominators)
                known[j] = max(_bound_b(lower[b, j], near_value[b], denominators, best), bound[b, j])
                limit = stop.factor * _see(seen, stop, classes[j], known[j])
            if limit < np.inf or len(first) == n_negatives:
                break
        count = 0
        for j in range(bound.shape[1]):
            if bound[b, j] < limit:
                listed[count] = j
                count += 1
        values, places = np.empty(count), np.empty(count, np.intp)
        seen, guessed, beyond, done = _nothing_seen(stop), np.inf, limit, 0
        for k in np.argsort(bound[b][listed[:count]]):
            j = int(listed[k])
            if bound[b, j] >= limit:
                beyond = bound[b, j]
                break
            value = known[j]
            if np.isnan(value):
                upper_distances_to(vectors, j, near_place[b], columns, denominators)
                value = max(_bound_b(lower[b, j], near_value[b], denominators, best), bound[b, j])
            values[done], places[done] = value, j
            guessed = _see(seen, stop, classes[j], value)
            if guessing:
                limit = min(limit, stop.factor * guessed)
            done += 1
        known[first] = np.nan
        order = np.argsort(values[:done])
        for k in range(width):
            place[a, k] = places[order[k]] if k < done else 0
            sharpened[a, k] = values[order[k]] if k < done else np.inf
        rest[a] = min(beyond, values[order[width]]) if done > width else beyond
        guess[a] = guessed


@compiled
def _bound_b(n: float, p: Floats, below: Floats, best: FloatArray) -> float:
    """The last of the largest (n - p) / below, as many as `best` has room for; -inf where there are fewer numbers."""
    best[:] = np.inf
    for k in range(len(p)):
        _insert(-(n - p[k]) / (below[k] + NOTHING), best)
    return float(-best[-1])


@compiled
def _insert(value: float, ascending: FloatArray) -> None:
    """Put a value into its place; the largest drops out."""
    k = len(ascending) - 1
    if not value < ascending[k]:
        return
    while k > 0 and ascending[k - 1] > value:
        ascending[k] = ascending[k - 1]
        k -= 1
    ascending[k] = value


@compiled
def largest_quotients(
    n: FloatArray, p: FloatArray, b: IntArray, below: FloatArray, row: IntArray, factor: float, count: int
) -> tuple[FloatArray, IntArray]:
    """The largest ``(n - p[b, i]) / (factor · below[row, i])`` over i, 0 at least, falling, and their i.

    What is not a number counts as 0.
    """
    values, places = np.full((len(n), count), -np.inf), np.zeros((len(n), count), np.intp)
    for q in range(len(n)):
        value, place = values[q], places[q]
        above, divisor = p[b[q]], below[row[q]]
        for i in range(len(divisor)):
            ahead, scaled, least = n[q] - above[i], factor * divisor[i], value[-1]
            if least > -np.inf and not ahead > least * scaled:
                continue  # most end here, without a division
            quotient = ahead / scaled
            k = count - 1
            if not quotient > least:
                continue
            while k > 0 and value[k - 1] < quotient:
                value[k], place[k] = value[k - 1], place[k - 1]
                k -= 1
            value[k], place[k] = quotient, i
    return np.maximum(values, 0.0), places


@compiled
def _nothing_seen(stop: Stop) -> Seen:
    deepest = 1
    for t in stop.t:
        deepest = max(deepest, t)
    best = np.full(1, np.inf if len(stop.t) else 0.0)
    return Seen(np.full(stop.negatives, np.inf), np.full((len(stop.t), deepest), np.inf), best)


@compiled
def _see(seen: Seen, stop: Stop, c: int, value: float) -> float:
    """Note a bound (b) of a negative of class c; returns the guess."""
    _insert(value, seen.overall)
    if len(stop.t) and stop.t[c]:
        own = seen.by_class[c, : stop.t[c]]
        _insert(value, own)
        seen.best[0] = min(seen.best[0], own[-1])
    return float(max(seen.overall[-1], seen.best[0]))
