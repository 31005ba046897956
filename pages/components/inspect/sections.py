"""From the chosen source to what is shown: load it, ask for the work, show what there is, look again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from arml_core.jobs import is_shared

from ..markdown import escaped
from ..on_demand import on_demand
from ..task_pool import Task, task_pool
from ..visitor import read_client
from .choices import CHOICES, SECONDS, InspectView
from .controls import FINDING_ROW, point_sidebar
from .metric_view import show_metric
from .point_view import show_point
from .references_view import show_references
from .snippet import metric_lines, point_lines, reference_lines
from .sources import Source, read_source
from .study import (
    PointQuestion,
    PreparedSource,
    certify_in_stages,
    compute_anatomy,
    compute_cells,
    find_row,
    study_of,
)
from .waiting import PATIENCE, is_done, session_id, show_problem, watch

NO_SUCH_ROW = "inspect_no_such_row"
NOT_LEFT_OUT = (
    "These prototypes were learned from the training rows, so no training row can be left out of its own answer, and "
    "with it in, the radius would flatter. Choose a test row. For the rows of a file of your own, Certify learns "
    "prototypes without each row (cross-fitting)."
)
NO_METRIC = (
    "No metric was learned with these {voters}: they are compared in the ordinary distance, where all features and all "
    "directions count alike."
)
MOMENT = 0.25  # what is found within it is drawn at once; the rest follows by itself


def load(source: Source) -> PreparedSource | None:
    """The dataset and the metric, read beside the page; None while it takes its time or if it went wrong."""
    kind = f"{source.lane} dataset"
    client = read_client() if source.stored else None  # what ships is shown although the store cannot be opened

    def read(task: Task) -> PreparedSource:
        task.report(f"reading {source.dataset_title}")
        return PreparedSource(*read_source(source, client))

    task = task_pool().submit(kind, source.identity, source.lane, read, session_id())
    if not is_done(task):
        return None
    if task.problem:
        show_problem(task, f"{source.title} on {source.dataset_title} cannot be read", kind, source.identity)
        return None
    found: PreparedSource = task.result
    return found


def question_of(view: InspectView, prepared: PreparedSource) -> tuple[PointQuestion, list[str]]:
    """What is asked about which row; what does not fit this dataset is brought into its limits, with a sentence."""
    notices = []
    part = view.part
    if part == "test" and len(prepared.data.X_test) == 0:
        part = "train"
    n, n_voters = len(prepared.rows(part)[0]), len(prepared.points)
    row, k = view.row, view.k
    if row >= n:
        notices.append(f"There is no row {row:,}: this dataset has {n:,} here. Row 0 is shown instead.")
        row = 0
    most = max(1, n_voters - (part == "train" and prepared.gives != "references"))
    if k > most:
        notices.append(f"K = {k} is more than the {most} {prepared.voter}s that can vote; K = {most} is shown instead.")
        k = most
    return PointQuestion(part, row, k, view.norm, view.own), notices


def show_metric_part(view: InspectView, source: Source, prepared: PreparedSource) -> None:
    """The metric taken apart, as soon as its eigenvalues are there."""
    if prepared.references is not None and prepared.metric.is_identity:
        st.info(NO_METRIC.format(voters=f"{prepared.voter}s"))
        return
    key = (source.identity, "anatomy")
    if prepared.anatomy is None:
        task = task_pool().submit(
            "work", key, source.lane, lambda task: compute_anatomy(prepared, task.report) and None, session_id()
        )
        if not is_done(task):
            return
        if task.problem:
            show_problem(task, "The metric cannot be taken apart", "work", key)
            return
        if prepared.anatomy is None:  # it was done for a copy that was thrown away meanwhile
            task_pool().forget("work", key)
            st.rerun()
    show_metric(view, source, prepared, prepared.anatomy)
    if "python" not in view.hide:
        on_demand("Copy link and Python", "inspect_open_copy", lambda: _copy(source, metric_lines(source)))


def show_references_part(view: InspectView, source: Source, prepared: PreparedSource) -> None:
    """The references of a class and the rows they answer for, as soon as these are counted."""
    key = (source.identity, "cells")
    if prepared.cells is None:
        task = task_pool().submit(
            "work", key, source.lane, lambda task: compute_cells(prepared, task.report) and None, session_id()
        )
        if not is_done(task):
            return
        if task.problem:
            show_problem(task, "Which rows they answer for could not be counted", "work", key)
            return
        if prepared.cells is None:  # it was done for a copy that was thrown away meanwhile
            task_pool().forget("work", key)
            st.rerun()
    show_references(view, source, prepared, prepared.cells)
    if "python" not in view.hide:
        on_demand("Copy link and Python", "inspect_open_copy", lambda: _copy(source, reference_lines(source)))


def find_another(view: InspectView, source: Source, prepared: PreparedSource, ask: PointQuestion) -> bool:
    """Look for the next row if that was asked for; true while it is looked for."""
    if not st.session_state.get(FINDING_ROW):
        reason = st.session_state.pop(NO_SUCH_ROW, None)
        if reason:
            st.info(reason)
        return False
    key = (source.identity, "row", ask, view.want)
    task = task_pool().submit(
        "work",
        key,
        source.lane,
        lambda task: find_row(prepared, ask, view.want, task.report),
        session_id(),
        supersede=True,
    )
    if not is_done(task):
        return True
    st.session_state.pop(FINDING_ROW)
    if not task.problem:
        if task.result is None:
            what = "answered right" if view.want == "right" else "answered wrong"
            st.session_state[NO_SUCH_ROW] = f"No row of this part is {what} with K = {ask.k}."
        else:
            CHOICES.update(row=task.result, part=ask.part, seconds=SECONDS[0])
        st.rerun()
    task_pool().forget("work", key, session_id())
    st.warning(escaped(f"No other row could be looked for: {task.problem.removesuffix('.')}."))
    return False


def show_point_part(view: InspectView, source: Source, prepared: PreparedSource, ask: PointQuestion) -> None:
    """What is known about the point by now; the rest follows as it is found."""
    with st.sidebar:
        point_sidebar(view, len(prepared.points), ask.k, prepared.voter)
    if ask.part == "train" and prepared.gives == "references":
        st.info(NOT_LEFT_OUT)
        return
    study = study_of(source.identity, ask, prepared)
    key: Any = (source.identity, ask, view.seconds)
    task = None
    if study.stage < 3 or (study.open and study.searched < view.seconds):
        task = task_pool().submit(
            "work",
            key,
            source.lane,
            lambda task: certify_in_stages(prepared, study, view.seconds, task.report) and None,
            session_id(),
            supersede=True,
        )
        if not task.wait(MOMENT) and study.stage == 0:
            task.wait(PATIENCE - MOMENT)
    known = study.snapshot()
    if task is not None and task.done and task.problem:
        if not task.abandoned:
            show_problem(task, "This point could not be certified", "work", key)
        else:
            st.rerun()
    if known.stage > 0:
        show_point(view, prepared, known)
    if task is not None and (not task.done or known.progress != study.progress):
        watch(task, known.progress, lambda: study.progress)
    if "python" not in view.hide and known.stage > 0:
        lines = point_lines(source, ask, max(view.seconds, known.searched))
        on_demand("Copy link and Python", "inspect_open_copy", lambda: _copy(source, lines))


def _copy(source: Source, lines: str) -> None:
    st.markdown("This link opens the same view in any browser that reaches this dashboard:")
    st.code(CHOICES.link(), language=None, wrap_lines=True)
    if source.private and is_shared():
        st.caption("Others will not see this metric: it comes from your upload.")
    if source.private or source.job is not None:
        st.caption("The lines read this dashboard's own store: run them on its machine, with the same ARML_HOME.")
    st.markdown("These lines compute the numbers of this view:")
    st.code(lines, language="python", wrap_lines=True)
