"""What every learner of references shares: which points to compare with, instead of all training rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..metric import Metric, as_metric
from ..numerics.arrays import FloatArray
from ..numerics.threads import one_thread_per_operation
from ..progress import Callback
from ..untrusted import shortened

Features = NDArray[np.floating]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class LearnedReferences:
    """What a learner found: points, their class codes, and G where it learned one.

    `rows` are the places in the training set where the points are training rows, else None.
    """

    points: FloatArray
    codes: Codes
    components: FloatArray | None
    history: Mapping[str, FloatArray]
    rows: NDArray[np.intp] | None = None


class ReferenceLearner(BaseEstimator):  # type: ignore[misc]
    """Learns the points, with labels, that a nearest-neighbour classifier compares with.

    Hand it to ``MahalanobisKNN(references=…)``, fitted or not. A subclass stores its arguments in ``__init__`` and
    finds the points in :meth:`_learn`.

    Attributes
    ----------
    references_ : (P, n_features), the points, float64.
    reference_labels_ : (P,), their labels.
    reference_rows_ : (P,), where they stand in the training set; None for learners that move points.
    components_ : G, (rank, n_features), of the metric learned with them; None for learners that learn none.
    classes_ : all labels seen in `fit`, sorted; a class may have no reference left.
    history_ : one array per quantity, an entry per epoch; empty for a learner that does not iterate.
    n_iter_ : the number of epochs run.
    """

    learns_metric = False

    def fit(self, X: ArrayLike, y: ArrayLike, callback: Callback | None = None, metric: Any = None) -> Self:
        """Find the references.

        `metric` is the metric they will be compared under, for learners that learn none: None for Euclidean, a PSD
        matrix or a fitted learner. `callback(done, total, info)` is called after every epoch; ``info["references"]()``
        gives the current points, their class codes and the metric. Raising :class:`arml_core.Cancelled` in it ends
        `fit`.
        """
        return self._fit(X, y, metric, lambda data, codes, given: self._learn(data, codes, given, callback))

    @one_thread_per_operation
    def _fit(
        self, X: ArrayLike, y: ArrayLike, metric: Any, learn: Callable[[Features, Codes, Metric], LearnedReferences]
    ) -> Self:
        """Check the data, learn, and only then change the learner."""
        data, labels = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            only = shortened(repr(classes[0]))
            raise ValueError(f"{type(self).__name__} needs two classes; every row of y is of the one class {only}")
        if metric is not None and self.learns_its_metric:
            raise ValueError(f"{type(self).__name__} learns its own metric; leave metric out, or ask it to learn none")
        found = learn(data, codes.astype(np.intp), as_metric(metric, data.shape[1]))
        self.references_ = np.asarray(found.points, dtype=np.float64)
        self.reference_labels_ = classes[found.codes]
        self.reference_rows_ = found.rows
        self.components_ = found.components
        self.classes_ = classes
        self.history_ = dict(found.history)
        self.n_iter_ = len(next(iter(found.history.values()))) if found.history else 1
        return self

    @property
    def learns_its_metric(self) -> bool:
        """Whether `fit` gives a metric together with the points."""
        return type(self).learns_metric

    @abstractmethod
    def _learn(self, X: Features, codes: Codes, metric: Metric, callback: Callback | None) -> LearnedReferences:
        """The references for validated data; `codes` numbers the classes from 0."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags
