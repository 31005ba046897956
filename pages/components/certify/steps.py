"""The first three steps as parts that fold away once there are verdicts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from . import columns_step, metric_step, rows_step
from .choices import CertifyView
from .prepare import PreparedTable
from .results import CertifyJobs
from .sources import Sources


def show_steps(
    view: CertifyView,
    sources: Sources,
    missing: dict[str, str],
    prepared: PreparedTable | None,
    work: CertifyJobs | None,
) -> None:
    """Each step as soon as the one before is settled."""
    with _step("rows", "1 · Rows", rows_step.summary(view, sources), work is None):
        rows_step.show_rows_step(view, sources, missing)
    if prepared is None:
        return
    with _step("columns", "2 · Columns", columns_step.summary(view, prepared), work is None):
        columns_step.show_columns_step(view, sources, prepared)
    if prepared.rows is None or not prepared.ready:
        return
    with _step("metric", "3 · Model", metric_step.summary(view, len(prepared.rows.X)), work is None):
        metric_step.show_metric_step(view, prepared)


def _step(name: str, title: str, summary: str, open_first: bool) -> Any:
    """A part with its number, its title and what was chosen."""
    key = f"cf_open_{name}"
    is_open = st.session_state.get(key, open_first)  # said anew each time: another label would fold it
    return st.expander(f"**{title}** – {summary}", expanded=is_open, key=key, on_change="rerun")
