"""The first three steps as parts that fold away once there are verdicts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from . import columns_step, metric_step, rows_step
from .choices import Asked
from .prepare import PreparedTable
from .results import CertifyJobs
from .sources import Sources


def show_steps(
    asked: Asked, sources: Sources, missing: dict[str, str], prepared: PreparedTable | None, work: CertifyJobs | None
) -> None:
    """Each step as soon as the one before is settled."""
    with _step("rows", "1 · Rows", rows_step.summary(asked, sources), work is None):
        rows_step.show_rows_step(asked, sources, missing)
    if prepared is None:
        return
    with _step("columns", "2 · Columns", columns_step.summary(asked, prepared), work is None):
        columns_step.show_columns_step(asked, sources, prepared)
    if prepared.rows is None or not prepared.ready:
        return
    with _step("metric", "3 · Metric", metric_step.summary(asked, len(prepared.rows.X)), work is None):
        metric_step.show_metric_step(asked, prepared)


def show_last_heading() -> None:
    """The fourth step does not fold: it is what the others lead to."""
    st.markdown("**4 · Verdicts**")


def _step(name: str, title: str, summary: str, open_first: bool) -> Any:
    """A part with its number, its title and what was chosen."""
    key = f"cf_open_{name}"
    is_open = st.session_state.get(key, open_first)  # said anew each time: another label would fold it
    return st.expander(f"**{title}** – {summary}", expanded=is_open, key=key, on_change="rerun")
