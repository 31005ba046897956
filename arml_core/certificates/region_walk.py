"""Exact radii where only one or two features can move: walk through the regions of equal neighbours.

The set of δ for which a given set N holds the K nearest neighbours is a convex polygon: every a in N has a smaller
key ``d(x, x_a) - 2 h_aᵀδ`` than every b outside. Walking straight from x to the nearest flipped point crosses such
regions one after the other, each time exchanging one a for one b, and none of them is further from x than that point.
So exploring regions in the order of their distance from x meets the nearest flipped one before any other.

Regions are grown by a tolerance above all rounding errors, so that none is missed where points lie in line, on a
grid or on top of each other; the bound is lowered accordingly.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..neighbors.vote import TRAINING_ORDER, FlipRule, count_votes
from ..numerics.arrays import FloatArray, IntArray

TOLERANCE = 1e-10  # of keys, relative to the largest one in play; more where their error bound is larger
MOST_REGIONS = 50_000

Region = frozenset[int]


@dataclass(frozen=True)
class PlanarProblem:
    """Everything about one test point that the walk needs, in at most two movable dimensions.

    Attributes
    ----------
    h, d : (n, 2) and (n,): the key of point a at δ is ``d[a] - 2 h[a] @ δ``.
    error : how far a key may be from the true one and from the one that predict computes, anywhere in the rectangle.
    before : for each point the index of its predecessor among M-identical points (nearer by training order), or -1;
        `after` the successor. Where every order counts, among M-identical points of one class: which of those come
        first changes nothing.
    low, high : the limits of δ, a finite rectangle around 0; further away than `limit` nothing is asked.
    labels, n_classes : the classes of the points, as codes below `n_classes`; `label` is the answer at x.
    rule : what counts as another answer.
    """

    h: FloatArray
    d: FloatArray
    error: float
    before: IntArray
    after: IntArray
    low: FloatArray
    high: FloatArray
    limit: float
    norm: float
    n_neighbors: int
    labels: IntArray
    n_classes: int
    label: int
    rule: FlipRule = TRAINING_ORDER

    @property
    def tolerance(self) -> float:
        reach = float(np.maximum(np.abs(self.low), np.abs(self.high)).max())
        largest = float(np.abs(self.d).max() + 2 * np.abs(self.h).sum(axis=1).max() * reach)
        return max(TOLERANCE * largest, 2 * self.error)

    def flips(self, region: Region) -> bool:
        """Whether these neighbours give another answer."""
        return bool(self.rule.flips(count_votes(self.labels[None, list(region)], self.n_classes), self.label)[0])


Enter = Callable[[FloatArray, FloatArray], bool]
"""``enter(nearest, inside)``: whether a step from a region's nearest point towards one inside changes the answer."""


def walk(plane: PlanarProblem, deadline: float, enter: Enter) -> float:
    """Explore regions by rising distance up to the plane's limit, until a flipped one is entered or the time is up.

    Returns the distance below which nothing flips. A flipped region that cannot be entered, because it is only as
    wide as the tolerance, still ends what is proved; the walk goes on through it, to find one that can be. One that
    training order rules out is walked through and never entered: what flips there belongs to another region, which is
    as near and still to come, and the walk must not end before it has lowered what is proved.
    """
    start = frozenset(int(a) for a in np.lexsort([np.arange(len(plane.d)), plane.d])[: plane.n_neighbors])
    serial = itertools.count()
    heap: list[tuple[float, int, Region, FloatArray]] = [(0.0, next(serial), start, _polygon(plane, start))]
    seen = {start}
    lower = np.inf
    while heap:
        distance, visited, region, polygon = heapq.heappop(heap)
        if distance >= plane.limit:
            break
        if time.perf_counter() > deadline or visited >= MOST_REGIONS:
            return min(lower, distance)
        if plane.flips(region) and _possible(plane, region):
            lower = min(lower, distance)
            if enter(_nearest_in(plane, region, polygon), polygon.mean(axis=0)):
                break
        for neighbour in _neighbours(plane, region, polygon):
            if neighbour in seen:
                continue
            seen.add(neighbour)
            corners = _polygon(plane, neighbour)
            if len(corners):
                nearest = _nearest_in(plane, neighbour, corners)
                heapq.heappush(heap, (_size(nearest, plane.norm), next(serial), neighbour, corners))
    return min(lower, plane.limit)


