"""Evaluate a run: certificates and attacks as jobs, with curves that grow while they run."""

from __future__ import annotations

import streamlit as st

from arml_core.comparison import Setting
from arml_core.jobs import Client, EvaluationSpec, JobStatus, StoreError

from ..dataset_options import DatasetOption
from ..job_words import clause, progress_words, under_way, word_for_model
from ..markdown import escaped
from ..visitor import read_client
from .choices import CHOICES, TrainView
from .evaluation_curves import show_curves
from .evaluation_form import show_form
from .queue import cancel_button, retry
from .words import evaluation_words, setting_words

REFRESH_SECONDS = 0.9


def show_evaluate(run: JobStatus, view: TrainView, dataset: DatasetOption | None, jobs: list[JobStatus]) -> None:
    """The form, the evaluations of this run with their curves, and the way to Compare."""
    st.subheader("Evaluate", help="How far can points move before their answer changes, under what was learned?")
    evaluations = [job for job in jobs if job.needs == run.id]
    if run.state in ("failed", "cancelled", "lost") and not under_way(run):
        st.caption(f"There is no {word_for_model(run)} to evaluate. Retry the training first.")
    elif dataset is None:
        st.caption("Its dataset is not here any more, so it cannot be evaluated. Upload the file again.")
    else:
        show_form(run, view, dataset)
    if not evaluations:
        return
    active = any(under_way(job) for job in evaluations)
    st.fragment(_evaluations, run_every=REFRESH_SECONDS if active else None)(run.id, active, view, dataset)


def _evaluations(run_id: str, was_active: bool, view: TrainView, dataset: DatasetOption | None) -> None:
    """Rows of this run's evaluations, and the curves of those that belong together."""
    try:
        client = read_client()
        run = client.status(run_id)
        jobs = [job for job in client.list(limit=500) if job.needs == run_id]
    except (ValueError, StoreError) as reason:
        st.error(escaped(f"The evaluations cannot be read: {reason}"))
        return
    if was_active and not any(under_way(job) for job in jobs):
        st.rerun()
    groups = grouped(jobs)
    for job in jobs:
        if under_way(job):
            _active_row(job)
    if not groups:
        return
    names = list(groups)
    shown = next((name for name, group in groups.items() if any(job.id == view.curve for job in group)), names[0])
    if len(names) > 1:
        picked = st.selectbox(
            "Curves of",
            names,
            index=names.index(shown),
            key=f"train_group_{run_id}_{len(names)}_{shown}",
        )
        if picked != shown:
            CHOICES.update(curve=groups[picked][0].id)
            st.rerun()
    _show_group(client, run, groups[shown], shown, view, dataset)


def grouped(jobs: list[JobStatus]) -> dict[str, list[JobStatus]]:
    """Evaluations that may be drawn together, under the words for what they share; the newest request first.

    Words do not tell two files or two lists of frozen features apart: such groups are counted, the oldest first.
    """
    groups: dict[tuple[Setting, int | None], list[JobStatus]] = {}
    alike: dict[str, list[list[JobStatus]]] = {}
    for job in sorted(jobs, key=lambda job: job.created, reverse=True):
        spec = job.spec
        assert isinstance(spec, EvaluationSpec)
        setting = Setting.of(job.dataset, spec)
        group = groups.setdefault((setting, spec.points.n), [])
        if not group:
            alike.setdefault(setting_words(spec), []).append(group)
        group.append(job)
    return {
        words if len(found) == 1 else f"{words} ({len(found) - place} of {len(found)})": group
        for words, found in alike.items()
        for place, group in enumerate(found)
    }


def _active_row(job: JobStatus) -> None:
    spec = job.spec
    assert isinstance(spec, EvaluationSpec)
    with st.container(horizontal=True, vertical_alignment="center", key=f"train_evaluation_{job.id}"):
        st.progress(job.fraction, text=f"{evaluation_words(spec)}: {progress_words(job)}", width="stretch")
        if job.mine:
            cancel_button(job, f"train_cancel_evaluation_{job.id}")


def _ended_row(job: JobStatus) -> None:
    spec = job.spec
    assert isinstance(spec, EvaluationSpec)
    reason = f": {clause(job.reason)}" if job.reason else "."
    words = {
        "failed": f"failed{reason} Change what it names, or retry once what was missing is there.",
        "cancelled": "was stopped on request; what was finished is drawn. Retry goes on from there.",
        "lost": f"was lost with its process{reason} Retry takes it up again.",
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(f"{evaluation_words(spec)} {words[job.state]}", width="stretch")
        if job.mine:
            st.button("Retry", key=f"train_retry_evaluation_{job.id}", on_click=retry, args=(job.id,))


def _show_group(
    client: Client, run: JobStatus, jobs: list[JobStatus], shared: str, view: TrainView, dataset: DatasetOption | None
) -> None:
    for job in jobs:
        if job.state in ("failed", "cancelled", "lost") and not under_way(job):
            _ended_row(job)
    found = []
    for job in sorted(jobs, key=lambda job: job.kind != "certify"):
        try:
            evaluation = client.evaluation(job.id)
        except (ValueError, StoreError) as reason:
            st.warning(escaped(f"{reason}."))
            continue
        if evaluation is not None:
            found.append(evaluation)
    if not found:
        if any(under_way(job) for job in jobs):
            st.caption("The curves appear here with the first finished points.")
        return
    show_curves(run, jobs, found, shared, view, dataset)
