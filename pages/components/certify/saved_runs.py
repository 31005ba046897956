"""Finished trainings to choose from."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from arml_core.jobs import JobStatus

from ..visitor import read_client
from .choices import WIDGETS, CertifyView

LISTED = 500


def saved_runs() -> dict[str, JobStatus]:
    """Trainings of this visitor and of public datasets, by id."""
    return {job.id: job for job in read_client().list(("done",), LISTED, "train")}


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
