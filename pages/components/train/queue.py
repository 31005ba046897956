"""The queue and what came of it: a row per job, kept up to date while something is under way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from arml_core.jobs import Client, JobStatus, StoreError, UnknownJob
from arml_core.jobs.capacity import Limits

from ..job_words import row_words, under_way
from ..markdown import escaped
from ..visitor import read_client, write_client
from .choices import CHOICES

REFRESH_SECONDS = 0.6
"""Progress is written every quarter of a second: what is on screen is less than a second old."""
MOST_LISTED = 500
MOST_ACTIVE, MOST_RESTING = 8, 6
ALL = "train_show_all"
PROBLEM, WARMED = "train_problem", "train_warmed"


def listed() -> list[JobStatus]:
    """Every job this visitor may see, but the networks of the paper: they are shown on its own page."""
    return [job for job in read_client().list(limit=MOST_LISTED) if job.kind != "network"]


def warm_up(client: Client) -> None:
    """Start the worker while the visitor still chooses, once per browser: the first job then begins at once."""
    if WARMED not in st.session_state:
        st.session_state[WARMED] = True
        if not client.worker().held:
            client.start_worker()


def show_queue(jobs: list[JobStatus], selected: str) -> None:
    """The list; it refreshes by itself only while a job is active."""
    active = any(under_way(job) for job in jobs)
    st.fragment(_queue, run_every=REFRESH_SECONDS if active else None)(active, selected)


def _queue(was_active: bool, selected: str) -> None:
    try:
        client = read_client()
        jobs = listed()
        held = client.worker().held
    except StoreError as reason:
        st.error(escaped(f"The list of jobs cannot be read: {reason}"))
        return
    active = [job for job in jobs if under_way(job)]
    if was_active and not active:
        st.rerun()  # once: the page learns that nothing is under way any more, and stops asking
    resting = [job for job in jobs if not under_way(job) and job.kind == "train"]
    _heading(active, held)
    if PROBLEM in st.session_state:
        st.warning(st.session_state.pop(PROBLEM))
    if not active and not resting:
        st.info("No job yet. Choose datasets and methods and press the button to start: the job appears here at once.")
    _active_rows(active, selected)
    _resting_rows(resting, selected)


def _heading(active: list[JobStatus], held: bool) -> None:
    running = sum(job.state != "queued" for job in active)
    waiting = len(active) - running
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader("Jobs", width="content")
        if active:
            most = Limits.default().jobs
            st.caption(f"{running} running, {waiting} waiting; up to {most} at once", width="content")
        mine = [job.id for job in active if job.mine]
        if len(mine) > 1:
            st.button("Cancel all", key="train_cancel_all", on_click=cancel, args=(mine,))
    if held and waiting:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("The worker was stopped on purpose, so nothing starts.", width="stretch")
            st.button("Start the worker", key="train_wake", on_click=lambda: write_client().start_worker())


def _active_rows(jobs: list[JobStatus], selected: str) -> None:
    for job in jobs[:MOST_ACTIVE]:
        with _row(job):
            st.progress(job.fraction, text=row_words(job), width="stretch")
            _show_button(job, selected)
            if job.mine:
                cancel_button(job, f"train_cancel_{job.id}")
    if len(jobs) > MOST_ACTIVE:
        st.caption(f"and {len(jobs) - MOST_ACTIVE} more in the queue")


def _resting_rows(jobs: list[JobStatus], selected: str) -> None:
    every = st.session_state.get(ALL, False)
    for job in jobs if every else jobs[:MOST_RESTING]:
        with _row(job):
            st.markdown(row_words(job), width="stretch")
            _show_button(job, selected)
            if job.mine and job.state != "done":
                st.button("Retry", key=f"train_retry_{job.id}", on_click=retry, args=(job.id,))
    if len(jobs) > MOST_RESTING:
        st.toggle(f"Show all {len(jobs)} trainings", key=ALL)


def _row(job: JobStatus) -> st.delta_generator.DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"train_row_{job.id}")


def _show_button(job: JobStatus, selected: str) -> None:
    run = job.id if job.kind == "train" else job.needs
    shown = run == selected
    if st.button("Shown" if shown else "Show", key=f"train_show_{job.id}", disabled=shown):
        CHOICES.update(job=run, curve="" if job.kind == "train" else job.id)
        st.rerun()


def cancel_button(job: JobStatus, key: str, help: str | None = None) -> None:
    """A button that stops a job; it is spent once the job is stopping."""
    st.button("Cancel", key=key, on_click=cancel, args=([job.id],), disabled=job.state == "cancelling", help=help)


def cancel(jobs: list[str]) -> None:
    """Stop jobs; in shared mode one that others wait for too goes on for them."""
    client = read_client()
    for job in jobs:
        after = _try(partial(client.cancel, job))
        if after is not None and after.is_active and after.state != "cancelling":
            st.session_state[PROBLEM] = "Others wait for this job too: it goes on for them and is no longer yours."


def retry(job: str) -> None:
    """Queue a job again."""
    _try(lambda: read_client().retry(job))


def _try(action: Callable[[], JobStatus]) -> JobStatus | None:
    try:
        return action()
    except (ValueError, StoreError) as reason:
        st.session_state[PROBLEM] = escaped(str(reason))
        return None


def selected_job(jobs: list[JobStatus], client: Client, wanted: str) -> tuple[JobStatus | None, str | None]:
    """The training that is shown, and a notice if the address names one that is not there.

    An evaluation stands for its training. Without a choice it is what runs first, else the newest training.
    """
    notice = None
    if wanted:
        try:
            status = client.status(wanted)
            if status.kind == "network":
                raise UnknownJob("a network is no training of a metric")
            return (status if status.needs is None else client.status(status.needs)), None
        except ValueError:
            notice = (
                f"The address has job={wanted[:8]}…, but there is no such job, or it is somebody else's. "
                "Another one is shown instead."
            )
    for job in jobs:
        if job.kind == "train":
            return job, notice
    return None, notice
