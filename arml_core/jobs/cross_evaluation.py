"""The models of a cross-fitted evaluation: one learned without each fold, kept until all of them are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cross_fitting import CrossFitted, assign_folds, fold_progress
from ..datasets import Dataset
from ..numerics.arrays import IntArray
from .evaluation import ReferenceData, classifier
from .files import Arrays
from .job_log import log_line
from .learners import new_learner
from .model import LearnedModel
from .reporter import Reporter
from .spec import EvaluationSpec, PointsSpec, RunSpec
from .workspace import Workspace


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The models that were learned without each fold of the training rows."""

    dataset: Dataset
    points: PointsSpec
    models: tuple[LearnedModel, ...]

    @cached_property
    def fold_of(self) -> IntArray:
        return fold_of_rows(self.dataset, self.points)

    def parts(self, key: str, n: int) -> list[tuple[ReferenceData, IntArray]]:
        """For each fold what answers for it, and which of the first `n` rows it answers for."""
        found = [(self._reference(key, fold), np.flatnonzero(self.fold_of[:n] == fold)) for fold in self._folds()]
        return [(reference, members) for reference, members in found if len(members)]

    def arrays(self) -> Arrays:
        """The models as a result keeps them, so that somebody can ask them about a changed row."""
        found: Arrays = {}
        for fold, model in enumerate(self.models):
            found |= model.arrays(_prefix(fold))
        return found

    def cross_fitted(self, n_neighbors: int) -> CrossFitted:
        knn = tuple(classifier(self._reference("", fold), n_neighbors) for fold in self._folds())
        return CrossFitted(self.dataset.X_train, self.dataset.y_train, self.fold_of, knn)

    def _folds(self) -> range:
        return range(len(self.models))

    def _reference(self, key: str, fold: int) -> ReferenceData:
        others = self.fold_of != fold
        name = f"{key}-fold-{fold}-of-{self.points.folds}-{self.points.seed}"
        return ReferenceData(name, self.dataset.X_train[others], self.dataset.y_train[others], self.models[fold])


def fold_of_rows(dataset: Dataset, points: PointsSpec) -> IntArray:
    """The fold in which each training row is left out."""
    assert points.folds is not None
    return assign_folds(dataset.y_train, points.folds, points.seed)


def learn_folds(
    points: PointsSpec, run: RunSpec, dataset: Dataset, device: str, workspace: Workspace, reporter: Reporter
) -> FoldModels:
    """Learn the model of every fold; those that an earlier attempt learned are taken from the job's folder."""
    assert points.folds is not None
    reporter.part("training")
    fold_of = fold_of_rows(dataset, points)
    models = []
    for fold in range(points.folds):
        model = workspace.load_fold(fold)
        if model is None:
            log_line(f"learns without fold {fold + 1} of {points.folds}")
            others = fold_of != fold
            learner = new_learner(run, run.device if run.device != "auto" else device, dataset.image_shape)
            callback = fold_progress(reporter.callback, fold, points.folds)
            learner.fit(dataset.X_train[others], dataset.y_train[others], callback=callback)
            model = LearnedModel.of(learner, dataset.n_features, dataset.n_classes)
            workspace.save_fold(fold, model)
        models.append(model)
    return FoldModels(dataset, points, tuple(models))


def cross_fitted_from(arrays: Mapping[str, NDArray[Any]], spec: EvaluationSpec, dataset: Dataset) -> CrossFitted:
    """The classifiers of a finished evaluation, from the arrays of its result."""
    points = spec.points
    assert points.folds is not None
    models = tuple(LearnedModel.from_arrays(arrays, _prefix(fold)) for fold in range(points.folds))
    return FoldModels(dataset, points, models).cross_fitted(spec.n_neighbors)


def _prefix(fold: int) -> str:
    return f"fold_{fold}_"
