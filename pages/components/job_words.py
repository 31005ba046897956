"""What is said about a job: its name, its state, its progress, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from arml_core.jobs import Client, JobStatus, RunSpec
from arml_core.jobs.learners import offered
from arml_core.jobs.spec import GIVEN
from arml_core.jobs.titles import metric_title
from arml_core.vocabulary import duration

from .markdown import escaped
from .visitor import visitor_key

BADGES = {
    "queued": ":gray-badge[waiting]",
    "running": ":blue-badge[running]",
    "cancelling": ":orange-badge[stopping]",
    "cancelled": ":orange-badge[cancelled]",
    "failed": ":red-badge[failed]",
    "lost": ":red-badge[lost]",
    "done": ":green-badge[done]",
}
SILENT_SECONDS = 30.0
PHASE_WORDS = {
    "loading": "loading the data",
    "saving": "saving the result",
    "waiting to save": "waiting to save the result: the disk is full, or another process writes to the job store",
}
"""Phases whose progress is not counted."""


def under_way(job: JobStatus) -> bool:
    """Whether something will change by itself: also a job whose worker died, which the next worker takes up."""
    return job.is_active or interrupted(job)


def interrupted(job: JobStatus) -> bool:
    """The worker is gone and nobody has given the job up yet."""
    return job.state == "lost" and job.finished is None


def step_word(job: JobStatus) -> str:
    """What the progress of a training counts."""
    entry = offered(str(job.content.get("learner")))
    return "epoch" if entry is not None and any(p.name == "n_epochs" for p in entry.parameters) else "iteration"


def word_for_model(job: JobStatus) -> str:
    """What a training finds: a metric, or references."""
    content = job.content
    return RunSpec("", str(content.get("learner", GIVEN)), dict(content.get("parameters", {}))).role


def name_of(job: JobStatus) -> str:
    """A job's name (Markdown): title, where a training departs from the defaults, and the seed if one is drawn from."""
    changed = ""
    if job.kind == "train":
        changed = changed_words(str(job.content["learner"]), job.content["parameters"])
    return escaped(job.title + changed) + seed_words(job)


def seed_words(job: JobStatus) -> str:
    return f" · seed {job.content['seed']}" if job.kind == "train" and is_drawn(job) else ""


def progress_words(job: JobStatus) -> str:
    """Where an active job stands, in a few words."""
    if job.state == "queued":
        return f"waiting, place {job.position} in the queue"
    if job.state == "cancelling":
        return "stopping …"
    if interrupted(job):
        return "interrupted, it goes on by itself"
    left = "" if job.seconds_left is None else f", {time_left(job.seconds_left)}"
    if job.phase == "downloading":
        return f"downloading, {job.done / 1e6:.1f} of {job.total / 1e6:.1f} MB{left}"
    if not job.total or job.phase in ("starting", *PHASE_WORDS):
        return PHASE_WORDS.get(job.phase, job.phase or "starting")
    unit = step_word(job) if job.kind == "train" else "epoch" if job.phase == "training" else "point"
    return f"{unit} {job.done:,} of {job.total:,}{left}"


def time_left(seconds: float) -> str:
    """An estimate of the time left in words."""
    return "nearly done" if seconds < 1.5 else f"about {duration(seconds)} left"


def row_words(job: JobStatus) -> str:
    """One line (Markdown) for the list of jobs."""
    name = name_of(job)
    if under_way(job):
        return f"{name}: {progress_words(job)}"
    return f"{BADGES[job.state]} {name}{outcome_words(job)}"


def outcome_words(job: JobStatus) -> str:
    """What a row adds to the badge of a job at rest: how long it took, or why it failed."""
    if job.state == "done":
        return ", uploaded" if job.content.get("learner") == GIVEN else f", {took_words(job)}"
    return f": {clause(job.reason)}" if job.state == "failed" and job.reason else ""


def took_words(job: JobStatus) -> str:
    """How long a finished job ran."""
    if job.started is None or job.finished is None:
        return "finished"
    return f"finished in {duration(job.finished - job.started)}"


