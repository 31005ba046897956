"""Under the pictures: the points as a table, the formula, the link, the Python lines and the data."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ..address import link_to
from ..formula import RADIUS_FORMULA, show_formula
from ..on_demand import on_demand
from ..plane_panel import Panel, Points, panel_csv_button
from . import session
from .edits import as_tuples, with_points
from .session import REFUSED
from .snippet import python_lines
from .view import PlaygroundView


def show_details(view: PlaygroundView, points: Points, panels: list[Panel | None]) -> None:
    """The expanders under the pictures, each hidden if the address says so."""
    if "points" not in view.hide:
        on_demand("Points as a table: add, change, delete", "pg_open_table", lambda: _table(view, points))
    show_formula(RADIUS_FORMULA)
    if "python" not in view.hide:
        on_demand("Copy link and Python", "pg_open_copy", lambda: _copy(view))
    if "data-out" not in view.hide:
        on_demand("The data behind the pictures (CSV)", "pg_open_data", lambda: _downloads(panels))


def _table(view: PlaygroundView, points: Points) -> None:
    frame = pd.DataFrame({"x1": points.X[:, 0].round(3), "x2": points.X[:, 1].round(3), "class": points.y})
    st.caption("Classes are numbers from 0 to 3: " + ", ".join(f"{c} {n}" for c, n in enumerate(points.class_names)))
    edited = st.data_editor(
        frame,
        num_rows="dynamic",
        width="stretch",
        height=300,
        key=f"pg_table_{hash(as_tuples(points))}",
        column_config={
            "x1": st.column_config.NumberColumn(required=True, format="%.3f"),
            "x2": st.column_config.NumberColumn(required=True, format="%.3f"),
            "class": st.column_config.NumberColumn(required=True, min_value=0, max_value=3, step=1, default=0),
        },
        alt="The training points with coordinates and class; rows can be added, changed and deleted.",
    )
    if not edited.equals(frame):
        _take_over(view, points, edited.dropna())


def _take_over(view: PlaygroundView, points: Points, edited: pd.DataFrame) -> None:
    """Make the edited table the training set; a row that is not filled in yet waits."""
    rows = [(round(float(x), 3), round(float(y), 3), int(c)) for x, y, c in edited.to_numpy().tolist()]
    if tuple(rows) == as_tuples(points):
        return
    try:
        session.update(**with_points(view, tuple(rows), view.row).__dict__)
    except ValueError as reason:
        st.session_state[REFUSED] = str(reason)
        st.warning(str(reason))
        return
    st.rerun()


def _copy(view: PlaygroundView) -> None:
    st.markdown("This link opens the same picture in any browser that reaches this dashboard:")
    st.code(link_to(session.query_of(view)), language=None, wrap_lines=True)
    st.markdown("These lines compute the numbers of the pictures with `arml_core`:")
    st.code(python_lines(view), language="python", wrap_lines=True)


def _downloads(panels: list[Panel | None]) -> None:
    st.caption("One file per picture: the points, the certificate, the outlines and the boundary function on its grid.")
    with st.container(horizontal=True):
        for index, panel in enumerate(panels):
            if panel is not None:
                panel_csv_button(panel, f"pg_csv{index}")
