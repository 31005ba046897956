"""The rows of an evaluation and how one block of them is computed, wherever that happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cross_fitting import with_unseen_labels
from ..datasets import Dataset
from ..knn import MahalanobisKNN
from ..neighbors.chosen import classifier_arguments
from ..numerics.arrays import FloatArray, IntArray
from ..progress import Callback
from ..radii import Radii
from .model import LearnedModel
from .spec import EvaluationSpec, PointsSpec


@dataclass(frozen=True)
class ReferenceData:
    """What every block needs and what is sent to a machine once: the training set and the model."""

    key: str
    X: FloatArray
    y: NDArray[Any]
    model: LearnedModel


@dataclass(frozen=True)
class EvaluationRows:
    """The rows that are evaluated: points, labels or None, and for training rows their own index to leave out."""

    X: NDArray[np.floating]
    y: NDArray[Any] | None
    exclude: IntArray | None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, index: IntArray) -> EvaluationRows:
        return EvaluationRows(
            self.X[index],
            None if self.y is None else self.y[index],
            None if self.exclude is None else self.exclude[index],
        )


@dataclass(frozen=True)
class PendingEvaluation:
    """What is left to compute of an evaluation: `blocks` of `rows`, given by their indices.

    `done` rows were finished before.
    """

    reference: ReferenceData
    spec: EvaluationSpec
    rows: EvaluationRows
    blocks: Sequence[IntArray]
    done: int


def rows_of(
    dataset: Dataset, points: PointsSpec, given: tuple[NDArray[Any], NDArray[Any] | None] | None
) -> EvaluationRows:
    """The rows a :class:`PointsSpec` means; `given` is the query file if it means one."""
    exclude = None
    x: NDArray[Any]
    y: NDArray[Any] | None
    if points.part == "given":
        assert given is not None
        x, y = given
        if y is None and points.labels:
            raise ValueError("the query rows have no labels; evaluate them without")
    elif points.part == "evaluation":
        x, y = dataset.evaluation(points.n or 1000)
    elif points.part in ("train", "cross"):
        x, y = dataset.X_train, dataset.y_train
        exclude = np.arange(len(x), dtype=np.intp) if points.part == "train" else None
    else:
        x, y = dataset.X_test, dataset.y_test
    n = len(x) if points.n is None else min(points.n, len(x))
    if n == 0:
        raise ValueError(f"{dataset.title} has no {points.part} rows to evaluate")
    return EvaluationRows(
        x[:n], y[:n] if points.labels and y is not None else None, None if exclude is None else exclude[:n]
    )


def classifier(reference: ReferenceData, n_neighbors: int, device: str = "auto") -> MahalanobisKNN:
    """The fitted classifier that is evaluated."""
    arguments = classifier_arguments(reference.model)
    return MahalanobisKNN(n_neighbors=n_neighbors, device=device, **arguments).fit(reference.X, reference.y)


def evaluate_block(
    knn: MahalanobisKNN, spec: EvaluationSpec, rows: EvaluationRows, index: IntArray, callback: Callback | None = None
) -> Radii:
    """The radii of one block; `index` names its rows within the whole."""
    arguments: dict[str, Any] = {"method": spec.method, "threat": spec.threat, "callback": callback, **spec.options}
    arguments |= spec.rule()
    if spec.budget is not None:
        arguments["budget"] = spec.budget
    if spec.at is not None:
        arguments["at"] = spec.at
    if rows.exclude is not None:
        arguments["exclude"] = rows.exclude
    if spec.kind == "attack":
        arguments["random_state"] = spec.seed

    def ask(x: NDArray[np.floating], y: NDArray[Any] | None) -> Radii:
        return knn.attack(x, y, **arguments) if spec.kind == "attack" else knn.certify(x, y, **arguments)

    if spec.points.part == "cross":
        return replace(with_unseen_labels(knn, ask, rows.X, rows.y, spec.target), index=index)
    return replace(ask(rows.X, rows.y), index=index)
