"""Tables 1 and 2: the paper's robust errors, and under each of them ours."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from arml_core.reproduce import published
from arml_core.reproduce.paper_comparison import PAPER_ATTACKER, TABLE_1, TABLE_2, attacker_of, comparison_rows
from arml_core.reproduce.plan import Effort, table
from arml_core.reproduce.published import METHODS, POINTS, TITLES
from arml_core.reproduce.report import ROWS
from arml_core.reproduce.tables import PAPER_COLUMN, Tables, cell_settings
from arml_core.results import Evaluation

from ..on_demand import on_demand
from .choices import WIDGETS, PaperView, value_or_first
from .differences import LEGEND, MISSING, verdict, with_difference
from .downloads import show_downloads
from .provenance import provenance_table
from .row_recomputation import RowToRecompute, show_recompute

HALVES = {"table1": TABLE_1, "table2": TABLE_2}
TITLE = {
    "exact": "Exact robust errors of 1-NN, in ℝᴰ",
    "certified": "Certified robust errors of 11-NN: proved, in ℝᴰ",
    "empirical": "Empirical robust errors of 11-NN: reached by an attack",
}
PAPER_ROW = {"exact": "paper", "certified": "paper, Theorem 1", "empirical": "paper, boundary attack"}
TIES = (
    "At ε = 0 a point on a tie counts too: it may be answered rightly, but its radius is 0. On Compare “wrong already” "
    "does not count it, so there the number may be smaller."
)
INTRODUCTION = {
    "table1": "A cell is a robust error: the share of test points whose answer a step of length ε changes. "
    "For one neighbour the radius of every point is known exactly, so there is one number for each radius. " + TIES,
    "table2": "A cell is a robust error: the share of test points whose answer a step of length ε changes. For eleven "
    "neighbours the paper gives an upper bound on it (certified) and a lower bound (empirical); the truth is between.",
}
THREATS = (
    "**Two attackers.** The paper certifies against one who may go anywhere in ℝᴰ, but its attack stays inside [0, "
    "1]ᴰ: that attacker is weaker, so the gap between its two halves looks wider than it is. The column “Where” says "
    "which one a row is about; our boundary attack is shown in both where both were computed. What `search` proves "
    "and the white-box attack finds, both in ℝᴰ, enclose the true error."
)


def columns_of(name: str) -> dict[str, str]:
    """The columns of ours in a table, with their titles."""
    return {column: ROWS[column].removeprefix("ours, ") for group in HALVES[name].values() for column in group}


def readable(tables: Tables, dataset: str, half: published.Column, columns: tuple[str, ...]) -> pd.DataFrame:
    """One half of a table as people read it: for each metric the paper's row, then each of ours."""
    found: list[list[str]] = []
    for learner, title in METHODS.items():
        paper = published.errors(dataset, learner, half)
        found.append([f"**{title}**", PAPER_ROW[half], PAPER_ATTACKER[half], *(f"{v:.3f}" for v in paper), ""])
        present = [column for column in columns if tables.get(dataset, learner, column) is not None]
        for column in present:
            evaluation, errors = tables.get(dataset, learner, column), tables.errors(dataset, learner, column)
            assert evaluation is not None
            assert errors is not None
            difference = tables.difference(dataset, learner, column)
            less = [None] * len(errors) if difference is None else list(difference)
            cells = [with_difference(value, d) for value, d in zip(errors, less, strict=True)]
            agreement = verdict(tables, dataset, learner, column)
            found.append(["", label_of(column, evaluation), attacker_of(evaluation), *cells, agreement])
        if not present:
            found.append(["", "ours: not computed yet", MISSING, *[MISSING] * len(paper), ""])
    radii = [f"ε = {radius:g}" for radius in published.radii(dataset)]
    return pd.DataFrame(found, columns=["Metric", "Row", "Where", *radii, "Close enough"])


def label_of(column: str, evaluation: Evaluation) -> str:
    """A row's name: ours, the method, for an attack its steps and seed, and how many points if fewer."""
    label = ", ".join([ROWS[column].split(" in ")[0].split(" inside ")[0], *cell_settings(evaluation)])
    return label if len(evaluation) >= POINTS else f"{label}, {len(evaluation)} points"


def show_table(view: PaperView, name: str, tables: Tables) -> None:
    """A table of the paper for one dataset, and one of its numbers in detail."""
    st.markdown(INTRODUCTION[name])
    if "data" not in view.hide:
        WIDGETS.segmented_control("Dataset", "data", view.data, TITLES)
    for half, columns in HALVES[name].items():
        st.markdown(f"**{TITLES[view.data]}. {TITLE[half]}**")
        frame = readable(tables, view.data, half, columns)
        st.table(frame, border="horizontal", hide_index=True, alt=f"{TITLES[view.data]}: {TITLE[half]}, paper and ours")
    st.markdown(f":small[{LEGEND}]")
    if name == "table2":
        st.markdown(THREATS)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(
            "pages/compare.py",
            label="The same as curves, on Compare",
            icon="➡️",
            query_params={"data": view.data, "k": "1" if name == "table1" else str(published.K)},
        )
    if "detail" not in view.hide:
        _detail(view, name, tables)
    show_downloads(
        view,
        lambda: comparison_rows(tables, [view.data]),
        f"paper-{name}-{view.data}",
        f"python -m arml_core reproduce {name} --dataset {view.data}",
        f"from arml_core.reproduce.paper_comparison import comparison_rows\n{READ}\n"
        f'print(comparison_rows(tables, ["{view.data}"]).to_string())',
    )


READ = """from arml_core.reproduce.tables import Tables
from arml_core.results import shipped

tables = Tables.of(shipped())"""


def number_of(view: PaperView, name: str, tables: Tables) -> tuple[RowToRecompute, str]:
    """The number that is shown in detail, with the name of its column; computed again as it was, or as planned.

    A search is always for the verdicts at the table's radii, also where the one that ships was for all radii.
    """
    column = value_or_first(view.column, columns_of(name))
    kept = tables.get(view.data, view.method, column)
    effort = Effort()
    if kept is not None:
        effort = Effort(points=len(kept), steps=kept.spec.options.get("steps"), budget=kept.spec.budget)
    (step,) = table(name, [view.data], [view.method], effort, [column])
    paper = None
    if column in PAPER_COLUMN:
        paper = published.errors(view.data, view.method, PAPER_COLUMN[column])
    return RowToRecompute(step, kept, published.radii(view.data), paper), column


def _detail(view: PaperView, name: str, tables: Tables) -> None:
    number, column = number_of(view, name, tables)
    with st.container(border=True):
        st.markdown("**One row of ours in detail**")
        left, right = st.columns(2)
        with left:
            WIDGETS.selectbox("Metric", "method", view.method, METHODS)
        with right:
            WIDGETS.selectbox("Row of ours", "column", column, columns_of(name))
        if number.kept is None:
            step = number.step
            planned = ", ".join([f"{step.points.n or 0:,} points", *step.evaluation("").settings_words()])
            st.info(
                f"{step.title}: our result is not there yet. Computed here it would take the settings of "
                f"`reproduce` ({planned}), and the result stays in this machine's job store.",
                icon="ℹ️",
            )
        else:
            kept = number.kept
            on_demand(
                f"How these numbers came about: {kept.describe_method()}, {len(kept):,} points",
                f"paper_open_origin_{view.data}_{view.method}_{column}",
                lambda: st.table(
                    provenance_table(kept), border="horizontal", hide_index=True, alt="Settings of the row"
                ),
            )
        show_recompute(number)
