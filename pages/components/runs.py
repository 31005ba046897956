"""Trainings of the job store in words: the pages that list them say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from arml_core.jobs import Client, JobStatus
from arml_core.jobs.learners import offered
from arml_core.jobs.titles import metric_title
from arml_core.vocabulary import parameter_label

from .visitor import visitor_key


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
    defaults = {p.name: p.default for p in entry.parameters}
    changed = {name: value for name, value in parameters.items() if defaults.get(name, value) != value}
    return "".join(f", {parameter_label(name).lower()} {value}" for name, value in changed.items())


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
