"""Predictions for points that move a little at a time, from a short list of training points around each.

From a place a, let `beyond` be a lower bound on the distance to every training point outside a's list. At a point q
they are all at least ``beyond - d(a, q)`` away; while the K-th nearest of the list is closer than that, the list
decides, and the rest of the training set need not be looked at. Every answer is the classifier's own: bounds rule out,
and where they leave doubt the distances that decide are computed, or the classifier is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from .reference import Reference
from .rounding import BoolArray, FloatArray, IntArray, gamma
from .screen import FAR, SMALLEST

LISTED = 64  # training points around a place, beyond the K that vote and those left out

Predict = Callable[[NDArray[np.floating], IntArray], IntArray]


class NearbyPredictor:
    """The classifier `predict` for many walkers, each of which has a list around the place it was last looked up at.

    Lengths of a walker are kept in units of its own (`unit`, a power of two), in which its list lies within 1.

    Parameters
    ----------
    exclude : (n_walkers, e) training indices left out for each walker, padded with -1.
    predict : ``predict(points, walkers)`` gives class codes; it answers where the lists do not.
    """

    def __init__(
        self, reference: Reference, n_neighbors: int, n_walkers: int, exclude: IntArray | None, predict: Predict
    ) -> None:
        self.reference, self.k, self.exclude, self._predict = reference, n_neighbors, exclude, predict
        self.length = n_neighbors + LISTED + (0 if exclude is None else exclude.shape[1])
        self.is_useful = 2 * self.length <= len(reference)
        n, listed, rank = (n_walkers, self.length, reference.u.shape[1]) if self.is_useful else (0, 0, 0)
        self.gamma = 2 * gamma(rank + 16, np.float32)
        self.place = np.zeros((n, rank))
        self.unit = np.ones(n)
        self.slack = np.zeros(n)  # of the place or of anything on the list, the largest
        self.beyond = np.full(n, -np.inf)  # no place yet
        self.listed = np.zeros((n, listed), dtype=np.intp)  # in class order
        self.label = np.zeros((n, listed), dtype=np.intp)
        self.offset = torch.zeros((n, listed, rank), dtype=torch.float32)  # from the place
        self.squares = torch.zeros(
            (n, listed), dtype=torch.float32
        )  # of the lengths of the offsets; inf for what is left out

    def __call__(self, points: NDArray[np.floating], walkers: IntArray) -> IntArray:
        """Class codes of one new point for each of some different walkers."""
        if not self.is_useful:
            return self._predict(points, walkers)
        u, slack = self.reference.embed(points)
        codes, certain, outgrown = self._from_lists(u, slack, walkers)
        rows = np.flatnonzero(outgrown)
        if len(rows):
            self._look_up(u[rows], slack[rows], walkers[rows])
            codes[rows], certain[rows], outgrown[rows] = self._from_lists(u[rows], slack[rows], walkers[rows])
        rows = np.flatnonzero(~certain & ~outgrown)
        if len(rows):
            codes[rows] = self._decided(points[rows], walkers[rows])
        rows = np.flatnonzero(outgrown)
        if len(rows):
            codes[rows] = self._predict(points[rows], walkers[rows])
        return codes

    def _look_up(self, u: FloatArray, slack: FloatArray, walkers: IntArray) -> None:
        """Make the lists of some walkers anew, around the places they are at now."""
        reference = self.reference
        step = reference.screen.chunk_rows()
        for start in range(0, len(walkers), step):
            part = slice(start, start + step)
            who, at = walkers[part], u[part]
            rows = reference.screen.query(at, slack[part])
            top = torch.topk(rows.lower, self.length + 1, dim=1, largest=False)
            listed = top.indices[:, :-1].cpu().numpy()
            beyond = (top.values[:, -1] + rows.constant).double().cpu().numpy() * rows.side.scale**2
            offset = reference.u[listed] - at[:, None, :]
            far = np.linalg.norm(offset, axis=2)
            widest = far.max(axis=1)
            unit = np.exp2(np.ceil(np.log2(np.where(widest > 0, widest, 1.0))))
            self.place[who], self.unit[who], self.listed[who] = at, unit, listed
            self.slack[who] = np.maximum(reference.slack[listed].max(axis=1), slack[part]) / unit
            self.beyond[who] = np.sqrt(np.maximum(beyond, 0.0)) * (1 - gamma(8)) / unit
            indices = reference.order[listed]
            self.label[who] = reference.label[indices]
            squares = (far / unit[:, None]) ** 2
            if self.exclude is not None:
                squares[(indices[:, :, None] == self.exclude[who, None, :]).any(axis=2)] = np.inf
            self.offset[who] = torch.from_numpy(offset / unit[:, None, None]).float()
            self.squares[who] = torch.from_numpy(squares).float()

    def _from_lists(self, u: FloatArray, slack: FloatArray, walkers: IntArray) -> tuple[IntArray, BoolArray, BoolArray]:
        """Class codes, whether each is certain, and whether a new list could make it so.

        Squared distances are computed as ``far² - 2 offset·move``, short of a constant per row, in float32; `error`
        bounds what rounding and the slacks can do to any of them. Where that is too coarse, float64 is tried.
        """
        everybody = len(walkers) == len(self.unit) and bool((walkers[1:] > walkers[:-1]).all())
        who = slice(None) if everybody else walkers  # a slice copies nothing
        unit = self.unit[who]
        with np.errstate(over="ignore"):  # far beyond a tiny list: infinite, and so outgrown
            move = (u - self.place[who]) / unit[:, None]
            moved = np.minimum(np.linalg.norm(move, axis=1), FAR)
        squared = torch.baddbmm(
            self.squares[who][:, :, None], self.offset[who], torch.from_numpy(move).float()[:, :, None], alpha=-2
        )[:, :, 0]
        top = torch.topk(squared, self.k + 1, dim=1, largest=False)
        last, following = top.values[:, -2:].double().numpy().T
        doubt = slack / unit + self.slack[who]
        reach = 1 + moved + doubt + SMALLEST
        error = self.gamma * reach**2 + 2 * doubt * reach
        farthest = np.sqrt(np.maximum(last + error + moved**2, 0.0)) * (1 + gamma(8))
        left = self.beyond[who] - moved * (1 + gamma(u.shape[1] + 8)) - doubt
        outgrown = ~((farthest < left) & (moved < FAR))
        certain = (last + 2 * error < following) & ~outgrown
        codes = self._vote(np.take_along_axis(self.label[who], top.indices[:, :-1].numpy(), axis=1))
        rows = np.flatnonzero(~certain & ~outgrown)
        if len(rows):
            codes[rows], certain[rows] = self._closely(u[rows], slack[rows], walkers[rows])
        return codes, certain, outgrown

    def _closely(self, u: FloatArray, slack: FloatArray, walkers: IntArray) -> tuple[IntArray, BoolArray]:
        """Class codes from the lists in float64, and whether they are certain; nothing else can be as near."""
        listed, label = self.listed[walkers], self.label[walkers]
        apart = np.linalg.norm(u[:, None, :] - self.reference.u[listed], axis=2)
        error = slack[:, None] + self.reference.slack[listed] + gamma(u.shape[1] + 8) * apart
        apart[torch.isinf(self.squares[torch.from_numpy(walkers)]).numpy()] = np.inf
        lower, upper = apart - error, apart + error
        by_distance = np.argsort(apart, axis=1)
        inside = by_distance[:, : self.k]
        farthest = np.take_along_axis(upper, inside, axis=1).max(axis=1)
        nearest = np.take_along_axis(lower, by_distance[:, self.k :], axis=1).min(axis=1)
        codes = self._vote(np.take_along_axis(label, inside, axis=1))
        # What may be or not be among the K: if it all has one label, the votes are the same either way.
        is_open = (upper >= nearest[:, None]) & (lower <= farthest[:, None])
        smallest = np.where(is_open, label, self.reference.n_classes).min(axis=1)
        largest = np.where(is_open, label, -1).max(axis=1)
        return codes, (farthest < nearest) | (smallest == largest)

    def _decided(self, points: NDArray[np.floating], walkers: IntArray) -> IntArray:
        """Class codes by the distances that decide, of what is on the lists: ties go by training order."""
        indices = np.sort(self.reference.order[self.listed[walkers]], axis=1)
        left_out = None if self.exclude is None else self.exclude[walkers]
        _, nearest = self.reference.nearest_of(points.astype(np.float64), indices, self.k, left_out)
        return self._vote(self.reference.label[nearest])

    def _vote(self, labels: IntArray) -> IntArray:
        n_classes = self.reference.n_classes
        cells = np.arange(len(labels))[:, None] * n_classes + labels
        votes = np.bincount(cells.ravel(), minlength=len(labels) * n_classes).reshape(len(labels), n_classes)
        return np.asarray(votes.argmax(axis=1))  # the first maximum: the smallest label
