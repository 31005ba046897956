"""The work under way: progress, time left, cancel; and what became of it if it is not done."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import EvaluationSpec, JobStatus, RunSpec, StoreError
from arml_core.vocabulary import duration, percent, verdicts_at

from ..job_words import interrupted, step_word, under_way
from ..markdown import escaped
from ..visitor import read_client, write_client
from .choices import current
from .prepare import PreparedTable
from .problems import unreachable
from .results import CertifyJobs, certify_jobs
from .start import REFUSED, start

TICK_SECONDS = 1.0
LEARNING = {"references": "Learning the prototypes", "rows": "Choosing the rows to keep"}
LEARNING_FOLDS = "Learning without each fold"
PHASES = {"train": "Training the metric", "certify": "Certifying", "attack": "Looking for changes that flip a row"}


def show_progress(prepared: PreparedTable, work: CertifyJobs) -> None:
    """Bars while something runs; a sentence and a way on where something ended early."""
    if work.is_active:
        st.fragment(_show_bars, run_every=TICK_SECONDS)(prepared, [under_way(job) for job in work.jobs])
        return
    for job in work.jobs:
        if job.state in ("failed", "cancelled", "lost"):
            _show_end(job, prepared, work)
            return


def _show_bars(prepared: PreparedTable, before: list[bool]) -> None:
    """The bars, again and again; when one of the jobs has ended the whole page shows what came of it."""
    try:
        work = certify_jobs(current(), prepared)
    except StoreError as reason:  # it may be over by the next look
        st.error(unreachable(reason))
        return
    if work is None or [under_way(job) for job in work.jobs] != before:
        st.rerun()
    with st.container(border=True, key="cf_progress"):
        for job in work.jobs:
            if not (job.kind == "train" and job.state == "done"):
                st.progress(job.fraction, text=line_of(job))
        with st.container(horizontal=True):
            st.button("Cancel", key="cf_cancel", on_click=_cancel, args=(work,))
            if any(job.done for job in work.jobs[1:]) and st.button("Show the rows finished so far", key="cf_refresh"):
                st.rerun()


def phase_of(job: JobStatus) -> str:
    """What a job does; a search may be for the verdicts at some radii."""
    at = job.spec.at if isinstance(job.spec, EvaluationSpec) else None
    if isinstance(job.spec, RunSpec) and job.spec.gives != "metric":
        return LEARNING[job.spec.gives]
    return PHASES[job.kind] + ("" if at is None else f" ({verdicts_at(at)})")


def line_of(job: JobStatus) -> str:
    """What a job does and how far it is, for its bar."""
    what = phase_of(job)
    if job.state == "done":
        return f"{what}: done"
    if job.state == "queued":
        return f"{what}: waiting, place {job.position}" if job.position else f"{what}: waiting"
    if interrupted(job):
        return f"{what}: interrupted, it goes on by itself"
    if job.state == "running" and job.phase == "training" and job.kind != "train":
        return f"{LEARNING_FOLDS}: {percent(job.fraction)}"
    if job.state == "running" and job.total:
        unit = f"{step_word(job)}s" if job.kind == "train" else "rows"
        left = "" if job.seconds_left is None else f", about {duration(job.seconds_left)} left"
        return f"{what}: {job.done:,} of {job.total:,} {unit}{left}"
    return f"{what}: {'starting' if job.state == 'running' else job.state}"


def _cancel(work: CertifyJobs) -> None:
    try:
        client = write_client()
        for job in reversed(work.jobs):
            if under_way(job) and client.status(job.id).mine:
                client.cancel(job.id)
    except StoreError as reason:
        st.session_state[REFUSED] = str(reason)


def _show_end(job: JobStatus, prepared: PreparedTable, work: CertifyJobs) -> None:
    what = phase_of(job)
    if job.state == "failed":
        st.error(escaped(f"{what} failed: {job.reason}"))
        log = read_client().log(job.id)
        if log:
            with st.expander("The job's log"):
                st.code(log, language=None)
    elif job.state == "cancelled":
        st.warning(f"{what} was cancelled. The rows that were finished before are shown below, if there are any.")
    else:
        st.warning(escaped(f"{what} was interrupted: {job.note or 'its process ended'}."))
    st.button("Go on", key="cf_again", type="primary", on_click=start, args=(prepared, work.search_specs))
