"""Cluster centres of each class: the plainest prototypes, and where the robust ones start."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans, MiniBatchKMeans

from ..learners.checks import check_int, draw_seed
from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from .base import Codes, Features, LearnedReferences, ReferenceLearner

LARGE_CLASS = 2_000  # rows beyond which k-means looks at batches
ROWS_A_PROTOTYPE = 50  # with more, 500 rows of Splice are learned by heart
FEWEST, MOST = 3, 100


def prototypes_per_class(n_prototypes: Any, class_size: int) -> int:
    """How many prototypes a class of this many rows gets: "auto" is one for every 50 rows, 3 to 100."""
    if n_prototypes == "auto":
        n_prototypes = min(MOST, max(FEWEST, class_size // ROWS_A_PROTOTYPE))
    return min(class_size, check_int("n_prototypes", n_prototypes, 1))


def class_centres(X: Features, codes: Codes, n_prototypes: Any, metric: Metric, seed: int) -> tuple[FloatArray, Codes]:
    """k-means centres of every class under `metric`, and their class codes.

    A class with fewer different rows than prototypes gets one for each different row.
    """
    points, labels = [], []
    for code in range(int(codes.max()) + 1):
        rows = np.asarray(X[codes == code], dtype=np.float64)
        centres = _centres(rows, prototypes_per_class(n_prototypes, len(rows)), metric, seed)
        points.append(centres)
        labels.append(np.full(len(centres), code, dtype=np.intp))
    return np.concatenate(points), np.concatenate(labels)


def _centres(rows: FloatArray, count: int, metric: Metric, seed: int) -> FloatArray:
    if count == 1:
        centre: FloatArray = rows.mean(axis=0, keepdims=True)
        return centre
    if len(rows) <= LARGE_CLASS:
        different = np.unique(rows, axis=0)
        if len(different) <= count:
            return different
    embedded = rows if metric.is_identity else metric.transform(rows)
    kind: Any = KMeans if len(rows) <= LARGE_CLASS else MiniBatchKMeans
    sizes = {} if kind is KMeans else {"batch_size": 1024, "max_iter": 20}
    cells = kind(count, n_init=1, random_state=seed, **sizes).fit_predict(embedded)
    used, cells = np.unique(cells, return_inverse=True)  # a cell may be empty
    members = csr_array((np.ones(len(rows)), (cells, np.arange(len(rows)))), shape=(len(used), len(rows)))
    # of the rows themselves: a singular G cannot be undone
    centres: FloatArray = (members @ rows) / np.bincount(cells)[:, None]
    return centres


class KMeansPrototypes(ReferenceLearner):
    """The centres of k-means in each class, under the metric they will be compared with.

    Parameters
    ----------
    n_prototypes : how many in each class, at most; "auto" for one in 50 rows, 3 to 100. A class with fewer different
        rows has one for each.
    random_state : the same int gives the same centres.
    """

    def __init__(self, n_prototypes: Any = "auto", *, random_state: Any = None) -> None:
        self.n_prototypes = n_prototypes
        self.random_state = random_state

    def _learn(self, X: Features, codes: Codes, metric: Metric, callback: Callback | None) -> LearnedReferences:
        points, labels = class_centres(X, codes, self.n_prototypes, metric, draw_seed(self.random_state))
        report(callback, 1, 1, references=lambda: (points, labels, metric))
        return LearnedReferences(points, labels, None, {})
