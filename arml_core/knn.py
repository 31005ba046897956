"""The nearest-neighbour classifier of a Mahalanobis metric, and what can be proved about its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .certify import Certificates, Triplets, check_support, exact_radius, triplet_bound
from .device import pick_device
from .metric import as_metric
from .progress import Callback
from .reference import Reference
from .rounding import BoolArray, FloatArray, IntArray
from .threat import ThreatModel


class MahalanobisKNN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """K-nearest-neighbour classification under d(x, x') = (x - x')ᵀM(x - x').

    The K nearest training points vote; the smallest label wins a tied vote, and training order decides between
    equal distances. Distances that matter are computed in float64 from differences, whatever the input's dtype.

    Parameters
    ----------
    n_neighbors : K, at least 1.
    metric : None (Euclidean), a PSD matrix M, or a fitted learner with ``components_`` or
        ``get_mahalanobis_matrix()``.
    device : "auto", "cpu" or "cuda": where matrix products run.

    Attributes
    ----------
    classes_ : the labels, sorted.
    metric_ : the :class:`~arml_core.metric.Metric` in use.
    """

    def __init__(self, n_neighbors: int = 1, metric: Any = None, device: str = "auto") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.device = device

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remember the training set and prepare it for the metric."""
        x: NDArray[np.floating]
        x, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all rows are class {self.classes_[0]!r}: one class; a classifier needs two")
        if isinstance(self.n_neighbors, bool) or not isinstance(self.n_neighbors, (int, np.integer)):
            raise ValueError(f"n_neighbors must be an integer; got {self.n_neighbors!r}")
        if not 1 <= self.n_neighbors <= len(x):
            raise ValueError(f"n_neighbors must be between 1 and the {len(x)} training rows; got {self.n_neighbors}")
        self.metric_ = as_metric(self.metric, x.shape[1])
        self._reference = Reference(
            x, codes.astype(np.intp), len(self.classes_), self.metric_, pick_device(self.device)
        )
        self._triplets: dict[ThreatModel, Triplets] = {}
        return self

    def predict(self, X: ArrayLike, exclude: ArrayLike | Sequence[ArrayLike] | None = None) -> NDArray[Any]:
        """The label of each row; `exclude` as in :meth:`certify`."""
        x = self._checked_points(X)
        labels: NDArray[Any] = self.classes_[self._predict_codes(x, self._checked_exclude(exclude, len(x)))]
        return labels

    def kneighbors(
        self, X: ArrayLike, n_neighbors: int | None = None, exclude: ArrayLike | Sequence[ArrayLike] | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Squared distances to the nearest training rows, and their indices, nearest first."""
        x = self._checked_points(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        left_out = self._checked_exclude(exclude, len(x))
        most = len(self._reference) - (0 if left_out is None else left_out.shape[1])
        if not 1 <= k <= most:
            raise ValueError(f"n_neighbors must be between 1 and the {most} training rows; got {k}")
        return self._reference.nearest(x.astype(np.float64), k, left_out)

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        method: str = "votes",
        threat: ThreatModel | None = None,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> Certificates:
        """How far each row can move before its answer changes.

        Parameters
        ----------
        y : the true labels; points that are predicted otherwise have radius 0. Without `y` the classifier's own
            answer is certified.
        method : "votes" (any K), "theorem1" (odd K, the paper's certificate) or "exact" (K = 1, both sides).
            :mod:`arml_core.certify` has the table of what each supports.
        threat : what the attacker may do; ℓ2 without limits by default.
        exclude : training rows to leave out, for leave-one-out: one index per row of X (-1 for none), or a
            sequence of indices per row.
        callback : ``callback(done, total, info)``, called as points are finished.

        Returns
        -------
        :class:`~arml_core.Certificates`, in the order of X.
        """
        threat = ThreatModel() if threat is None else threat
        x = self._checked_points(X)
        check_support(method, self.n_neighbors, threat)
        left_out = self._checked_exclude(exclude, len(x))
        predicted = self._predict_codes(x, left_out)
        wanted = predicted if y is None else self._checked_labels(y, len(x))
        correct = predicted == wanted
        lower, upper = np.zeros(len(x)), np.where(correct, np.inf, 0.0)
        exact = ~correct
        adversarial = np.full(x.shape, np.nan, dtype=x.dtype)
        adversarial[~correct] = x[~correct]
        some = np.flatnonzero(correct)
        rows_out = None if left_out is None else left_out[some]
        if method == "theorem1":
            self._check_class_sizes(wanted[some], rows_out)
        triplets = self._triplets_for(threat)
        if method == "exact":

            def flips(points: NDArray[np.floating], members: IntArray) -> BoolArray:
                codes = self._predict_codes(points, None if rows_out is None else rows_out[members])
                return np.asarray(codes != wanted[some[members]])

            found = exact_radius(triplets, x[some], wanted[some], flips, rows_out, callback)
            lower[some], upper[some], exact[some] = found.lower, found.upper, found.exact
            adversarial[some] = found.adversarial
        else:
            lower[some] = triplet_bound(
                triplets, x[some].astype(np.float64), wanted[some], self.n_neighbors, method, rows_out, callback
            )
        return Certificates(
            lower, upper, exact, self.classes_[predicted], correct, adversarial, method=method, threat=threat
        )

    def _predict_codes(self, x: NDArray[np.floating], exclude: IntArray | None) -> IntArray:
        reference = self._reference
        _, neighbours = reference.nearest(x.astype(np.float64), self.n_neighbors, exclude)
        votes = np.zeros((len(x), reference.n_classes), dtype=np.intp)
        np.add.at(votes, (np.arange(len(x))[:, None], reference.label[neighbours]), 1)
        return np.asarray(votes.argmax(axis=1))  # the first maximum: the smallest label

    def _triplets_for(self, threat: ThreatModel) -> Triplets:
        if threat not in self._triplets:
            resolved = threat.resolve(self.n_features_in_)
            self._triplets = {threat: Triplets(self._reference, resolved)}  # only the last: h is as large as X
        return self._triplets[threat]

    def _checked_points(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        x: NDArray[np.floating] = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return x

    def _checked_labels(self, y: ArrayLike, n: int) -> IntArray:
        labels = np.asarray(y)
        if labels.shape != (n,):
            raise ValueError(f"y must hold one label per row, {n} in all; got shape {labels.shape}")
        known = np.isin(labels, self.classes_)
        if not known.all():
            unseen, count = np.unique(labels[~known], return_counts=True)
            raise ValueError(
                f"label {unseen[0]!r} ({count[0]} rows) was not in training; the classes are {self.classes_.tolist()}"
            )
        return np.searchsorted(self.classes_, labels)

    def _checked_exclude(self, exclude: ArrayLike | Sequence[ArrayLike] | None, n: int) -> IntArray | None:
        """Training indices per row as an (n, e) array padded with -1."""
        if exclude is None:
            return None
        rows = [np.unique(np.atleast_1d(np.asarray(row, dtype=np.intp))) for row in exclude]  # type: ignore[union-attr]
        if len(rows) != n:
            raise ValueError(f"exclude must have one entry per row, {n} in all; got {len(rows)}")
        rows = [row[row != -1] for row in rows]
        for row in rows:
            if len(row) and (row[0] < 0 or row[-1] >= len(self._reference)):
                bad = row[0] if row[0] < 0 else row[-1]
                raise ValueError(f"exclude names training row {bad}; there are {len(self._reference)}, counted from 0")
        width = max((len(row) for row in rows), default=0)
        if width + self.n_neighbors > len(self._reference):
            raise ValueError(
                f"leaving out {width} of {len(self._reference)} training rows leaves too few for K = {self.n_neighbors}"
            )
        padded = np.full((n, width), -1, dtype=np.intp)
        for b, row in enumerate(rows):
            padded[b, : len(row)] = row
        return padded if width else None

    def _check_class_sizes(self, labels: IntArray, exclude: IntArray | None) -> None:
        """Theorem 1 takes the k-th of the positives and of the negatives: both must have k."""
        k = (self.n_neighbors + 1) // 2
        reference = self._reference
        own = reference.counts[labels].copy()
        total = np.full(len(labels), len(reference))
        if exclude is not None:
            gone = exclude >= 0
            own -= (gone & (reference.label[exclude] == labels[:, None])).sum(axis=1)
            total -= gone.sum(axis=1)
        for b in np.flatnonzero((own < k) | (total - own < k))[:1]:
            name, rows = self.classes_[labels[b]], int(own[b])
            who = (
                f"Class {name} has {rows} rows" if rows < k else f"All but {int(total[b]) - rows} rows are class {name}"
            )
            raise ValueError(f"{who}; this certificate needs {k} for K = {self.n_neighbors}. Use 'votes'.")
