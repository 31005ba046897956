"""Datasets × methods × seeds as a list of trainings, each with what it will cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arml_core.jobs import Client, JobStatus, RunSpec
from arml_core.jobs.capacity import Limits
from arml_core.jobs.learners import entry_of
from arml_core.learners.estimation import Estimate, estimate, refusal
from arml_core.learners.registry import LearnerEntry
from arml_core.vocabulary import duration, gigabytes

from ..dataset_options import DatasetOption
from .choices import TrainView, parameters_of

MOST_TRAININGS = 60


@dataclass(frozen=True)
class PlannedTraining:
    """One method on one dataset with all its seeds; a method that draws nothing at random runs once."""

    dataset: DatasetOption
    entry: LearnerEntry
    parameters: dict[str, Any]
    seeds: tuple[int, ...]
    cost: Estimate | None
    refused: str | None

    @property
    def title(self) -> str:
        return f"{self.entry.title} on {self.dataset.title}"


@dataclass(frozen=True)
class Plan:
    """What "Start" would do."""

    trainings: tuple[PlannedTraining, ...]
    available: int | None
    at_once: int

    @property
    def accepted(self) -> tuple[PlannedTraining, ...]:
        return tuple(training for training in self.trainings if training.refused is None)

    @property
    def refused(self) -> tuple[PlannedTraining, ...]:
        return tuple(training for training in self.trainings if training.refused is not None)

    @property
    def count(self) -> int:
        return sum(len(training.seeds) for training in self.accepted)

    @property
    def seconds(self) -> float:
        """Until the last one is done, several running at once: at least the longest of them."""
        each = [(t.cost.seconds, len(t.seeds)) for t in self.accepted if t.cost is not None]
        total = sum(seconds * seeds for seconds, seeds in each)
        return max(total / self.at_once, max((seconds for seconds, _ in each), default=0.0))

    @property
    def memory(self) -> int:
        """What the most demanding ones need that may run at the same time."""
        every = [t.cost.memory for t in self.accepted if t.cost is not None for _ in t.seeds]
        return sum(sorted(every, reverse=True)[: self.at_once])

    @property
    def too_many(self) -> str | None:
        if self.count > MOST_TRAININGS:
            return f"That is {self.count} trainings; at most {MOST_TRAININGS} can be started at once. Choose fewer."
        return None

    def summary(self) -> str:
        """Time and memory in a sentence (Markdown)."""
        unknown = [t.entry.title for t in self.accepted if t.cost is None]
        known = len(unknown) < len(self.accepted)
        parts = []
        if known:
            together = f" ({self.at_once} run at once)" if self.count > 1 else ""
            parts.append(
                f"**About {duration(self.seconds)}**{together} and up to **{gigabytes(self.memory)}** of memory"
                + ("." if self.available is None else f"; {gigabytes(self.available)} are free.")
            )
        if unknown:
            parts.append(f"There is no estimate for {', '.join(dict.fromkeys(unknown))}.")
        return " ".join(parts)


def make_plan(view: TrainView, datasets: Mapping[str, DatasetOption], available: int | None) -> Plan:
    """Every combination; a ValueError for a parameter out of range."""
    trainings = []
    for key in view.datasets:
        for method in view.methods:
            trainings.append(_training(datasets[key], method, view, available))
    return Plan(tuple(trainings), available, Limits.default().jobs)


def _training(dataset: DatasetOption, method: str, view: TrainView, available: int | None) -> PlannedTraining:
    entry = entry_of(method)
    parameters = {name: entry.parameter(name).check(value) for name, value in parameters_of(view, method).items()}
    cost = None
    if entry.work is not None:
        cost = estimate(entry, dataset.n_train, dataset.n_features, dataset.n_classes, parameters)
    seeds = view.seeds if entry.seeded else view.seeds[:1]
    return PlannedTraining(dataset, entry, parameters, seeds, cost, None if cost is None else refusal(cost, available))


def start(client: Client, plan: Plan, device: str) -> list[JobStatus]:
    """Queue every training of the plan that fits."""
    asked = []
    for training in plan.accepted:
        option = training.dataset
        fingerprint = client.add_dataset(client.dataset(option.key) if option.group == "file" else option.key)
        for seed in training.seeds:
            asked.append(client.submit(RunSpec(fingerprint, training.entry.name, training.parameters, seed, device)))
    return asked
