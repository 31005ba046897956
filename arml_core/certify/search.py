"""`search`: both sides of the radius, brought together as far as a time budget allows.

Starts from the `votes` bound below and the white-box attack above. Where at most two features can move, the plane is
searched region by region (:mod:`.plane`) and the radius comes out exact, in every norm. Otherwise branch and bound
(:mod:`.branch`) raises the lower side, and what it finds on the way lowers the upper one. Both sides are valid
whenever it stops. With a box and more than two movable features, the two starting bounds are returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..progress import Callback, report
from ..rounding import FloatArray, IntArray, gamma
from .bounds import Case, votes_cases
from .branch import BranchAndBound, Local
from .candidates import find_candidates
from .exact import Interval, sides_meet
from .pairs import MOST_NEGATIVES, PairGraph
from .plane import Plane, Region, walk
from .rows import Rows
from .triplet import Triplets

LIST_WIDTH = 1024
POSITIVES = 256
FAR = 100.0  # spreads of the data: how far the plane is searched where nothing is known to flip
STEPS_INSIDE = tuple(10.0**k for k in range(-10, 0))

Attack = Callable[[FloatArray | None], tuple[float, NDArray[np.floating]] | None]
"""``attack(start)``: the best misclassified point found from `start` (None: from scratch), as (size, point)."""


@dataclass
class PointSearch:
    """The search for one test point, which the classifier gives the class `label`.

    `exclude` are training indices left out for this point; `predict` gives class codes for perturbed versions of x.
    """

    triplets: Triplets
    x: NDArray[np.floating]
    label: int
    n_neighbors: int
    exclude: IntArray
    predict: Callable[[NDArray[np.floating]], IntArray]
    attack: Attack
    lower: float
    upper: float = np.inf
    adversarial: NDArray[np.floating] | None = None

    def run(self, budget: float, max_nodes: int | None = None) -> None:
        """Bring `lower` and `upper` together for up to `budget` seconds."""
        deadline = time.perf_counter() + budget
        if np.isinf(self.lower):
            return
        self._try(None)
        if self.lower < self.upper:
            if len(self.triplets.threat.movable) <= 2:
                self._search_plane(deadline)
            elif self.triplets.threat.box is None:
                self._branch(deadline, max_nodes)
        self.lower = min(self.lower, self.upper)

    def _try(self, start: FloatArray | None) -> None:
        found = self.attack(start)
        if found is not None and found[0] < self.upper:
            self.upper, self.adversarial = found

    def _search_plane(self, deadline: float) -> None:
        reference, threat = self.triplets.reference, self.triplets.threat
        spread = reference.spread(threat)
        limit = self.upper if np.isfinite(self.upper) else FAR * spread
        plane = build_plane(self.triplets, self.x.astype(np.float64), self.label, self.n_neighbors, self.exclude, limit)
        found = walk(plane, limit, deadline, self._step_into)
        if self.adversarial is not None and found < self.upper * (1 - 1e-7):
            self._try(self.adversarial.astype(np.float64))  # slide into the corner that stepping only came near
        whole_box = np.all(plane.high - plane.low < limit)  # the rectangle was the box itself, and nothing in it flips
        proved = np.inf if whole_box and found >= limit else found * (1 - 1e-8) - 1e-9 * spread
        self.lower = max(self.lower, min(proved, self.upper))

    def _step_into(self, nearest: FloatArray, inside: FloatArray) -> bool:
        """Find the first of a few points, ever deeper inside a region, that is really misclassified."""
        threat = self.triplets.threat
        moves = np.array([nearest + step * (inside - nearest) for step in STEPS_INSIDE])[:, : len(threat.movable)]
        points = threat.keep_within((self.x.astype(np.float64) + threat.expand(moves)).astype(self.x.dtype), self.x)
        sizes = threat.size(points.astype(np.float64) - self.x.astype(np.float64)) * (1 + gamma(points.shape[1] + 8))
        flipped = np.flatnonzero(self.predict(points) != self.label)
        if len(flipped) and sizes[flipped[0]] < self.upper:
            self.upper, self.adversarial = float(sizes[flipped[0]]), points[flipped[0]]
        return len(flipped) > 0

    def _branch(self, deadline: float, max_nodes: int | None) -> None:
        reference = self.triplets.reference
        counts = reference.counts - np.bincount(reference.label[self.exclude], minlength=reference.n_classes)
        cases = votes_cases(self.label, self.n_neighbors, counts)
        if any(case.m >= counts[self.label] for case in cases):
            return
        places = reference.rank[self.exclude][None] if len(self.exclude) else None
        rows = Rows(self.triplets, self.x.astype(np.float64)[None], self.label, places)
        search = self._prepare(rows, cases, places)
        if search is None:
            return
        search.run(deadline, max_nodes)
        tried = 0
        for delta in sorted(search.leaves, key=lambda delta: float(np.linalg.norm(delta))):
            size = float(np.linalg.norm(delta, ord=self.triplets.threat.norm))
            if size < self.upper * (1 - 1e-6) and tried < 3:
                tried += 1
                self._try(self.x.astype(np.float64) + self.triplets.threat.expand(delta * (1 + 1e-6)))
        self.lower = max(self.lower, min(search.lower, self.upper))

    def _prepare(self, rows: Rows, cases: list[Case], places: IntArray | None) -> BranchAndBound | None:
        triplets = self.triplets
        depth = max(case.m for case in cases) + 1
        found = find_candidates(triplets, rows, depth - 1, LIST_WIDTH, places)
        promising = int(np.count_nonzero(found.bound[0] < self.upper))
        count = min(promising, MOST_NEGATIVES)
        following = found.bound[0][count : count + 1]  # may exceed the bound of those that are not listed
        rest = float(following.min(initial=found.rest[0]))
        if rest <= self.lower or count == 0:
            self.lower = max(self.lower, min(rest, self.upper))
            return None
        place = found.place[0][:count]
        graph = PairGraph(triplets, rows, 0, place, depth, rest)
        n, n_error = rows.negative_distances(np.zeros(count, dtype=np.intp), place)
        nearest = np.argsort(rows.p_high[0])[:POSITIVES]
        nearest = nearest[np.isfinite(rows.p_high[0][nearest])]
        positives = nearest + rows.positives.start
        local = Local(
            triplets.h[place],
            triplets.h[positives],
            n - n_error,
            rows.p_high[0][nearest],
            triplets.h_slack[place],
            triplets.h_slack[positives],
            triplets.threat.norm,
        )
        return BranchAndBound(local, graph, cases, self.upper)


def build_plane(
    triplets: Triplets, x: FloatArray, label: int, n_neighbors: int, exclude: IntArray, limit: float
) -> Plane:
    """The training points that can be among the neighbours of x + δ for some ‖δ‖ ≤ `limit`, in training order."""
    reference, threat = triplets.reference, triplets.threat
    u, _ = reference.embed(x[None])
    difference = reference.u[reference.rank] - u[0]  # in training order; M-identical points tie to the last bit
    d = np.einsum("nr,nr->n", difference, difference)
    d[exclude] = np.inf
    room = threat.room(x)
    down, up = room if room is not None else (np.full(len(threat.movable), np.inf),) * 2
    low, high = -np.minimum(down, limit), np.minimum(up, limit)
    farthest = np.maximum(-low, high)
    per_feature = np.linalg.norm(reference.metric.components[:, threat.movable] / threat.costs, axis=0)
    reach = float(per_feature @ farthest)  # ‖Gδ‖ is at most this
    distance = np.sqrt(d)
    keep = np.flatnonzero(distance <= (np.partition(distance, n_neighbors - 1)[n_neighbors - 1] + 2 * reach) * 1.000001)
    h = np.zeros((len(keep), 2))
    h[:, : len(threat.movable)] = triplets.h[reference.rank[keep]]
    corner = np.zeros((2, 2))
    corner[:, : len(threat.movable)] = low, high
    labels, twins = reference.label[keep], reference.twin[keep]
    before, after = _chain(twins)

    def flips(region: Region) -> bool:
        votes = np.bincount(labels[list(region)], minlength=reference.n_classes)
        return bool(votes.argmax() != label)

    return Plane(h, d[keep], before, after, corner[0], corner[1], threat.norm, n_neighbors, flips)


def _chain(twins: IntArray) -> tuple[IntArray, IntArray]:
    """For each point the one before and the one after it among its M-identical ones, -1 for none."""
    before, after = np.full(len(twins), -1), np.full(len(twins), -1)
    last: dict[int, int] = {}
    for place, twin in enumerate(twins.tolist()):
        if twin in last:
            before[place], after[last[twin]] = last[twin], place
        last[twin] = place
    return before, after


def search_radius(
    triplets: Triplets,
    x: NDArray[np.floating],
    labels: IntArray,
    lower: FloatArray,
    n_neighbors: int,
    predict: Callable[[NDArray[np.floating], IntArray], IntArray],
    attack: Callable[[int, FloatArray | None], tuple[float, NDArray[np.floating]] | None],
    exclude: IntArray | None = None,
    budget: float = 1.0,
    max_nodes: int | None = None,
    callback: Callback | None = None,
) -> Interval:
    """Both sides for test points that the classifier gives `labels`, starting from valid bounds `lower`.

    Parameters
    ----------
    predict : ``predict(points, members)``, class codes of perturbed versions of those members.
    attack : ``attack(member, start)``, a misclassified point near `start`, with its size, or None.
    budget : seconds per point; `max_nodes` bounds the branch and bound as well, for repeatable results.
    """
    result = Interval(
        lower.copy(), np.full(len(x), np.inf), np.full(x.shape, np.nan, x.dtype), np.zeros(len(x), dtype=bool)
    )
    for b in range(len(x)):
        left_out = np.empty(0, dtype=np.intp) if exclude is None else exclude[b][exclude[b] >= 0]
        point = PointSearch(
            triplets,
            x[b],
            int(labels[b]),
            n_neighbors,
            left_out,
            predict=lambda points, b=b: predict(points, np.full(len(points), b)),  # type: ignore[misc]
            attack=lambda start, b=b: attack(b, start),  # type: ignore[misc]
            lower=float(lower[b]),
        )
        point.run(budget, max_nodes)
        result.lower[b], result.upper[b] = point.lower, point.upper
        if point.adversarial is not None:
            result.adversarial[b] = point.adversarial
        report(callback, b + 1, len(x))
    result.exact = sides_meet(result.lower, result.upper, triplets.reference.spread(triplets.threat))
    return result
