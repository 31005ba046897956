"""What stands under every section: its formula, and CSV, link, Python and the command that computes it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from ..csv_out import csv_button
from ..formula import show_formula
from ..on_demand import on_demand
from .choices import CHOICES, PaperView
from .formulas import FORMULAS


def show_downloads(view: PaperView, table: Callable[[], pd.DataFrame], name: str, command: str, python: str) -> None:
    """Below a section, after its formula; `table` is called when the file is asked for."""
    if view.show in FORMULAS:
        show_formula(FORMULAS[view.show])
    if "export" not in view.hide:
        csv_button(
            "CSV",
            table,
            file_name=f"{name}.csv",
            key=f"paper_csv_{name}",
            help="All numbers of this section, unrounded.",
        )
    if "python" not in view.hide:
        on_demand("Copy link, command and Python", f"paper_open_copy_{view.show}", lambda: _copy(command, python))


def _copy(command: str, python: str) -> None:
    st.markdown("This link opens the same view in any browser that reaches this dashboard:")
    st.code(CHOICES.link(), language=None, wrap_lines=True)
    st.markdown("This command computes all of it anew; stopped and started again it goes on where it was:")
    st.code(command, language="bash")
    st.markdown("These lines read what is shown here:")
    st.code(python, language="python")
