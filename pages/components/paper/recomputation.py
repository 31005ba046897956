"""Something of the paper computed again, as jobs of the store: the button, the progress, the way on, the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from arml_core.datasets import dataset_info
from arml_core.jobs import Client, JobStatus, StoreError
from arml_core.jobs.states import CANCELLED, DONE, FAILED, LOST

from ..job_words import clause, interrupted, progress_words, under_way
from ..markdown import escaped
from ..visitor import read_client, write_client

REFRESH_SECONDS = 0.6
PROBLEM = "paper_problem"
Jobs = tuple[JobStatus, ...]


@dataclass(frozen=True, eq=False)
class Recomputation:
    """How to ask for it, how to find its jobs (the last one has the result), and what to say before and after.

    `outcome` is shown as soon as anything of the last job is there.
    """

    ask: Callable[[Client], Any]
    find: Callable[[Client], Jobs | None]
    label: str
    expectation: str
    outcome: Callable[[JobStatus], None]


def show_recomputation(work: Recomputation) -> None:
    """The button, then the progress, then the result; it refreshes by itself only while a job is under way."""
    try:
        jobs = work.find(read_client())
    except StoreError as reason:
        st.error(escaped(f"The jobs cannot be reached: {reason}"))
        return
    active = _is_active(jobs)
    st.fragment(_work, run_every=REFRESH_SECONDS if active else None)(work, active)


def download_words(dataset: str) -> str:
    """A sentence about the download that a job on this dataset begins with; empty if there is none."""
    about = dataset_info(dataset)
    if about.available:
        return ""
    return (
        f"{about.title} is not on this machine: the job downloads {about.download_bytes / 1e6:.1f} MB first "
        f"(source: {about.source}; terms: {about.terms})."
    )


def _is_active(jobs: Jobs | None) -> bool:
    """Whether the result will come by itself, or something is still being stopped."""
    return jobs is not None and (under_way(jobs[-1]) or any(job.state == "cancelling" for job in jobs))


def _work(work: Recomputation, was_active: bool) -> None:
    try:
        client = read_client()
        jobs = work.find(client)
        held = client.worker().held
    except StoreError as reason:
        st.error(escaped(f"The jobs cannot be reached: {reason}"))
        return
    if was_active and not _is_active(jobs):
        st.rerun()  # once: the page learns that it is over, and stops asking
    if PROBLEM in st.session_state:
        st.warning(st.session_state.pop(PROBLEM))
    if jobs is None:
        _offer(work)
    elif _is_active(jobs):
        _progress(client, jobs, held)
    elif jobs[-1].state != DONE:
        _stopped(work, jobs)
    if jobs is not None:
        work.outcome(jobs[-1])


def _offer(work: Recomputation) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(work.label, key="paper_again", type="primary"):
            _try(lambda: work.ask(write_client()))
            st.rerun()
        st.caption(f"{work.expectation} It runs in the background; you may close this page.", width="stretch")


def _progress(client: Client, jobs: Jobs, held: bool) -> None:
    now = next((job for job in jobs if under_way(job)), jobs[-1])
    part = "Training" if now.kind == "train" or now.phase == "training" else "Radii"
    with st.container(horizontal=True, vertical_alignment="center", key="paper_progress"):
        st.progress(now.fraction, text=f"{part}: {progress_words(now)}", width="stretch")
        mine = [job.id for job in reversed(jobs) if job.mine and (job.is_active or interrupted(job))]
        stopping = any(job.state == "cancelling" for job in jobs)
        if mine and st.button("Cancel", key="paper_cancel", disabled=stopping):
            for job in mine:
                _try(partial(client.cancel, job))
            st.rerun()
    if held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("The worker was stopped on purpose, so nothing starts.", width="stretch")
            st.button("Start the worker", key="paper_wake", on_click=lambda: write_client().start_worker())


def _stopped(work: Recomputation, jobs: Jobs) -> None:
    """Cancelled, failed or lost: why, and the way on."""
    job = next(job for job in jobs if job.state in (CANCELLED, FAILED, LOST))
    words = {
        CANCELLED: "Stopped on request. What is finished is kept.",
        FAILED: f"It failed: {clause(job.reason)}",
        LOST: "The process that computed it is gone.",
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(f"{words[job.state]} “Go on” takes it up again.", width="stretch")
        if st.button("Go on", key="paper_retry"):
            _try(lambda: work.ask(write_client()))
            st.rerun()


def _try(action: Callable[[], Any]) -> None:
    try:
        action()
    except (ValueError, StoreError) as reason:
        st.session_state[PROBLEM] = clause(str(reason))
