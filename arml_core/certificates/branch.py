"""Branch and bound over who is near: raises the lower bound of one point until it meets the upper one.

A flip by case (m, c, t) puts K-m negatives W, at least t of class c, ahead of all positives but m. The search decides
bit by bit which negatives are in W, which positives F must stay behind all of W, and which I may be ahead. Each
partial decision is a relaxation, "all of W ahead of all of F", whose smallest move bounds every completion:

* where that move leaves more positives ahead than may be, one of them must join F;
* otherwise one more negative is taken into W or ruled out, with the pair graph (:mod:`.pairs`) bounding what is left.
  W is all negatives among the neighbours: one that is ruled out joins F, and so do all others once W is complete. An
  undecided one is not held back by anything.

The open decision with the smallest bound is refined first, so the bound at any moment is the smallest open one.
Leaving positives out of consideration only lowers it: it begins with the nearest, and where the move of a complete
decision leaves others ahead, these come in. Negatives left out enter through `rest`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.error_bounds import TINY, rounded_down, sum_error
from . import branch_kernels as kernels
from . import relaxation_kernels
from .bounds import Case
from .box import least_distance_in_box, rounding_in_box, stretch_of_free
from .graph_kernels import clique_bound
from .least_distance import least_distance, least_distance_by_program
from .pairs import PairGraph

FIRST_ROOM = 4096  # nodes
FIRST_POSITIVES = 48
MOST_POSITIVES = 320
MORE_POSITIVES = 8  # at a time
INSIDE = 1e-7  # of its size: how far inside its region a move is looked for that is to be tried
SLICE = 256  # nodes between two looks at the clock


@dataclass(frozen=True)
class HalfSpaces:
    """The half-spaces around one test point: "j ahead of i" is ``(h_j - h_i)ᵀδ ≥ (n_j - p_i) / 2``.

    `n` is rounded down, `n_high` and `p` up; `slack` bounds the errors of h in the dual norm. Positives with an
    infinite p do not exist.
    """

    negative_h: FloatArray
    positive_h: FloatArray
    n: FloatArray
    n_high: FloatArray
    p: FloatArray
    negative_slack: FloatArray
    positive_slack: FloatArray
    norm: float
    room: tuple[FloatArray, FloatArray] | None = None  # how far each feature may fall and rise
    free: BoolArray | None = None  # features that cost nothing

    def space(self, some: IntArray, size: float = np.inf) -> relaxation_kernels.Space:
        """The compiled loops' own, with `some` of the positives; `size` is one that moves do not exceed."""
        width = self.negative_h.shape[1]
        front_h = np.ascontiguousarray(self.negative_h)
        rear_h = np.concatenate([self.negative_h, self.positive_h[some]])
        centre = self.positive_h[some].mean(axis=0)  # products of centred vectors lose fewer digits
        front, rear = front_h - centre, rear_h - centre
        most = relaxation_kernels.ROUNDS * relaxation_kernels.NEW_PAIRS + relaxation_kernels.MOST_PAIRS
        with np.errstate(over="ignore", invalid="ignore"):  # such products are not used
            products = front @ front.T, front @ rear.T, rear @ rear.T
        return relaxation_kernels.Space(
            front_h,
            rear_h,
            self.n,
            np.concatenate([self.n_high, self.p[some]]),
            self.negative_slack,
            np.concatenate([self.negative_slack, self.positive_slack[some]]),
            *products,
            np.array([sum_error(1.0, n) for n in range(most + 1)]),
            float(rounded_down(1.0, 4 * width + 64)),
            float(self.norm),
            self.room is not None,
            np.empty(0) if self.room is None else np.ascontiguousarray(self.room[0]),
            np.empty(0) if self.room is None else np.ascontiguousarray(self.room[1]),
            rounding_in_box(width),
            np.zeros(width, dtype=bool) if self.free is None else self.free,
            np.ones(width) if self.free is None or self.room is None else stretch_of_free(self.free, self.room, size),
        )


Pairs = list[tuple[int, int]]


