"""The rows of a file as pictures: how robust they are, and what would flip one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..report import VERDICTS, Change, Histogram
from .labels import as_label
from .palette import Style

BARS_SHOWN, NAMED = 15, 5
"""How many features have a bar, and how many of them the words name."""
PATTERNS = {"certified": "", "undecided": "/", "attackable": "."}


def verdict_colours(style: Style) -> dict[str, str]:
    """One colour a verdict; the histogram adds a pattern to each."""
    return {"certified": style.classes[0], "undecided": style.muted, "attackable": style.classes[1]}


def radius_figure(histogram: Histogram, radius: float, style: Style, *, height: int = 280) -> go.Figure:
    """Row counts over the proven radius, stacked by verdict, with a line at ε."""
    centres = (histogram.edges[:-1] + histogram.edges[1:]) / 2
    span = [f"{low:.3g} to {high:.3g}" for low, high in zip(histogram.edges[:-1], histogram.edges[1:], strict=True)]
    colours = verdict_colours(style)
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": centres,
            "y": histogram.counts[name],
            "width": float(histogram.edges[1] - histogram.edges[0]) * 0.92,
            "marker": {
                "color": colours[name],
                "pattern": bar_pattern(PATTERNS[name], style),
            },
            "customdata": span,
            "hovertemplate": f"%{{y}} {name}, radius %{{customdata}}<extra></extra>",
        }
        for name in reversed(VERDICTS)
    ]
    layout = _layout(style, height, "proven radius", "rows")
    layout |= {"barmode": "stack", "showlegend": True, "legend": {"orientation": "h", "y": 1.16, "x": 0}}
    layout["shapes"] = [_line_at(radius, style)]
    layout["xaxis"]["range"] = [0.0, max(float(histogram.edges[-1]), radius) * 1.03]
    return go.Figure({"data": bars, "layout": layout}, skip_invalid=True)


def histogram_table(histogram: Histogram) -> pd.DataFrame:
    """The bars as a table."""
    columns: dict[str, Any] = {"from": histogram.edges[:-1], "to": histogram.edges[1:]}
    return pd.DataFrame(columns | {name: histogram.counts[name] for name in VERDICTS})


def change_figure(changes: Sequence[Change], style: Style, *, height: int | None = None) -> go.Figure:
    """One bar a feature: how far it moves, in scaled units, so that different units can be compared."""
    shown = list(changes[:BARS_SHOWN])[::-1]
    steps = np.array([change.step for change in shown])
    colours = [style.classes[0] if step > 0 else style.classes[1] for step in steps]
    patterns = ["" if step > 0 else "/" for step in steps]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": steps,
        "y": np.arange(len(shown)),
        "marker": {"color": colours, "pattern": bar_pattern(patterns, style)},
        "text": [f"{change.change:+.3g}" if change.step else "0" for change in shown],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"color": style.ink},
        "customdata": [[as_label(c.feature, None), f"{c.before:.6g}", f"{c.after:.6g}"] for c in shown],
        "hovertemplate": "%{customdata[0]}: %{customdata[1]} → %{customdata[2]}<extra></extra>",
    }
    layout = _layout(style, height or 90 + 26 * len(shown), "change, in scaled units", "")
    reach = float(np.abs(steps).max()) if len(steps) and np.abs(steps).max() > 0 else 1.0
    low = -1.35 * reach if (steps < 0).any() else -0.05 * reach
    high = 1.35 * reach if (steps > 0).any() else 0.05 * reach
    layout["xaxis"] |= {"range": [low, high], "zeroline": True, "zerolinecolor": style.ink}
    layout["yaxis"] |= {
        "automargin": True,
        "tickvals": np.arange(len(shown)),  # not the names: two that are cut alike would share a bar
        "ticktext": [as_label(change.feature) for change in shown],
    }
    layout["margin"]["l"] = 8
    return go.Figure({"data": [bars], "layout": layout}, skip_invalid=True)


def change_alt(changes: Sequence[Change], opening: str) -> str:
    """The largest moves of :func:`change_figure` in words, after an opening such as "What flips this row"."""
    moves = [f"{c.feature} from {c.before:.5g} to {c.after:.5g}" for c in changes[:NAMED] if c.step]
    return f"{opening}: {', '.join(moves)}"


def changes_table(changes: Sequence[Change]) -> pd.DataFrame:
    """Before and after, feature by feature; `alone` is what a single feature may move without reaching the radius."""
    return pd.DataFrame(
        {
            "feature": [change.feature for change in changes],
            "before": [change.before for change in changes],
            "after": [change.after for change in changes],
            "change": [change.change for change in changes],
            "scaled change": [change.step for change in changes],
            "safe alone": [change.alone for change in changes],
        }
    )


def bar_pattern(shape: str | list[str], style: Style) -> dict[str, Any]:
    """Thin marks in the background's colour on a bar that keeps its own."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": style.paper, "solidity": 0.25, "size": 7}


def _line_at(radius: float, style: Style) -> dict[str, Any]:
    line = {"color": style.ink, "width": 2, "dash": "dot"}
    return {"type": "line", "x0": radius, "x1": radius, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _layout(style: Style, height: int, x_title: str, y_title: str) -> dict[str, Any]:
    axis = {"gridcolor": style.grid, "zeroline": False, "tickfont": {"color": style.muted}, "fixedrange": True}
    return {
        "height": height,
        "margin": {"l": 48, "r": 12, "t": 12, "b": 44, "pad": 2},
        "xaxis": {**axis, "title": {"text": x_title}},
        "yaxis": {**axis, "title": {"text": y_title}},
        "showlegend": False,
        **style.ground,
    }
