"""Exact radii where at most two features can move, read off the lines on which the answer can change.

Going straight from x to a flipped point, the answer changes first at some δ where two training points a and b of
different classes are equally far, with K-1 points nearer: one of them enters the neighbours as the other leaves. So δ
lies on the line of equal keys of a and b (see :class:`.region_walk.PlanarProblem`), and along that line every other
point c is nearer on one side of a single place. Sorting these places gives the number of nearer points, and their
votes, all along the line. The nearest stretch with K-1 of them and a flipped answer on one side is the radius.

Keys within the plane's tolerance count as tied: such a c may or may not be nearer. With one such c the K-1 nearer
points are still known; where there are more, on grids or rings, the question is left to :func:`.region_walk.walk`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..threat import dual_norm
from .region_walk import PlanarProblem

MOST_PAIRS = 2_000_000
CHUNK = 256


@dataclass(frozen=True)
class Edges:
    """Stretches of lines on whose one side the answer is another, by rising distance.

    `distance` is not above the true distance from x; `nearest` is the place where it is taken, `middle` the middle of
    the stretch, and `across` a step of length 1 towards the flipped side.
    """

    distance: FloatArray
    nearest: FloatArray
    middle: FloatArray
    across: FloatArray
    length: FloatArray


def flipping_edges(plane: PlanarProblem, deadline: float) -> Edges | None:
    """Edges nearer than the plane's limit, at least the nearest; None where too many points tie or time is up."""
    lines = _Lines.of(plane)
    if lines is None:
        return None
    found: list[Edges] = []
    best, doubtful = plane.limit, np.inf
    for first in range(0, len(lines.a), CHUNK):
        part = lines.take(slice(first, first + CHUNK))
        if part.distance[0] >= best:
            break
        if time.perf_counter() > deadline:
            return None
        edges, doubt = part.edges(plane, best)
        doubtful = min(doubtful, doubt)
        if len(edges.distance):
            found.append(edges)
            best = min(best, float(edges.distance[0]))
    if doubtful <= best:
        return None
    every = [np.concatenate([getattr(e, name) for e in found]) for name in Edges.__dataclass_fields__] if found else []
    if not every:
        nothing = np.empty((0, 2))
        return Edges(np.empty(0), nothing, nothing, nothing, np.empty(0))
    order = np.argsort(every[0], kind="stable")
    return Edges(*(values[order] for values in every))


