"""Training curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..rounding import FloatArray
from .draw import FONT
from .palette import Style

SMOOTHING = 0.05


def smoothed(values: FloatArray, weight: float = SMOOTHING) -> FloatArray:
    """The exponential moving average, corrected for its start, so that the first value is the first value."""
    out = np.empty(len(values))
    average, mass = 0.0, 0.0
    for i, value in enumerate(np.asarray(values, dtype=np.float64)):
        average += weight * (value - average)
        mass += weight * (1.0 - mass)
        out[i] = average / mass
    return out


def training_table(loss: FloatArray, radius: FloatArray) -> pd.DataFrame:
    """The curves of a training, one row per epoch."""
    columns = {"epoch": np.arange(1, len(loss) + 1), "loss": loss, "radius": radius, "smoothed": smoothed(radius)}
    return pd.DataFrame(columns)


def training_figure(radius: FloatArray, style: Style, epoch: int | None = None, *, height: int = 220) -> go.Figure:
    """The mean triplet radius per epoch, raw (thin) and smoothed, with a mark at `epoch`."""
    epochs = np.arange(1, len(radius) + 1)
    smooth = smoothed(radius)
    thin, thick = {"color": style.muted, "width": 0.7}, {"color": style.classes[0], "width": 2.5}
    traces = [
        {"type": "scatter", "mode": "lines", "name": "each epoch", "x": epochs, "y": radius, "line": thin},
        {"type": "scatter", "mode": "lines", "name": "smoothed", "x": epochs, "y": smooth, "line": thick},
    ]
    if epoch is not None:
        at = min(max(epoch, 1), len(radius))
        marker = {"symbol": "diamond", "size": 11, "color": style.ink}
        traces.append(
            {"type": "scatter", "mode": "markers", "name": "now", "x": [at], "y": [smooth[at - 1]], "marker": marker}
        )
    axis = {"gridcolor": style.grid, "zeroline": False, "tickfont": {"color": style.muted}, "fixedrange": True}
    layout = {
        "height": height,
        "margin": {"l": 44, "r": 8, "t": 8, "b": 40, "pad": 0},
        "xaxis": {**axis, "title": {"text": "epoch"}},
        "yaxis": {**axis, "title": {"text": "mean radius"}},
        "showlegend": False,
        "dragmode": False,
        "plot_bgcolor": style.paper,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": style.muted},
        "template": "none",
    }
    return go.Figure({"data": traces, "layout": layout}, skip_invalid=True)
