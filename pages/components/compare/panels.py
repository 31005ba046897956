"""The charts of the Compare page, what is known at the chosen radius, and the ways to take it away."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import streamlit as st

from arml_core.figures import curves_alt, curves_caption, curves_spec, curves_table, verdicts_spec, verdicts_table
from arml_core.figures.curves import CONFIDENCE
from arml_core.figures.lines import largest_radius
from arml_core.figures.verdicts import best_rows
from arml_core.numerics.directed_rounding import as_written
from arml_core.vocabulary import NO_SCRIPT, VERDICTS, WRONG_ALREADY, radius_down, share_down, share_up

from ..address import link_to
from ..chart import Mark, show_chart, wait_for_drawing
from ..csv_out import csv_button
from ..formula import show_formula
from ..markdown import escaped
from ..on_demand import on_demand
from ..theme import current_style
from .chart_export import export_buttons
from .charts import Chart, ResolvedView
from .choices import CHOICES, WIDGETS, CompareView, write_names
from .front import FORMULA as FRONT_FORMULA
from .front import front_of, show_front
from .snippet import computed_lines, computed_words, front_lines, stored_lines

HEIGHT = 500
FORMULA = r"""
Point $x$ with label $y$ has the robust radius $\varepsilon^*(x) = \min \{\lVert\delta\rVert : f(x+\delta) \ne y\}$,
which is 0 if the answer is already wrong. The **robust error** is the share of points with
$\varepsilon^*(x) \le \varepsilon$. A certificate gives a lower bound $\underline\varepsilon \le \varepsilon^*$, an
attack an upper bound $\varepsilon^* \le \overline\varepsilon$, so for every radius

