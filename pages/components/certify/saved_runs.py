"""Finished trainings to choose from."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from arml_core.jobs import JobStatus, RunSpec, UnknownJob
from arml_core.learners.registry import Gives

from ..visitor import read_client
from .choices import WIDGETS, CertifyView

LISTED = 500


def saved_runs(gives: Gives | None = None) -> dict[str, JobStatus]:
    """Trainings of this visitor and of public datasets, by id; all, or those that give a metric, references or rows."""
    found = read_client().list(("done",), LISTED, "train")
    return {job.id: job for job in found if gives is None or _gives(job) == gives}


def gives_metric(run: str) -> bool:
    """Whether a training has given a metric alone; also true of one that is not here, which is refused later."""
    try:
        return _gives(read_client().status(run)) == "metric"
    except UnknownJob:
        return True


def _gives(job: JobStatus) -> Gives:
    return job.spec.gives if isinstance(job.spec, RunSpec) else "metric"


def pick_run(label: str, runs: dict[str, JobStatus], view: CertifyView, meaning: str | None = None) -> None:
    """A list of which one is chosen."""
    st.selectbox(
        label,
        list(runs),
        index=None,
        format_func=lambda job: f"{runs[job].title} ({day(runs[job].finished or runs[job].created)})",
        **WIDGETS.bind("run", view.run if view.run in runs else None, lambda run: run or ""),
        placeholder="Choose one",
        help=meaning,
    )


def day(seconds: float) -> str:
    """A moment as people write it."""
    return f"{datetime.fromtimestamp(seconds):%d %b, %H:%M}"
