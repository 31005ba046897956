"""The references a classifier is given, in whatever form, as points, labels and a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_array

from ..metric import Metric, as_metric
from ..numerics.arrays import IntArray


@dataclass(frozen=True)
class ChosenReferences:
    """Points with labels, the metric they are compared under, and where they come from.

    `rows` are their places among the training rows, None where they are no training rows.
    """

    points: NDArray[np.floating]
    labels: NDArray[Any]
    metric: Metric
    learner: Any = None
    rows: IntArray | None = None


def chosen_references(references: Any, metric: Any, x: NDArray[np.floating], labels: NDArray[Any]) -> ChosenReferences:
    """What ``MahalanobisKNN(references=…, metric=…)`` compares with, fitted to the rows `x` if need be."""
    width = x.shape[1]
    if references is None:
        return ChosenReferences(x, labels, as_metric(metric, width))
    if isinstance(references, tuple):
        return _given(references, as_metric(metric, width), width)
    learner = references
    if getattr(learner, "references_", None) is None:
        _check_learner(learner)
        learner = clone(learner)
        learner.fit(x, labels, metric=metric)
    if learner.components_ is not None:
        if metric is not None:
            raise ValueError("these references come with a metric of their own; leave metric out")
        metric = Metric.from_components(learner.components_)
    points, point_labels = learner.references_, learner.reference_labels_
    found = _given((points, point_labels), as_metric(metric, width), width)
    return ChosenReferences(found.points, found.labels, found.metric, learner, _kept_rows(learner, x))


def classifier_arguments(model: Any) -> dict[str, Any]:
    """How a model that was learned or read from a file is handed to :class:`~arml_core.MahalanobisKNN`.

    As `references` if it has any, else as `metric`; None is the Euclidean metric.
    """
    return {"metric" if getattr(model, "references_", None) is None else "references": model}


def _check_learner(learner: Any) -> None:
    if hasattr(learner, "transform") or (hasattr(learner, "components_") and not hasattr(learner, "fit")):
        raise ValueError("this is a metric without references: give it as metric=")
    if not hasattr(learner, "fit"):
        raise ValueError(
            f"references must be None, (points, labels) or a learner of references; got {type(learner).__name__}"
        )


def _kept_rows(learner: Any, x: NDArray[np.floating]) -> IntArray | None:
    """Where the references stand among the rows `x`; None where they are no rows, some row twice, or other data's."""
    rows = getattr(learner, "reference_rows_", None)
    if rows is None or not len(rows) or rows.min() < 0 or rows.max() >= len(x) or len(np.unique(rows)) < len(rows):
        return None
    return np.asarray(rows, dtype=np.intp) if np.array_equal(x[rows], learner.references_) else None


def _given(references: tuple[Any, ...], metric: Metric, width: int) -> ChosenReferences:
    if len(references) != 2:
        raise ValueError(f"references must be a pair (points, labels); got {len(references)} values")
    points = check_array(references[0], dtype=[np.float64, np.float32], copy=True)
    labels: NDArray[Any] = np.array(references[1])
    if labels.shape != (len(points),):
        raise ValueError(f"references need one label a point, {len(points)} in all; got shape {labels.shape}")
    if points.shape[1] != width:
        raise ValueError(f"the references have {points.shape[1]} features; the training rows have {width}")
    return ChosenReferences(points, labels, metric)


def excluded_references(exclude: IntArray | None, rows: IntArray | None, n_train: int) -> list[IntArray] | None:
    """Training rows to leave out per point, padded with -1, as places among the references that are these `rows`."""
    if rows is None:
        raise ValueError(
            "exclude leaves training rows out, and these references are no training rows. To judge a row by a model "
            "that has not seen it, learn the references without it (cross-validation)"
        )
    if exclude is None:
        return None
    place = np.full(n_train + 1, -1, dtype=np.intp)  # the last is that of the padding
    place[rows] = np.arange(len(rows))
    places: IntArray = place[exclude]
    return [row[row >= 0] for row in places]
