"""`search`: both sides of the radius, brought together as far as a time budget allows.

Starts from the `votes` bound below and the white-box attack above. Where at most two features can move, the radius is
exact, in every norm: read off the lines on which the answer can change (:mod:`.bisectors`), or, for one feature and
among many ties, found by a walk from region to region (:mod:`.region_walk`). Otherwise branch and bound
(:mod:`.branch`) raises the lower side, in a box and out of it, and what it finds on the way lowers the upper one. Both
sides are valid whenever it stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..neighbors.point_set import PointSet
from ..neighbors.vote import TRAINING_ORDER, FlipRule
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.error_bounds import difference_error, squared_distance_error
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from ..radii import Radii
from .bisectors import Edges, flipping_edges
from .bounds import Case, votes_cases
from .candidates import Screening
from .exactness import bounds_meet, interval_radii, neighbor_distance, operator_norm
from .pairs import MOST_NEGATIVES, PairGraph
from .region_walk import PlanarProblem, walk
from .triplet import Triplets
from .triplet_rows import TripletRows

if TYPE_CHECKING:
    from .branch import BranchAndBound

JUST_MORE = 1e-6  # of the upper side: above a radius by so much, a proof is as good as at it; above 0 it can be found
LIST_WIDTH = 1024
MORE_TAKES = 4  # times as long to prepare: a list twice as long
MOST_SCREENED = 8192  # negatives whose bounds are sharpened, of which the best are listed
FAR = 100.0  # widths of the data: how far the plane is searched where nothing is known to flip
ANGLES, SIZES = 32, 32  # of the first look around
MOST_CROSSED = 8
ROWS_AT_ONCE = 4096
STEPS_ACROSS = (0.1, 1e-2, 1e-3, 1e-5, 1e-7)
STEPS_INSIDE = tuple(10.0**k for k in range(-10, 0))

Attack = Callable[[Triplets, PointSet, int, FloatArray | None], tuple[float, NDArray[np.floating]] | None]
"""``attack(triplets, points, member, start)``: the best misclassified version of a point found from `start` (None: from
scratch), as (size, point). It is handed in, because certificates know nothing of attacks."""


@dataclass
class PointSearch:
    """The search for one of the points, `member`, from a valid bound `lower`.

    Neither side is cut off at the other: :func:`~arml_core.radii.at_most_upper` is to see what each has come to.

    With `at`, radii at which a verdict is wanted, it ends once each of them is below `lower` or not below `upper`.
    """

    triplets: Triplets
    points: PointSet
    member: int
    attack: Attack
    lower: float
    at: tuple[float, ...] | None = None
    upper: float = np.inf
    adversarial: NDArray[np.floating] | None = None

    def __post_init__(self) -> None:
        self.x: NDArray[np.floating] = self.points.points[self.member]
        self.label = int(self.points.labels[self.member])
        self.exclude = self.points.left_out(self.member)
        self.ranges = self.points.ranges_of(self.member)

    def run(self, budget: float, max_nodes: int | None = None) -> None:
        """Bring `lower` and `upper` together for up to `budget` seconds, and up to `max_nodes` of branch and bound."""
        started = time.perf_counter()
        if np.isinf(self.lower) or not self._is_open():
            return
        if len(self.triplets.threat.movable) <= 2 and not self.triplets.threat.free.any():
            self._search_plane(started, budget)
        else:
            self._try(None)
            if self._is_open():
                self._branch(started, budget, max_nodes)

    def _is_open(self) -> bool:
        """Whether there is anything left to find out."""
        return self.lower < min(self.upper, self._ceiling())

    def _ceiling(self) -> float:
        """A lower side of this much settles every verdict that is still open; without `at` none does."""
        if self.at is None:
            return np.inf
        undecided = [radius for radius in self.at if self.lower <= radius < self.upper]
        if not undecided:
            return 0.0
        more = JUST_MORE * self.upper if np.isfinite(self.upper) else 0.0
        return min(self.upper, float(np.nextafter(max(undecided) + more, np.inf)))

    def _try(self, start: FloatArray | None) -> None:
        found = self.attack(self.triplets, self.points, self.member, start)
        if found is not None and found[0] < self.upper:
            self.upper, self.adversarial = found

    def _search_plane(self, started: float, budget: float) -> None:
        near, width = self._lengths()
        if width == 0:
            return  # neither the data nor a distance gives any length to look at
        self._glance(near, width)
        attacked = np.isinf(self.upper)
        if attacked:
            self._try(None)
        limit = self._limit(width)
        proved = self._prove(limit, started, budget, attacked)
        if self.upper < limit / 2 and not self._met(proved):  # keys in play are smaller now, and so is what they blur
            proved = max(proved, self._prove(self.upper, started, budget, attacked=True))
        if self.adversarial is not None and not self._met(proved):
            self._try(self.adversarial.astype(np.float64))  # slide into the corner that stepping only came near
        self.lower = max(self.lower, proved)

    def _lengths(self) -> tuple[float, float]:
        """A length around x, and the width of the data: how far to look, as the attacker measures it."""
        references, threat = self.triplets.references, self.triplets.threat
        near = float(neighbor_distance(self.triplets, self._alone())[0])
        width = references.spread(threat) or near  # what can move may have the same value in every row
        if width == 0 and (strength := operator_norm(self.triplets)) > 0:
            u, _ = references.embed(self.x[None])
            width = float(np.linalg.norm(references.u - u, axis=1).max()) / strength
        return min(near, width) or width, width

    def _limit(self, width: float) -> float:
        return self.upper if np.isfinite(self.upper) else FAR * max(width, self.lower)

    def _met(self, proved: float) -> bool:
        sides = np.array([min(proved, self.upper)]), np.array([self.upper])
        return bool(bounds_meet(*sides, self.triplets, self._alone())[0])

    def _alone(self) -> PointSet:
        return self.points.take(np.array([self.member]))

    def _flips(self, points: NDArray[np.floating]) -> BoolArray:
        return self.points.flips_one(points, self.member)

    def _prove(self, limit: float, started: float, budget: float, attacked: bool) -> float:
        """Below which size nothing flips, looking no further than `limit`; what is seen to flip lowers `upper`."""
        norm = self.triplets.threat.norm
        plane = self._plane(limit)
        two = len(self.triplets.threat.movable) == 2
        edges = flipping_edges(plane, _deadline(started, budget)) if two else None
        if edges is not None:
            found = min(edges.distance.min(initial=np.inf), plane.limit)
            self._cross(edges)
        else:
            if not attacked:
                self._try(None)  # the walk goes no further than the upper side: a smaller one saves regions
            plane = self._plane(min(limit, self.upper), whole=True)
            found = walk(plane, _deadline(started, budget), self._step_into)
        corner = np.linalg.norm(np.maximum(-plane.low, plane.high), ord=norm)
        if corner < plane.limit and found >= plane.limit:  # the rectangle was the box itself, and nothing in it flips
            if np.isinf(self.upper):
                return np.inf
            found = corner  # where the point behind `upper` must be then
        return float(found * (1 - 1e-8) - 1e-11 * plane.limit)

    def _plane(self, limit: float, whole: bool = False) -> PlanarProblem:
        x = self.x.astype(np.float64)
        n_neighbors = self.points.n_neighbors
        room = self.triplets.threat.room(x, self.ranges)
        rule = self.points.rule
        return planar_problem(self.triplets, x, self.label, n_neighbors, self.exclude, limit, whole, room, rule)

    def _glance(self, near: float, width: float) -> None:
        """A first upper side: the smallest of some steps all around that changes the answer."""
        threat = self.triplets.threat
        angles = np.arange(ANGLES) * (2 * np.pi / ANGLES)
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, : len(threat.movable)]
        around = around[np.abs(around).max(axis=1) > 0]
        around /= np.linalg.norm(around, ord=threat.norm, axis=1, keepdims=True)
        sizes = np.geomspace(max(self.lower, 1e-3 * near), 4 * width + self.lower, SIZES)
        points, sizes = self._moved((sizes[:, None, None] * around).reshape(-1, around.shape[1]))
        held = np.isfinite(points).all(axis=1)  # a lower side of 1e149 leads beyond float32
        points, sizes = points[held], sizes[held]
        flipped = np.flatnonzero(self._flips(points))
        if len(flipped):
            best = flipped[sizes[flipped].argmin()]
            self.upper, self.adversarial = float(sizes[best]), points[best]

    def _cross(self, edges: Edges) -> None:
        """Enter the flipped side of the nearest edge that has room for a point."""
        for k in range(min(len(edges.distance), MOST_CROSSED)):
            if edges.distance[k] >= self.upper:
                return
            for step in STEPS_ACROSS:  # the largest that is still in the region beside this edge
                inside = edges.middle[k] + step * edges.length[k] * edges.across[k]
                if self._flips(self._moved(inside[None])[0])[0]:
                    if self._step_into(edges.nearest[k], inside):
                        return
                    break

    def _moved(self, moves: FloatArray) -> tuple[NDArray[np.floating], FloatArray]:
        """x after each of the moves, as far as the box allows, and their sizes, rounded up."""
        threat, x = self.triplets.threat, self.x.astype(np.float64)
        with np.errstate(over="ignore"):
            points = (x + threat.expand(moves)).astype(self.x.dtype)
        points = threat.keep_within(points, self.x, self.ranges)
        return points, threat.size_rounded_up(points.astype(np.float64) - x)

    def _step_into(self, nearest: FloatArray, inside: FloatArray) -> bool:
        """Find the first of a few points, ever deeper inside a region, that is really misclassified."""
        moves = np.array([nearest + step * (inside - nearest) for step in STEPS_INSIDE])
        points, sizes = self._moved(moves[:, : len(self.triplets.threat.movable)])
        flipped = np.flatnonzero(self._flips(points))
        if len(flipped) and sizes[flipped[0]] < self.upper:
            self.upper, self.adversarial = float(sizes[flipped[0]]), points[flipped[0]]
        return len(flipped) > 0

    def _branch(self, started: float, budget: float, max_nodes: int | None) -> None:
        references = self.triplets.references
        counts = references.counts - np.bincount(references.label[self.exclude], minlength=references.n_classes)
        cases = votes_cases(self.label, self.points.n_neighbors, counts, self.points.rule)
        if not cases or not counts[self.label]:
            return
        places = references.rank[self.exclude][None] if len(self.exclude) else None
        exact_x, any_order = self.x.astype(np.float64)[None], self.points.rule.any_order
        alone = self.points.ranges_of(np.array([self.member]))
        rows = TripletRows(self.triplets, exact_x, self.label, places, any_order, alone)
        alone_in_vote = self.points.n_neighbors == 1  # then there are no pairs to weigh
        most, longest = (LIST_WIDTH, MOST_SCREENED) if alone_in_vote else (MOST_NEGATIVES, LIST_WIDTH)
        deadline = None
        while True:
            begun = time.perf_counter()
            search, is_whole = self._prepare(rows, cases, places, most)
            now = time.perf_counter()
            if deadline is None:  # from now: the first search of a process loads its loops
                deadline = _deadline(started, budget)
            if search is not None:
                search.run(deadline, max_nodes)
                self._try_leaves(search)
            left = deadline - time.perf_counter()
            if is_whole or most >= longest or max_nodes is not None or not self._is_open():
                return
            if left < MORE_TAKES * (now - begun):
                return
            most = min(2 * most, longest)

    def _try_leaves(self, search: BranchAndBound) -> None:
        """Take over what a search has proved, and attack from the moves that it could not rule out."""
        tried = 0
        threat = self.triplets.threat
        sizes = [float(np.linalg.norm(threat.counted(delta), ord=threat.norm)) for delta in search.leaves]
        for number in np.argsort(sizes, kind="stable"):
            delta, size = search.leaves[number], sizes[number]
            if size < self.upper * (1 - 1e-6) and tried < 3:
                tried += 1
                self._try(self.x.astype(np.float64) + threat.expand(delta))
        self.lower = max(self.lower, search.lower)

    def _prepare(
        self, rows: TripletRows, cases: list[Case], places: IntArray | None, most: int
    ) -> tuple[BranchAndBound | None, bool]:
        """A search among the `most` promising negatives, and whether no other one can matter.

        None where there is nothing to search: `lower` is then what the others allow.
        """
        from .branch import BranchAndBound, HalfSpaces  # half a second of import for those who search

        triplets, ceiling = self.triplets, self._ceiling()
        depth = max(case.m for case in cases) + 1
        n_positives = int(np.count_nonzero(np.isfinite(rows.p_high[0])))
        screening = Screening(triplets, rows, min(depth, n_positives) - 1, places)
        if depth > n_positives:  # with every positive inside, only other negatives hold a negative back
            found = screening.candidates(np.arange(1), len(triplets.references))
            promising = int(np.count_nonzero(np.isfinite(found.bound[0])))
            if promising > most:
                return None, False
        else:
            screened = len(triplets.references) if self.points.n_neighbors == 1 else MOST_SCREENED
            limit = screening.limit_of(screened, np.array([min(self.upper, ceiling)]))
            found = screening.candidates(np.arange(1), max(LIST_WIDTH, most + 1), below=limit)
            promising = int(np.count_nonzero(found.bound[0] < min(self.upper, ceiling)))
        count = min(promising, most)
        following = found.bound[0][count : count + 1]  # may exceed the bound of those that are not listed
        rest = float(following.min(initial=found.rest[0]))
        is_whole = rest >= min(self.upper, ceiling)
        if rest <= self.lower or count == 0:
            self.lower = max(self.lower, rest)
            return None, is_whole
        place = found.place[0][:count]
        weighed = MOST_NEGATIVES if self.points.n_neighbors == 1 else most
        graph = PairGraph(triplets, rows, 0, place, depth, rest, weighed)
        n, n_error = rows.negative_distances(np.zeros(count, dtype=np.intp), place)
        local = HalfSpaces(
            triplets.whole_h[place],
            triplets.whole_h[rows.positives],
            n - n_error,
            n + n_error,
            rows.p_high[0],
            triplets.h_slack[place],
            triplets.h_slack[rows.positives],
            triplets.threat.norm,
            self._room(),
            triplets.threat.free if triplets.threat.free.any() else None,
        )
        return BranchAndBound(local, graph, cases, self.upper, ceiling), is_whole

    def _room(self) -> tuple[FloatArray, FloatArray] | None:
        """How far the features may fall and rise; None where a move below the upper side hits no limit."""
        threat = self.triplets.threat
        room = threat.room(self.x.astype(np.float64), self.ranges)
        if room is None or (not threat.free.any() and min(float(side.min()) for side in room) >= self.upper):
            return None
        return room


def _deadline(started: float, budget: float) -> float:
    """When what begins now has to end: it has at least half the budget, however long an attack before it took."""
    return max(started + budget, time.perf_counter() + budget / 2)


def planar_problem(
    triplets: Triplets,
    x: FloatArray,
    label: int,
    n_neighbors: int,
    exclude: IntArray,
    limit: float,
    whole: bool,
    room: tuple[FloatArray, FloatArray] | None = None,
    rule: FlipRule = TRAINING_ORDER,
) -> PlanarProblem:
    """The training points that can be among the neighbours of x + δ, in training order.

    For ‖δ‖ ≤ `limit`; with `whole` for every δ whose features move by at most that, so that regions are right up to
    the corners of the rectangle.
    """
    references, threat = triplets.references, triplets.threat
    metric = references.metric
    down, up = room if room is not None else (np.full(len(threat.movable), np.inf),) * 2
    low, high = -np.minimum(down, limit), np.minimum(up, limit)
    farthest = np.maximum(-low, high)
    columns = np.linalg.norm(metric.components[:, threat.movable] / threat.costs, axis=0)
    reach = float(columns @ farthest)  # ‖Gδ‖ is at most this
    if not whole:
        reach = min(reach, operator_norm(triplets) * limit)
    move = metric.magnitude(threat.expand(farthest))
    blur = float(references.transform_error(move))  # of G(x + δ - x_a), on top of that of G(x - x_a)

    u, slack = references.embed(x[None])
    distance = np.linalg.norm(references.u[references.rank] - u[0], axis=1)  # in training order
    error = slack[0] + references.slack[references.rank] + blur + difference_error(distance, metric.rank)
    farther = distance + error
    farther[exclude] = np.inf
    last = np.partition(farther, n_neighbors - 1)[n_neighbors - 1]
    keep = np.flatnonzero((distance - error <= (last + 2 * reach) * (1 + 1e-12)) & np.isfinite(farther))

    # From differences with x, not with the centre: far from it those lose the digits that decide.
    first, which = np.unique(references.twin[keep], return_inverse=True)  # M-identical points tie to the last bit
    d, vectors, d_slack, h_error = _around(triplets, x, first)
    error_at_most = squared_distance_error((np.sqrt(d) + reach) ** 2, d_slack + blur) + 2 * h_error @ farthest
    h = np.zeros((len(keep), 2))
    h[:, : len(threat.movable)] = vectors[which]
    corner = np.zeros((2, 2))
    corner[:, : len(threat.movable)] = low, high
    labels, twins = references.label[keep], references.twin[keep]
    before, after = _chain(twins * references.n_classes + labels if rule.any_order else twins)
    return PlanarProblem(
        h,
        d[which],
        float(error_at_most.max()),
        before,
        after,
        corner[0],
        corner[1],
        limit,
        threat.norm,
        n_neighbors,
        labels,
        references.n_classes,
        label,
        rule,
    )


def _around(
    triplets: Triplets, x: FloatArray, indices: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of training points: d(x, x_a), h_a = M(x_a - x) as the attacker sees it, the errors of G(x_a - x) and of h_a."""
    references, threat = triplets.references, triplets.threat
    metric, parts = references.metric, []
    for some in np.array_split(indices, 1 + len(indices) // ROWS_AT_ONCE):
        difference = references.points(some) - x
        parts.append(
            (
                metric.squared_distances(x, references.points(some)),
                threat.reduce(metric.apply(difference)),
                references.transform_error(metric.magnitude(difference)),
                threat.reduce(references.transform_error(metric.absolute_apply(difference))),
            )
        )
    d, h, slack, h_error = (np.concatenate(values) for values in zip(*parts, strict=True))
    return d, h, slack, h_error


def _chain(groups: IntArray) -> tuple[IntArray, IntArray]:
    """For each point the one before and the one after it in its own group, -1 for none."""
    before, after = np.full(len(groups), -1), np.full(len(groups), -1)
    last: dict[int, int] = {}
    for place, group in enumerate(groups.tolist()):
        if group in last:
            before[place], after[last[group]] = last[group], place
        last[group] = place
    return before, after


def search_radius(
    triplets: Triplets,
    points: PointSet,
    lower: FloatArray,
    attack: Attack,
    budget: ArrayLike = 1.0,
    at: tuple[float, ...] | None = None,
    callback: Callback | None = None,
) -> Radii:
    """Both sides for test points, starting from valid bounds `lower`.

    `budget` is seconds per point, or for each of them, about: an attack is not cut off, and what comes after it has at
    least half of them.
    With `at`, only as much of it is spent as the verdicts at these radii need.
    """
    n, x = len(points), points.points
    seconds = np.broadcast_to(np.asarray(budget, dtype=np.float64), (n,))
    lower, upper, adversarial = lower.copy(), np.full(n, np.inf), np.full(x.shape, np.nan, x.dtype)

    def search(b: int) -> PointSearch:
        point = PointSearch(triplets, points, b, attack, float(lower[b]), at)
        point.run(float(seconds[b]))
        return point

    for b, point in in_parallel(search, range(n), points.threads):
        lower[b], upper[b] = point.lower, point.upper
        if point.adversarial is not None:
            adversarial[b] = point.adversarial
        report(callback, b + 1, n)
    return interval_radii(triplets, points, lower, upper, adversarial)
