"""Step 4: the verdicts, one row picked, the charts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.figures import RobustLine, curves_alt, curves_spec, curves_table
from arml_core.figures.certified_table import histogram_table, radius_figure
from arml_core.numerics.directed_rounding import round_up_to
from arml_core.report import (
    alone_words,
    count_verdicts,
    largest_finite_radius,
    measured_in,
    radius_histogram,
    step_alone,
    suggested_radius,
)
from arml_core.vocabulary import (
    METHOD_WORDS,
    TRAINING_ROWS,
    VERDICTS,
    WRONG_ALREADY,
    beyond_words,
    duration,
    marked_verdict,
    percent,
    radii_down,
    radii_up,
    time_spent_on,
    wrong_rows,
)

from ..chart import show_chart
from ..csv_out import csv_button
from ..markdown import escaped
from ..theme import current_style
from ..visitor import read_client
from .choices import DISPLAY_WIDGETS, LARGEST_RADIUS, CertifyView, update_display
from .models import cross_words
from .possible_changes import show_possible
from .results import CertifyJobs, Results
from .row_view import show_row
from .start import UNDECIDABLE, decide
from .training_rows import show_counting

ORDER_TITLES = {"fragile": "Most fragile first", "robust": "Most robust first", "file": "As in the file"}
WRONG_MEANS = "the answer is not the label, so the radius is 0."
MOST_CELLS = 20_000
TABLE_HEIGHT = 460
SECONDS = (1.0, 5.0, 30.0)
"""What a further search may take for a row: more than any before it."""


def radius_of(view: CertifyView, results: Results) -> float:
    """The chosen ε, or the one that was to be decided, or a round one to begin with."""
    chosen = view.at if view.eps is None else view.eps
    return suggested_radius(results.rows.radii.lower) if chosen is None else chosen


def show_verdicts(view: CertifyView, work: CertifyJobs, results: Results) -> None:
    """Everything about the finished rows."""
    if results.rows.labels is None and view.show == "wrong":
        view = replace(view, show="all")  # an older address: without labels no answer is wrong
    radius = _show_radius(view, results)
    _show_counts(results, radius)
    show_possible(results.possible, results.rows, radius, read_client().visitor.tag)
    if work.spec.points.part == "cross":
        st.caption(cross_words(work.spec.points, work.model))
    _offer_decision(work, results, radius)
    table, detail = st.columns([1.1, 1], gap="large")
    with table:
        order = _show_table(view, work, results, radius)
    with detail:
        if len(order):
            show_row(results, _picked(view, results, order), work.decided_radii)
        else:
            st.info("No row has this verdict at this ε. Choose another verdict or move ε.")
    if "charts" not in view.hide:
        _show_charts(work, results, radius)


def _show_radius(view: CertifyView, results: Results) -> float:
    radius = radius_of(view, results)
    largest = max(largest_finite_radius(results.rows.radii.lower, results.rows.radii.upper), radius)
    top = min(round_up_to(largest, (1, 2, 5, 10)), LARGEST_RADIUS)
    slider, meaning = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
    with slider:
        st.slider(
            f"Radius ε: how large a change do you fear? ({results.rows.radii.threat.describe()})",
            0.0,
            top,
            step=top / 200,
            format="%.3g" if top >= 0.01 else "%.2e",
            **DISPLAY_WIDGETS.bind("eps", min(float(radius), top)),
        )
    with meaning, st.popover("What ε means for each feature", width="stretch"):
        layout, threat = results.rows.layout, results.rows.radii.threat
        st.caption(
            f"{measured_in(layout, threat)} If one feature alone changes and the others stay, a change of size ε "
            "is this much in the file's units:"
        )
        alone = step_alone(layout, threat, radius)
        st.dataframe(
            pd.DataFrame({"feature": list(alone), "±": [alone_words(step) for step in alone.values()]}),
            hide_index=True,
            width="stretch",
            key="cf_alone",
            alt="For each feature, the change in the file's units that ε allows it alone.",
        )
    return radius


def _show_counts(results: Results, radius: float) -> None:
    rows = results.judged
    counts = count_verdicts(rows.radii.verdict(radius))
    n = len(rows)
    with st.container(horizontal=True, gap="large", key="cf_counts"):
        for verdict, count in counts.items():
            meaning = VERDICTS[verdict].meaning
            help_ = f"{meaning[0].upper()}{meaning[1:]}."
            st.metric(verdict.capitalize(), f"{count:,} ({percent(count / n)})", help=help_, width="content")
    wrong = int((~rows.radii.correct).sum())
    if wrong:
        st.caption(f"{wrong_rows(wrong)}: {WRONG_MEANS}")
    if n < results.planned:
        st.caption(f"{n:,} of {results.planned:,} rows are finished; the numbers are of these.")
    elif results.attacked < n:
        st.caption(
            f"Changes were looked for in {results.attacked:,} of {n:,} rows so far; the others may be undecided."
        )


def _offer_decision(work: CertifyJobs, results: Results, radius: float) -> None:
    """Where rows are undecided at ε: where the time went, and a button for more of it."""
    count = count_verdicts(results.rows.radii.verdict(radius))["undecided"]
    if not count or work.is_active or min(len(results.rows), results.attacked) < results.planned:
        return
    spent = work.seconds_spent(radius)
    seconds = next((seconds for seconds in SECONDS if seconds > spent), None)
    where = f"{time_spent_on(work.decided_radii, 'rows')} " if work.decided_radii and not spent else ""
    with st.container(horizontal=True, vertical_alignment="center", key="cf_decision"):
        if seconds is None:
            st.caption(f"Rows that {spent:g} s a row did not decide stay undecided here.")
            return
        st.button(
            f"Decide {f'the {count:,} undecided rows' if count > 1 else 'the undecided row'} at ε = {radius:g}",
            key="cf_decide",
            on_click=decide,
            args=(work, seconds, radius),
        )
        st.caption(
            f"{where}A search takes up to {seconds:g} s for each of them, at most {duration(count * seconds)} of "
            "computing. What is known about the rows stays.",
            width="stretch",
        )
    if st.session_state.get(UNDECIDABLE):
        st.error(escaped(st.session_state[UNDECIDABLE]))


def _chosen(view: CertifyView, results: Results, radius: float) -> np.ndarray:
    """The positions of the rows that are listed, in their order."""
    rows = results.judged
    shown = np.ones(len(rows), dtype=bool)
    if view.show == "wrong":
        shown = ~rows.radii.correct
    elif view.show != "all":
        shown = rows.radii.verdict(radius) == view.show
    at = np.flatnonzero(shown)
    if view.order == "file":
        return at
    sign = 1 if view.order == "fragile" else -1
    return at[np.lexsort((rows.lines[at], sign * rows.radii.lower[at]))]


def _show_table(view: CertifyView, work: CertifyJobs, results: Results, radius: float) -> np.ndarray:
    rows = results.rows
    shown, order = st.columns([1.6, 1], gap="small", vertical_alignment="bottom")
    with shown:
        titles = {"all": "All rows", **{verdict: verdict.capitalize() for verdict in VERDICTS}}
        titles |= {} if rows.labels is None else {"wrong": WRONG_ALREADY.capitalize()}
        DISPLAY_WIDGETS.selectbox("Show", "show", view.show, titles)
    with order:
        DISPLAY_WIDGETS.selectbox("Order", "order", view.order, ORDER_TITLES)
    at = _chosen(view, results, radius)
    if not len(at):
        return at
    lines = rows.lines[at].tolist()
    picked = int(np.flatnonzero(at == _picked(view, results, at))[0])
    key = f"cf_table_{abs(hash((view.show, view.order, view.jobs, len(rows), tuple(lines[:1]), len(lines))))}"

    def pick() -> None:
        chosen = st.session_state[key]["selection"]["rows"]
        if chosen:
            update_display(row=int(lines[chosen[0]]))

    st.dataframe(
        verdict_frame(results, at, radius),
        key=key,
        on_select=pick,
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [picked]}},
        hide_index=True,
        width="stretch",
        height=min(TABLE_HEIGHT, 38 + 35 * len(lines)),
        placeholder="–",
        column_config={
            "proved": st.column_config.NumberColumn(
                format="%.4g", help="No change smaller than this flips the answer."
            ),
            "found": st.column_config.NumberColumn(format="%.4g", help="The size of a change that flips the answer."),
            "line": st.column_config.NumberColumn(format="%d", help="The line in the file, the header is line 1."),
            **{
                words.title: st.column_config.NumberColumn(format="%d", help=words.help)
                for words in TRAINING_ROWS.values()
            },
        },
        alt=f"{len(at)} rows with answer, verdict at {radius:g}, proven radius and the size of a known change.",
    )
    st.caption(
        "Click a row to see what would flip it; click a column's name to sort by it; scroll sideways for the rest."
    )
    show_counting(results.counting, work.model.gives, read_client().visitor.tag)
    return at


def verdict_frame(results: Results, at: np.ndarray, radius: float) -> pd.DataFrame:
    """The table on the page: proved numbers are cut, found ones rounded up; features only while they are few."""
    rows = results.judged
    classes = np.array(rows.layout.class_names, dtype=object)
    marks = np.array([marked_verdict(word) for word in rows.radii.verdict(radius)[at]], dtype=object)
    marks[~rows.radii.correct[at]] = f"{marked_verdict('attackable')}, {WRONG_ALREADY}"
    frame = pd.DataFrame({"line": rows.lines[at]})
    if rows.labels is not None:
        frame["label"] = classes[rows.labels[at]]
    frame["answer"] = classes[rows.radii.predicted[at]]
    frame["verdict"] = marks
    frame["proved"] = radii_down(rows.radii.lower[at])
    frame["found"] = np.where(np.isfinite(rows.radii.upper[at]), radii_up(rows.radii.upper[at]), np.nan)
    if rows.training is not None:
        for kind, words in TRAINING_ROWS.items():
            frame[words.title] = getattr(rows.training, kind)[at]
    if len(at) * len(rows.layout.feature_names) <= MOST_CELLS:
        taken = set(frame.columns)
        for k, name in enumerate(rows.layout.feature_names):
            frame[f"{name} (feature)" if name in taken else name] = rows.raw[at, k]
    return frame


def _picked(view: CertifyView, results: Results, order: np.ndarray) -> int:
    """The chosen row, else the first of the list that something can be said about, else the first."""
    rows = results.rows
    for wanted in (order[rows.lines[order] == view.row], order[rows.radii.correct[order]], order):
        if len(wanted):
            return int(wanted[0])
    raise ValueError("no row is listed")


def robust_line(work: CertifyJobs, results: Results) -> RobustLine:
    """The rows as a line for the chart of robust-error curves."""
    rows = results.rows
    both = bool(rows.radii.exact.all())
    attack = METHOD_WORDS["whitebox"].inline if work.attack is not None else "changes the search found"
    methods = dict.fromkeys(spec.method for spec in (work.spec, *work.search_specs))
    return RobustLine(
        "Your rows",
        rows.radii.lower,
        rows.radii.upper if np.isfinite(rows.radii.upper).any() else None,
        exact=both,
        certificate=" and ".join(METHOD_WORDS[name].inline for name in methods),
        attack=attack,
        partial=len(rows) < results.planned,
    )


def _show_charts(work: CertifyJobs, results: Results, radius: float) -> None:
    rows, style = results.rows, current_style()
    bars, lines = st.columns(2, gap="large")
    histogram = radius_histogram(rows.radii.lower, results.judged.radii.verdict(radius))
    with bars:
        st.markdown("**How robust are the rows?**")
        show_chart(
            radius_figure(histogram, radius, style, height=330),
            key="cf_histogram",
            alt=f"Histogram of the proven radii of {len(rows)} rows by verdict, with a line at {radius:g}.",
        )
        look_for = "Look for bars far to the left of the dotted line: small changes flip these rows."
        st.caption(look_for + beyond_words(histogram.beyond))
        csv_button(
            "Bars as CSV",
            lambda: histogram_table(histogram),
            file_name="radii.csv",
            key="cf_histogram_csv",
        )
    line = robust_line(work, results)
    top = 1.02 * largest_finite_radius(rows.radii.lower, rows.radii.upper)
    norm = rows.radii.threat.norm_name
    with lines:
        st.markdown("**How many rows could flip?**")
        show_chart(
            curves_spec([line], style, epsilon=radius, upto=top, norm=norm, height=330, legend=True),
            key="cf_curve",
            alt=curves_alt([line], radius, norm),
        )
        words = "exact" if line.exact else "proved (solid) and reached by an attack (dashed)"
        st.caption(f"Look at the height at ε: the share of rows that a change of that size may flip, {words}.")
        csv_button(
            "Curve as CSV",
            lambda: curves_table([line], top),
            file_name="robust-error.csv",
            key="cf_curve_csv",
        )