class BranchAndBound:
    """The search for one test point.

    In ℓ2 the compiled loops do all of it, but for the few relaxations that are too ill-conditioned for them; in the
    other norms each relaxation is a linear program, solved here. A box changes the relaxation and what multipliers
    prove; the pair graph goes without it, which only lowers its bounds.

    Parameters
    ----------
    graph : the negatives in question and the costs of their pairs.
    upper : the best known upper bound; nothing above it is explored.
    ceiling : a bound that is enough: nothing above it is explored either.
    """

    def __init__(
        self, local: HalfSpaces, graph: PairGraph, cases: list[Case], upper: float, ceiling: float = np.inf
    ) -> None:
        self.local, self.upper = local, upper
        self.settled = min(upper, ceiling, graph.rest)  # the smallest bound among what will not be refined further
        self.leaves: list[FloatArray] = []  # moves that fulfil a complete decision: starts for an attack
        self.refined = 0
        finite = np.flatnonzero(np.isfinite(local.p))
        self._some = finite[np.argsort(local.p[finite], kind="stable")[:FIRST_POSITIVES]]
        self._space = local.space(self._some, self.settled)
        self._graph = _compiled_graph(graph, cases)
        room = FIRST_ROOM + len(cases)
        self._nodes = _room_for(room, len(local.n))
        self._heap, self._free = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        self._counts = np.zeros(4, dtype=np.int64)
        everyone = np.full(self._nodes.pool.shape[1], ~np.uint64(0))
        for number in range(len(cases)):
            self._push_root(number, everyone)

    @property
    def lower(self) -> float:
        """What is proved so far."""
        first = float(self._nodes.lower[self._heap[0]]) if self._counts[0] else np.inf
        return min(first, self.settled)

    def run(self, deadline: float, max_nodes: int | None = None) -> None:
        """Refine until both sides meet, the time is up or `max_nodes` are spent."""
        while self._counts[0] and self.lower < self.upper * (1 - kernels.MEETING) and self.lower < self.settled:
            left = SLICE if max_nodes is None else min(SLICE, max_nodes - self.refined)
            if time.perf_counter() > deadline or left <= 0:
                break
            self._make_room()
            if self.local.norm == 2:
                self._run_compiled(left)
            else:
                node = kernels.pop(self._nodes, self._heap, self._counts)
                self.refined += 1
                self._refine(node)

    def _run_compiled(self, most: int) -> None:
        arrays = self._space, self._graph, self._nodes, self._heap, self._counts, self._free
        status, refined, node = kernels.run(*arrays, self.upper, self.settled, most)
        self.refined += int(refined)
        if status == kernels.SOLVE:
            self._refine(node)
        elif node >= 0:
            found = self._solve(self._pairs_of(node))
            self._complete(node, None if found is None else found[0])

    def _push_root(self, number: int, everyone: NDArray[np.uint64]) -> None:
        nodes, graph = self._nodes, self._graph
        case = graph.cases[number]
        nothing = np.zeros_like(everyone)
        values = graph.values[graph.first_value[case[0]] : graph.first_value[case[0] + 1]]
        bound = clique_bound(graph.weight, values, graph.classes, case, nothing, everyone, 0.0, self.settled)
        if bound < self.settled:
            node = kernels.new_node(nodes, self._counts, self._free)
            nodes.lower[node], nodes.case[node], nodes.n_pairs[node] = bound, number, 0
            nodes.pool[node], nodes.w[node], nodes.inside[node], nodes.behind[node] = everyone, 0, 0, 0
            kernels.push(nodes, self._heap, self._counts, node)

    def _make_room(self) -> None:
        """More nodes, where those of the next slice might not fit: the compiled loops do not look where they write."""
        nodes, room = self._nodes, len(self._nodes.lower)
        needed = int(self._counts[1]) + SLICE * (9 + int(self._graph.cases[:, 0].max()))
        if needed < room:
            return
        more = _room_for(2 * needed, len(self.local.n))
        for name in nodes._fields:
            getattr(more, name)[:room] = getattr(nodes, name)
        self._nodes = more
        longer = np.empty(2 * needed - room, dtype=np.int64)
        self._heap, self._free = np.append(self._heap, longer), np.append(self._free, longer)

    def _refine(self, node: int) -> None:
        """One node with its relaxation solved here."""
        nodes = self._nodes
        delta, lower, pairs = self._relax(node)
        nodes.lower[node] = max(nodes.lower[node], lower)
        kept = pairs[: relaxation_kernels.MOST_PAIRS]
        nodes.n_pairs[node] = len(kept)
        nodes.pairs[node, : len(kept)] = np.reshape(kept, (-1, 2))
        if delta is not None and nodes.lower[node] < self.settled:
            front, back = self._keys(delta)
            arrays = self._space, self._graph, nodes, self._heap, self._counts, self._free
            if kernels.expand(*arrays, node, self.settled, front, back):
                self._complete(node, delta)
                return
        kernels.release(self._counts, self._free, node)

    def _complete(self, node: int, delta: FloatArray | None) -> None:
        """A complete decision and its move: open again where positives that were left out are ahead, else done."""
        if delta is not None:
            if self._add_positives(node, delta):
                kernels.push(self._nodes, self._heap, self._counts, node)
                return
            inside = self._solve(self._pairs_of(node), margin=INSIDE * float(np.linalg.norm(delta)))
            self.leaves.append(delta if inside is None else inside[0])
        self.settled = min(self.settled, float(self._nodes.lower[node]))
        kernels.release(self._counts, self._free, node)

    def _add_positives(self, node: int, delta: FloatArray) -> bool:
        """Let those come in that are ahead of w after a move, if they are too many."""
        local, (front, back) = self.local, self._keys(delta)
        last = front[_members(self._nodes.w[node])].max()
        limit = last - kernels.BLOCKS * abs(last)
        keys = local.p - 2 * (local.positive_h @ delta)
        keys[self._some] = np.inf
        new = np.flatnonzero(keys < limit)
        ahead = len(new) + int(np.count_nonzero(back[len(front) :] < limit))
        room = MOST_POSITIVES - len(self._some)
        if ahead <= self._graph.cases[self._nodes.case[node], 0] or not len(new) or not room:
            return False
        new = new[np.argsort(keys[new], kind="stable")[: min(room, MORE_POSITIVES)]]
        self._some = np.append(self._some, new)
        self._space = local.space(self._some, self.settled)
        return True

    def _keys(self, delta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """d(x + δ, ·) of those in front and in the rear, less what is common to all."""
        space = self._space
        return space.n - 2 * (space.front_h @ delta), space.p - 2 * (space.rear_h @ delta)

    def _pairs_of(self, node: int) -> Pairs:
        return [(int(j), int(i)) for j, i in self._nodes.pairs[node, : self._nodes.n_pairs[node]]]

    def _relax(self, node: int) -> tuple[FloatArray | None, float, Pairs]:
        """The smallest move with all of W ahead of all of F, a valid bound on its size, and the binding pairs."""
        delta = np.zeros(self.local.negative_h.shape[1])
        w, behind = _members(self._nodes.w[node]), np.empty(len(self._space.p), dtype=np.int64)
        complete = len(w) == self._graph.cases[self._nodes.case[node], 3]
        behind = behind[: kernels.rear_of(self._space, self._nodes, node, complete, behind)]
        if not len(w) or not len(behind):
            return delta, 0.0, []
        pairs = self._pairs_of(node)
        lower, binding = 0.0, pairs
        for _ in range(relaxation_kernels.ROUNDS):
            if pairs:
                found = self._solve(pairs)
                if found is None:
                    return None, np.inf, []
                delta, multipliers = found
                lower = max(lower, self.dual_bound(pairs, multipliers))
                pairs = [pair for pair, weight in zip(pairs, multipliers, strict=True) if weight > 0]
                binding = pairs
                if lower >= self.settled:
                    break
            fresh = self._violated(delta, w, behind, pairs)
            if not fresh:
                break
            pairs = pairs + fresh
        return delta, lower, binding

    def _violated(self, delta: FloatArray, w: IntArray, behind: IntArray, pairs: Pairs) -> Pairs:
        """The pairs that are most out of order after a move and not listed yet."""
        front, back = (keys[some] for keys, some in zip(self._keys(delta), (w, behind), strict=True))
        gap = front[:, None] - back[None, :]
        worst = np.unravel_index(np.argsort(-gap, axis=None)[: relaxation_kernels.NEW_PAIRS], gap.shape)
        fresh = [
            (int(w[a]), int(behind[b]))
            for a, b in zip(*worst, strict=True)
            if gap[a, b] > relaxation_kernels.AHEAD * (np.abs(front[a]) + np.abs(back[b]))
        ]
        return [pair for pair in fresh if pair not in pairs]

    def _solve(self, pairs: Pairs, margin: float = 0.0) -> tuple[FloatArray, FloatArray] | None:
        """δ and multipliers of the relaxation; None where a contradiction proves it impossible.

        With a margin δ is so far inside every half-space, as lengths in ℓ2 go.
        """
        space, local = self._space, self.local
        j, i = np.reshape(np.array(pairs, dtype=np.intp), (-1, 2)).T
        normals, offsets = space.front_h[j] - space.rear_h[i], (space.n[j] - space.p[i]) / 2
        if local.norm == 2:
            normals = normals * space.stretch
        lengths = np.array([max(relaxation_kernels.counted_length(normal, space.free), TINY) for normal in normals])
        if float(offsets.max(initial=0.0)) <= 0:
            return np.zeros(normals.shape[1]), np.zeros(len(pairs))
        with np.errstate(over="ignore"):
            unit, scaled = normals / lengths[:, None], offsets / lengths + margin
        if scaled.max() == np.inf:  # no move to speak of brings these two together
            alone = (np.arange(len(pairs)) == scaled.argmax()).astype(np.float64)
            proved = self.dual_bound(pairs, alone) >= self.settled
            return None if proved else (np.zeros(normals.shape[1]), alone)
        if local.norm != 2:
            limit = self.settled if margin == 0 else np.inf
            delta, multipliers, feasible = least_distance_by_program(
                unit, scaled, local.norm, local.room, limit, space.free
            )
        elif local.room is not None:
            room = local.room[0] / space.stretch, local.room[1] / space.stretch
            delta, multipliers, feasible = _least_distance_in_box(unit, scaled, room)
            delta = delta * space.stretch
        else:
            delta, multipliers, feasible = least_distance(unit, scaled)
        multipliers = multipliers / lengths
        if not feasible:  # believed only if the multipliers prove it
            if self.dual_bound(pairs, multipliers) >= self.settled:
                return None
            delta = np.zeros(normals.shape[1])
        return delta, multipliers

    def dual_bound(self, pairs: Pairs, multipliers: FloatArray) -> float:
        """Any weights merge the half-spaces into one; its distance, rounded down, is a valid bound."""
        assert len(pairs) < len(self._space.sum_error), "no error bound is known for so many"
        listed = np.reshape(np.array(pairs, dtype=np.int16), (-1, 2))
        return float(relaxation_kernels.dual_bound(self._space, listed, len(pairs), multipliers))


def _least_distance_in_box(
    normals: FloatArray, offsets: FloatArray, room: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, bool]:
    """As :func:`.least_distance`, inside a box: by Newton's method, or with the limits as constraints like others."""
    delta, multipliers = np.zeros(normals.shape[1]), np.zeros(len(normals))
    if least_distance_in_box(normals, offsets, *room, multipliers, delta):
        return delta, multipliers, True
    eye = np.eye(normals.shape[1])
    limits = np.concatenate([-room[0], -room[1]])
    finite = np.isfinite(limits)
    rows, all_offsets = (
        np.concatenate([normals, np.concatenate([eye, -eye])[finite]]),
        np.append(offsets, limits[finite]),
    )
    delta, every, feasible = least_distance(rows, all_offsets)
    return delta, every[: len(normals)], feasible


def _compiled_graph(graph: PairGraph, cases: list[Case]) -> kernels.Graph:
    """The graph and the cases as arrays."""
    deepest = max((case.m for case in cases), default=0)
    used = {case.m for case in cases}
    values = [np.unique(graph.weight[:, :, m]) if m in used else np.empty(0) for m in range(deepest + 1)]
    rows = [(case.m, -1 if case.c is None else case.c, case.t, case.negatives) for case in cases]
    return kernels.Graph(
        graph.weight,
        graph.classes.astype(np.int64),
        np.reshape(np.array(rows, dtype=np.int64), (-1, 4)),
        np.concatenate(values),
        np.concatenate([[0], np.cumsum([len(found) for found in values])]).astype(np.int64),
    )


def _room_for(nodes: int, n_negatives: int) -> kernels.Nodes:
    counts = n_negatives, n_negatives + MOST_POSITIVES
    sets = [np.zeros((nodes, (count + 63) // 64), dtype=np.uint64) for count in counts]
    return kernels.Nodes(
        lower=np.zeros(nodes),
        serial=np.zeros(nodes, dtype=np.int64),
        case=np.zeros(nodes, dtype=np.int64),
        pool=sets[0],
        w=sets[0].copy(),
        inside=sets[1],
        behind=sets[1].copy(),
        n_pairs=np.zeros(nodes, dtype=np.int64),
        pairs=np.zeros((nodes, relaxation_kernels.MOST_PAIRS, 2), dtype=np.int16),
    )


def _members(bits: NDArray[np.uint64]) -> IntArray:
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
