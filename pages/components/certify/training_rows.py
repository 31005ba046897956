"""How many training rows must be wrong before the answers change: counted beside the page, once for a file."""

from __future__ import annotations

import numpy as np
import streamlit as st

import arml_core as arml
from arml_core.learners.registry import Gives
from arml_core.vocabulary import TRAINING_ROWS_RULE

from ..markdown import escaped
from ..task_pool import Task, task_pool
from .models import NOT_COUNTED
from .prepare import PreparedTable

PATIENCE = 0.4
"""Seconds a page waits for the numbers; a table of some thousand rows has them by then."""
LARGE = 3e8
"""Numbers of the rows that are compared, all in all; beyond, other visitors' work must not wait for it."""
LOOK_SECONDS = 0.5
MOST_SECONDS = 600.0


def count_training_rows(
    knn: arml.MahalanobisKNN, prepared: PreparedTable, labelled: bool, key: tuple[str, ...]
) -> Task:
    """The task that counts for all rows of the file; `key` names the run, K, the rows and the visitor."""
    rows = prepared.rows
    assert rows is not None
    x, labels = rows.X, rows.y if labelled else None
    exclude = np.arange(len(x)) if prepared.leave_one_out else None

    def count(task: Task) -> arml.TrainingChanges:
        def tell(done: int, total: int, info: object) -> None:
            task.report(f"counting how many training rows must be wrong: {done:,} of {total:,} rows")

        return knn.certify_training(x, labels, exclude=exclude, callback=tell)

    is_large = float(len(x)) * len(knn.references_) * x.shape[1] > LARGE
    lane = "large" if is_large else "small"
    task = task_pool().submit("work", ("training rows", *key), lane, count, key[-1])
    task.wait(PATIENCE)
    return task


def counted(task: Task, wait: float = 0.0) -> arml.TrainingChanges | None:
    """The numbers; None while they are not there or where there are none."""
    if wait:
        task.wait(wait)
    found: arml.TrainingChanges | None = task.result
    return found if task.done and not task.problem else None


def show_counting(task: Task | None, gives: Gives, visitor: str) -> None:
    """What the columns mean, that they are still being counted, or why there are none."""
    if task is None:
        st.caption(NOT_COUNTED[gives])
    elif task.done and not task.problem:
        st.caption(
            f"Wrong labels, rows removed, rows added: with fewer wrong training rows the answer stands. "
            f"{TRAINING_ROWS_RULE}"
        )
    elif task.done:
        st.caption(escaped(f"Wrong training rows were not counted: {task.problem.removesuffix('.')}."))
    else:

        def look() -> None:
            task.renew(visitor)
            if task.done:
                st.rerun(scope="app")
            st.caption(f"⏳ {escaped(task.doing[:1].upper() + task.doing[1:])} …")

        st.fragment(look, run_every=LOOK_SECONDS)()