def _polygon(plane: PlanarProblem, region: Region) -> FloatArray:
    """The corners of a region, grown by the tolerance; empty if there is no such region inside the rectangle.

    Starts from the rectangle and cuts off, again and again, the corner that is furthest outside.
    """
    (left, bottom), (right, top) = plane.low, plane.high
    corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    inside, outside = _sides(plane, region)
    if not len(outside):
        return corners
    tolerance = plane.tolerance
    front_h, front_d, back_h, back_d = plane.h[inside], plane.d[inside], plane.h[outside], plane.d[outside]
    while len(corners):
        front = front_d - 2 * (corners @ front_h.T)
        back = back_d - 2 * (corners @ back_h.T)
        gap = front.max(axis=1) - back.min(axis=1)
        worst = int(gap.argmax())
        if gap[worst] <= tolerance * 1.5:
            break
        a, b = int(front[worst].argmax()), int(back[worst].argmin())
        corners = _cut(corners, front[:, a] - back[:, b] - tolerance)
    return corners


def _sides(plane: PlanarProblem, region: Region) -> tuple[IntArray, IntArray]:
    mask = np.zeros(len(plane.d), dtype=bool)
    mask[list(region)] = True
    return np.flatnonzero(mask), np.flatnonzero(~mask)


def _cut(corners: FloatArray, values: FloatArray) -> FloatArray:
    """Keep the part of a polygon where `values` (linear, given at the corners) is ≤ 0."""
    kept = []
    n = len(corners)
    for k in range(n):
        here, there = values[k], values[(k + 1) % n]
        if here <= 0:
            kept.append(corners[k])
        if (here <= 0) != (there <= 0):
            kept.append(corners[k] + here / (here - there) * (corners[(k + 1) % n] - corners[k]))
    return np.array(kept).reshape(-1, 2)


def _neighbours(plane: PlanarProblem, region: Region, corners: FloatArray) -> Iterator[Region]:
    """The regions that share at least a corner with this one: one point leaves, one enters."""
    inside, outside = _sides(plane, region)
    if not len(outside):
        return  # everybody in reach is a neighbour: nobody is left to enter
    # Of M-identical points that are chained the last one in leaves first, and the first one out enters first.
    leaving = inside[[plane.after[a] < 0 or plane.after[a] not in region for a in inside]]
    entering = outside[[plane.before[b] < 0 or plane.before[b] in region for b in outside]]
    tolerance = 6 * plane.tolerance
    keys = plane.d - 2 * (corners @ plane.h.T)
    last, first = keys[:, inside].max(axis=1), keys[:, outside].min(axis=1)
    tied = last - first > -tolerance  # at the other corners, those of the rectangle, nothing is exchanged
    exchanges = set()
    for row, out_key, in_key in zip(keys[tied], last[tied], first[tied], strict=True):
        out = leaving[row[leaving] >= out_key - tolerance]
        new = entering[row[entering] <= in_key + tolerance]
        exchanges |= {(a, b) for a, b in itertools.product(out.tolist(), new.tolist()) if plane.before[b] != a}
    for a, b in exchanges:
        yield (region - {a}) | {b}


def _possible(plane: PlanarProblem, region: Region) -> bool:
    """Whether training order allows a region that splits several groups of M-identical points.

    Two such groups are both split only where their distances are equal, and there the points that come first in
    training order are the ones inside. Where every order counts, any points may be.
    """
    if plane.rule.any_order:
        return True
    split = [a for a in region if plane.after[a] >= 0 and plane.after[a] not in region]  # the last one in of each
    if len(split) < 2:
        return True
    inside, outside = [], []
    for last in split:
        a = last
        while a >= 0:
            inside.append(a)
            a = int(plane.before[a])
        a = int(plane.after[last])
        while a >= 0:
            outside.append(a)
            a = int(plane.after[a])
    return max(inside) < min(outside)


def _nearest_in(plane: PlanarProblem, region: Region, corners: FloatArray) -> FloatArray:
    """The point of a region that is nearest to x, as δ."""
    inside, outside = _sides(plane, region)
    if plane.d[inside].max() - plane.d[outside].min(initial=np.inf) <= plane.tolerance:
        return np.zeros(2)
    edges = [corners[[k, (k + 1) % len(corners)]] for k in range(len(corners))]
    return min((_nearest_on(edge, plane.norm) for edge in edges), key=lambda point: _size(point, plane.norm))


def _size(point: FloatArray, norm: float) -> float:
    return float(np.linalg.norm(point, ord=norm))


def _nearest_on(edge: FloatArray, norm: float) -> FloatArray:
    """The point of a segment that is nearest to 0."""
    start, along = edge[0], edge[1] - edge[0]
    shares = [0.0, 1.0]
    if norm == 2:
        length = float(along @ along)
        shares.append(-float(start @ along) / length if length > 0 else 0.0)
    else:  # a convex, piecewise linear function: smallest at an end or where a coordinate (or |x| = |y|) switches
        switches = [(start[0], along[0]), (start[1], along[1])]
        switches += [(start[0] - start[1], along[0] - along[1]), (start[0] + start[1], along[0] + along[1])]
        shares += [-value / slope for value, slope in switches if slope != 0]
    points = [start + min(max(share, 0.0), 1.0) * along for share in shares]
    return min(points, key=lambda point: _size(point, norm))
