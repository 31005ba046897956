"""What every learner shares: metric-learn's Mahalanobis conventions on a scikit-learn transformer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..numerics.arrays import FloatArray
from ..progress import Callback
from ..untrusted import shortened
from .data_warnings import warn_about_data

Features = NDArray[np.floating]
Codes = NDArray[np.intp]
Learned = tuple[FloatArray, dict[str, FloatArray]]
"""G and the history."""


class MahalanobisLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns G, kept as ``components_`` (rank, n_features), of the metric M = GᵀG.

    A subclass stores its arguments in ``__init__`` and computes G in :meth:`_learn`. ``transform(X)`` is X Gᵀ,
    so the Euclidean distance after it is the square root of ``d(x, x') = (x - x')ᵀ M (x - x')``.

    Attributes
    ----------
    components_ : G, float64, of shape (rank, n_features).
    classes_ : the labels seen in `fit`, sorted.
    history_ : one array per quantity, an entry per iteration; empty for a learner that does not iterate.
    n_iter_ : the number of iterations run.
    """

    _compares_classes = True

    def fit(self, X: ArrayLike, y: ArrayLike, callback: Callback | None = None) -> Self:
        """Learn the metric.

        `callback(done, total, info)` is called after every iteration; ``info["metric"]()`` gives the current
        metric as an :class:`arml_core.metric.Metric`. Raising :class:`arml_core.Cancelled` in it ends `fit`
        with that exception, and the learner stays as it was before.
        """
        return self._fit(X, y, lambda data, codes: self._learn(data, codes, callback))

    def _fit(self, X: ArrayLike, y: ArrayLike, learn: Callable[[Features, Codes], Learned]) -> Self:
        """Check the data, learn, and only then change the learner."""
        data, labels = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if self._compares_classes:
            self._check_comparable(classes, codes)
            warn_about_data(data, codes)
        components, history = learn(data, codes)
        self.components_ = np.asarray(components, dtype=np.float64)
        self.classes_ = classes
        self.history_ = history
        self.n_iter_ = len(next(iter(history.values()))) if history else 0
        return self

    def _check_comparable(self, classes: NDArray[Any], codes: Codes) -> None:
        """There must be two classes to tell apart, and two points that should stay together."""
        name = type(self).__name__
        if len(classes) < 2:
            only = shortened(repr(classes[0]))
            raise ValueError(f"{name} needs at least two classes; every row of y is of the one class {only}")
        if len(classes) == len(codes):
            raise ValueError(f"{name} needs a class with at least two points; every class has one")

    @abstractmethod
    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        """G and the history for validated data; `codes` numbers the classes from 0."""

    def transform(self, X: ArrayLike) -> FloatArray:
        """X Gᵀ: the rows of `X` in the space where the metric is Euclidean."""
        check_is_fitted(self, "components_")
        data = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        embedded: FloatArray = data @ self.components_.T
        return embedded

    def get_mahalanobis_matrix(self) -> FloatArray:
        """M = GᵀG."""
        check_is_fitted(self, "components_")
        m: FloatArray = self.components_.T @ self.components_
        return m

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """√d(x, x') for each of the `pairs`, an array of shape (n_pairs, 2, n_features)."""
        check_is_fitted(self, "components_")
        points = check_array(pairs, dtype=np.float64, allow_nd=True)
        if points.ndim != 3 or points.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must be of shape (n_pairs, 2, {self.n_features_in_}); got {points.shape}")
        distances: FloatArray = np.linalg.norm((points[:, 1] - points[:, 0]) @ self.components_.T, axis=-1)
        return distances

    def get_metric(self) -> Callable[..., float]:
        """A function of two vectors, √d(x, x'), that a later `fit` does not change."""
        check_is_fitted(self, "components_")
        g = self.components_.copy()

        def metric(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            difference = g @ (np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64))
            d = float(difference @ difference)
            return d if squared else float(np.sqrt(d))

        return metric

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
