"""Full rows of triplet radii: for a test point x and a negative j, the largest ε̃₊(i, j) over all positives i."""

from __future__ import annotations

import numpy as np
import torch

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.error_bounds import gram_error, rounded_up, squared_distance_error, sum_error
from ..threat import Ranges
from .screening_kernels import largest_quotients
from .triplet import Triplets

ROW_BYTES = 16 * 2**20
KEPT_BYTES = 64 * 2**20  # of denominators: half of the rows are asked for again by another test point
NEARLY_LARGEST = 64
WORST_ERROR = 1e-8  # rows whose error bound exceeds this share of the value are computed again from differences


class TripletRows:
    """Full rows for a chunk of test points of one class.

    Parameters
    ----------
    x : (B, D) test points, all predicted and labelled as class `label`.
    exclude : (B, e) places (class order) that do not exist for a test point, padded with -1, or None.
    any_order : whether M-identical rows tie, whichever comes first in training order.
    ranges : between which values the movable features of each test point may move, or None.
    """

    def __init__(
        self,
        triplets: Triplets,
        x: FloatArray,
        label: int,
        exclude: IntArray | None,
        any_order: bool = False,
        ranges: Ranges | None = None,
    ) -> None:
        self.triplets, self.x, self.any_order = triplets, x, any_order
        self.room = triplets.threat.room(x, ranges)
        assert self.room is not None or not triplets.threat.free.any(), "free features have ranges"
        references = triplets.references
        self.positives = slice(int(references.starts[label]), int(references.starts[label + 1]))
        self.u, self.slack = references.embed(x)
        self.norms: FloatArray = np.linalg.norm(self.u, axis=1)
        device = references.device
        gram = torch.from_numpy(self.u).to(device) @ torch.from_numpy(references.u[self.positives]).to(device).T
        p = gram.mul_(-2).add_(torch.from_numpy(references.norms[self.positives] ** 2).to(device))
        p += torch.from_numpy(self.norms**2).to(device)[:, None]
        self.p: FloatArray = p.cpu().numpy()  # squared distances to the positives, as computed
        self.p_error = self._error(np.arange(len(x))[:, None], np.arange(len(references))[self.positives], self.p)
        self.p_high: FloatArray = self.p + self.p_error
        self.left_out = [_within(row, self.positives) for row in exclude] if exclude is not None else None
        if self.left_out is not None:
            for b, places in enumerate(self.left_out):
                self.p_high[b, places] = np.inf
        n_positives = self.positives.stop - self.positives.start
        self._kept = np.empty((KEPT_BYTES // (8 * n_positives), n_positives))
        self._slot = np.full(len(references), -1, dtype=np.intp)
        self._n_kept = 0

    def denominators(self, j: IntArray) -> tuple[FloatArray, IntArray]:
        """Upper bounds on ‖h_i - h_j‖_q for the places j and all positives i: a matrix, and which row is for which j.

        They do not depend on the test point: those of the first few hundred j are kept.
        """
        distinct, which = np.unique(j, return_inverse=True)
        fresh = distinct[self._slot[distinct] < 0]
        if self._n_kept + len(fresh) > len(self._kept):
            return self.triplets.denominators(distinct, self.positives).cpu().numpy(), which
        if len(fresh):
            slots = slice(self._n_kept, self._n_kept + len(fresh))
            self._kept[slots] = self.triplets.denominators(fresh, self.positives).cpu().numpy()
            self._slot[fresh], self._n_kept = np.arange(slots.start, slots.stop), slots.stop
        return self._kept, self._slot[j]

    def _error(self, b: IntArray, place: IntArray, d: FloatArray) -> FloatArray:
        """A bound on the error of squared distances computed from norms and products."""
        references = self.triplets.references
        spread = self.norms[b] + references.norms[place]
        return gram_error(spread, self.u.shape[1]) + squared_distance_error(d, self.slack[b] + references.slack[place])

    def negative_distances(self, b: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
        """Squared distances of test points `b` to places `j`, from differences, and their error bounds."""
        references = self.triplets.references
        n = np.empty(len(b))
        step = max(1, ROW_BYTES // (16 * self.u.shape[1]))
        for start in range(0, len(b), step):
            part = slice(start, start + step)
            difference = self.u[b[part]] - references.u[j[part]]
            n[part] = np.einsum("qr,qr->q", difference, difference)
        return n, squared_distance_error(n, self.slack[b] + references.slack[j]) + sum_error(n, self.u.shape[1] + 8)

    def largest(self, b: IntArray, j: IntArray, count: int) -> FloatArray:
        """The `count` largest ε̃₊(i, j) over the positives i, in falling order, for each pair (b, j)."""
        result = np.empty((len(b), count))
        n_positives = self.positives.stop - self.positives.start
        step = max(1, ROW_BYTES // (16 * n_positives))
        by_j = np.argsort(j, kind="stable")
        for start in range(0, len(b), step):
            part = by_j[start : start + step]
            if self.room is None:
                result[part] = self._from_products(b[part], j[part], count)
            else:
                everyone = np.tile(np.arange(n_positives), (len(part), 1))
                result[part] = self._from_differences(b[part], j[part], count, everyone)
        return result

    def _from_products(self, b: IntArray, j: IntArray, count: int) -> FloatArray:
        below, row = self.denominators(j)
        factor = rounded_up(2.0, self.u.shape[1] + 16)
        n, n_error = self.negative_distances(b, j)
        result, place = largest_quotients(n - n_error, self.p_high, b, below, row, factor, count)
        doubtful = self._doubtful(b, j, n, n_error, result, place, below[row[:, None], place] * factor)
        doubtful |= self._has_twins(j)
        if doubtful.any():
            # Positives beyond the largest few cannot be among the `count` largest; leaving one out only lowers a value.
            few = min(below.shape[1], count + NEARLY_LARGEST)
            some = np.flatnonzero(doubtful)
            _, largest = largest_quotients((n - n_error)[some], self.p_high, b[some], below, row[some], factor, few)
            result[some] = self._from_differences(b[some], j[some], count, largest)
        return result

    def _doubtful(
        self,
        b: IntArray,
        j: IntArray,
        n: FloatArray,
        n_error: FloatArray,
        values: FloatArray,
        place: IntArray,
        below: FloatArray,
    ) -> BoolArray:
        """Rows in which a selected value owes more than its fair share to the error bounds."""
        p, p_error = self.p[b[:, None], place], self.p_error[b[:, None], place]
        gap = np.abs(n[:, None] - p)
        with np.errstate(over="ignore"):  # equal distances: all of it may be error, and an infinite share is doubtful
            numerator = (n_error[:, None] + p_error) / np.maximum(gap, np.finfo(float).tiny)
            denominator = self.triplets.pairwise.error_share(j[:, None], place + self.positives.start, below / 2)
        behind = (values == 0) & (numerator < 1)  # clearly not ahead: 0 is the value, not a rounded one
        return np.asarray((~behind & (numerator + denominator > WORST_ERROR)).any(axis=1))

    def _has_twins(self, j: IntArray) -> BoolArray:
        references = self.triplets.references
        return np.isin(references.twin[references.order[j]], references.twin[references.order[self.positives]])

    def room_of(self, b: int) -> tuple[FloatArray, FloatArray] | None:
        """How far the scaled movable features of one test point may fall and rise; None where nothing limits them."""
        return None if self.room is None else (self.room[0][b], self.room[1][b])

    def _from_differences(self, b: IntArray, j: IntArray, count: int, among: IntArray) -> FloatArray:
        """The same from differences, for the positives `among` (a row for each pair) and those M-identical to j."""
        references, start = self.triplets.references, self.positives.start
        result = np.empty((len(b), count))
        for q in range(len(b)):
            twins = np.flatnonzero(
                references.twin[references.order[self.positives]] == references.twin[references.order[j[q]]]
            )
            some = np.union1d(among[q], twins)
            left_out = np.isin(some, [] if self.left_out is None else self.left_out[b[q]])
            room = self.room_of(int(b[q]))
            row = self.triplets.direct_row(self.x[b[q]], int(j[q]), some + start, left_out, self.any_order, room)
            result[q] = -np.sort(np.partition(-row, count - 1)[:count])
        return result


def _within(places: IntArray, columns: slice) -> IntArray:
    inside = places[(places >= columns.start) & (places < columns.stop)]
    return np.asarray(inside - columns.start, dtype=np.intp)
