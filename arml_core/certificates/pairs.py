"""Joint constraints: several negatives must be beaten together, which costs more than the dearest of them alone.

For one positive i, bringing j and j' both ahead of i means entering two half-spaces ``g·δ ≥ s`` (unit normals, signed
offsets). Any weights λ ≥ 0 merge them into one, so ``‖δ‖ ≥ (λ s + λ' s') / ‖λ g + λ' g'‖``; the best weights are known
in closed form in ℓ2, and searched for in the other norms (:mod:`.pair_kernels`). ``w_m(j, j')`` is the (m+1)-th largest
of these over the positives i: at most m of them may stay ahead.

A flip by case (m, c, t) needs K-m negatives, at least t of class c, all of whose pairs cost at most ‖δ‖: a clique in
the graph of cheap pairs. Peeling off negatives with too few cheap partners shows at which radius there is none.
"""

from __future__ import annotations

import numpy as np

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.error_bounds import TINY, rounded_down, sum_error
from .box import free_gain
from .pair_kernels import HalfSpacesOfPairs, pair_weights
from .triplet import Triplets
from .triplet_rows import TripletRows

MOST_NEGATIVES = 160
MOST_POSITIVES = 128
BLOCK = 24
SAFETY = 1 - 1e-12


class PairGraph:
    """Costs of single negatives and of pairs of them, for one test point.

    Attributes
    ----------
    place : (n,) negatives, as places in class order; `classes` their classes.
    weight : (n, n, depth) lower bounds w_m(j, j') for m < depth; the diagonal holds S_m(j).
    rest : a lower bound on S_m, for every m < depth, of all negatives that are not in the graph.
    """

    def __init__(
        self,
        triplets: Triplets,
        rows: TripletRows,
        b: int,
        place: IntArray,
        depth: int,
        rest: float,
        most: int = MOST_NEGATIVES,
    ) -> None:
        self.place, self.rest = place, rest
        self.classes = triplets.references.label[triplets.references.order[place]]
        half, offsets, normals, near = self._half_spaces(triplets, rows, b, place, depth)
        n = len(place)
        single = np.zeros((n, depth))
        largest = -np.sort(-np.maximum(offsets, 0.0), axis=1)[:, :depth]
        single[:, : largest.shape[1]] = largest  # beyond, no positive is left to hold it back
        self.weight = np.zeros((n, n, depth))
        has_partners = n <= most  # a single neighbour has no pairs to weigh
        if has_partners and triplets.threat.norm == 2:
            for start in range(0, n, BLOCK):
                part = np.arange(start, min(start + BLOCK, n))
                self.weight[part] = self._pair_weights(triplets, offsets, normals, near, place, part, depth)
        elif has_partners:
            spaces = self._half_spaces_of_pairs(triplets, half, normals, near, place)
            self.weight = pair_weights(spaces, single, depth, rest)
        self.weight[np.arange(n), np.arange(n)] = single
        own = np.maximum(single[:, None, :], single[None, :, :])
        self.weight = np.maximum(self.weight, own)  # beating both costs at least as much as beating the dearer one

    def _half_spaces(
        self, triplets: Triplets, rows: TripletRows, b: int, place: IntArray, depth: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Halved numerators, signed offsets s[j, i] and lengths of h_j - h_i for the positives that hold j back most.

        The numerators are rounded down and the lengths up. A negative offset may so come out too large; that is sound,
        because offset, normal and cosine are all divided by the same length.
        """
        n, n_error = rows.negative_distances(np.full(len(place), b), place)
        below = triplets.denominators(place, rows.positives).cpu().numpy()
        numerator = (n - n_error)[:, None] - rows.p_high[b]
        room = rows.room_of(b)
        if room is not None and triplets.threat.free.any():
            numerator = self._without_free(triplets, numerator, place, rows.positives, room)
        finite = np.isfinite(rows.p_high[b])
        with np.errstate(divide="ignore", invalid="ignore"):  # rows in one place: the numerator, rounded down, is < 0
            offset = np.where(finite, numerator / (2 * below), -np.inf)
        offset *= np.where(offset > 0, SAFETY, 1 / SAFETY)
        useful = np.sort(offset, axis=0)[-min(len(place), 8) :].mean(axis=0)
        count = min(len(useful), max(MOST_POSITIVES, 4 * depth))
        near = np.argpartition(-useful, count - 1)[:count]
        near = near[finite[near]]
        return numerator[:, near] / 2, offset[:, near], below[:, near], near + rows.positives.start

    def _without_free(
        self,
        triplets: Triplets,
        numerator: FloatArray,
        place: IntArray,
        positives: slice,
        room: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """The numerators less what free features give each half-space by itself: they cannot give more to several."""
        free, h, slack = triplets.threat.free, triplets.whole_h, triplets.h_slack
        error = slack[place][:, None] + slack[positives]
        gain = free_gain(h[place][:, free], h[positives][:, free], error, (room[0][free], room[1][free]))
        left = numerator - 2 * gain
        return np.asarray(left - sum_error(np.abs(left), 2))

    def _half_spaces_of_pairs(
        self, triplets: Triplets, half: FloatArray, length: FloatArray, near: IntArray, place: IntArray
    ) -> HalfSpacesOfPairs:
        """What the compiled search of ℓ1 and ℓ∞ needs."""
        h, slack = triplets.h, triplets.h_slack
        centre = h[near].mean(axis=0)
        negative, positive = h[place] - centre, h[near] - centre
        with np.errstate(over="ignore", invalid="ignore"):  # they only steer
            products = negative @ negative.T, negative @ positive.T, np.einsum("pd,pd->p", positive, positive)
        return HalfSpacesOfPairs(
            h[place],
            h[near],
            np.ascontiguousarray(half),
            np.ascontiguousarray(length),
            slack[place],
            slack[near],
            *products,
            float(triplets.threat.dual_norm),
            sum_error(1.0, 2),
            rounded_down(1.0, 4 * h.shape[1] + 64),
        )

    def _pair_weights(
        self,
        triplets: Triplets,
        offset: FloatArray,
        length: FloatArray,
        near: IntArray,
        place: IntArray,
        part: IntArray,
        depth: int,
    ) -> FloatArray:
        h = triplets.h
        centre = h[near].mean(axis=0)  # products of centred vectors lose fewer digits
        hj, hi = h[place] - centre, h[near] - centre
        ji = hj @ hi.T  # (n, p)
        jj = hj[part] @ hj.T  # (q, n)
        product = jj[:, :, None] - ji[part][:, None, :] - ji[None] + np.einsum("pd,pd->p", hi, hi)
        scale = float(max(np.einsum("nd,nd->n", hj, hj).max(), np.einsum("pd,pd->p", hi, hi).max()))
        error = 8 * sum_error(scale, h.shape[1]) + 4 * float(triplets.h_slack.max()) * np.sqrt(scale)
        lengths = np.maximum(length[part][:, None, :] * length[None], TINY)
        cosine = np.clip((product + error) / lengths, -1.0, 1.0)  # rounded up: the half-spaces look more alike
        s, other = offset[part][:, None, :], offset[None]
        with np.errstate(invalid="ignore"):
            a, b = np.maximum(s - cosine * other, 0.0), np.maximum(other - cosine * s, 0.0)
            above = a * s + b * other
            below = np.sqrt(a * a + 2 * cosine * a * b + b * b)
            joint = np.where(below > 0, above * SAFETY / below, 0.0)
        joint = np.nan_to_num(np.maximum(joint, 0.0), nan=0.0)
        count = min(depth, joint.shape[2])
        top = -np.sort(np.partition(-joint, count - 1, axis=2)[:, :, :count], axis=2)
        weights = np.zeros((len(part), len(place), depth))
        weights[:, :, :count] = top
        return weights
