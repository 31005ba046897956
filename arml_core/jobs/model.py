"""What a training gives, as a classifier takes it: a metric, and references where it learned any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.registry import Gives
from ..metric import Metric, as_metric
from ..numerics.arrays import FloatArray, IntArray
from .files import Arrays


@dataclass(frozen=True, kw_only=True)
class LearnedModel:
    """G, and the points to compare with; without these, all training rows are compared with.

    ``MahalanobisKNN(references=model)`` takes it where it has references, ``metric=model`` where it has none;
    :func:`~arml_core.neighbors.chosen.classifier_arguments` tells them apart. `reference_labels_` are labels of the
    dataset; `reference_rows_` are places in its training part, None for points that are no training rows. `radius_` is
    the target radius they were learned for, None where there was none.
    """

    components_: FloatArray
    references_: FloatArray | None = None
    reference_labels_: IntArray | None = None
    reference_rows_: IntArray | None = None
    radius_: float | None = None

    @classmethod
    def of(cls, learned: Any, n_features: int, n_classes: int) -> LearnedModel:
        """From a fitted learner, a saved model, a metric or a PSD matrix; a ValueError if it is not for such data."""
        points = getattr(learned, "references_", None)
        if points is None:
            return LearnedModel(components_=as_metric(learned, n_features).components)
        metric = None if learned.components_ is None else Metric.from_components(learned.components_)
        labels, rows = np.asarray(learned.reference_labels_), getattr(learned, "reference_rows_", None)
        if np.shape(points)[1:] != (n_features,):
            raise ValueError(f"the references have {np.shape(points)[1]} features; the data has {n_features}")
        if labels.dtype.kind not in "iu" or labels.min(initial=0) < 0 or labels.max(initial=0) >= n_classes:
            raise ValueError(f"the labels of the references are not those of the dataset, 0 to {n_classes - 1}")
        return LearnedModel(
            components_=as_metric(metric, n_features).components,
            references_=np.asarray(points, dtype=np.float64),
            reference_labels_=labels.astype(np.intp),
            reference_rows_=None if rows is None else np.asarray(rows, dtype=np.intp),
            radius_=getattr(learned, "radius_", None),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> LearnedModel:
        """The inverse of :meth:`arrays`."""
        return LearnedModel(**model_fields(arrays, prefix))

    def arrays(self, prefix: str = "") -> Arrays:
        """As plain arrays, to be stored without pickle."""
        found = {name: getattr(self, attribute) for name, attribute in _STORED.items()}
        return {prefix + name: np.asarray(array) for name, array in found.items() if array is not None}

    @property
    def gives(self) -> Gives:
        if self.references_ is None:
            return "metric"
        return "references" if self.reference_rows_ is None else "rows"

    def size(self, n_train: int) -> int:
        """How many points are compared with, of a training part with so many rows."""
        return n_train if self.references_ is None else len(self.references_)

    @property
    def metric(self) -> Metric:
        return Metric.from_components(self.components_)

    def get_mahalanobis_matrix(self) -> FloatArray:
        """M = GᵀG."""
        m: FloatArray = self.components_.T @ self.components_
        return m


_STORED = {
    "components": "components_",
    "references": "references_",
    "reference_labels": "reference_labels_",
    "reference_rows": "reference_rows_",
    "target_radius": "radius_",
}


def model_fields(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> dict[str, Any]:
    """The fields of a :class:`LearnedModel` from the arrays of a file; older files have components alone."""
    found: dict[str, Any] = {"components_": np.asarray(arrays[f"{prefix}components"], dtype=np.float64)}
    if f"{prefix}references" in arrays:
        found["references_"] = np.asarray(arrays[f"{prefix}references"], dtype=np.float64)
        found["reference_labels_"] = arrays[f"{prefix}reference_labels"].astype(np.intp)
        if f"{prefix}reference_rows" in arrays:
            found["reference_rows_"] = arrays[f"{prefix}reference_rows"].astype(np.intp)
        if f"{prefix}target_radius" in arrays:
            found["radius_"] = float(arrays[f"{prefix}target_radius"])
    return found
