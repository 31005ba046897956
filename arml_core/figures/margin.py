"""A smooth function whose sign says which class nearest neighbours answer: contour it at 0 to draw the boundary."""

from __future__ import annotations

import numpy as np

from ..metric import Metric
from ..numerics.arrays import FloatArray, IntArray


def decision_margin(
    at: FloatArray, points: FloatArray, codes: IntArray, metric: Metric, n_neighbors: int, n_classes: int
) -> FloatArray:
    """For each place and each class a number that is positive exactly where that class wins the vote.

    Class c wins if for some m it has at least m of the K neighbours and no rival has more (a rival with a smaller
    label: no more than m - 1). "At least m" holds exactly where c's m-th nearest point is closer than the
    (K - m + 1)-th nearest of the others, so each condition is a difference of two order statistics of squared
    distances. Such differences are continuous, and linear where the two points stay the same: the contour at 0
    is the true boundary, not a staircase. For K = 1 and two classes it is the difference of the two nearest
    distances.

    Parameters
    ----------
    at : (n, D) places; points, codes : the training set, classes numbered from 0.

    Returns
    -------
    (n, n_classes), infinite values cut to the largest finite one.
    """
    k = n_neighbors
    squared = squared_distances(at, points, metric)
    margin = _of_two(squared, codes, k) if n_classes == 2 else _of_several(squared, codes, k, n_classes)
    finite = margin[np.isfinite(margin)]
    limit = float(np.abs(finite).max()) if finite.size else 1.0
    return np.asarray(np.clip(margin, -limit, limit))


def _of_two(squared: FloatArray, codes: IntArray, k: int) -> FloatArray:
    """The first class wins exactly where it has half of the votes: one condition instead of K, and its opposite."""
    half = (k + 1) // 2
    first = _nearest(squared[:, codes == 1], k - half + 1) - _nearest(squared[:, codes == 0], half)
    return np.column_stack([first, -first])


def _nearest(values: FloatArray, place: int) -> FloatArray:
    """The `place`-th smallest of each row, +inf where a row has fewer."""
    if values.shape[1] < place:
        return np.full(len(values), np.inf)
    return np.asarray(values.min(axis=1) if place == 1 else np.sort(values, axis=1)[:, place - 1])


def _of_several(squared: FloatArray, codes: IntArray, k: int, n_classes: int) -> FloatArray:
    own = [_smallest(squared[:, codes == c], k) for c in range(n_classes)]
    others = [_smallest(squared[:, codes != c], k) for c in range(n_classes)]
    margin = np.full((len(squared), n_classes), -np.inf)
    for c in range(n_classes):
        for m in range(1, k + 1):
            worst = others[c][:, k - m] - own[c][:, m - 1]  # c has at least m votes
            for rival in range(n_classes):
                j = m if rival < c else m + 1  # the rival must not have j votes
                if rival != c and j <= k:
                    worst = np.minimum(worst, own[rival][:, j - 1] - others[rival][:, k - j])
            margin[:, c] = np.maximum(margin[:, c], worst)
    return margin


def squared_distances(at: FloatArray, points: FloatArray, metric: Metric) -> FloatArray:
    """d(x, x') for every place and point; good for pictures, where the last digits do not show."""
    a, b = metric.transform(at - points.mean(axis=0)), metric.transform(points - points.mean(axis=0))
    left = np.column_stack([a, (a * a).sum(axis=1), np.ones(len(a))])
    right = np.column_stack([-2.0 * b, np.ones(len(b)), (b * b).sum(axis=1)])
    squared: FloatArray = left @ right.T  # |a|² + |b|² - 2ab in one product: nothing of that size is made on the way
    return squared


def _smallest(values: FloatArray, k: int) -> FloatArray:
    """The k smallest of each row, in order; missing ones are +inf."""
    have = values.shape[1]
    head = np.sort(np.partition(values, k - 1, axis=1)[:, :k] if have > k else values, axis=1)
    if have >= k:
        return head
    # a class that is too small never gets that vote; inf - inf is avoided by the others' finite order statistics
    return np.pad(head, ((0, 0), (0, k - have)), constant_values=np.inf)
