"""What the layouts of the charts share: axes, a line at a radius, bars that tell more from less, a colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..numerics.arrays import FloatArray
from .palette import Style

Trace = dict[str, Any]


def as_figure(traces: Sequence[Trace], layout: Trace) -> go.Figure:
    """A figure of dictionaries that are known to be right: what Plotly does not know is left out, not refused."""
    return go.Figure({"data": list(traces), "layout": layout}, skip_invalid=True)


def axis(style: Style, *, grid: bool = True, size: int | None = None, **more: Any) -> Trace:
    """An axis that cannot be dragged, with muted ticks and, if wanted, grid lines; `more` overrides all that."""
    font = {"color": style.muted} if size is None else {"color": style.muted, "size": size}
    lines = {"gridcolor": style.grid} if grid else {}
    return {"zeroline": False, "fixedrange": True, "tickfont": font, **lines, **more}


def line_at(radius: float, style: Style, *, width: float = 1.5, **more: Any) -> Trace:
    """A dotted vertical line through the whole chart."""
    line = {"color": style.ink, "width": width, "dash": "dot"}
    return {"type": "line", "x0": radius, "x1": radius, "y0": 0, "y1": 1, "yref": "paper", "line": line, **more}


def bar_pattern(shape: str | list[str], style: Style) -> Trace:
    """Thin marks in the background's colour on a bar that keeps its own."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": style.paper, "solidity": 0.25, "size": 7}


def signed_marker(values: FloatArray, style: Style) -> Trace:
    """Bars above 0 in one colour, the others in another one and hatched."""
    return {
        "color": [style.classes[0] if value > 0 else style.classes[1] for value in values],
        "pattern": bar_pattern(["" if value > 0 else "/" for value in values], style),
    }


def horizontal_bars(values: FloatArray, texts: Sequence[str], marker: Trace, style: Style) -> Trace:
    """A bar for each value from the bottom up, with its text at the end.

    The places are numbers, not names: two names that are cut alike would share a bar.
    """
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": np.arange(len(values)),
        "marker": marker,
        "text": list(texts),
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"color": style.ink},
    }


def colour_bar(style: Style, thickness: int, nticks: int) -> Trace:
    """The scale beside a heatmap."""
    font = {"color": style.muted, "size": 11}
    return {"thickness": thickness, "outlinewidth": 0, "tickfont": font, "xpad": 4, "nticks": nticks}
