"""How far the reproduction is, how close it comes, and whether the paper's observations hold."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from arml_core.figures.paper_agreement import agreement_alt, agreement_figure
from arml_core.reproduce.attack_differences import difference_reason
from arml_core.reproduce.markdown import listed
from arml_core.reproduce.observations import COLUMNS as OBSERVED
from arml_core.reproduce.observations import check
from arml_core.reproduce.paper_comparison import comparison_rows, coverage
from arml_core.reproduce.published import METHODS, TITLES
from arml_core.reproduce.report import CLAIMS, ROWS
from arml_core.reproduce.tables import Tables

from ..chart import show_chart
from ..page_styles import STACKED
from ..theme import current_style
from .choices import PaperView
from .differences import MISSING, WHY
from .downloads import show_downloads
from .tables import READ

HOLDS = {True: "✓ holds", False: "✗ does not hold everywhere", None: "– not computed yet"}
CAPTION = "Look at the diagonal: on it, our number is the paper's. Above it our error is larger, below it smaller."


def show_summary(view: PaperView, tables: Tables) -> None:
    """The first look."""
    series, there, demanded, close = coverage(tables)
    found = comparison_rows(tables)
    same = found[found["difference"].notna() & (found["paper attacker"] == found["our attacker"])]
    st.markdown(
        f"The paper's two tables have {6 * series} robust errors: {len(METHODS)} metrics on {len(TITLES)} datasets at "
        f"six radii, exact for 1-NN, certified and attacked for 11-NN. **{6 * there} of them are here**, computed by "
        "this engine. For the Euclidean metric, where nothing is left to chance, and for ARML a largest difference is "
        "demanded: "
        + (
            f"**{close} of {demanded} rows keep it** (a row has six radii){_missed(tables)}."
            if demanded
            else "none of these rows is there yet."
        )
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Every number, ours over the paper's**")
        if same.empty:
            st.info("Our results are not there yet. The command below computes them.", icon="ℹ️")
        else:
            show_chart(
                agreement_figure(same, current_style()),
                key="paper_agreement",
                alt=agreement_alt(same),
            )
            st.caption(CAPTION)
    with right:
        st.markdown("**What is there**")
        st.table(
            there_table(tables), border="horizontal", hide_index=True, alt="How many metrics have each row of ours"
        )
        st.caption("How many of the six metrics have the row. “–”: not computed yet.")
    _observations(tables)
    show_downloads(
        view,
        lambda: found,
        "paper-all",
        "python -m arml_core reproduce table1\npython -m arml_core reproduce table2",
        f"from arml_core.reproduce.paper_comparison import comparison_rows\n{READ}\n"
        "print(comparison_rows(tables).to_string())",
    )


def _missed(tables: Tables) -> str:
    """The rows that do not keep it, each with the reason where it is known."""
    names = [
        f"{METHODS[learner]} on {TITLES[dataset]} ({ROWS[column].removeprefix('ours, ')}"
        f"{WHY.get(difference_reason(tables, dataset, learner, column) or '', '')})"
        for dataset, learner, column in tables.evaluations
        if tables.within(dataset, learner, column) is False
    ]
    return f", all but {listed(names)}" if names else ""


def _observations(tables: Tables) -> None:
    st.markdown("**What the paper observes, checked over our own results**")
    with st.container(key=f"{STACKED}_observations"):
        st.table(
            observations_table(tables),
            border="horizontal",
            hide_index=True,
            alt="The paper's observations, and what we see",
        )


def observations_table(tables: Tables) -> pd.DataFrame:
    """Each claim of the paper's, and what became of it in each column."""
    found: list[tuple[int, str, str, str, str]] = []
    for finding in check(tables):
        first = not found or found[-1][0] != finding.observation
        claim = f"**{finding.observation}.** *{CLAIMS[finding.observation]}*" if first else ""
        text = finding.text if finding.holds is not None else MISSING
        found.append((finding.observation, claim, OBSERVED[finding.column], HOLDS[finding.holds], text))
    return pd.DataFrame([row[1:] for row in found], columns=["The paper says", "In", "Here", "What we see"])


def there_table(tables: Tables) -> pd.DataFrame:
    """How many metrics have each row of ours, by dataset."""
    found = {"Row of ours": [title.removeprefix("ours, ") for title in ROWS.values()]}
    for dataset, title in TITLES.items():
        counts = [sum(tables.get(dataset, learner, column) is not None for learner in METHODS) for column in ROWS]
        found[title] = [f"{count} of {len(METHODS)}" if count else "–" for count in counts]
    return pd.DataFrame(found)
