"""The work that goes on in the background, in a few lines."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import StoreError

from .job_words import row_words
from .markdown import escaped
from .visitor import read_client

REFRESH_SECONDS = 0.9
"""What is on screen is about a second old at most."""
UNDER_WAY = ("running", "queued", "cancelling")
MOST_SHOWN = 5


@st.fragment(run_every=REFRESH_SECONDS)
def show_running_jobs() -> None:
    """What runs and what waits, kept up to date; a sentence if there is nothing."""
    try:
        jobs = read_client().list(UNDER_WAY)
    except StoreError as reason:
        st.caption(f"The list of jobs cannot be read: {escaped(str(reason))}")
        return
    if not jobs:
        st.markdown("No job is running. Longer trainings run in the background and are listed here.")
    for job in jobs[:MOST_SHOWN]:
        st.progress(job.fraction, text=row_words(job))
    if len(jobs) > MOST_SHOWN:
        st.caption(f"and {len(jobs) - MOST_SHOWN} more")
