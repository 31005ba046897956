"""Branch and bound over who is near: raises the lower bound of one point until it meets the upper one.

A flip by case (m, c, t) puts K-m negatives W, at least t of class c, ahead of all positives but m. The search decides
bit by bit which negatives are in W, which positives F must stay behind all of W, and which I may be ahead. Each
partial decision is a relaxation, "all of W ahead of all of F", whose smallest move bounds every completion:

* where that move leaves more positives ahead than may be, one of them must join F;
* otherwise one more negative is taken into W or ruled out, with the pair graph (:mod:`.pairs`) bounding what is left.

The open decision with the smallest bound is refined first, so the bound at any moment is the smallest open one.
Leaving positives out of consideration only lowers it; negatives left out enter through `rest`.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.error_bounds import TINY, rounded_down, sum_error, sums_rounded_down
from ..threat import dual_norm
from .bounds import Case
from .least_distance import least_distance, least_distance_by_program
from .pairs import PairGraph

ROUNDS = 40
MEETING = 1e-7  # relative: closer than this, both sides count as met


@dataclass(frozen=True)
class HalfSpaces:
    """The half-spaces around one test point: "j ahead of i" is ``(h_j - h_i)ᵀδ ≥ (n_j - p_i) / 2``.

    `n` is rounded down and `p` up; `slack` bounds the errors of h in the dual norm.
    """

    negative_h: FloatArray
    positive_h: FloatArray
    n: FloatArray
    p: FloatArray
    negative_slack: FloatArray
    positive_slack: FloatArray
    norm: float


@dataclass(order=True)
class Node:
    """A partial decision; `lower` bounds the radius of every way to complete it."""

    lower: float
    serial: int
    case: Case = field(compare=False)
    pool: BoolArray = field(compare=False)  # negatives not ruled out (a mask); includes W
    w: tuple[int, ...] = field(compare=False, default=())
    inside: tuple[int, ...] = field(compare=False, default=())
    behind: tuple[int, ...] = field(compare=False, default=())
    pairs: tuple[tuple[int, int], ...] = field(compare=False, default=())  # constraints that were binding


class BranchAndBound:
    """The search for one test point.

    Parameters
    ----------
    graph : the negatives in question and the costs of their pairs.
    upper : the best known upper bound; nothing above it is explored.
    """

    def __init__(self, local: HalfSpaces, graph: PairGraph, cases: list[Case], upper: float) -> None:
        self.local, self.graph, self.upper = local, graph, upper
        self.settled = min(upper, graph.rest)  # the smallest bound among what will not be refined further
        self.leaves: list[FloatArray] = []  # moves that fulfil a complete decision: starts for an attack
        self.serials = itertools.count()
        self.heap: list[Node] = []
        everyone = np.ones(len(graph.place), dtype=bool)
        for case in cases:
            self._push(Node(graph.bound_within(case, (), everyone, self.settled), 0, case, everyone))

    @property
    def lower(self) -> float:
        """What is proved so far."""
        return min(self.heap[0].lower if self.heap else np.inf, self.settled)

    def run(self, deadline: float, max_nodes: int | None = None) -> None:
        """Refine until both sides meet, the time is up or `max_nodes` are spent."""
        nodes = 0
        while self.heap and self.lower < self.upper * (1 - MEETING) and self.heap[0].lower < self.settled:
            if time.perf_counter() > deadline or (max_nodes is not None and nodes >= max_nodes):
                break
            self._refine(heapq.heappop(self.heap))
            nodes += 1

    def _push(self, node: Node) -> None:
        if node.lower < self.settled:
            heapq.heappush(self.heap, replace(node, serial=next(self.serials)))

    def _refine(self, node: Node) -> None:
        delta, lower, pairs = self._relax(node)
        node = replace(node, lower=max(node.lower, lower), pairs=pairs)
        if node.lower >= self.settled or delta is None:
            return
        blockers = self._blockers(node, delta)
        capacity = node.case.m - len(node.inside)
        if len(blockers) > capacity:
            for count in range(capacity + 1):
                self._push(
                    replace(
                        node,
                        inside=(*node.inside, *blockers[:count]),
                        behind=(*node.behind, blockers[count]),
                    )
                )
        elif len(node.w) == node.case.negatives:
            self.leaves.append(delta)
            self.settled = min(self.settled, node.lower)
        else:
            self._branch_on_negative(node, delta)

    def _branch_on_negative(self, node: Node, delta: FloatArray) -> None:
        """Take the most likely negative in, or rule it out."""
        graph, case = self.graph, node.case
        chosen = list(node.w)
        free = node.pool.copy()
        free[chosen] = False
        in_class = graph.classes == case.c
        if case.c is not None and np.count_nonzero(~in_class[chosen]) >= case.negatives - case.t:
            free &= in_class  # the places for other classes are taken
        candidates = np.flatnonzero(free)
        if not len(candidates):
            return
        cost = graph.weight[candidates, candidates, case.m]
        for w in chosen:
            cost = np.maximum(cost, graph.weight[candidates, w, case.m])
        keys = self.local.n[candidates] - 2 * (self.local.negative_h[candidates] @ delta)
        j = int(candidates[np.lexsort([keys, cost])[0]])
        without = node.pool.copy()
        without[j] = False
        for taken, pool in (((*node.w, j), node.pool), (node.w, without)):
            bound = graph.bound_within(case, taken, pool, self.settled)
            self._push(replace(node, lower=max(node.lower, bound), w=taken, pool=pool))

    def _blockers(self, node: Node, delta: FloatArray) -> list[int]:
        """Undecided positives that are ahead of some of W at x + δ, the nearest first."""
        if not node.w:
            return []
        local = self.local
        last = float((local.n[list(node.w)] - 2 * (local.negative_h[list(node.w)] @ delta)).max())
        keys = local.p - 2 * (local.positive_h @ delta)
        ahead = keys < last - 1e-10 * (abs(last) + 1e-300)
        ahead[list(node.inside) + list(node.behind)] = False
        places = np.flatnonzero(ahead)
        return [int(i) for i in places[np.argsort(keys[places])]]

    def _relax(self, node: Node) -> tuple[FloatArray | None, float, tuple[tuple[int, int], ...]]:
        """The smallest move with all of W ahead of all of F, a valid bound on its size, and the binding pairs."""
        local = self.local
        delta = np.zeros(local.negative_h.shape[1])
        pairs = [pair for pair in node.pairs if pair[0] in node.w and pair[1] in node.behind]
        lower, binding = 0.0, tuple(pairs)
        if not node.w or not node.behind:
            return delta, lower, ()
        w, behind = np.array(node.w), np.array(node.behind)
        for attempt in range(ROUNDS):
            if pairs:
                found = self._solve(pairs)
                if found is None:
                    return None, np.inf, ()
                delta, multipliers = found
                lower = max(lower, self._dual_bound(pairs, multipliers))
                pairs = [pair for pair, weight in zip(pairs, multipliers, strict=True) if weight > 0]
                binding = tuple(pairs)
                if lower >= self.settled:
                    break
            front = local.n[w] - 2 * (local.negative_h[w] @ delta)
            back = local.p[behind] - 2 * (local.positive_h[behind] @ delta)
            gap = front[:, None] - back[None, :]
            fresh = [
                (int(w[a]), int(behind[b]))
                for a, b in zip(*np.unravel_index(np.argsort(-gap, axis=None)[:6], gap.shape), strict=True)
                if gap[a, b] > 1e-11 * (np.abs(front[a]) + np.abs(back[b]))
            ]
            fresh = [pair for pair in fresh if pair not in pairs]
            if not fresh and (pairs or attempt):
                break
            if not fresh:
                return delta, 0.0, ()
            pairs += fresh
        return delta, lower, binding

    def _half_spaces(self, pairs: list[tuple[int, int]]) -> tuple[FloatArray, FloatArray, FloatArray]:
        j, i = np.array(pairs).T
        local = self.local
        normals = local.negative_h[j] - local.positive_h[i]
        return normals, (local.n[j] - local.p[i]) / 2, local.negative_slack[j] + local.positive_slack[i]

    def _solve(self, pairs: list[tuple[int, int]]) -> tuple[FloatArray, FloatArray] | None:
        """δ and multipliers of the relaxation; None where a contradiction proves it impossible."""
        normals, offsets, _ = self._half_spaces(pairs)
        lengths = np.maximum(np.linalg.norm(normals, axis=1), TINY)
        if float(offsets.max()) <= 0:
            return np.zeros(normals.shape[1]), np.zeros(len(pairs))
        with np.errstate(over="ignore"):
            unit, scaled = normals / lengths[:, None], offsets / lengths
        if scaled.max() == np.inf:  # no move to speak of brings these two together
            alone = (np.arange(len(pairs)) == scaled.argmax()).astype(np.float64)
            proved = self._dual_bound(pairs, alone) >= self.settled
            return None if proved else (np.zeros(normals.shape[1]), alone)
        if self.local.norm == 2:
            delta, multipliers, feasible = least_distance(unit, scaled)
        else:
            delta, multipliers, feasible = least_distance_by_program(unit, scaled, self.local.norm)
        multipliers = multipliers / lengths
        if not feasible:  # believed only if the multipliers prove it
            if self._dual_bound(pairs, multipliers) >= self.settled:
                return None
            delta = np.zeros(normals.shape[1])
        return delta, multipliers

    def _dual_bound(self, pairs: list[tuple[int, int]], multipliers: FloatArray) -> float:
        """Any weights merge the half-spaces into one; its distance, rounded down, is a valid bound."""
        if not 0 < multipliers.max(initial=0.0) < np.inf:
            return 0.0
        normals, offsets, slack = self._half_spaces(pairs)
        multipliers = multipliers / multipliers.max()  # so that `slack` covers what a norm loses to underflow
        terms = multipliers * offsets
        above = float(sums_rounded_down(terms, np.zeros(1, dtype=np.intp))[0])
        below = float(np.linalg.norm(multipliers @ normals, ord=dual_norm(self.local.norm)))
        below += float(multipliers @ (slack + sum_error(np.abs(normals).sum(axis=1), len(terms))))
        if not (above > 0 and below >= 0):  # or not a number: it overflowed, and proves nothing
            return 0.0
        return rounded_down(above / below, 4 * normals.shape[1] + 64) if below > 0 else np.inf
