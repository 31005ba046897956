"""The work that goes on in the background, in a few lines."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import Client, JobStatus, Store, StoreError

REFRESH_SECONDS = 2
UNDER_WAY = ("running", "queued", "cancelling")


@st.cache_resource(show_spinner=False)
def open_store() -> Store:
    """The one open job store of this server."""
    return Store()


@st.fragment(run_every=REFRESH_SECONDS)
def show_running_jobs() -> None:
    """What runs and what waits, kept up to date; a sentence if there is nothing."""
    try:
        jobs = Client(open_store(), start=False).list(UNDER_WAY, limit=5)
    except StoreError as reason:
        st.caption(f"The list of jobs cannot be read: {reason}")
        return
    if not jobs:
        st.markdown("No job is running. Longer trainings run in the background and are listed here.")
    for job in jobs:
        st.progress(job.fraction, text=_line(job))


def _line(job: JobStatus) -> str:
    if job.state == "queued":
        return f"{job.title}: waiting, place {job.position}"
    left = "" if job.seconds_left is None else f", about {job.seconds_left:.0f} s left"
    return f"{job.title}: {job.phase or job.state} {job.done} of {job.total}{left}"
