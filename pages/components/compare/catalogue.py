"""What can be compared: the results that ship with the project, and the runs of the job store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from arml_core.jobs import Client, DamagedFile, JobStatus, StoreError, UnknownJob
from arml_core.results import Evaluation, shipped

from ..address_keys import KEY_LENGTH
from ..job_words import changed_words, dataset_label, interrupted, run_title
from ..visitor import read_client

ORDER = ("splice", "pendigits", "satimage", "usps", "mnist", "fashion_mnist")
PLACES = {"euclidean": 0, "nca": 1, "lmnn": 2, "itml": 3, "lfda": 4, "arml": 5}
OWN_PLACE = 6
LISTED = 500
MOST_OWN = 4


@dataclass(frozen=True, eq=False)
class Run:
    """One metric: where it comes from and what was computed about it.

    `key` stands for it in the address, `place` for its colour and marker. A shipped run has its evaluations; one of
    the store has jobs, whose results are read when they are shown.
    """

    key: str
    label: str
    dataset: str
    fingerprint: str
    learner: str
    is_default: bool
    place: int = 0
    evaluations: tuple[Evaluation, ...] = ()
    job: JobStatus | None = None
    jobs: tuple[JobStatus, ...] = ()


@dataclass(frozen=True, eq=False)
class RunCatalogue:
    """All runs, and the titles of their datasets by the name that stands in the address.

    `problem` says what could not be read.
    """

    shipped: tuple[Run, ...]
    own: tuple[Run, ...]
    datasets: Mapping[str, str]
    signature: tuple[Any, ...]
    problem: str = ""


def load_catalogue() -> RunCatalogue:
    """What there is for this visitor now."""
    problem = ""
    jobs: list[JobStatus] = []
    ready: tuple[Evaluation, ...] = ()
    try:
        ready = shipped()
    except (ValueError, OSError) as reason:
        problem = f"The results that ship with the project cannot be read: {reason}"
    client = None
    try:
        client = read_client()
        jobs = client.list(limit=LISTED)
    except StoreError as reason:
        problem = f"The job store cannot be read: {reason}"
    ours = _shipped_runs(ready)
    own = [] if client is None else _store_runs(client, jobs)
    titles = {e.dataset: e.dataset_title for e in ready}
    found = {name: titles[name] for name in sorted(titles, key=_order)}
    for run, title in own:
        found.setdefault(run.dataset, title)
    return RunCatalogue(ours, tuple(run for run, _ in own), found, signature_of(jobs), problem)


def signature_of(jobs: Iterable[JobStatus]) -> tuple[Any, ...]:
    """Changes whenever a job begins, moves on or ends."""
    return tuple((job.id, job.state, job.done if job.kind != "train" else 0) for job in jobs)


def evaluations_of(run: Run) -> tuple[list[Evaluation], list[str]]:
    """The results of a run, partial ones too, and a sentence for each that cannot be shown."""
    if run.job is None:
        return list(run.evaluations), []
    client = read_client()
    found, problems = [], []
    for job in run.jobs:
        try:
            evaluation = _finished(client, job.id, job.finished) if job.state == "done" else client.evaluation(job.id)
        except UnknownJob:
            continue
        except (DamagedFile, StoreError) as reason:
            problems.append(f"{run.label}: {reason}")
            continue
        if evaluation is not None:
            found.append(evaluation)
        elif not job.is_at_rest or job.state != "done":
            problems.append(f"{run.label}: {_waiting(job)}")
    return found, problems


def _waiting(job: JobStatus) -> str:
    what = "its certificate" if job.kind == "certify" else "its attack"
    if job.state == "queued":
        return f"{what} waits in the queue, place {job.position}. It appears here when the first points are done."
    if job.state == "failed":
        return f"{what} failed: {str(job.reason).rstrip('.')}. Retry it on the Train page."
    if interrupted(job):
        return f"{what} was interrupted and goes on by itself. It appears here when the first points are done."
    if job.state in ("cancelled", "lost"):
        return f"{what} was stopped before the first points were done. Retry it on the Train page."
    return f"{what} has just begun. It appears here when the first points are done."


@st.cache_resource(max_entries=400, show_spinner=False)
def _finished(_client: Client, job: str, finished: float | None) -> Evaluation | None:
    """A finished evaluation never changes; whoever asks has seen the job in their own list."""
    return _client.evaluation(job)


def _shipped_runs(ready: Iterable[Evaluation]) -> tuple[Run, ...]:
    grouped: dict[tuple[str, str, str], list[Evaluation]] = {}
    for evaluation in ready:
        changed = changed_words(evaluation.run.learner, evaluation.run.parameters)
        grouped.setdefault((evaluation.dataset, evaluation.run.learner, changed), []).append(evaluation)
    runs, places = [], dict(PLACES)
    for (dataset, learner, changed), evaluations in grouped.items():
        digest = hashlib.sha256(changed.encode()).hexdigest()[:4]
        key = f"{learner}.{digest}" if changed else learner
        place = places.setdefault(key, OWN_PLACE + len(places))
        first = evaluations[0]
        label = f"{first.learner_title}{changed}"
        runs.append(
            Run(key, label, dataset, first.run.dataset, learner, not changed, place, evaluations=tuple(evaluations))
        )
    return tuple(sorted(runs, key=lambda run: (_order(run.dataset), run.place)))


def _store_runs(client: Client, jobs: Iterable[JobStatus]) -> list[tuple[Run, str]]:
    """The newest first; each with the title of its dataset."""
    trainings = {job.id: job for job in jobs if job.kind == "train"}
    computed: dict[str, list[JobStatus]] = {}
    for job in jobs:
        if job.needs is not None:
            computed.setdefault(job.needs, []).append(job)
    found = []
    for id, training in trainings.items():
        if training.state != "done" and (training.is_at_rest or id not in computed):
            continue  # it has no metric and will get none; the Train page says why
        try:
            name, title = dataset_label(client, training.dataset)
        except (UnknownJob, StoreError):
            continue
        learner = str(training.content["learner"])
        changed = changed_words(learner, training.content["parameters"])
        dataset = name or training.dataset[:KEY_LENGTH]
        label = run_title(training, title)
        own = tuple(computed.get(id, ()))
        newest = max((job.created for job in own), default=training.created)
        run = Run(id[:KEY_LENGTH], label, dataset, training.dataset, learner, not changed, 0, (), training, own)
        found.append((newest, run, title))
    return [(run, title) for _, run, title in sorted(found, key=lambda entry: -entry[0])]


def _order(dataset: str) -> tuple[int, str]:
    return (ORDER.index(dataset) if dataset in ORDER else len(ORDER), dataset)
