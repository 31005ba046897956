"""Predictions for points that move a little at a time, from a list of training points around each.

From a place a, let `beyond` be a lower bound on the distance to every training point outside a's list. At a point q
they are all at least ``beyond - d(a, q)`` away; while the K-th nearest of the list is closer than that, the list
decides, and the rest of the training set need not be looked at. A list is sorted by distance from a, so the same holds
for its head: its tail, if it has one, is looked at only once q has moved far enough from a. A list costs more than an
answer: a walker whose steps are longer than its last list could take is not given a new one. Every answer is the
classifier's own: bounds rule out, and where they leave doubt the distances that decide are computed, or the
classifier is asked.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.distance_bounds import FAR, SMALLEST
from ..numerics.error_bounds import difference_error, gram_error, rounded_down, rounded_up
from ..numerics.selection import k_smallest
from .point_set import PointSet
from .vote import elect

HEAD = 64  # training points at the head of a list, beyond the K that vote and those left out
LOOKED_AT = 16  # beyond the K, where float32 cannot decide
LISTED = 2048  # on a whole list of a large training set; fewer where the lists of all walkers would not fit
LIST_BYTES = 256 * 2**20  # of the offsets of all lists
LARGE_BYTES = 32 * 2**20  # of a training set that is slow to go through: lists of a smaller one have no tail
TRY_AGAIN = 64  # answers after which everybody who needs a list gets one, however long the steps are


class NeighborListPredictor:
    """The classifier `predict` for many walkers, each of which has a list around the place it was last looked up at.

    Lengths of a walker are kept in units of its own (`unit`, a power of two), in which its list lies within 1.

    Parameters
    ----------
    points : the walkers' starting points; their classifier answers where the lists do not.
    n_predictors : how many predictors share the memory for lists.
    """

    def __init__(self, points: PointSet, n_predictors: int = 1) -> None:
        self._walkers = points
        self.references, self.k, self.exclude = points.references, points.n_neighbors, points.exclude
        references, exclude, n_neighbors, n_walkers = self.references, self.exclude, self.k, len(points)
        rank = references.u.shape[1]
        self.head = n_neighbors + HEAD + (0 if exclude is None else exclude.shape[1])
        self.is_useful = 2 * self.head <= len(references)
        self.length = self.head
        if 4 * rank * len(references) > LARGE_BYTES:
            affordable = LIST_BYTES // (4 * rank * max(1, n_walkers * n_predictors))
            self.length = max(self.head, min(LISTED, len(references) // 2, affordable))
        n, listed = (n_walkers, self.length) if self.is_useful else (0, 0)
        self.n_smallest = n_neighbors + LOOKED_AT
        self.everything = np.arange(listed)
        self.label = references.label[references.order]
        self.place = np.zeros((n, rank))
        self.unit = np.ones(n)
        self.slack = np.zeros(n)  # of the place or of anything on the list, the largest
        self.beyond = np.full(n, -np.inf)  # no place yet
        self.listed = np.zeros((n, listed), dtype=np.intp)  # in class order
        self.spent = np.zeros(n, dtype=np.intp)  # how much of the tail has been looked at, time and again
        self.takes = np.full(n, np.inf)  # about how far from its place the last list could be used
        self.last_at = np.full((n, rank), np.nan)  # where the walker was asked about before
        self.n_calls = 0
        self.far = np.zeros((n, listed))  # a lower bound on the lengths of the offsets, ascending
        self.offset = torch.zeros((n, listed, rank), dtype=torch.float32)  # from the place
        self.squares = torch.zeros((n, listed), dtype=torch.float32)  # of their lengths; inf for what is left out

    def __call__(self, points: NDArray[np.floating], walkers: IntArray) -> IntArray:
        """Class codes of one new point for each of some different walkers."""
        if not self.is_useful:
            return self._walkers.predict(points, walkers)
        u, slack = self.references.embed(points)
        codes, outgrown = self._from_lists(points, u, slack, walkers)
        rows = np.flatnonzero(outgrown & self._is_worth_a_list(u, walkers))
        if len(rows):
            self.look_up(u[rows], slack[rows], walkers[rows])
            codes[rows], outgrown[rows] = self._from_lists(points[rows], u[rows], slack[rows], walkers[rows])
        rows = np.flatnonzero(outgrown)
        if len(rows):
            codes[rows] = self._walkers.predict(points[rows], walkers[rows])
        return codes

    def _is_worth_a_list(self, u: FloatArray, walkers: IntArray) -> BoolArray:
        """Whether the next step, if it is as long as this one, will not lead beyond a list made now."""
        with np.errstate(over="ignore"):
            step = np.linalg.norm(u - self.last_at[walkers], axis=1)
        self.last_at[walkers] = u
        self.n_calls += 1
        return np.asarray(~(step > self.takes[walkers])) | (self.n_calls % TRY_AGAIN == 0)

    def look_up(self, u: FloatArray, slack: FloatArray, walkers: IntArray) -> None:
        """Make the lists of some walkers anew, around the places they are at now."""
        references = self.references
        step = references.distance_bounds.chunk_rows()
        for start in range(0, len(walkers), step):
            part = slice(start, start + step)
            rows = references.distance_bounds.query(u[part], slack[part])
            top = torch.topk(rows.lower, self.length + 1, dim=1, largest=False)
            listed = top.indices[:, :-1].cpu().numpy()
            beyond = (top.values[:, -1] + rows.constant).double().cpu().numpy() * rows.side.scale**2
            beyond = rounded_down(np.sqrt(np.maximum(beyond, 0.0)), 8)
            for row, who in enumerate(walkers[part]):
                self._list(who, u[start + row], slack[start + row], listed[row], beyond[row])

    def _list(self, who: int, at: FloatArray, slack: float, listed: IntArray, beyond: float) -> None:
        """Give a walker its list around the place `at`; everything else is at least `beyond` away."""
        references = self.references
        offset = references.u[listed] - at
        far = np.linalg.norm(offset, axis=1)
        ascending = np.argsort(far)
        listed, offset, far = listed[ascending], offset[ascending], far[ascending]
        unit = np.exp2(np.ceil(np.log2(far[-1]))) if far[-1] > 0 else 1.0
        far /= unit
        self.place[who], self.unit[who], self.listed[who] = at, unit, listed
        self.spent[who] = 0
        self.slack[who] = max(references.slack[listed].max(), slack) / unit
        self.beyond[who] = beyond / unit
        self.takes[who] = beyond - far[self.k - 1] * unit  # half of it for certain; moves are seldom straight away
        self.far[who] = rounded_down(far, len(at) + 8)
        squares = far**2
        if self.exclude is not None:
            squares[np.isin(references.order[listed], self.exclude[who])] = np.inf
        self.offset[who] = torch.from_numpy(offset / unit)
        self.squares[who] = torch.from_numpy(squares)

    def _from_lists(
        self, points: NDArray[np.floating], u: FloatArray, slack: FloatArray, walkers: IntArray
    ) -> tuple[IntArray, BoolArray]:
        """Class codes, and whether a walker has outgrown its list and its code means nothing.

        Squared distances are computed as ``far² - 2 offset·move``, short of a constant per row, in float32; `error`
        bounds what rounding and the slacks can do to any of them.
        """
        everybody = len(walkers) == len(self.unit) and bool((walkers[1:] > walkers[:-1]).all())
        who = slice(None) if everybody else walkers  # a slice copies nothing
        unit = self.unit[who]
        with np.errstate(over="ignore"):  # far beyond a tiny list: infinite, and so outgrown
            move = (u - self.place[who]) / unit[:, None]
            moved = np.minimum(np.linalg.norm(move, axis=1), FAR)
        direction = torch.from_numpy(move).float()
        doubt = slack / unit + self.slack[who]
        reach = 1 + moved + doubt + SMALLEST
        error = 2 * gram_error(reach, u.shape[1], np.float32) + 2 * doubt * reach
        away = rounded_up(moved, u.shape[1] + 8) + doubt  # how much nearer than to the place a training point may be
        values, columns = self._nearest_of_heads(who, direction)
        with np.errstate(over="ignore"):
            farthest = rounded_up(np.sqrt(np.maximum(values[:, self.k - 1] + error + moved**2, 0.0)), 8)
        outgrown = ~((farthest < self.beyond[who] - away) & (moved < FAR))
        if self.head < self.length:
            outgrown |= self.spent[who] > len(self.references)  # a new list is cheaper than to go on with the tail
            for row in np.flatnonzero(~outgrown & ~(farthest < self.far[who, self.head] - away)):
                reached = int(np.searchsorted(self.far[walkers[row]], farthest[row] + away[row], side="right"))
                values[row], columns[row] = self.nearest_up_to(reached, walkers[row], direction[row])
                self.spent[walkers[row]] += reached
        codes = self._elect(self.listed[walkers[:, None], columns[:, : self.k]])
        clear = values[:, self.k - 1] + 2 * error  # squares above this are not among the K
        rows = np.flatnonzero(~(clear < values[:, self.k]) & ~outgrown)
        if len(rows):
            few = clear[rows] < values[rows, -1]
            codes[rows[few]] = self._closely(points, u, slack, walkers, rows[few], columns[rows[few]])
            codes[rows[~few]] = self._closely(points, u, slack, walkers, rows[~few], self.everything)
        return codes, outgrown

    def _nearest_of_heads(self, who: slice | IntArray, direction: Tensor) -> tuple[FloatArray, IntArray]:
        """The smallest squared distances on the heads of lists, ascending, and their columns."""
        squares, offset = self.squares[who, : self.head], self.offset[who, : self.head]
        squared = torch.baddbmm(squares[:, :, None], offset, direction[:, :, None], alpha=-2)[:, :, 0]
        top = torch.topk(squared, self.n_smallest, dim=1, largest=False)
        return top.values.double().numpy(), top.indices.numpy()

    def nearest_up_to(self, end: int, walker: int, direction: Tensor) -> tuple[FloatArray, IntArray]:
        """The same on the first `end` places of one walker's list."""
        squared = torch.addmv(self.squares[walker, :end], self.offset[walker, :end], direction, alpha=-2)
        top = torch.topk(squared, self.n_smallest, largest=False)
        return top.values.double().numpy(), top.indices.numpy()

    def _closely(
        self,
        points: NDArray[np.floating],
        u: FloatArray,
        slack: FloatArray,
        walkers: IntArray,
        rows: IntArray,
        columns: IntArray,
    ) -> IntArray:
        """Class codes of some `rows`, by float64 distances to those columns of their lists that can be among the K.

        Where that leaves doubt, too, the distances that decide are computed: ties go by training order.
        """
        references = self.references
        points, u, slack, walkers = points[rows], u[rows], slack[rows], walkers[rows]
        listed = self.listed[walkers[:, None], columns]
        apart = np.linalg.norm(u[:, None, :] - references.u[listed], axis=2)
        error = slack[:, None] + references.slack[listed] + difference_error(apart, u.shape[1])
        apart[np.isinf(self.squares.numpy()[walkers[:, None], columns])] = np.inf
        nearest = np.argsort(apart, axis=1)[:, : self.k]
        codes = self._elect(np.take_along_axis(listed, nearest, axis=1))
        # What may be or not be among the K: if it all has one label, the votes are the same either way.
        _, doubt = k_smallest(apart, error, self.k)
        label = self.label[listed]
        smallest = np.where(doubt, label, references.n_classes).min(axis=1, initial=references.n_classes)
        largest = np.where(doubt, label, -1).max(axis=1, initial=-1)
        rest = np.flatnonzero(smallest < largest)
        if len(rest):
            indices = np.sort(references.order[listed[rest]], axis=1)
            left_out = None if self.exclude is None else self.exclude[walkers[rest]]
            _, found = references.nearest_of(points[rest].astype(np.float64), indices, self.k, left_out)
            codes[rest] = self._elect(references.rank[found])
        return codes

    def _elect(self, nearest: IntArray) -> IntArray:
        """The class code that K training points elect, given in class order."""
        return elect(self.label[nearest], self.references.n_classes)
