"""The charts of the Compare page, what is known at the chosen radius, and the ways to take it away."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from arml_core.datasets.table import safe_cell
from arml_core.figures import curves_alt, curves_figure, curves_table, verdicts_figure, verdicts_table
from arml_core.figures.curves import CONFIDENCE, best_rows, largest_radius

from ..address import link_to
from ..on_demand import on_demand
from ..theme import current_style
from .charts import Chart, Scene
from .choices import CHOICES, View, write_names
from .controls import bound, on_change
from .pictures import picture_buttons
from .snippet import computed_lines, stored_lines

CONFIG = {"displayModeBar": False, "doubleClick": False}
CAPTION = (
    "Lower is safer. A curve shows the share of points that are wrong or might be made wrong by a step of length ε: "
    "**solid** is proved to be the worst case, **dashed** is what an attack really did; the truth lies in the shaded "
    "part between."
)
EXACT_CAPTION = (
    "Lower is safer. A curve shows the share of points that are wrong or can be made wrong by a step of length ε. "
    "For K = 1 the radius of every point is known exactly, so there is one line and nothing is undecided."
)
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
    "method": "Metric",
    "points": "Points",
    "clean error": "Wrong already",
    "certified error": "Certified error",
    "empirical error": "Empirical error",
    "certified": "Proved safe",
    "undecided": "Undecided",
    "attackable": "Can be flipped",
    "median radius": "Median proved radius",
}
TABLE_CAPTION = (
    "Ranked by certified error at ε, the lowest first; ★ is the best of its column. Proved safe, undecided and can be "
    "flipped add up to all points; what was wrong already counts as flipped."
)


def epsilon_range(charts: list[Chart]) -> tuple[float, float]:
    """Where the slider ends, and its step: about a hundred of them."""
    top = max(largest_radius(chart.lines) for chart in charts)
    power = 10.0 ** math.floor(math.log10(top / 100))
    step = next(factor * power for factor in (1, 2, 5, 10) if top / (factor * power) <= 101)
    return top, step


def current_epsilon(view: View, charts: list[Chart]) -> float:
    """The chosen radius, or one in the middle of the axis."""
    top, step = epsilon_range(charts)
    if view.eps is not None:
        return min(view.eps, top)
    return float(f"{round(0.4 * top / step) * step:.12g}")


@st.fragment
def show_charts(charts: list[Chart], scene: Scene) -> None:
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
            key=bound("eps", epsilon),
            on_change=on_change("eps", lambda value: float(f"{value:.12g}")),
        )
        epsilon = current_epsilon(CHOICES.current(), charts)
    per_line = 1 if len(charts) == 1 else 2
    for first in range(0, len(charts), per_line):
        columns = st.columns(per_line, gap="medium")
        for index, column in enumerate(columns[: len(charts) - first], start=first):
            with column:
                _show_curves(charts[index], index, epsilon, view, narrow=per_line == 2)
    for index, chart in enumerate(charts):
        _show_verdicts(chart, index, epsilon, view, titled=len(charts) > 1)
    with st.expander("The formula"):
        st.markdown(FORMULA)
    if "python" not in view.hide:
        on_demand("Copy link and Python", "cmp_open_copy", lambda: _copy(charts, scene, epsilon))
    CHOICES.publish()


def _show_curves(chart: Chart, index: int, epsilon: float, view: View, narrow: bool) -> None:
    style = current_style()
    upto = largest_radius(chart.lines)
    confidence = CONFIDENCE if view.band else None
    st.markdown(f"**{chart.title}**")
    st.plotly_chart(
        curves_figure(
            chart.lines,
            style,
            epsilon=min(epsilon, upto),
            upto=upto,
            confidence=confidence,
            norm=chart.norm,
            height=500 if narrow else 520,
        ),
        key=f"cmp_curves{index}",
        theme=None,
        config=CONFIG,
        alt=curves_alt(chart.lines, epsilon, chart.norm),
    )
    if index == 0:
        st.caption(EXACT_CAPTION if all(line.exact for line in chart.lines) else CAPTION)
    for refusal in chart.refused:
        st.info(f"Radii against different attackers do not belong on one chart. {refusal}", icon="✋")
    if chart.notes:
        st.caption("  \n".join(chart.notes))
    if "export" not in view.hide:
        _exports(chart, index, upto, confidence)


def _exports(chart: Chart, index: int, upto: float, confidence: float | None) -> None:
    style = current_style()
    name = file_name(chart)
    with st.container(horizontal=True, vertical_alignment="center", key=f"cmp_export{index}"):
        picture_buttons(f"cmp_curves{index}", chart.title, name, style.paper, style.ink)
        st.download_button(
            "CSV",
            data=lambda: csv_of(curves_table(chart.lines, upto, confidence)),
            file_name=f"{name}.csv",
            mime="text/csv",
            key=f"cmp_csv{index}",
            on_click="ignore",
            help="Every corner of the curves as drawn: metric, kind, certificate or attack, radius, error.",
        )


def _show_verdicts(chart: Chart, index: int, epsilon: float, view: View, titled: bool) -> None:
    where = f" · {chart.title}" if titled else ""
    st.markdown(f"**At ε = {epsilon:g}{where}**")
    try:
        table = verdicts_table(chart.lines, epsilon)
        ranked = sorted(chart.lines, key=lambda line: list(table["method"]).index(line.name))
        bars = verdicts_figure(ranked, epsilon, current_style())
    except ValueError as reason:
        st.error(f"These results contradict each other: {reason}. One of them was not made for this metric.")
        return
    if "bars" not in view.hide:
        st.plotly_chart(
            bars,
            key=f"cmp_bars{index}",
            theme=None,
            config=CONFIG,
            alt=f"Shares of points proved safe, undecided and flipped at ε = {epsilon:g}; the table has the numbers.",
        )
    if "table" not in view.hide:
        st.table(readable(table), border="horizontal", hide_index=True, alt=f"The numbers at ε = {epsilon:g}")
        st.caption(TABLE_CAPTION)
        st.download_button(
            "Table as CSV",
            data=lambda: csv_of(table.assign(epsilon=epsilon)),
            file_name=f"{file_name(chart)}-table.csv",
            mime="text/csv",
            key=f"cmp_table_csv{index}",
            on_click="ignore",
        )


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it: three digits, the best of each column marked."""
    best = best_rows(table)
    shown: dict[str, list[str]] = {"": [str(rank) for rank in range(1, len(table) + 1)]}
    for column, title in COLUMNS.items():
        marked = best.get(column, [])
        shown[title] = [_cell(value, row in marked) for row, value in enumerate(table[column])]
    return pd.DataFrame(shown)


