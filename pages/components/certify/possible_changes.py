"""Which of the changes found could exist, with whole categories and whole numbers: looked for beside the page."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from arml_core.numerics.arrays import FloatArray, IntArray
from arml_core.report import CertifiedTable, Flips, counterfactuals, only_by_parts
from arml_core.report.certified_table import Predict
from arml_core.vocabulary import NO_WHOLE_CHANGE

from ..markdown import escaped
from ..task_pool import Task, task_pool

PATIENCE = 0.4
"""Seconds a page waits for the changes; a table of some hundred rows has them by then."""
LOOK_SECONDS = 0.5
ROWS_AT_ONCE = 200


def look_for_possible(rows: CertifiedTable, predict: Predict, key: tuple[str, ...]) -> Task | None:
    """The task that looks for changes that could exist; None where every feature may take any value.

    `key` names the jobs and the visitor.
    """
    if rows.layout.is_continuous:
        return None

    def look(task: Task) -> Flips:
        parts = []
        for start in range(0, len(rows), ROWS_AT_ONCE):
            task.report(f"looking for changes that could exist: {start:,} of {len(rows):,} rows")
            at = np.arange(start, min(start + ROWS_AT_ONCE, len(rows)))
            parts.append(counterfactuals(rows.take(at), partial(_predict_of, predict, at)))
        return Flips.concatenate(parts)

    task = task_pool().submit("work", ("possible changes", *key), "small", look, key[-1])
    task.wait(PATIENCE)
    return task


def _predict_of(predict: Predict, at: IntArray, points: FloatArray, moved: IntArray) -> IntArray:
    """The answers to changed versions of some of the rows `at`."""
    return predict(points, at[moved])


def possible(task: Task | None) -> Flips | None:
    """The changes; None while they are not there."""
    if task is None or not task.done or task.problem:
        return None
    found: Flips = task.result
    return found


def show_possible(task: Task | None, rows: CertifiedTable, radius: float, visitor: str) -> None:
    """What whole categories and whole numbers do to the verdicts, or that it is still being found out."""
    if task is None:
        return
    flips = possible(task)
    if flips is not None:
        count = int(only_by_parts(rows, flips, radius).sum())
        if count:
            st.caption(f"{count:,} of the undecided {'rows' if count > 1 else 'row'}: {NO_WHOLE_CHANGE}.")
    elif task.done:
        st.caption(escaped(f"Changes that could exist were not looked for: {task.problem.removesuffix('.')}."))
    else:

        def look() -> None:
            task.renew(visitor)
            if task.done:
                st.rerun(scope="app")
            st.caption(
                f"⏳ {escaped(task.doing[:1].upper() + task.doing[1:])} (whole categories, whole numbers); until then, "
                "attackable also counts changes by parts of them …"
            )

        st.fragment(look, run_every=LOOK_SECONDS)()
