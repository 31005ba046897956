"""Our numbers against the paper's: on the diagonal they are the same."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from .layout import as_figure, axis
from .lines import colour_of, symbol_of
from .palette import LIGHT, Style


def agreement_figure(rows: pd.DataFrame, style: Style = LIGHT, *, height: int = 440) -> go.Figure:
    """A point for each number, a colour and marker for each metric.

    `rows` has the columns metric, dataset, paper column, radius, paper and ours; those without ours are left out.
    """
    there = rows[rows["ours"].notna()]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "the same",
            "x": [0, 1],
            "y": [0, 1],
            "line": {"color": style.muted, "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for place, metric in enumerate(dict.fromkeys(rows["metric"])):
        own = there[there["metric"] == metric]
        if own.empty:
            continue
        colour = colour_of(style, place)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": metric,
                "x": own["paper"].tolist(),
                "y": own["ours"].tolist(),
                "customdata": own[["dataset", "paper column", "radius"]].to_numpy(dtype=object).tolist(),
                "marker": {
                    "symbol": f"{symbol_of(place)}-open",
                    "size": 8,
                    "color": colour,
                    "line": {"width": 1.6, "color": colour},
                },
                "hovertemplate": f"{metric} on %{{customdata[0]}}, %{{customdata[1]}}, ε = %{{customdata[2]:g}}<br>"
                "paper %{x:.3f}, ours %{y:.3f}<extra></extra>",
            }
        )
    each = axis(style, size=12, range=[-0.02, 1.02])
    layout = {
        "height": height,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 84},
        "xaxis": {**each, "title": {"text": "the paper's robust error", "font": {"color": style.ink, "size": 13}}},
        "yaxis": {**each, "title": {"text": "ours", "font": {"color": style.ink, "size": 13}}},
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "font": {"color": style.ink, "size": 12}},
        **style.ground,
    }
    return as_figure(traces, layout)


def agreement_alt(rows: pd.DataFrame) -> str:
    """Alternative text: how many numbers lie how close to the diagonal."""
    difference = (rows["ours"] - rows["paper"]).dropna().abs()
    if difference.empty:
        return "No number of ours is there yet."
    return (
        f"{len(difference)} robust errors, ours over the paper's: {(difference <= 0.0105).mean():.0%} differ by at "
        f"most 0.01, the largest difference is {difference.max():.3f}."
    )