def state_words(job: JobStatus, held: bool = False) -> str:
    """The state in a sentence or two (Markdown), with the next step."""
    note = f" {sentence(job.note)}" if job.note else ""
    what = "training" if job.kind == "train" else "evaluation"
    if job.state == "queued":
        if held:
            return f"Waiting, but the worker was stopped on purpose.{note} Start it to go on."
        return f"Waiting, place {job.position} in the queue: it starts by itself.{note}"
    if job.state == "running":
        if job.silent is not None and job.silent > SILENT_SECONDS:
            return (
                f"Running, but silent for {duration(job.silent)}: some methods report nothing on the way.{note} "
                "You may close this page: it goes on."
            )
        return f"Running. You may close this page or start more: it goes on.{note}"
    if job.state == "cancelling":
        return "Stopping: what is finished is kept, so that a retry can go on from there."
    if job.state == "cancelled":
        at = (
            f" at {step_word(job) if job.kind == 'train' else 'point'} {job.done:,} of {job.total:,}"
            if job.total
            else ""
        )
        return f"Stopped on request{at}. “Retry” goes on from the last checkpoint, or from the start if there is none."
    if job.state == "failed":
        return (
            f"This {what} failed: {clause(job.reason)} Change the setting it names and start again, or “Retry” once "
            "what was missing is there. The log has the details."
        )
    if interrupted(job):
        return "The worker process is gone. A new one is started and goes on from the last checkpoint."
    if job.state == "lost":
        return (
            f"The process that ran this {what} is gone. {sentence(job.note or job.reason)} “Retry” takes it up again."
        )
    if job.content.get("learner") == GIVEN:
        if word_for_model(job) == "references":
            return "References from elsewhere. Evaluate them below; then they can be compared with others."
        return "A metric from elsewhere. Evaluate it below; then it can be compared with others."
    return (
        f"{took_words(job).capitalize()}.{note} Evaluate it below or download the {word_for_model(job)}. "
        "Once evaluated, it can be compared with others."
    )


def clause(text: str) -> str:
    """A reason as the end of a sentence (Markdown that formats nothing)."""
    stripped = text.strip()
    return escaped(stripped if stripped.endswith((".", "!", "?")) else f"{stripped}.") if stripped else ""


def sentence(text: str) -> str:
    """The same as a sentence of its own."""
    stripped = text.strip()
    return clause(stripped[:1].upper() + stripped[1:])


def dataset_label(client: Client, fingerprint: str) -> tuple[str, str]:
    """The name and title of a dataset this visitor may use; an UnknownJob for others."""
    return _label(client, fingerprint, visitor_key())


@st.cache_data(max_entries=400, ttl=600, show_spinner=False)
def _label(_client: Client, fingerprint: str, visitor: str | None) -> tuple[str, str]:
    return _client.dataset_label(fingerprint)


def changed_words(learner: str, parameters: Mapping[str, Any]) -> str:
    """Where a training departs from the learner's defaults; empty where they are not known."""
    entry = offered(learner)
    if entry is None:
        return ""
    known = {p.name: p for p in entry.parameters}
    changed = {name: value for name, value in parameters.items() if name in known and known[name].default != value}
    return "".join(f", {known[name].label.lower()} {value}" for name, value in changed.items())


def is_drawn(job: JobStatus) -> bool:
    """Whether a training draws from its seed; where the learner is offered no longer, whether a seed is kept."""
    entry = offered(str(job.content["learner"]))
    return job.content["seed"] != 0 if entry is None else entry.seeded


def run_title(job: JobStatus, dataset: str) -> str:
    """The method, where it departs from the defaults, its seed, and the start of the run's id.

    `dataset` is the title of the run's dataset.
    """
    learner = str(job.content["learner"])
    seed = f", seed {job.content['seed']}" if is_drawn(job) else ""
    what = metric_title(learner, job.title, dataset)
    return f"{what}{changed_words(learner, job.content['parameters'])}{seed} · run {job.id[:4]}"
