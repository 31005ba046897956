"""Having a plan computed: ask the store for everything, watch, and keep each result as it comes.

What the store has finished before is not computed again, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ..datasets import Dataset, dataset_info, load_dataset
from ..jobs.client import Client
from ..jobs.spec import GIVEN, EvaluationSpec
from ..jobs.states import DONE, LOST, MAX_ATTEMPTS, RUNNING
from ..jobs.status import JobStatus
from ..learners.estimation import Rates, estimate
from ..metric import Metric
from ..results import Evaluation
from ..vocabulary import duration
from .plan import PlanStep
from .published import METHODS
from .result_files import add_metric, add_result, kept_metric, with_provenance

POLL_SECONDS = 0.5
PRIORITIES = {"exact": 5, "theorem1": 5, "votes": 4, "whitebox": 3, "search": 2, "boundary-box": 1, "boundary": 0}
"""Priorities: what is cheap comes first, and a training as soon as its turn comes."""
COSTS = {"exact": 4e-3, "theorem1": 3e-3, "votes": 3e-3, "whitebox": 0.15, "boundary": 4.0, "boundary-box": 4.0}
"""Rough seconds a point; only their proportions matter, for the time left."""
_RATES = Rates(float32=4e10, float64=2e10, values=3e9)


class Display(Protocol):
    """Where a run reports to a person."""

    def print_line(self, line: str) -> None:
        """A line that stays, for each job that ends."""

    def print_status(self, line: str) -> None:
        """Where the run stands, again and again."""


@dataclass
class TrackedJob:
    """A job that is waited for: what it is worth and how much of it is done."""

    title: str
    weight: float
    step: PlanStep | None = None
    before: float | None = None
    fraction: float = 0.0
    done: bool = False
    failure: str = ""

    def has_failed(self, status: JobStatus, display: Display) -> bool:
        """Whether the job ended without a result; then it says why."""
        reason = failure_of(status)
        if reason:
            self.failure = f"{self.title}: {reason}"
            display.print_line(self.failure)
        return bool(reason)


@dataclass
class Progress:
    """Where a run stands."""

    jobs: dict[str, TrackedJob] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def update(self, status: JobStatus) -> None:
        job = self.jobs[status.id]
        job.fraction = status.fraction
        if job.before is None:
            job.before = status.fraction  # done in an earlier run: it says nothing about the pace of this one

    @property
    def finished(self) -> int:
        return sum(job.done for job in self.jobs.values())

    @property
    def failures(self) -> list[str]:
        """Why the jobs that have no result have none."""
        return [job.failure for job in self.jobs.values() if job.failure]

    def seconds_left(self) -> float | None:
        """From the pace since the start; None while too little is done to tell."""
        here = sum(job.weight * (job.fraction - (job.before or 0.0)) for job in self.jobs.values())
        left = sum(job.weight * (1.0 - job.fraction) for job in self.jobs.values() if not job.done)
        elapsed = time.monotonic() - self.started
        return None if here <= 0.01 * left else elapsed * left / here

    def line(self, running: Sequence[JobStatus]) -> str:
        left = self.seconds_left()
        parts = [f"{self.finished} of {len(self.jobs)} jobs"]
        if left is not None:
            parts.append(f"about {duration(left)} left")
        parts += [f"{status.title} {status.fraction:.0%}" for status in running[:2]]
        return "; ".join(parts)


def compute(
    client: Client,
    steps: Sequence[PlanStep],
    folder: Path,
    display: Display,
    one_metric: bool = True,
    from_kept: bool = False,
) -> list[str]:
    """Compute every step and keep its result in `folder`; the reasons of those that failed are returned.

    With `one_metric` a file of the folder is about one training, whose metric is kept too if it is small. With
    `from_kept` metrics that are kept there are not trained again: new results join those computed on other machines,
    where a training could differ in its last bits.
    """
    progress = Progress()
    _submit_all(client, steps, progress, folder if from_kept else None)
    track(client, progress, display, lambda status: _finish(client, status, progress, folder, display, one_metric))
    return progress.failures


def track(client: Client, progress: Progress, display: Display, ended: Callable[[JobStatus], None]) -> None:
    """Until all jobs are at rest, show where they stand; `ended` gets each one once."""
    while not all(job.done for job in progress.jobs.values()):
        running = []
        for job in [job for job, tracked in progress.jobs.items() if not tracked.done]:
            status = client.status(job)
            progress.update(status)
            if status.state == RUNNING:
                running.append(status)
            given_up = status.attempt >= MAX_ATTEMPTS
            if status.is_at_rest and (status.state != LOST or given_up):  # once lost, it is tried again
                progress.jobs[job].done = True
                ended(status)
        display.print_status(progress.line(running))
        time.sleep(POLL_SECONDS)


def failure_of(status: JobStatus) -> str:
    """Why a job has no result; empty if it has."""
    return "" if status.state == DONE else f"{status.state}, {status.reason or status.note or 'no reason given'}"


def submit(client: Client, step: PlanStep, data: Dataset | str | None = None) -> tuple[JobStatus, JobStatus]:
    """Ask for one step: the training and the evaluation that needs it. What was computed before is done at once."""
    run = client.submit(step.training(client.add_dataset(data or step.dataset)), max(PRIORITIES.values()))
    return run, client.submit(_question(client, step, run.id), PRIORITIES[step.column])


def _question(client: Client, step: PlanStep, run: str) -> EvaluationSpec:
    """What is asked of the metric of `run`.

    A search that was finished without radii to decide has spent its time on every point: it is an answer too.
    """
    asked = step.evaluation(run)
    whole = None if asked.at is None else client.find(replace(asked, at=None))
    return replace(asked, at=None) if whole is not None and whole.state == DONE else asked


def _submit_with_kept(client: Client, step: PlanStep, data: Dataset, folder: Path) -> tuple[JobStatus, JobStatus]:
    """The same with the metric that the folder keeps, if it does."""
    metric = kept_metric(folder, step.dataset, step.training(data.fingerprint))
    if metric is None:
        return submit(client, step, data)
    run = client.add_metric(data, metric, f"{METHODS[step.learner]} of the results")
    return run, client.submit(_question(client, step, run.id), PRIORITIES[step.column])


def fingerprint_of(dataset: str) -> str:
    """The content hash of a dataset, without reading it where it is known."""
    return dataset_info(dataset).fingerprint or load_dataset(dataset).fingerprint


def find_jobs(client: Client, step: PlanStep) -> tuple[JobStatus, JobStatus] | None:
    """The same two jobs where somebody has asked for them already, None where nobody has."""
    run = client.find(step.training(fingerprint_of(step.dataset)))
    evaluation = None if run is None else client.find(_question(client, step, run.id))
    return None if run is None or evaluation is None else (run, evaluation)


def _submit_all(client: Client, steps: Sequence[PlanStep], progress: Progress, kept: Path | None) -> None:
    """Queue the trainings and all that needs them; a dataset is loaded once. `kept` is a folder that has metrics."""
    for name in dict.fromkeys(step.dataset for step in steps):
        data = load_dataset(name)
        shape = (len(data.X_train), data.n_features, data.n_classes)
        for step in [step for step in steps if step.dataset == name]:
            run, status = submit(client, step, data) if kept is None else _submit_with_kept(client, step, data, kept)
            if run.id not in progress.jobs:
                weight = estimate(step.learner, *shape, step.parameters, _RATES).seconds
                progress.jobs[run.id] = TrackedJob(f"training of {run.title}", max(weight, 0.1))
            each = step.budget if step.budget is not None else COSTS[step.column]
            scale = max(1.0, shape[0] * shape[1] / 1e6)
            weight = each * (step.points.n or shape[0]) * (scale if step.budget is None else 1.0)
            progress.jobs[status.id] = TrackedJob(step.title, weight * (step.steps or 25_000) / 25_000, step)


def _finish(
    client: Client, status: JobStatus, progress: Progress, folder: Path, display: Display, one_metric: bool
) -> None:
    tracked = progress.jobs[status.id]
    if tracked.has_failed(status, display):
        return
    spent = seconds_of(status)
    if tracked.step is None:
        display.print_line(f"{tracked.title}: {duration(spent)}")
        return
    evaluation = client.evaluation(status.id)
    assert evaluation is not None
    assert status.needs is not None
    metric = Metric.from_components(client.run(status.needs).components_)
    if evaluation.run.learner == GIVEN:
        evaluation = _as_trained(evaluation, tracked.step)
    evaluation = with_provenance(evaluation, tracked.step.deviations(), metric)
    kept = add_result(folder, evaluation, several=not one_metric)
    if kept and one_metric:
        add_metric(folder, evaluation, metric)
    display.print_line(
        f"{tracked.title}: {_short(evaluation)}, {duration(spent)}{'' if kept else '; one as good is kept already'}"
    )


def _as_trained(evaluation: Evaluation, step: PlanStep) -> Evaluation:
    """The evaluation of a kept metric under the name of the training that gave it."""
    trained = step.training(evaluation.run.dataset)
    return replace(evaluation, run=trained, learner_title=METHODS[step.learner])


def seconds_of(status: JobStatus) -> float:
    return status.finished - status.started if status.finished and status.started else 0.0


def _short(evaluation: Evaluation) -> str:
    return f"{len(evaluation)} points, clean error {1 - evaluation.radii.correct.mean():.3f}"
