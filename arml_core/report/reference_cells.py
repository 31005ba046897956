"""Which training rows each reference answers for: what a prototype stands for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..knn import MahalanobisKNN
from ..numerics.arrays import FloatArray, IntArray
from ..progress import Callback

NEAREST_ROWS = 6


@dataclass(frozen=True, eq=False)
class ReferenceCells:
    """For each reference of a classifier the rows that have it as their nearest.

    `rows` counts them and `right` those of its own class. `nearest` are the places of the closest of these rows,
    nearest first, padded with -1; `reference_of` is the nearest reference of every row.
    """

    rows: IntArray
    right: IntArray
    nearest: IntArray
    reference_of: IntArray

    @property
    def share_right(self) -> FloatArray:
        """The share of right ones, NaN for a reference that no row has as its nearest."""
        answered = np.where(self.rows > 0, self.rows, 1)
        return np.where(self.rows > 0, self.right / answered, np.nan)


def reference_cells(
    knn: MahalanobisKNN, X: ArrayLike, y: ArrayLike, *, nearest: int = NEAREST_ROWS, callback: Callback | None = None
) -> ReferenceCells:
    """The cells of a fitted classifier's references among the rows `X` with labels `y`, whatever its K is.

    Of rows that the references were learned from, the right ones say what a reference stands for and not how well the
    classifier does.
    """
    labels = np.asarray(y)
    distances, neighbours = knn.kneighbors(X, n_neighbors=1, callback=callback)
    near, count = neighbours[:, 0], len(knn.references_)
    right = knn.reference_labels_[near] == labels
    order = np.lexsort((distances[:, 0], near))
    starts = np.searchsorted(near[order], np.arange(count + 1))
    closest = np.full((count, nearest), -1, dtype=np.intp)
    for reference, (first, last) in enumerate(pairwise(starts)):
        found = order[first : min(last, first + nearest)]
        closest[reference, : len(found)] = found
    return ReferenceCells(
        np.diff(starts).astype(np.intp), np.bincount(near[right], minlength=count).astype(np.intp), closest, near
    )
