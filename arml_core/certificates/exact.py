"""The exact robust radius of a 1-NN classifier in ℓ2 (the paper's Section 3.4 and Algorithms 2 and 3).

A flip means that some negative j becomes the nearest point: ``(h_i - h_j)ᵀδ ≤ (d(x,x_i) - d(x,x_j)) / 2`` for every
positive i. For each j that is a convex quadratic program; the radius is the smallest of their optima. Triplet
bounds rule out all but one or two j. Their programs are solved by constraint generation: start from the most
binding positives, solve, add what is violated, and stop when nothing is or when j can no longer win.

Nothing rests on a solver having converged. The lower side is the dual bound ``(Σ λ_i b_i) / ‖Σ λ_i a_i‖`` of the
multipliers found, evaluated from the data with its rounding error subtracted (any λ ≥ 0 gives a valid one); the
upper side is the size of a point that ``predict`` was seen to misclassify.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from ..neighbors.point_set import PointSet
from ..numerics.arrays import FloatArray, IntArray
from ..numerics.error_bounds import float32_error, norm_rounded_up, sum_error, sums_rounded_down
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from ..radii import Radii
from .bounds import Group, groups
from .candidates import Candidates, Screening, by_length
from .exactness import interval_radii
from .least_distance import least_distance
from .screening_kernels import Stop
from .triplet import Triplets
from .triplet_rows import TripletRows

MARGIN = 1e-10  # how far inside the solution is kept, relative to the squared distance
MARGIN_STEPS = (1.0, 1e2, 1e4, 1e5)
NEW_CONSTRAINTS = 4
MAX_ROUNDS = 100
ROWS_AT_ONCE = 4
WIDTH = 32  # negatives in a list
STOP = Stop(1.3, 1, np.empty(0, dtype=np.intp))  # a radius is rarely larger than that many times the triplet bound
DUAL_BYTES = 16 * 2**20


@dataclass
class RadiusProgram:
    """The quadratic program of one test point b and one negative j."""

    b: int
    j: int
    floor: float  # the triplet bound S_0(j)
    chosen: list[int] = field(default_factory=list)  # constraints to solve with: places within the positives
    basis: list[int] = field(default_factory=list)  # constraints of the last solution, and their multipliers
    multipliers: FloatArray = field(default_factory=lambda: np.empty(0))
    delta: FloatArray | None = None
    size: float = np.inf  # of delta; +inf where no δ meets the constraints
    settled: bool = False


def exact_radius(triplets: Triplets, points: PointSet, callback: Callback | None = None) -> Radii:
    """The radius of each test point, all of them classified as `labels` by 1-NN, ℓ2 without a box."""
    n, x = len(points), points.points
    lower, upper, adversarial = np.empty(n), np.full(n, np.inf), np.full(x.shape, np.nan, x.dtype)

    def fill(group: Group) -> None:
        members = group.members
        if group.counts.sum() == group.counts[group.label]:
            lower[members] = np.inf  # no other class is left to win
            return
        search = _GroupSearch(triplets, points.take(members), group.label)
        search.run()
        search.attack()
        lower[members], upper[members], adversarial[members] = search.lower, search.upper, search.adversarial

    done = 0
    chunk = min(256, points.references.distance_bounds.chunk_rows())
    for group, _ in in_parallel(fill, groups(points, chunk), points.threads):
        done += len(group.members)
        report(callback, done, n)
    return interval_radii(triplets, points, lower, upper, adversarial)


class _GroupSearch:
    """The search for a chunk of test points with one label."""

    def __init__(self, triplets: Triplets, points: PointSet, label: int) -> None:
        self.triplets, self.points, self.label = triplets, points, label
        self.x, self.exclude = points.points, points.places_left_out()
        self.rows = TripletRows(triplets, points.exact_points(), label, self.exclude, points.rule.any_order)
        self.lower = np.full(len(points), np.inf)
        self.upper = np.full(len(points), np.inf)
        self.adversarial = np.full(self.x.shape, np.nan, self.x.dtype)
        self.incumbent = np.full(len(points), np.inf)
        self.solved: list[list[RadiusProgram]] = [[] for _ in range(len(points))]
        self._h = torch.from_numpy(triplets.h[self.rows.positives]).to(triplets.references.device)
        self._indices = triplets.references.order[self.rows.positives]

    def run(self) -> None:
        """Fill `lower`, `incumbent` and `solved`, with wider candidate lists where the first was too short."""
        screening = Screening(self.triplets, self.rows, 0, self.exclude)
        waiting: list[tuple[IntArray, int, FloatArray | None]] = [(np.arange(len(self.x)), WIDTH, None)]
        while waiting:
            members, width, below = waiting.pop()
            short = members[self._search(members, screening.candidates(members, width, STOP, below))]
            if len(short):
                limit = self.incumbent[short]
                needed = screening.promising(short, limit)
                waiting += [(short[part], length, limit[part]) for part, length in by_length(needed, width)]
        del screening  # it holds a bound for every pair
        problems = [problem for found in self.solved for problem in found]
        np.minimum.at(self.lower, [problem.b for problem in problems], self._dual_bounds(problems))

    def _search(self, members: IntArray, candidates: Candidates) -> IntArray:
        """Solve the programs that can matter; returns which of the members had a candidate list that was too short."""
        place = candidates.place
        limit = np.column_stack([candidates.bound, candidates.rest])
        floor = np.full(place.shape, np.inf)  # S_0 of the rows computed so far, +inf once solved
        used = np.zeros(len(members), dtype=np.intp)
        known = {(int(b), problem.j) for b in members for problem in self.solved[b]}
        everyone = np.arange(len(members))
        while True:
            best = floor.argmin(axis=1)
            best_floor = floor[everyone, best]
            open_limit = limit[everyone, used]
            horizon = np.minimum(self.incumbent[members], best_floor)
            expand = np.flatnonzero((used < place.shape[1]) & (open_limit < horizon))
            solve = np.flatnonzero((best_floor < self.incumbent[members]) & ~np.isin(everyone, expand))
            if not len(expand) and not len(solve):
                break
            if len(expand):
                self._expand(members, expand, place, limit, floor, used)
            problems = [RadiusProgram(int(members[a]), int(place[a, best[a]]), best_floor[a]) for a in solve]
            floor[solve, best[solve]] = np.inf
            problems = [p for p in problems if (p.b, p.j) not in known]
            self._solve(problems, 1.0, self.incumbent)
            for problem in problems:
                self.solved[problem.b].append(problem)
                size = max(problem.size, problem.floor)  # a solver that lost its digits may end below what is proved
                self.incumbent[problem.b] = min(self.incumbent[problem.b], size)
        open_limit = np.minimum(limit[everyone, used], candidates.rest)  # a listed bound may exceed the rest's
        unsolved = np.minimum(floor.min(axis=1), open_limit)
        short = open_limit < self.incumbent[members]
        self.lower[members] = np.where(short, np.inf, unsolved)
        return np.flatnonzero(short)

    def _expand(
        self,
        members: IntArray,
        which: IntArray,
        place: IntArray,
        limit: FloatArray,
        floor: FloatArray,
        used: IntArray,
    ) -> None:
        """Compute S_0 for the next few candidates of `which`."""
        columns = used[which, None] + np.arange(ROWS_AT_ONCE)
        inside = columns < place.shape[1]
        bound = np.take_along_axis(limit[which], np.minimum(columns, place.shape[1]), axis=1)
        wanted = inside & (bound < self.incumbent[members[which], None])
        a, offset = np.nonzero(wanted)
        a, column = which[a], columns[a, offset]
        floor[a, column] = self.rows.largest(members[a], place[a, column], 1)[:, 0]
        used[which] += wanted.sum(axis=1)

    def _solve(self, problems: list[RadiusProgram], margin_factor: float, cutoff: FloatArray) -> None:
        """Constraint generation for many programs at once; the violation check is one matrix product."""
        if not problems:
            return
        b = np.array([p.b for p in problems])
        j = np.array([p.j for p in problems])
        n, n_error = self.rows.negative_distances(b, j)
        kept, row = self.rows.denominators(j)
        below = kept[row]
        margin = margin_factor * self._margin(b, n, n_error, below)
        slack = (self.rows.p[b] - n[:, None]) / 2 - margin[:, None]  # (h_i - h_j)ᵀδ ≤ slack
        slack[self.rows.p_high[b] == np.inf] = np.inf
        twin, order = self.triplets.references.twin, self.triplets.references.order
        slack[twin[self._indices] == twin[order[j]][:, None]] = np.inf  # an M-identical positive never interferes
        distance = -slack / below
        for problem, places in zip(problems, _most_violated(distance), strict=True):
            if not problem.chosen:
                problem.chosen = places
        active = np.arange(len(problems))
        for _ in range(MAX_ROUNDS):
            for a in active:
                self._solve_chosen(problems[int(a)], slack[a], cutoff)
            active = active[[not problems[int(a)].settled for a in active]]
            if not len(active):
                break
            self._add_violated([problems[int(a)] for a in active], slack[active], below[active], margin[active])
            active = active[[not problems[int(a)].settled for a in active]]

    def _margin(self, b: IntArray, n: FloatArray, n_error: FloatArray, below: FloatArray) -> FloatArray:
        """How much closer than every positive j should come, so that rounding cannot undo it."""
        margin = np.maximum(MARGIN * n, 8 * (n_error + self.rows.p_error[b].min(axis=1)))
        if self.x.dtype == np.float32:
            rounding = float32_error(np.linalg.norm(self.x[b].astype(np.float64), axis=1))
            margin = np.maximum(margin, 2 * rounding * np.median(below, axis=1))
        return np.asarray(margin)

    def _solve_chosen(self, problem: RadiusProgram, slack: FloatArray, cutoff: FloatArray) -> None:
        chosen = np.array(problem.chosen, dtype=np.intp)
        h = self.triplets.h
        problem.basis = list(problem.chosen)
        normals = h[problem.j] - h[chosen + self.rows.positives.start]
        lengths = np.sqrt(np.einsum("id,id->i", normals, normals))
        offsets = -slack[chosen]
        if not len(chosen) or offsets.max() <= 0:
            problem.delta, problem.size, problem.multipliers = np.zeros(h.shape[1]), 0.0, np.zeros(len(chosen))
            return
        if not lengths.all():  # a constraint without a direction: met, or never met
            still = lengths == 0
            lengths[still] = np.where(offsets[still] > 0, offsets[still], 1.0)
            offsets[still] = np.maximum(offsets[still], 0.0)
        problem.delta, multipliers, feasible = least_distance(normals / lengths[:, None], offsets / lengths)
        with np.errstate(over="ignore"):  # infinite: too far to be asked about
            problem.size = float(np.linalg.norm(problem.delta)) if feasible else np.inf
        problem.multipliers = multipliers / lengths
        problem.settled = not feasible or problem.size > cutoff[problem.b] * (1 + 1e-9)

    def _add_violated(
        self, problems: list[RadiusProgram], slack: FloatArray, below: FloatArray, margin: FloatArray
    ) -> None:
        delta = np.stack([p.delta for p in problems if p.delta is not None])
        products = (torch.from_numpy(delta).to(self._h.device) @ self._h.T).cpu().numpy()
        own = np.einsum("qd,qd->q", delta, self.triplets.h[[p.j for p in problems]])
        violation = products - own[:, None] - slack
        violation[violation <= margin[:, None] / 2] = -np.inf
        for problem, worst in zip(problems, _most_violated(violation / below), strict=True):
            fresh = [i for i in worst if i not in problem.chosen]
            if not fresh:
                problem.settled = True
                continue
            binding = [i for i, weight in zip(problem.basis, problem.multipliers, strict=True) if weight > 0]
            problem.chosen = binding + fresh

    def _dual_bounds(self, problems: list[RadiusProgram]) -> FloatArray:
        """A valid lower bound on each program's optimum from its multipliers, rounded down."""
        bounds = np.array([p.floor for p in problems])
        proving = [q for q, p in enumerate(problems) if (p.multipliers > 0).any()]
        step = max(1, DUAL_BYTES // (8 * self.x.shape[1] * max((len(problems[q].basis) for q in proving), default=1)))
        for start in range(0, len(proving), step):
            some = proving[start : start + step]
            bounds[some] = self._merged([problems[q] for q in some], bounds[some])
        return bounds

    def _merged(self, problems: list[RadiusProgram], floor: FloatArray) -> FloatArray:
        """The same where every program has a multiplier: its constraints, weighted by them, added up to one."""
        references, threat = self.triplets.references, self.triplets.threat
        used = [p.multipliers > 0 for p in problems]
        counts = np.array([u.sum() for u in used])
        first, of = np.cumsum(counts) - counts, np.repeat(np.arange(len(problems)), counts)
        # any positive factor will do
        weight = np.concatenate([p.multipliers[u] / p.multipliers.max() for p, u in zip(problems, used, strict=True)])
        chosen = np.concatenate([np.array(p.basis)[u] for p, u in zip(problems, used, strict=True)])
        positives = references.points(self._indices[chosen])
        negatives = references.points(references.order[[p.j for p in problems]])
        x = self.rows.x[[p.b for p in problems]]
        _, p_high = self.triplets.distance_interval(x[of], positives)
        n_low, _ = self.triplets.distance_interval(x, negatives)
        terms = weight * (n_low[of] - p_high) / 2
        above = sums_rounded_down(terms, first)
        difference = weight[:, None] * (negatives[of] - positives)
        merged = np.add.reduceat(np.abs(difference), first, axis=0)
        vector = threat.reduce(references.metric.apply(np.add.reduceat(difference, first, axis=0)))
        magnitude = threat.reduce(references.metric.absolute_apply(merged))
        error = references.transform_error(magnitude) + 2 * sum_error(magnitude, int(counts.max()))
        below = norm_rounded_up(vector, error)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where((below == 0) & (above > 0), np.inf, above / below)
        bound[self.triplets.underflows(vector, error, merged)] = -np.inf
        return np.where(bound > floor, bound, floor)  # the floor where it is not a number, too

    def attack(self) -> None:
        """Turn solutions into points that are really misclassified, stepping further inside where needed."""
        queue = {b: sorted(problems, key=lambda p: p.size) for b, problems in enumerate(self.solved)}
        no_limit = np.full(len(self.x), np.inf)
        for attempt in range(3):
            trying = {b: problems[attempt] for b, problems in queue.items() if len(problems) > attempt}
            for factor in MARGIN_STEPS:
                trying = {b: p for b, p in trying.items() if not np.isfinite(self.upper[b])}
                if factor > 1 or attempt > 0:
                    trying = {b: RadiusProgram(b, p.j, p.floor, chosen=p.basis) for b, p in trying.items()}
                    self._solve(list(trying.values()), factor, no_limit)
                self._record([p for p in trying.values() if np.isfinite(p.size)])

    def _record(self, problems: list[RadiusProgram]) -> None:
        if not problems:
            return
        threat = self.triplets.threat
        b = np.array([p.b for p in problems])
        delta = threat.expand(np.stack([p.delta for p in problems if p.delta is not None]))
        points = (self.x[b].astype(np.float64) + delta).astype(self.x.dtype)
        fooled = self.points.flips(points, b)
        moved = points[fooled].astype(np.float64) - self.x[b[fooled]].astype(np.float64)
        self.upper[b[fooled]] = threat.size_rounded_up(moved)
        self.adversarial[b[fooled]] = points[fooled]


def _most_violated(violation: FloatArray) -> list[list[int]]:
    """The places of the few largest finite entries of each row."""
    count = min(NEW_CONSTRAINTS, violation.shape[1])
    places = np.argpartition(violation, -count, axis=1)[:, -count:]
    finite = np.take_along_axis(violation, places, axis=1) > -np.inf
    return [row[kept].tolist() for row, kept in zip(places, finite, strict=True)]
