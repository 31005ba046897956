"""Rows of different classes that lie close together, found block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.error_bounds import gram_error, norm
from ..progress import Callback, report

BLOCK_ROWS = 1_024
NAMES = {1.0: "cityblock", np.inf: "chebyshev"}  # as scipy calls the distances


class OtherClassDistances:
    """Distances in the norm `order` between rows of different classes, a block of at most 1,024² at a time.

    ℓ2 distances come from products of the centred rows, with a bound on how far rounding may have moved each; where
    that leaves a comparison open, and in the other norms, they come from differences.
    """

    def __init__(self, X: NDArray[np.floating], codes: IntArray, order: float) -> None:
        self.order, self._x = order, X
        self._rows = np.argsort(codes, kind="stable")  # class by class: most blocks of one class need no look
        self._codes = codes[self._rows]
        self._centre: FloatArray = X.mean(axis=0, dtype=np.float64)
        self._blocks = [slice(at, min(at + BLOCK_ROWS, len(X))) for at in range(0, len(X), BLOCK_ROWS)]

    def block_pairs(self) -> list[tuple[slice, slice]]:
        """The pairs of blocks in which rows of different classes meet, every pair of rows in one of them."""
        return [
            (a, b)
            for number, a in enumerate(self._blocks)
            for b in self._blocks[number:]
            if self._codes[a.start] != self._codes[b.stop - 1]
        ]

    def nearest(self, step: int, callback: Callback | None) -> FloatArray:
        """How far every `step`-th row is from the nearest row of another class that does not coincide with it.

        +inf where there is none. Rows so close that rounding hides their distance count as coinciding. `callback` is
        called after every block, as one that finishes nothing: it can only stop the work.
        """
        found = []
        chosen = np.arange(0, len(self._rows), step)
        for start in range(0, len(chosen), BLOCK_ROWS):
            places = chosen[start : start + BLOCK_ROWS]
            best = np.full(len(places), np.inf)
            for block in self._blocks:
                distances, error = self._between(self._rows[places], self._rows[block])
                apart = (self._codes[places][:, None] != self._codes[block]) & (distances > error)
                best = np.minimum(best, np.where(apart, distances, np.inf).min(axis=1))
                report(callback, 0, 1)
            found.append(best)
        return np.concatenate(found)

    def closer_than(self, limit: float, a: slice, b: slice) -> tuple[IntArray, IntArray]:
        """The rows i of block `a` and j of block `b`, of different classes, that are less than `limit` apart."""
        distances, error = self._between(self._rows[a], self._rows[b])
        other = self._codes[a][:, None] != self._codes[b]
        if a == b:
            other = np.triu(other)
        close = other & (distances < limit - error)
        open_i, open_j = np.nonzero(other & ~close & (distances < limit + error))
        for start in range(0, len(open_i), BLOCK_ROWS):
            i, j = open_i[start : start + BLOCK_ROWS], open_j[start : start + BLOCK_ROWS]
            u, v = (self._x[self._rows[side][at]].astype(np.float64) for side, at in ((a, i), (b, j)))
            close[i, j] = norm(u - v, self.order) < limit
        i, j = np.nonzero(close)
        return self._rows[a][i], self._rows[b][j]

    def _between(self, i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
        """Distances between rows i and rows j, and how far each may be off."""
        u, v = self._x[i].astype(np.float64), self._x[j].astype(np.float64)
        if self.order != 2:
            return cdist(u, v, NAMES[self.order]), np.zeros((1, 1))
        u, v = u - self._centre, v - self._centre
        u_lengths, v_lengths = norm(u), norm(v)
        squares = np.maximum((u_lengths**2)[:, None] + v_lengths**2 - 2 * (u @ v.T), 0.0)
        error = gram_error(u_lengths[:, None] + v_lengths, u.shape[1] + 8) + np.finfo(np.float64).tiny
        distances: FloatArray = np.sqrt(squares)
        return distances, error / np.maximum(distances, np.sqrt(error))  # |√s - √t| ≤ |s - t| / max(√s, √|s - t|)
