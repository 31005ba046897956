"""The price of robustness: models by their clean error and their robust error at one radius."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ..curves import FrontPoint, on_front
from ..vocabulary import number, share_up
from .labels import as_label
from .layout import Trace, as_figure, axis
from .lines import colour_of, symbol_of
from .palette import LIGHT, Style

MARGIN = 0.08  # of the range of the errors, around them


def front_figure(points: Sequence[FrontPoint], style: Style = LIGHT, **look: Any) -> go.Figure:
    """:func:`front_spec` as a figure."""
    spec = front_spec(points, style, **look)
    return as_figure(spec["data"], spec["layout"])


def front_spec(
    points: Sequence[FrontPoint],
    style: Style = LIGHT,
    *,
    epsilon: float,
    norm: str = "ℓ2",
    height: int = 460,
    places: Mapping[str, int] | None = None,
) -> Trace:
    """A mark for each model: clean error to the right, robust error at ε upwards; nearer to the corner is better.

    Models of one method share colour and shape and are joined by a line in the order of their target radius. Filled
    marks are on the front: no other model has less of one error without more of the other. `places` choose colour and
    shape by label; by default they are counted.
    """
    labels = list(dict.fromkeys(point.label for point in points))
    best = dict(zip((id(point) for point in points), on_front(points), strict=True))
    traces = []
    for place, label in enumerate(labels):
        mine = sorted((p for p in points if p.label == label), key=lambda p: p.target_radius or 0.0)
        mark = place if places is None else places[label]
        colour, symbol = colour_of(style, mark), symbol_of(mark)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text" if len(mine) > 1 else "markers+text",
                "name": as_label(label, None),
                "x": [p.clean_error for p in mine],
                "y": [p.robust_error for p in mine],
                "text": [_size(p) for p in mine],
                "textposition": "top center",
                "textfont": {"color": style.ink, "size": 11},
                "customdata": [_hover(p, epsilon) for p in mine],
                "hovertemplate": "%{customdata}<extra></extra>",
                "line": {"color": colour, "width": 1.5, "dash": "dot"},
                "marker": {
                    "symbol": [symbol if best[id(p)] else f"{symbol}-open" for p in mine],
                    "color": colour,
                    "size": 12,
                    "line": {"color": colour, "width": 2},
                },
                "cliponaxis": False,
            }
        )
    return {"data": traces, "layout": _layout(points, style, epsilon, norm, height)}


def front_table(points: Sequence[FrontPoint]) -> pd.DataFrame:
    """A row for each model; the target radius is empty where there is none."""
    return pd.DataFrame(
        {
            "method": [p.label for p in points],
            "target radius": [p.target_radius for p in points],
            "references": [p.size for p in points],
            "clean error": [p.clean_error for p in points],
            "robust error": [p.robust_error for p in points],
            "points": [p.n_points for p in points],
            "on the front": on_front(points),
        }
    )


def front_alt(points: Sequence[FrontPoint], epsilon: float, norm: str = "ℓ2") -> str:
    """Alternative text: both errors of every model."""
    parts = [f"Clean error against robust error at ε = {epsilon:g} in {norm}:"]
    for point, best in zip(points, on_front(points), strict=True):
        target = "" if point.target_radius is None else f" for radius {number(point.target_radius)}"
        errors = f"{share_up(point.clean_error)} clean and {share_up(point.robust_error)} robust error"
        parts.append(f"{point.label}{target}, {point.size:,} references, {errors}{', on the front' if best else ''};")
    return " ".join(parts).rstrip(";") + "."


def _size(point: FrontPoint) -> str:
    return f"{point.size:,}"


def _hover(point: FrontPoint, epsilon: float) -> str:
    target = "" if point.target_radius is None else f", target radius {number(point.target_radius)}"
    return (
        f"{as_label(point.label, None)}{target}<br>{point.size:,} references<br>clean error {point.clean_error:.3f}<br>"
        f"robust error {point.robust_error:.3f} at ε = {epsilon:g} ({point.n_points:,} points)"
    )


def _layout(points: Sequence[FrontPoint], style: Style, epsilon: float, norm: str, height: int) -> Trace:
    title = {"font": {"color": style.muted, "size": 13}, "standoff": 6}
    return {
        "height": height,
        "margin": {"l": 52, "r": 12, "t": 24, "b": 44, "pad": 0},
        "xaxis": {
            **axis(style, size=12),
            "range": _range([p.clean_error for p in points]),
            "title": {"text": "clean error (share of points)", **title},
            "automargin": True,
        },
        "yaxis": {
            **axis(style, size=12),
            "range": _range([p.robust_error for p in points]),
            "title": {"text": f"robust error at ε = {epsilon:g} in {norm}", **title},
            "automargin": True,
        },
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "font": {"color": style.ink, "size": 12},
        },
        "hovermode": "closest",
        **style.ground,
    }


def _range(errors: Sequence[float]) -> list[float]:
    low, high = min(errors, default=0.0), max(errors, default=1.0)
    room = MARGIN * (high - low) or 0.02
    return [max(-0.005, low - room), min(1.005, high + 1.5 * room)]
