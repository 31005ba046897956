"""The Boundary Attack (Brendel, Rauber and Bethge, ICLR 2018): it only asks the classifier for answers.

From a misclassified point it walks along the decision boundary towards x: each step is a random move on the sphere
around x, then a small step inwards, kept if the point is still misclassified. Step sizes adapt to the success rates.

The first misclassified point is uniform noise blended with x, as little of it as is needed (50 steps).

Differences to the original: many points are attacked at once, each with random numbers of its own (seeded by the
seed and the point, so the result does not depend on what else is attacked, nor on the number of threads); the box is
optional, without one the noise fills the range of the training data; where no noise is misclassified, a training point
of another class is the start; frozen features stay as they are; free ones walk at random within their range, by steps
of the same share of it as those on the sphere, and do not count in the radius.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..neighbors.neighbor_lists import HEAD, NeighborListPredictor
from ..neighbors.point_set import PointSet
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.error_bounds import size_rounded_up
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from ..threat import Ranges, ResolvedThreat

STEPS = 25_000
SPHERICAL_STEP = 0.01
SOURCE_STEP = 0.01
CONVERGED = 1e-7  # step sizes below this end the attack on a point
ADAPTATION = 1.5
ADAPT_EVERY = 10
REPORT_EVERY = 10
MEMORY = (100, 30)  # trials over which success rates are taken: sphere, step inwards
DRAWN = 32  # steps of random numbers drawn at once
BLOCK_NUMBERS = 2**20  # a step of a block goes through at least; with fewer, threads wait for the interpreter's lock
RANKING = 32  # as much work as so many numbers of a list's entry is to rank that entry
NOISE_DRAWS = 50
BLEND_STEPS = 50

Predict = Callable[[NDArray[np.floating], IntArray], IntArray]
"""``predict(points, members)``: class codes of perturbed versions of those members."""

Flips = Callable[[NDArray[np.floating], IntArray], BoolArray]
"""``flips(points, members)``: which perturbed versions of those members get another answer."""


class _Rates:
    """Recent successes of one kind of step, one column per point."""

    def __init__(self, length: int, n_points: int) -> None:
        self.outcomes = np.full((length, n_points), np.nan)

    def add(self, rows: IntArray, success: BoolArray) -> None:
        self.outcomes[:, rows] = np.roll(self.outcomes[:, rows], 1, axis=0)
        self.outcomes[0, rows] = success

    def change(self, low: float, high: float) -> FloatArray:
        """By what to multiply step sizes; points whose steps change start counting anew."""
        rate = self.outcomes.mean(axis=0)  # NaN until the memory is full
        with np.errstate(invalid="ignore"):
            factor = np.where(rate > high, ADAPTATION, np.where(rate < low, 1 / ADAPTATION, 1.0))
        self.outcomes[:, factor != 1.0] = np.nan
        return factor


def boundary_attack(
    threat: ResolvedThreat,
    points: PointSet,
    steps: int = STEPS,
    random_state: int = 0,
    callback: Callback | None = None,
) -> tuple[FloatArray, NDArray[np.floating]]:
    """Sizes of the perturbations found, and the perturbed points; +inf and NaN where there is none."""
    blocks = _blocks(points)

    def begin(members: IntArray) -> BoundaryWalk:
        block = points.take(members)
        # Lists answer as `predict` does; which answers other orders of equal distances give, only the set itself knows.
        predict = block.predict if points.rule.any_order else NeighborListPredictor(block, len(blocks))
        return BoundaryWalk(threat, block, predict, _starting_points(threat, block), random_state)

    walks = [walk for _, walk in in_parallel(begin, blocks, len(blocks))]
    run_walks(walks, steps, callback)
    upper, adversarial = np.empty(len(points)), np.empty_like(points.points)
    for members, walk in zip(blocks, walks, strict=True):
        upper[members], adversarial[members] = walk.found()
    rows = np.flatnonzero(np.isfinite(upper))
    if len(rows):  # neighbour lists answered on the way: what is returned has to fool the classifier itself
        in_vain = rows[~points.flips(adversarial[rows], rows)]
        upper[in_vain], adversarial[in_vain] = np.inf, np.nan
    return upper, adversarial


def _blocks(points: PointSet) -> list[IntArray]:
    """The points dealt out in turn to one block a thread, or to fewer where a step would be too short to share."""
    rank = points.references.metric.rank
    numbers = len(points) * (HEAD + points.n_neighbors) * (rank + RANKING)
    count = max(1, min(points.threads, len(points), numbers // BLOCK_NUMBERS))
    return [np.arange(first, len(points), count) for first in range(count)]


def run_walks(walks: list[BoundaryWalk], steps: int, callback: Callback | None = None) -> None:
    """Take the walks through their first `steps` steps, each on a thread of its own, a few steps at a time."""
    reached = [walk.best_size for walk in walks]
    if not any(map(len, reached)):
        return
    few_more = [*range(REPORT_EVERY, steps, REPORT_EVERY), steps]
    # With a thread for each walk, its next piece begins when its last one is finished (see `in_parallel`).
    pieces = ((number, until) for until in few_more for number in range(len(walks)))
    for (number, until), sizes in in_parallel(lambda piece: walks[piece[0]].advance(piece[1]), pieces, len(walks)):
        reached[number] = sizes
        if number == len(walks) - 1:
            report(callback, until, steps, radius=float(np.median(np.concatenate(reached))))
            if not any(walk.is_under_way for walk in walks):
                break
    report(callback, steps, steps, radius=float(np.median(np.concatenate(reached))))


@dataclass(frozen=True)
class Starts:
    """Where an attack may begin: noise between `low` and `high`, or the `fallback` row of each point.

    `low` and `high` are (D,), or (n, D) with a line for each point. `fallback` is (n, D): a training row of a rival
    class for each point, where no noise is misclassified.
    """

    low: FloatArray
    high: FloatArray
    fallback: NDArray[np.floating]


def _starting_points(threat: ResolvedThreat, points: PointSet) -> Starts:
    """Noise fills the range of the training data, inside the box where there is one."""
    references = points.references
    x = references.x
    low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
    low, high = (np.tile(side, (len(points), 1)) for side in (low, high))
    if threat.box is not None and points.ranges is not None:
        same_for_all = all(side.ndim == 1 for side in threat.box)
        box = threat.box if same_for_all else points.ranges
        low[:, threat.movable] = np.maximum(box[0], low[:, threat.movable])
        high[:, threat.movable] = np.minimum(box[1], high[:, threat.movable])
    codes = range(references.n_classes)
    rivals = x[[np.argmax(np.isin(references.label, points.rule.rivals(len(codes), c))) for c in codes]]
    return Starts(low, np.maximum(low, high), rivals[points.labels])


def _misclassified_noise(
    source: FloatArray,
    dtype: np.dtype[np.floating],
    flips: Flips,
    threat: ResolvedThreat,
    ranges: Ranges | None,
    starts: Starts,
    generators: list[np.random.Generator],
) -> FloatArray:
    """For each point a misclassified one to start from; NaN where there is none."""
    targets = np.full(source.shape, np.nan)
    low, high = (np.broadcast_to(side, source.shape) for side in (starts.low, starts.high))
    for draw in range(NOISE_DRAWS + 1):
        rows = np.flatnonzero(np.isnan(targets[:, 0]))
        if not len(rows):
            break
        if draw < NOISE_DRAWS:
            points = np.stack([generators[b].uniform(low[b], high[b]) for b in rows])
        else:
            points = starts.fallback[rows].astype(np.float64)
        points = threat.keep_within(points.astype(dtype), source[rows], None if ranges is None else ranges.of(rows))
        works = flips(points, rows)
        targets[rows[works]] = points[works]
    return targets


def _least_blend(
    source: FloatArray,
    dtype: np.dtype[np.floating],
    flips: Flips,
    threat: ResolvedThreat,
    ranges: Ranges | None,
    targets: FloatArray,
) -> FloatArray:
    """The first misclassified point on the way from x to its target, in steps of 1/50."""
    best = targets.copy()
    waiting = np.flatnonzero(~np.isnan(targets[:, 0]))
    for step in range(1, BLEND_STEPS):
        if not len(waiting):
            break
        share = step / BLEND_STEPS
        points = ((1 - share) * source[waiting] + share * targets[waiting]).astype(dtype)
        points = threat.keep_within(points, source[waiting], None if ranges is None else ranges.of(waiting))
        flipped = flips(points, waiting)
        best[waiting[flipped]] = points[flipped]
        waiting = waiting[~flipped]
    return best


class BoundaryWalk:
    """All points of a set on their way, in scaled coordinates ``costs ∘ δ``, with `predict` as the classifier.

    A point's way does not depend, to the last bit, on which others are in the set.
    """

    def __init__(
        self,
        threat: ResolvedThreat,
        points: PointSet,
        predict: Predict,
        starts: Starts,
        random_state: int = 0,
    ) -> None:
        x, source = points.points, points.exact_points()

        def flips(moved: NDArray[np.floating], members: IntArray) -> BoolArray:
            return points.rule.changed(predict(moved, members), points.labels[members])

        generators = [_generator(random_state, row) for row in source]
        targets = _misclassified_noise(source, x.dtype, flips, threat, points.ranges, starts, generators)
        self.start = _least_blend(source, x.dtype, flips, threat, points.ranges, targets)
        sizes = threat.size(np.nan_to_num(self.start, nan=np.inf) - source)
        self.members = np.flatnonzero(np.isfinite(sizes))  # those that walk
        self.source, self.dtype, self.ranges = source[self.members], x.dtype, points.ranges_of(self.members)
        self.flips, self.threat = flips, threat
        self.at = self.start[self.members]
        self.best, self.best_size = self.at.copy(), sizes[self.members]
        n = len(self.members)
        self.sphere, self.inward = np.full(n, SPHERICAL_STEP), np.full(n, SOURCE_STEP)
        self.alive = np.ones(n, dtype=bool)
        self.rates = (_Rates(MEMORY[0], n), _Rates(MEMORY[1], n))
        self._generators = [generators[b] for b in self.members]
        self._noise = np.empty((0, 0, 0))
        self._done = 0

    @property
    def is_under_way(self) -> bool:
        return bool(self.alive.any())

    def advance(self, until: int) -> FloatArray:
        """Go on until so many steps are done, or all points rest; returns the sizes reached."""
        while self._done < until and self.is_under_way:
            step = self._done
            if step % DRAWN == 0:
                shape = DRAWN, len(self.threat.movable)
                self._noise = np.stack([g.standard_normal(shape) for g in self._generators], axis=1)
            self._step(self._noise[step % DRAWN], check=step % ADAPT_EVERY == 0)
            self._done += 1
        return self.best_size.copy()

    def found(self) -> tuple[FloatArray, NDArray[np.floating]]:
        """The smallest sizes and where they were found; +inf and NaN for points without a misclassified one."""
        upper, points = np.full(len(self.start), np.inf), self.start.copy()
        upper[self.members] = size_rounded_up(self.best_size, self.start.shape[1])
        points[self.members] = self.best
        return upper, points.astype(self.dtype)

    def _step(self, noise: FloatArray, check: bool) -> None:
        threat = self.threat
        rows = np.flatnonzero(self.alive)
        move = threat.reduce_move(self.at[rows] - self.source[rows])  # from x to the current point
        noise = noise[rows]
        if self.ranges is not None and threat.free.any():
            own = self.ranges.of(rows)
            width = np.where(threat.free, own.high - own.low, 0.0)
            wandering = move + self.sphere[rows, None] * noise * width
            move, noise = np.where(threat.free, 0.0, move), np.where(threat.free, 0.0, noise)
        radius = np.linalg.norm(move, axis=1, keepdims=True)
        direction = move / np.maximum(radius, 1e-300)
        sideways = noise - (noise * direction).sum(axis=1, keepdims=True) * direction
        length = np.linalg.norm(sideways, axis=1, keepdims=True)  # 0 where only one feature moves
        sideways *= np.divide(self.sphere[rows, None] * radius, length, out=np.zeros_like(length), where=length > 0)
        around = (move + sideways) / np.sqrt(1 + self.sphere[rows, None] ** 2)  # back on the sphere
        closer = around * (1 - self.inward[rows, None])
        if self.ranges is not None and threat.free.any():
            around, closer = (np.where(threat.free, wandering, moves) for moves in (around, closer))
        candidate = self._points(rows, closer)
        flipped = self.flips(candidate, self.members[rows])
        if check:
            on_sphere = self.flips(self._points(rows, around), self.members[rows])
            self._adapt(rows, on_sphere, flipped)
        kept = rows[flipped]
        self.at[kept] = candidate[flipped]
        size = threat.size(self.at[kept] - self.source[kept])
        better = size < self.best_size[kept]
        self.best[kept[better]], self.best_size[kept[better]] = self.at[kept[better]], size[better]

    def _points(self, rows: IntArray, moves: FloatArray) -> NDArray[np.floating]:
        points = (self.source[rows] + self.threat.expand(moves)).astype(self.dtype)
        ranges = None if self.ranges is None else self.ranges.of(rows)
        return self.threat.keep_within(points, self.source[rows], ranges)

    def _adapt(self, rows: IntArray, on_sphere: BoolArray, flipped: BoolArray) -> None:
        """Larger steps after many successes, smaller ones after many failures; converged points rest."""
        self.rates[0].add(rows, on_sphere)
        self.rates[1].add(rows, flipped)
        factor = self.rates[0].change(0.2, 0.5)
        self.sphere *= factor
        self.inward *= factor
        self.inward *= self.rates[1].change(0.1, 0.25)
        self.alive &= self.inward >= CONVERGED


def _generator(seed: int, row: FloatArray) -> np.random.Generator:
    digest = hashlib.sha256(np.ascontiguousarray(row).tobytes()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
