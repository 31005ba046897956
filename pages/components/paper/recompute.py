"""One number computed again, as a job of the store: the steps that the reproduce command takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from arml_core.datasets import dataset_info
from arml_core.jobs import DamagedFile, JobStatus, StoreError, UnknownJob
from arml_core.jobs.states import CANCELLED, DONE, FAILED, LOST
from arml_core.learners.estimation import duration
from arml_core.reproduce.beside import again
from arml_core.reproduce.plan import Step
from arml_core.reproduce.run import ask, find
from arml_core.results import Evaluation

from ..train.words import clause, interrupted, progress_words, under_way
from ..visitor import asking, looking
from .marks import beside, signed

REFRESH_SECONDS = 0.6
PROBLEM = "paper_problem"
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Number:
    """What is computed again: the step, what ships for it, and the paper's errors at `radii` where it has them."""

    step: Step
    kept: Evaluation | None
    radii: Floats
    paper: Floats | None = None


def show_recompute(number: Number) -> None:
    """The button, then the progress, then the result; it refreshes by itself only while a job is under way."""
    try:
        jobs = find(looking(), number.step)
    except StoreError as reason:
        st.error(f"The jobs cannot be reached: {reason}")
        return
    active = _is_active(jobs)
    st.fragment(_recompute, run_every=REFRESH_SECONDS if active else None)(number, active)


def _is_active(jobs: tuple[JobStatus, JobStatus] | None) -> bool:
    """Whether the radii will come by themselves, or a training is still being stopped."""
    return jobs is not None and (under_way(jobs[1]) or jobs[0].state == "cancelling")


def _recompute(number: Number, was_active: bool) -> None:
    try:
        client = looking()
        jobs = find(client, number.step)
        held = client.worker().held
    except StoreError as reason:
        st.error(f"The jobs cannot be reached: {reason}")
        return
    if was_active and not _is_active(jobs):
        st.rerun()  # once: the page learns that it is over, and stops asking
    if PROBLEM in st.session_state:
        st.warning(st.session_state.pop(PROBLEM))
    if jobs is None:
        _offer(number)
    elif _is_active(jobs):
        _progress(jobs, held)
    elif jobs[1].state != DONE:
        _stopped(number, jobs)
    if jobs is not None:
        _outcome(number, jobs[1])


def _offer(number: Number) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        label = "Compute it here" if number.kept is None else "Compute it again here"
        if st.button(label, key="paper_again", type="primary"):
            _try(lambda: ask(asking(), number.step))
            st.rerun()
        st.caption(_expectation(number), width="stretch")


def _expectation(number: Number) -> str:
    """How long it may take, and whether data has to be downloaded."""
    made: dict[str, Any] = {} if number.kept is None else dict(number.kept.made)
    parts = []
    if "seconds" in made:
        spent = float(made["seconds"]) + float(made.get("train_seconds") or 0.0)
        parts.append(f"It took {duration(spent)} on a {made.get('machine', 'machine')}.")
    else:
        parts.append("How long it takes is not known yet.")
    about = dataset_info(number.step.dataset)
    if not about.available:
        parts.append(
            f"{about.title} is not on this machine: the job downloads {about.download_bytes / 1e6:.1f} MB first "
            f"(source: {about.source}; terms: {about.terms})."
        )
    parts.append("It runs in the background; you may close this page.")
    return " ".join(parts)


def _progress(jobs: tuple[JobStatus, JobStatus], held: bool) -> None:
    run, evaluation = jobs
    with st.container(horizontal=True, vertical_alignment="center", key="paper_progress"):
        if under_way(run):
            st.progress(run.fraction, text=f"Training: {progress_words(run)}", width="stretch")
        else:
            st.progress(evaluation.fraction, text=f"Radii: {progress_words(evaluation)}", width="stretch")
        mine = [job.id for job in (evaluation, run) if job.mine and (job.is_active or interrupted(job))]
        stopping = any(job.state == "cancelling" for job in jobs)
        if mine and st.button("Cancel", key="paper_cancel", disabled=stopping):
            for job in mine:
                _try(lambda job=job: looking().cancel(job))
            st.rerun()
    if held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("The worker was stopped on purpose, so nothing starts.", width="stretch")
            st.button("Start the worker", key="paper_wake", on_click=lambda: asking().start_worker())


def _stopped(number: Number, jobs: tuple[JobStatus, JobStatus]) -> None:
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
            _try(lambda: ask(asking(), number.step))
            st.rerun()


def _try(action: Callable[[], Any]) -> None:
    try:
        action()
    except (ValueError, StoreError) as reason:
        st.session_state[PROBLEM] = clause(str(reason))


def _outcome(number: Number, job: JobStatus) -> None:
    try:
        fresh = looking().evaluation(job.id)
    except (UnknownJob, StoreError, DamagedFile) as reason:
        st.warning(clause(str(reason)))
        return
    if fresh is None:
        return
    if job.state == DONE:
        st.success(_done_words(number, fresh, job))
    else:
        st.caption(f"So far {len(fresh):,} of {fresh.planned:,} points.")
    if len(number.radii):
        st.table(outcome_table(number, fresh), border="horizontal", hide_index=True, alt="The number computed again")


def _done_words(number: Number, fresh: Evaluation, job: JobStatus) -> str:
    spent = job.finished - job.started if job.finished and job.started else 0.0
    when = f"Computed here on {fresh.made.get('date', 'this machine')} in {duration(spent)}."
    if number.kept is None:
        return f"{when} Nothing ships for it yet."
    found = again(number.kept, fresh, number.radii)
    if found.n_same == found.n:
        return f"{when} The radius of every one of the {found.n:,} points is the shipped one."
    why = " A search depends on how fast the machine is." if fresh.budget is not None else ""
    return (
        f"{when} {found.n_same:,} of {found.n:,} radii are the shipped ones; the largest difference is "
        f"{found.largest:.3g}.{why}"
    )


def outcome_table(number: Number, fresh: Evaluation) -> pd.DataFrame:
    """The paper's errors, what ships and what was computed here, over the same points."""
    rows: dict[str, list[str]] = {}
    if number.paper is not None:
        rows["paper"] = [f"{value:.3f}" for value in number.paper]
    found = again(number.kept if number.kept is not None else fresh, fresh, number.radii)
    less = [None] * len(found.now) if number.paper is None else list(found.now - number.paper)
    if number.kept is not None:
        rows["ours, shipped"] = [f"{value:.3f}" for value in found.then]
    rows["ours, computed here"] = [beside(value, d) for value, d in zip(found.now, less, strict=True)]
    if number.kept is not None:
        rows["computed here − shipped"] = [signed(d) for d in found.now - found.then]
    frame = pd.DataFrame({f"ε = {r:g}": [row[i] for row in rows.values()] for i, r in enumerate(number.radii)})
    frame.insert(0, f"{found.n:,} points", list(rows))
    return frame