@dataclass(frozen=True)
class _Lines:
    """For pairs (a, b): the points ``foot + t along`` with equal keys; `distance` is not above the line's."""

    a: IntArray
    b: IntArray
    foot: FloatArray
    along: FloatArray
    normal: FloatArray  # where it points, b is nearer
    slack: FloatArray  # how far the line may move when keys change by the tolerance, as the attacker measures it
    shift: FloatArray  # the same across the line
    distance: FloatArray

    @classmethod
    def of(cls, plane: PlanarProblem) -> _Lines | None:
        n = len(plane.d)
        if n * (n - 1) // 2 > MOST_PAIRS or (plane.before >= 0).any():
            return None
        a, b = np.triu_indices(n, 1)
        differ = plane.labels[a] != plane.labels[b]
        a, b = a[differ], b[differ]
        apart, gap = plane.h[b] - plane.h[a], plane.d[b] - plane.d[a]
        tolerance = plane.tolerance
        dual = np.linalg.norm(apart, ord=dual_norm(plane.norm), axis=1)
        reach = 2 * float(np.maximum(-plane.low, plane.high).sum())
        flat = dual * reach <= tolerance  # the same key everywhere, or never
        if np.any(flat & (np.abs(gap) <= 3 * tolerance)):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = tolerance / dual
            distance = np.maximum(np.abs(gap) / (2 * dual) - slack, 0.0)
        keep = np.flatnonzero(~flat & (distance < plane.limit))
        keep = keep[np.argsort(distance[keep], kind="stable")]
        a, b, apart, gap = a[keep], b[keep], apart[keep], gap[keep]
        length = np.linalg.norm(apart, axis=1)
        normal = apart / length[:, None]
        foot = normal * (gap / (2 * length))[:, None]
        along = np.stack([-normal[:, 1], normal[:, 0]], axis=1)
        return cls(a, b, foot, along, normal, slack[keep], tolerance / (2 * length), distance[keep])

    def take(self, part: slice) -> _Lines:
        return _Lines(*(getattr(self, name)[part] for name in self.__dataclass_fields__))

    def edges(self, plane: PlanarProblem, upper: float) -> tuple[Edges, float]:
        """The flipping stretches nearer than `upper`, and the distance of the nearest that too many points tie on."""
        start, end = self._chords(plane)
        place, window, rising, falling, always, cloudy = self._crossings(plane)
        before, after = place - window, place + window
        at = np.concatenate([before, after], axis=1)
        order = np.argsort(at, axis=1, kind="stable")
        at = np.take_along_axis(at, order, axis=1)
        votes = np.eye(plane.n_classes, dtype=np.int16)[plane.labels]

        def running(initial: BoolArray, enters: BoolArray, leaves: BoolArray) -> IntArray:
            """Votes of the nearer points on each stretch; each half of a crossing's window counts one kind."""
            change = (enters.astype(np.int16) - leaves.astype(np.int16))[:, :, None] * np.tile(votes, (2, 1))
            change = np.take_along_axis(change, order[:, :, None], axis=1)
            first = (initial.astype(np.int16) @ votes)[:, None]
            return np.concatenate([first, first + np.cumsum(change, axis=1)], axis=1)

        none = np.zeros_like(rising)
        certain = running(always | falling, np.hstack([none, rising]), np.hstack([falling, none]))
        possible = running(always | falling | (cloudy & ~always), np.hstack([rising, none]), np.hstack([none, falling]))
        low, high = certain.sum(axis=2), possible.sum(axis=2)
        wanted = plane.n_neighbors - 1
        left = np.clip(np.hstack([start[:, None], at]), start[:, None], end[:, None])
        right = np.clip(np.hstack([at, end[:, None]]), start[:, None], end[:, None])
        there = (low <= wanted) & (wanted <= high) & (start <= end)[:, None]
        inside = (np.hstack([start[:, None], at]) <= end[:, None]) & (np.hstack([at, end[:, None]]) >= start[:, None])
        there &= inside
        line, stretch = np.nonzero(there)
        t = self._nearest(line, left[line, stretch], right[line, stretch], plane.norm)
        nearest = self.foot[line] + t[:, None] * self.along[line]
        distance = np.maximum(np.linalg.norm(nearest, ord=plane.norm, axis=1) - self.slack[line], 0.0)
        unsure = (high - low)[line, stretch] > 1
        doubt = float(distance[unsure].min(initial=np.inf))
        nearer = np.where((low[line, stretch] == wanted)[:, None], certain[line, stretch], possible[line, stretch])
        with_a, with_b = (nearer + votes[ends[line]] for ends in (self.a, self.b))
        a_flips, b_flips = plane.rule.flips(with_a, plane.label), plane.rule.flips(with_b, plane.label)
        kept = np.flatnonzero(~unsure & (a_flips | b_flips) & (distance < upper))
        kept = kept[np.argsort(distance[kept], kind="stable")]
        line, stretch = line[kept], stretch[kept]
        ends = left[line, stretch], right[line, stretch]
        middle = self.foot[line] + (ends[0] + ends[1])[:, None] / 2 * self.along[line]
        across = np.where(b_flips[kept], 1.0, -1.0)[:, None] * self.normal[line]
        return Edges(distance[kept], nearest[kept], middle, across, ends[1] - ends[0]), doubt

    def _chords(self, plane: PlanarProblem) -> tuple[FloatArray, FloatArray]:
        """The part of each line inside the rectangle, a little more rather than less."""
        room = 1e-9 * float(np.maximum(-plane.low, plane.high).max()) + self.shift
        start, end = np.full(len(self.a), -np.inf), np.full(len(self.a), np.inf)
        for axis in (0, 1):
            slope, base = self.along[:, axis], self.foot[:, axis]
            with np.errstate(divide="ignore", invalid="ignore"):
                one = (plane.low[axis] - room - base) / slope
                other = (plane.high[axis] + room - base) / slope
            level = np.abs(slope) < 1e-300
            outside = level & ((base < plane.low[axis] - room) | (base > plane.high[axis] + room))
            start = np.where(level, start, np.maximum(start, np.minimum(one, other)))
            end = np.where(level, end, np.minimum(end, np.maximum(one, other)))
            start, end = np.where(outside, np.inf, start), np.where(outside, -np.inf, end)
        return start, end

    def _crossings(
        self, plane: PlanarProblem
    ) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray, BoolArray, BoolArray]:
        """For every line and point c: where c ties with a and b, the half width of the tie, and how c is nearer.

        `rising`: nearer after that place; `falling`: before it; `always`: everywhere; `cloudy`: perhaps everywhere.
        What ties on the true line is looked for on the computed one: the farther c lies beside a pair that is hardly
        apart, the more that changes its key.
        """
        rows = np.arange(len(self.a))
        from_a = plane.h[None] - plane.h[self.a][:, None]
        slope = -2 * np.einsum("lnk,lk->ln", from_a, self.along)
        base = plane.d[None] - plane.d[self.a][:, None] - 2 * np.einsum("lnk,lk->ln", from_a, self.foot)
        aside = np.abs(np.einsum("lnk,lk->ln", from_a, self.normal))
        tolerance = plane.tolerance + 2 * aside * self.shift[:, None]
        reach = 2 * float(np.maximum(-plane.low, plane.high).sum()) + np.linalg.norm(self.foot, axis=1)[:, None]
        level = np.abs(slope) * reach <= tolerance
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(level, 0.0, -base / slope)
            window = np.where(level, 0.0, tolerance / np.abs(slope))
        other = np.ones(place.shape, dtype=bool)
        other[rows, self.a] = other[rows, self.b] = False
        always = level & other & (base < -2 * tolerance)
        cloudy = level & other & (np.abs(base) <= 2 * tolerance)
        return place, window, other & ~level & (slope < 0), other & ~level & (slope > 0), always, cloudy

    def _nearest(self, line: IntArray, left: FloatArray, right: FloatArray, norm: float) -> FloatArray:
        """The t between `left` and `right` whose point is nearest to 0."""
        (p, q), (u, v) = self.foot[line].T, self.along[line].T
        if norm == 2:
            return np.asarray(np.clip(0.0, left, right))
        with np.errstate(divide="ignore", invalid="ignore"):  # smallest at an end or where a coordinate switches
            switches = [-p / u, -q / v, -(p - q) / (u - v), -(p + q) / (u + v)]
        tried = np.stack([left, right, *(np.clip(np.nan_to_num(t), left, right) for t in switches)])
        points = self.foot[line] + tried[:, :, None] * self.along[line]
        best = np.linalg.norm(points, ord=norm, axis=2).argmin(axis=0)
        return np.asarray(tried[best, np.arange(len(line))])
