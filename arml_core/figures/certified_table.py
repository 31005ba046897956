"""The rows of a file as pictures: how robust they are, and what would flip one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..report import Change, Histogram
from ..vocabulary import VERDICTS
from .labels import as_label
from .layout import as_figure, axis, bar_pattern, horizontal_bars, line_at, signed_marker
from .palette import Style, verdict_colours

BARS_SHOWN, NAMED = 15, 5
"""How many features have a bar, and how many of them the words name."""
PATTERNS = {"certified": "", "undecided": "/", "attackable": "."}


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
    layout["shapes"] = [line_at(radius, style, width=2)]
    layout["xaxis"]["range"] = [0.0, max(float(histogram.edges[-1]), radius) * 1.03]
    return as_figure(bars, layout)


def histogram_table(histogram: Histogram) -> pd.DataFrame:
    """The bars as a table."""
    columns: dict[str, Any] = {"from": histogram.edges[:-1], "to": histogram.edges[1:]}
    return pd.DataFrame(columns | {name: histogram.counts[name] for name in VERDICTS})


def change_figure(changes: Sequence[Change], style: Style, *, height: int | None = None) -> go.Figure:
    """One bar a feature: how far it moves, in scaled units, so that different units can be compared."""
    shown = list(changes[:BARS_SHOWN])[::-1]
    steps = np.array([change.step for change in shown])
    texts = [f"{change.change:+.3g}" if change.step else "0" for change in shown]
    bars = horizontal_bars(steps, texts, signed_marker(steps, style), style) | {
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
        "tickvals": bars["y"],
        "ticktext": [as_label(change.feature) for change in shown],
    }
    layout["margin"]["l"] = 8
    return as_figure([bars], layout)


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


def _layout(style: Style, height: int, x_title: str, y_title: str) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 48, "r": 12, "t": 12, "b": 44, "pad": 2},
        "xaxis": axis(style, title={"text": x_title}),
        "yaxis": axis(style, title={"text": y_title}),
        "showlegend": False,
        **style.ground,
    }
