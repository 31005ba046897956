"""What the nearest neighbours of a picture are: a metric, and the points that are compared with.

Everything learned is remembered by content. A training that can be played is kept epoch by epoch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arml_core.learners.registry import LEARNERS, get_learner
from arml_core.references import KMeansPrototypes, RobustPrototypes

from .content_cache import cached_by_content

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
SEED = 0
ROBUST = "robust_prototypes"
TITLES = {
    **{name: entry.title for name, entry in LEARNERS.items()},
    "hand": "Hand-made",
    ROBUST: "Robust prototypes",
}
EPOCHS = 1000
"""Of ARML's training."""
USUALLY_KEPT = 100
"""States of a training that are kept, beside its start; more where the number of its epochs has no such divisor."""


@dataclass(frozen=True, eq=False)
class PlaneModel:
    """G of a metric and, where prototypes answer instead of the training points, their places and class codes."""

    components: Floats
    prototypes: tuple[Floats, Codes] | None = None


@dataclass(frozen=True, eq=False)
class RecordedTraining:
    """A training: its start, its state after every `step` epochs, the two curves, and the target radius if any."""

    step: int
    models: tuple[PlaneModel, ...]
    loss: Floats
    radius: Floats
    target: float | None = None

    @property
    def epochs(self) -> int:
        """The last epoch that is kept."""
        return self.step * (len(self.models) - 1)

    def epoch(self, asked: int | str) -> int:
        """The epoch that is kept and shown for one that is asked for: "end" is the last."""
        return self.epochs if isinstance(asked, str) else min(asked // self.step * self.step, self.epochs)

    def at(self, asked: int | str) -> PlaneModel:
        return self.models[self.epoch(asked) // self.step]


class _Recorder:
    """A callback that keeps a training's states, evenly."""

    def __init__(self, start: PlaneModel, model: Callable[[Mapping[str, Any]], PlaneModel]) -> None:
        self.models, self.model, self.step = [start], model, 1

    def __call__(self, done: int, total: int, info: Mapping[str, Any]) -> None:
        self.step = epoch_step(total)
        if done % self.step == 0:
            self.models.append(self.model(info))

    def training(self, learner: Any, end: PlaneModel, target: float | None = None) -> RecordedTraining:
        """What was kept, with the learner's result as its end, and its curves."""
        models, curves = (*self.models[:-1], end), learner.history_
        return RecordedTraining(self.step, models, curves["loss"], curves["radius"], target)


def epoch_step(total: int) -> int:
    """Every how many epochs a training is kept: about USUALLY_KEPT times, its last epoch too."""
    return max(step for step in range(1, max(1, total // USUALLY_KEPT) + 1) if total % step == 0)


EPOCH_STEP = epoch_step(EPOCHS)


def _fitted(learner: Any, X: Floats, y: Codes, **options: Any) -> Any:
    """The learner on data that is doubtful on purpose, while nobody reads the log."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return learner.fit(X, y, **options)


@cached_by_content(256)
def learned_components(method: str, X: Floats, y: Codes) -> Floats:
    """G of a learner fitted with its defaults."""
    components: Floats = _fitted(get_learner(method).build(random_state=SEED, device="cpu"), X, y).components_
    return components


@cached_by_content(64)
def arml_training(X: Floats, y: Codes) -> RecordedTraining:
    """ARML's whole training, from the Euclidean metric at epoch 0."""
    record = _Recorder(PlaneModel(np.eye(2)), lambda info: PlaneModel(info["metric"]().components))
    learner = get_learner("arml").build({"n_epochs": EPOCHS}, random_state=SEED, device="cpu")
    return record.training(_fitted(learner, X, y, callback=record), PlaneModel(learner.components_))


@cached_by_content(64)
def prototype_training(X: Floats, y: Codes, count: int | str, target: float | str) -> RecordedTraining:
    """The whole training of robust prototypes for ℓ2 steps, from the k-means centres of each class at epoch 0."""
    classes = np.unique(y)

    def model(info: Mapping[str, Any]) -> PlaneModel:
        places, codes, metric = info["references"]()
        return PlaneModel(metric.components, (places, classes[codes]))

    start = _fitted(KMeansPrototypes(count, random_state=SEED), X, y)
    record = _Recorder(PlaneModel(np.eye(2), (start.references_, start.reference_labels_)), model)
    learner = _fitted(RobustPrototypes(count, target, device="cpu", random_state=SEED), X, y, callback=record)
    end = PlaneModel(learner.components_, (learner.references_, learner.reference_labels_))
    return record.training(learner, end, float(learner.radius_))
