"""What can be taken away: verdicts and changed rows as CSV, the report as one HTML file."""

from __future__ import annotations

from datetime import date

import streamlit as st

from arml_core import __version__
from arml_core.learners.registry import LEARNERS
from arml_core.report import changed_csv, html_report, verdict_csv

from ..address import link_to
from ..on_demand import on_demand
from .choices import CHOICES, Asked
from .prepare import Prepared
from .results import Results, Work
from .snippet import python_lines
from .sources import Sources

FORMULA = r"""
A row $x$ with answer $y$ has the robust radius $\epsilon^* = \min\{\|c\circ\delta\| : \text{the answer at } x+\delta
\text{ is not } y\}$ over changes $\delta$ of the scaled features ($c$: costs, 1 unless chosen; frozen features have
$\delta_k = 0$). For $K = 1$ and ℓ2 it is computed exactly; otherwise it lies between *proved* (`lower`) and *found*
(`upper`). At a radius $\epsilon$ a row is *certified* if `lower` $> \epsilon$, *attackable* if `upper`
$\le \epsilon$, else *undecided*. A change of feature $k$ alone by $r$ means $r\,s_k/c_k$ in the file's units, where
$s_k$ is the feature's scale.
"""


def show_downloads(
    asked: Asked, sources: Sources, prepared: Prepared, work: Work, results: Results, radius: float
) -> None:
    """Buttons; a file is made when it is asked for."""
    title = title_of(sources)
    name = title.rsplit(".", 1)[0] or "file"
    with st.container(horizontal=True, key="cf_downloads"):
        st.download_button(
            "All verdicts (CSV)",
            data=lambda: verdict_csv(results.rows, radius, results.flips()[1]).encode("utf-8-sig"),
            file_name=f"{name}-verdicts.csv",
            mime="text/csv",
            key="cf_verdicts_csv",
            on_click="ignore",
            help="Every row with its interval, its verdict at ε and the change that flips it. Safe in a spreadsheet.",
        )
        st.download_button(
            "Changed rows (CSV)",
            data=lambda: changed_csv(results.rows, results.flips()[1]).encode("utf-8-sig"),
            file_name=f"{name}-changed.csv",
            mime="text/csv",
            key="cf_changed_csv",
            on_click="ignore",
            help="The changed rows under the file's own column names: load them as a query file and each gets another "
            "answer.",
        )
        st.download_button(
            "Report (HTML)",
            data=lambda: report_text(asked, sources, prepared, work, results, radius).encode(),
            file_name=f"{name}-report.html",
            mime="text/html",
            key="cf_report",
            on_click="ignore",
            help="One file that opens without a network.",
        )


def report_text(asked: Asked, sources: Sources, prepared: Prepared, work: Work, results: Results, radius: float) -> str:
    """The report with everything it takes to repeat it."""
    rows, flips = results.flips()
    problems = [*prepared.problems.notes, *prepared.query_problems.notes]
    for loaded in (sources.reference, sources.query):
        problems += [] if loaded is None else loaded.problems.notes
    notes = [problem.message for problem in problems]
    if len(rows) < results.planned:
        notes.append(f"Only {len(rows):,} of {results.planned:,} rows were finished when this report was made.")
    return html_report(title_of(sources), rows, radius, flips, settings_of(asked, prepared, work), notes)


def settings_of(asked: Asked, prepared: Prepared, work: Work) -> list[tuple[str, str]]:
    """How the verdicts came about, name and value."""
    assert prepared.dataset is not None
    how = "each row against all the others (leave-one-out)" if prepared.leave_one_out else "query rows against these"
    metric = work.run.title if "run" in (asked.mode, asked.metric) else LEARNERS[asked.metric].title
    spec = work.spec
    certificate = spec.method + (f", {spec.budget:g} s a row" if spec.budget is not None else "")
    return [
        ("Rows that vote", f"{len(prepared.dataset.y_train):,}, {how}"),
        ("Features", ", ".join(prepared.dataset.feature_names[:30])),
        ("Scaling", prepared.dataset.scaling.kind),
        ("Metric", metric),
        ("Neighbours", f"K = {spec.n_neighbors}"),
        ("Change", spec.threat.describe() + (f", frozen: {', '.join(asked.frozen)}" if asked.frozen else "")),
        ("Certificate", certificate),
        ("Attack", "white-box attack, deterministic" if work.attack is not None else "by the certificate itself"),
        ("Certified", "the label" if spec.points.labels else "the classifier's own answer"),
        ("Made", f"{date.today().isoformat()}, ARML Explorer {__version__}"),
    ]


def title_of(sources: Sources) -> str:
    """The name of the file whose rows are certified."""
    loaded = sources.query or sources.reference
    return "file" if loaded is None else loaded.title


def show_below(asked: Asked, sources: Sources, prepared: Prepared, work: Work) -> None:
    """Formula, link and Python, behind expanders."""
    if "formula" not in asked.hide:
        with st.expander("The formula"):
            st.markdown(FORMULA)
    if "python" not in asked.hide:
        on_demand("Copy link and Python", "cf_open_copy", lambda: _show_copy(asked, sources, prepared, work))


def _show_copy(asked: Asked, sources: Sources, prepared: Prepared, work: Work) -> None:
    st.markdown("This link opens the same view; a file that is not a sample opens for its owner only:")
    st.code(link_to(CHOICES.query()), language=None, wrap_lines=True)
    st.markdown("These lines compute the verdicts with `arml_core`:")
    st.code(python_lines(asked, sources, prepared, work), language="python", wrap_lines=True)