def _cell(value: object, is_best: bool) -> str:
    if isinstance(value, float):
        text = "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.3f}"
    else:
        text = f"{value:,}" if isinstance(value, int) else str(value)
    return f"**{text}** ★" if is_best else text


def csv_of(table: pd.DataFrame) -> bytes:
    """Full precision; titles that people chose are made safe for spreadsheets."""
    safe = table.assign(method=[safe_cell(text) for text in table["method"]])
    return safe.to_csv(index=False).encode()


def file_name(chart: Chart) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in chart.dataset.lower())
    return f"robust-error-{words}-k{chart.setting.n_neighbors}"


def pinned_link(charts: list[Chart], scene: Scene, epsilon: float) -> str:
    """The address of this very view: what the page chose by itself is written out too."""
    view = CHOICES.current()
    shipped = dict.fromkeys(run.key for runs in scene.chosen.values() for run in runs if run.job is None)
    own = dict.fromkeys(run.key for runs in scene.chosen.values() for run in runs if run.job is not None)
    query = CHOICES.query() | {"data": write_names(scene.data), "k": str(scene.k), "eps": f"{epsilon:g}"}
    query |= {"norm": str(scene.norm), "limits": str(scene.limit)}
    if view.methods is not None or not shipped:
        query["methods"] = write_names(tuple(shipped))
    query["runs"] = write_names(tuple(own))
    return link_to(query)


def _copy(charts: list[Chart], scene: Scene, epsilon: float) -> None:
    st.markdown("This link opens the same view in any browser that reaches this dashboard:")
    st.code(pinned_link(charts, scene, epsilon), language=None, wrap_lines=True)
    confidence = CONFIDENCE if CHOICES.current().band else None
    for chart in charts:
        upto = largest_radius(chart.lines)
        st.markdown(f"**{chart.title}.** These lines draw the chart from the stored radii:")
        st.code(stored_lines(chart, epsilon, upto, confidence), language="python")
        scratch = computed_lines(chart, epsilon)
        if scratch is None:
            st.caption("The rows come from a private file, so they cannot be computed again from a script.")
        else:
            st.markdown("And these compute its numbers from nothing, which may take long for learned metrics:")
            st.code(scratch, language="python")
