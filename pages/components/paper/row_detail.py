"""One row of a figure in detail: how it came about, and computed again."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from arml_core.results import FOLDER, Evaluation, shipped

from ..on_demand import on_demand
from .choices import WIDGETS
from .provenance import provenance_table
from .row_recomputation import NetworkToRecompute, RowToRecompute, show_recompute


def results_in(part: str) -> tuple[Evaluation, ...]:
    """What ships for a figure."""
    folder: Path = FOLDER / part
    return shipped(folder) if folder.is_dir() else ()


def show_provenance(evaluations: list[Evaluation], name: str) -> None:
    """Settings, seeds, date and versions of every curve, on demand."""

    def show() -> None:
        for evaluation in evaluations:
            st.markdown(f"**{evaluation.learner_title}: {evaluation.describe_method()}**")
            st.table(provenance_table(evaluation), border="horizontal", hide_index=True, alt="Settings of the curve")

    label = "How it came about" if len(evaluations) == 1 else "How these curves came about"
    on_demand(label, f"paper_open_origin_{name}", show)


def show_row(
    name: str,
    label: str,
    options: dict[str, str],
    value: str,
    number: RowToRecompute | NetworkToRecompute,
) -> None:
    """Choose a row of a figure, see how it came about, and compute it again."""
    with st.container(border=True):
        st.markdown("**One row of ours in detail**")
        WIDGETS.selectbox(label, name, value, options)
        if number.kept is None:
            st.info("Our result is not there yet.", icon="ℹ️")
        else:
            show_provenance([number.kept], f"{name}_{value}")
        show_recompute(number)
