"""Passes over the training rows that move prototypes and perhaps a metric: GMLVQ and robust prototypes share them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..learners.precision import to_numpy
from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from .adam_steps import AdamSteps, spread_within_classes
from .base import Codes, Features, LearnedReferences, ReferenceLearner

BATCH = 500
FEWEST_STEPS = 600
POINT_RATE = 0.05  # of the typical spread of a feature within a class, for one step of Adam
METRIC_RATE = 0.01


@dataclass
class PrototypeTraining:
    """One training; everything lives on the device.

    A subclass says in :meth:`_terms` what a batch of rows contributes to each quantity of the history and moves the
    prototypes `w` and, where `learns_metric`, `g`. G is None for the Euclidean metric.
    """

    w: Tensor
    w_codes: Codes
    g: Tensor | None
    learns_metric: bool
    x: Tensor
    labels: Tensor
    n_epochs: int
    seed: int
    history: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        steps = math.ceil(len(self.x) / BATCH)
        self.n_epochs = max(self.n_epochs, math.ceil(FEWEST_STEPS / steps))
        self.prototype_labels = torch.as_tensor(self.w_codes, device=self.w.device)
        moving = {"w": self.w, "g": self.g} if self.learns_metric and self.g is not None else {"w": self.w}
        rates = [POINT_RATE * spread_within_classes(self.x, self.labels), METRIC_RATE]
        self.adam = AdamSteps(moving, rates[: len(moving)], self.n_epochs * steps)

    @property
    def done(self) -> int:
        """Epochs so far."""
        return len(next(iter(self.history.values()))) if self.history else 0

    def train(self, callback: Callback | None) -> dict[str, FloatArray]:
        for epoch in range(self.done, self.n_epochs):
            self._epoch(epoch)
            views = {"references": self.references, "metric": self.metric, "state": self.state}
            numbers = {name: values[-1] for name, values in self.history.items()}
            report(callback, epoch + 1, self.n_epochs, **views, **numbers)
        return {name: np.array(values) for name, values in self.history.items()}

    def _epoch(self, epoch: int) -> None:
        """One pass over the rows in an order that depends on the seed and the epoch alone."""
        generator = torch.Generator().manual_seed(self.seed + epoch)
        order = torch.randperm(len(self.x), generator=generator)
        sums: dict[str, float] = {}
        for step, start in enumerate(range(0, len(order), BATCH)):
            rows = order[start : start + BATCH].to(self.x.device)
            for name, terms in self._terms(self._augmented(self.x[rows], generator), self.labels[rows], step).items():
                sums[name] = sums.get(name, 0.0) + float(terms.sum())
        if not (math.isfinite(sum(sums.values())) and bool(torch.isfinite(self.w).all())):
            raise FloatingPointError(
                f"the training stopped: the loss became {sums['loss']:g} in epoch {epoch + 1}. "
                "Scale the features to a common range"
            )
        for name, total in sums.items():
            self.history.setdefault(name, []).append(total / len(order))

    def _augmented(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """The rows as this pass sees them."""
        return x

    @abstractmethod
    def _terms(self, x: Tensor, labels: Tensor, step: int) -> dict[str, Tensor]:
        """Take one step for these rows, the `step`-th of its epoch; what each row contributed to each quantity."""

    def metric(self) -> Metric:
        return Metric.identity(self.x.shape[1]) if self.g is None else Metric.from_components(to_numpy(self.g))

    def references(self) -> tuple[FloatArray, Codes, Metric]:
        """The current points, their class codes and the metric, copied from the device when somebody asks."""
        return to_numpy(self.w), self.w_codes, self.metric()

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the rest of the training depends on, as plain arrays."""
        past = {f"history_{name}": np.array(values) for name, values in self.history.items()}
        return {**self.adam.state(), **past}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; a ValueError if it is not of this training."""
        try:
            self.adam.restore(state)
            names = [name.removeprefix("history_") for name in state if name.startswith("history_")]
            self.history = {name: np.array(state[f"history_{name}"]).tolist() for name in names}
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"the saved state is not one of this training: {error}") from error


class PrototypeLearner(ReferenceLearner):
    """A learner of references by a :class:`PrototypeTraining`, which a later call can go on with."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        callback: Callback | None = None,
        metric: Any = None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Self:
        """Learn points and metric; see :meth:`ReferenceLearner.fit`.

        ``info["state"]()`` gives the callback plain arrays with which a later call goes on: `resume` takes them, and
        with the same data, parameters and device the result is the same to the last bit as without the break.
        """
        return self._fit(X, y, metric, lambda data, codes, given: self._learn(data, codes, given, callback, resume))

    def _learn(
        self,
        X: Features,
        codes: Codes,
        metric: Metric,
        callback: Callback | None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> LearnedReferences:
        run = self._training(X, codes, metric)
        if resume is not None:
            run.restore(resume)
        history = run.train(callback)
        self._trained(run)
        points, point_codes, learned = run.references()
        return LearnedReferences(points, point_codes, learned.components if run.learns_metric else None, history)

    @abstractmethod
    def _training(self, X: Features, codes: Codes, metric: Metric) -> PrototypeTraining:
        """The training at its start; `metric` is the one it is learned under if it learns none."""

    def _trained(self, run: Any) -> None:
        """Keep what else a finished training tells."""