$$\underbrace{\tfrac1n\,\#\{\overline\varepsilon_i \le \varepsilon\}}_{\text{empirical}} \;\le\;
\underbrace{\tfrac1n\,\#\{\varepsilon^*_i \le \varepsilon\}}_{\text{truth}} \;\le\;
\underbrace{\tfrac1n\,\#\{\underline\varepsilon_i \le \varepsilon\}}_{\text{certified}}.$$

At a chosen ε a point is *proved safe* if $\underline\varepsilon > \varepsilon$, *can be flipped* if
$\overline\varepsilon \le \varepsilon$, and is *undecided* otherwise. The confidence band adds
$\sqrt{\ln(2/\alpha)/2n}$ on both sides, with $\alpha = 0.05$: it holds the curve of all points of this kind, of which
the $n$ test points are a sample.
"""
COLUMNS = {
    "method": "Model",
    "points": "Points",
    "clean error": WRONG_ALREADY.capitalize(),
    "certified error": "Certified error",
    "empirical error": "Empirical error",
    **{verdict: words.share.capitalize() for verdict, words in VERDICTS.items()},
    "median radius": "Median proved radius",
}
BARS_CAPTION = "Every point is one of the three. What is wrong already counts as flipped."
TABLE_CAPTION = (
    "The lowest certified error comes first; ★ is the best of its column. A point on a tie may be answered rightly and "
    "still has radius 0: it is not wrong already, but the errors count it even at ε = 0, as the Paper page does."
)


def epsilon_range(charts: list[Chart]) -> tuple[float, float]:
    """Where the slider ends, and its step: about a hundred of them."""
    top = max(largest_radius(chart.lines) for chart in charts)
    power = 10.0 ** math.floor(math.log10(top / 100))
    step = next(factor * power for factor in (1, 2, 5, 10) if top / (factor * power) <= 101)
    return top, step


def current_epsilon(view: CompareView, charts: list[Chart]) -> float:
    """The chosen radius, or one in the middle of the shortest axis: datasets differ in range."""
    top, step = epsilon_range(charts)
    if view.eps is not None:
        return min(view.eps, top)
    middle = 0.4 * min(largest_radius(chart.lines) for chart in charts)
    return float(f"{max(1, round(middle / step)) * step:.12g}")


@st.fragment
def show_charts(charts: list[Chart], resolved: ResolvedView) -> None:
    """Slider, charts, bars, table: on their own, so that moving the slider redraws nothing else."""
    view = CHOICES.current()
    top, step = epsilon_range(charts)
    epsilon = current_epsilon(view, charts)
    if "radius" not in view.hide:
        st.slider(
            "Radius ε: how long a step may be",
            0.0,
            top,
            step=step,
            format=f"%.{max(0, -math.floor(math.log10(step)))}f",
            **WIDGETS.bind("eps", epsilon, lambda value: float(f"{value:.12g}")),
        )
        epsilon = current_epsilon(CHOICES.current(), charts)
    if view.eps is not None and view.eps > top:
        st.caption(f"ℹ️ ε = {view.eps:g} was asked for, but the curves end at {top:g}, which is shown instead.")
    if view.view == "front":
        for index, chart in enumerate(charts):
            show_front(chart, index, epsilon, view, f"front-{file_name(chart)}")
        wait_for_drawing()
        show_formula(FRONT_FORMULA)
    else:
        _show_every_radius(charts, epsilon, view)
    on_demand("How these results were made", "cmp_open_made", lambda: _show_provenance(charts))
    if "python" not in view.hide:
        on_demand("Copy link and Python", "cmp_open_copy", lambda: _copy(charts, resolved, epsilon))
    CHOICES.publish()


def _show_every_radius(charts: list[Chart], epsilon: float, view: CompareView) -> None:
    """Curves, bars and the table at ε."""
    ranked = [ranked_at(chart, epsilon) for chart in charts]
    if len(charts) == 1:
        left, right = st.columns([5, 3], gap="medium")
        with left:
            show_curves(charts[0], 0, epsilon, view)
        with right:
            _show_bars(charts[0], 0, ranked[0], epsilon, view)
            _show_notes(charts[0])
    for first in range(0, len(charts) if len(charts) > 1 else 0, 2):
        for index, column in zip(range(first, len(charts)), st.columns(2, gap="medium"), strict=False):
            with column:
                show_curves(charts[index], index, epsilon, view)
                _show_bars(charts[index], index, ranked[index], epsilon, view)
                _show_notes(charts[index])
    wait_for_drawing()
    if "table" not in view.hide:
        for index, (chart, table) in enumerate(zip(charts, ranked, strict=True)):
            if isinstance(table, pd.DataFrame):  # else it is said above the bars
                _show_table(chart, index, table, epsilon, titled=len(charts) > 1)
        st.caption(TABLE_CAPTION)
    show_formula(FORMULA)


def show_curves(chart: Chart, index: int, epsilon: float, view: CompareView) -> None:
    """One chart with its caption, its export and its formula."""
    style = current_style()
    upto = largest_radius(chart.lines)
    confidence = CONFIDENCE if view.band else None
    st.markdown(f"**{escaped(chart.title)}**")
    show_chart(
        curves_spec(
            chart.lines,
            style,
            upto=upto,
            confidence=confidence,
            norm=chart.norm,
            height=HEIGHT,
        ),
        key=f"cmp_curves{index}",
        alt=curves_alt(chart.lines, epsilon, chart.norm),
        mark=Mark(epsilon, f"ε = {epsilon:g}", style.ink) if epsilon <= upto else None,
    )
    if epsilon > upto:
        st.caption(f"ℹ️ ε = {epsilon:g} lies beyond this chart, which ends at {upto:g}.")
    st.caption(curves_caption(chart.lines))
    if "export" not in view.hide:
        _exports(chart, index, upto, confidence)


def _show_notes(chart: Chart) -> None:
    """What is missing, partial or not alike."""
    for refusal in chart.refused:
        st.info(escaped(refusal), icon="ℹ️")
    for note in chart.notes:
        st.caption(escaped(note))


def _exports(chart: Chart, index: int, upto: float, confidence: float | None) -> None:
    style = current_style()
    name = file_name(chart)
    with st.container(horizontal=True, vertical_alignment="center", key=f"cmp_export{index}"):
        export_buttons(f"cmp_curves{index}", chart.title, name, style.paper, style.ink)
        csv_button(
            "CSV",
            lambda: curves_table(chart.lines, upto, confidence),
            file_name=f"{name}.csv",
            key=f"cmp_csv{index}",
            help="Every corner of the curves as drawn: metric, kind, certificate or attack, radius, error.",
        )


def _show_bars(chart: Chart, index: int, ranked: pd.DataFrame | str, epsilon: float, view: CompareView) -> None:
    if "bars" in view.hide:
        return
    st.markdown(f"**What is known at ε = {epsilon:g}**")
    if isinstance(ranked, str):
        st.error(f"These results contradict each other: {escaped(ranked)}. One of them was not made for this metric.")
        return
    order = list(ranked["method"])
    show_chart(
        verdicts_spec(sorted(chart.lines, key=lambda line: order.index(line.name)), epsilon, current_style()),
        key=f"cmp_bars{index}",
        alt=f"Shares of points proved safe, undecided and flipped at ε = {epsilon:g}; the table has the numbers.",
    )
    st.caption(BARS_CAPTION)


def ranked_at(chart: Chart, epsilon: float) -> pd.DataFrame | str:
    """The table at a radius, or why the results cannot all be true."""
    try:
        return verdicts_table(chart.lines, epsilon)
    except ValueError as reason:
        return str(reason)


def _show_table(chart: Chart, index: int, table: pd.DataFrame, epsilon: float, titled: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"**Ranked at ε = {epsilon:g}{f' · {escaped(chart.title)}' if titled else ''}**", width="content")
        csv_button(
            "Table as CSV",
            lambda: table.assign(epsilon=epsilon),
            file_name=f"{file_name(chart)}-table.csv",
            key=f"cmp_table_csv{index}",
        )
    st.table(readable(table), border="horizontal", hide_index=True, alt=f"The numbers at ε = {epsilon:g}")


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it (Markdown): three digits on the side of caution, each column's best marked."""
    best = best_rows(table)
    shown: dict[str, list[str]] = {"": [str(rank) for rank in range(1, len(table) + 1)]}
    for column, title in COLUMNS.items():
        marked = best.get(column, [])
        text = radius_down if column == "median radius" else share_down if column == "certified" else share_up
        shown[title] = [_cell(value, text, row in marked) for row, value in enumerate(table[column])]
    return pd.DataFrame(shown)


def _cell(value: object, written: Callable[[float], str], is_best: bool) -> str:
    if isinstance(value, float):
        text = "–" if math.isnan(value) else written(value)
    else:
        text = f"{value:,}" if isinstance(value, int) else escaped(str(value))
    return f"**{text}** ★" if is_best else text


def file_name(chart: Chart) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in chart.dataset.lower())
    return f"robust-error-{words}-k{chart.setting.n_neighbors}"


def provenance_table(charts: list[Chart]) -> pd.DataFrame:
    """Where every curve comes from: method, points, date, time, and how it departs from the paper's protocol."""
    rows = []
    for chart in charts:
        for run, pair in zip(chart.runs, chart.pairs, strict=True):
            for found in pair.evaluations:
                rows.append(
                    {
                        "Dataset": found.dataset_title,
                        "Model": run.label,
                        "Method": found.describe_method(),
                        "Attacker": found.spec.threat.describe(),
                        "Points": f"{len(found):,}" if found.whole else f"{len(found):,} of {found.planned:,}",
                        "Time": found.time_words(),
                        "Date": str(found.made.get("date", "")),
                        "Differs from the paper's protocol": str(found.made.get("deviation", "")),
                    }
                )
    return pd.DataFrame(rows)


def _show_provenance(charts: list[Chart]) -> None:
    st.table(
        provenance_table(charts).map(escaped), border="horizontal", hide_index=True, alt="How each curve was computed"
    )


def pinned_link(resolved: ResolvedView, epsilon: float) -> str:
    """The address of this very view: what the page chose by itself is written out too."""
    view = CHOICES.current()
    shipped = dict.fromkeys(run.key for runs in resolved.chosen.values() for run in runs if run.job is None)
    own = dict.fromkeys(run.key for runs in resolved.chosen.values() for run in runs if run.job is not None)
    query = CHOICES.query() | {"data": write_names(resolved.data), "k": str(resolved.k), "eps": as_written(epsilon)}
    query |= {"norm": str(resolved.norm), "limits": str(resolved.limit)}
    if view.methods is not None or not shipped:
        query["methods"] = write_names(tuple(shipped))
    query["runs"] = write_names(tuple(own))
    return link_to(query)


def _copy(charts: list[Chart], resolved: ResolvedView, epsilon: float) -> None:
    st.markdown("This link opens the same view in any browser that reaches this dashboard:")
    st.code(pinned_link(resolved, epsilon), language=None, wrap_lines=True)
    confidence = CONFIDENCE if CHOICES.current().band else None
    for chart in charts:
        st.markdown(f"**{escaped(chart.title)}.** These lines draw the chart from the stored radii:")
        if CHOICES.current().view == "front":
            st.code(front_lines(chart, front_of(chart, epsilon), epsilon), language="python")
        else:
            lines = stored_lines(chart, epsilon, largest_radius(chart.lines), confidence)
            st.code(lines, language="python")
        scratch = computed_lines(chart, epsilon)
        if scratch is None:
            st.caption(NO_SCRIPT)
        else:
            st.markdown(escaped(computed_words(chart)))
            st.code(scratch, language="python")
