"""Training curves and the eigenvalues of a metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..numerics.arrays import FloatArray, IntArray
from ..vocabulary import number
from .layout import as_figure, axis
from .palette import Style

SMOOTHING = 0.05
MOST_DRAWN = 2000
SMOOTH, NOW = "smoothed", "now"


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
    steps = np.arange(1, len(radius) + 1)
    figure = progress_figure(steps, radius, style, y_title="mean radius", height=height, legend=False)
    if epoch is not None:
        at = min(max(epoch, 1), len(radius))
        figure.add_trace(_mark(NOW, at, float(smoothed(radius)[at - 1]), style))
    return figure


def progress_figure(
    steps: IntArray,
    values: FloatArray,
    style: Style,
    *,
    y_title: str,
    x_title: str = "epoch",
    height: int = 240,
    legend: bool = True,
) -> go.Figure:
    """A quantity that a training reports, raw (thin) and smoothed (thick), so far.

    Of a long training at most `MOST_DRAWN` steps are drawn, evenly chosen, the last one always.
    """
    at, shown = thinned(steps, values)
    thin, thick = {"color": style.muted, "width": 0.7}, {"color": style.classes[0], "width": 2.5}
    few = {"mode": "lines+markers", "marker": {"size": 6}} if len(at) < 3 else {"mode": "lines"}
    traces = [
        {"type": "scatter", **few, "name": f"each {x_title}", "x": at, "y": shown, "line": thin},
        {"type": "scatter", **few, "name": SMOOTH, "x": at, "y": smoothed(shown), "line": thick},
    ]
    layout = _layout(style, height, x_title, y_title, legend)
    return as_figure(traces, layout)


def thinned(steps: IntArray, values: FloatArray, most: int = MOST_DRAWN) -> tuple[IntArray, FloatArray]:
    """Evenly chosen steps with their values, never more than `most`, the first and the last among them."""
    if len(steps) <= most:
        return steps, values
    chosen = np.linspace(0, len(steps) - 1, most).astype(np.intp)
    return steps[chosen], values[chosen]


def eigenvalues_of(components: FloatArray) -> FloatArray:
    """All eigenvalues of M = GᵀG, descending: as many as there are features, zeros where G has fewer rows."""
    singular = np.linalg.svd(np.asarray(components, dtype=np.float64), compute_uv=False)
    padded = np.zeros(np.shape(components)[1])
    padded[: len(singular)] = np.square(singular)
    return padded


def spectrum_figure(
    eigenvalues: FloatArray, style: Style, before: tuple[str, FloatArray] | None = None, *, height: int = 240
) -> go.Figure:
    """The eigenvalues of M in descending order on a logarithmic scale, and dotted those of `before`, with its name.

    Zeros cannot be drawn on that scale and are left out.
    """
    traces = []
    if before is not None:
        dotted = {"color": style.muted, "width": 1.5, "dash": "dot"}
        traces.append(_spectrum(*before, {"mode": "lines", "line": dotted}))
    few = len(eigenvalues) <= 40
    look: dict[str, Any] = {"line": {"color": style.classes[2], "width": 2.5}, "mode": "lines"}
    if few:
        look |= {"mode": "lines+markers", "marker": {"symbol": "diamond", "size": 7, "color": style.classes[2]}}
    traces.append(_spectrum(NOW, eigenvalues, look))
    layout = _layout(style, height, "direction, the most stretched first", "eigenvalue of M", legend=len(traces) > 1)
    drawn = np.concatenate([trace["y"] for trace in traces])
    layout["yaxis"] |= {"type": "log", "exponentformat": "power", **_log_ticks(drawn)}
    if few:
        layout["xaxis"] |= {"dtick": 1 if len(eigenvalues) <= 12 else 5}
    return as_figure(traces, layout)


def history_table(steps: Mapping[str, IntArray], values: Mapping[str, FloatArray]) -> pd.DataFrame:
    """What a training reported: a row per step, a column per quantity, eigenvalues as `eigenvalue_1`, …"""
    columns: dict[str, pd.Series[Any]] = {}
    for name, found in values.items():
        index = pd.Index(steps[name], name="step")
        if found.ndim == 1:
            columns[name] = pd.Series(found, index=index)
            continue
        for k in range(found.shape[1]):
            columns[f"{name.removesuffix('s')}_{k + 1}"] = pd.Series(found[:, k], index=index)
    if not columns:
        return pd.DataFrame({"step": []})
    return pd.DataFrame(columns).sort_index().rename_axis("step").reset_index()


def progress_alt(what: str, steps: IntArray, values: FloatArray, x_title: str = "epoch") -> str:
    """Alternative text of a progress figure."""
    if len(values) == 0:
        return f"{what}: nothing was reported yet."
    smooth = smoothed(thinned(steps, values)[1])
    return (
        f"{what} over {len(values)} reports up to {x_title} {int(steps[-1])}, raw and smoothed: "
        f"smoothed from {number(float(smooth[0]))} to {number(float(smooth[-1]))}."
    )


def spectrum_alt(eigenvalues: FloatArray) -> str:
    """Alternative text of a spectrum figure."""
    positive = eigenvalues[eigenvalues > 0]
    if len(positive) == 0:
        return "The eigenvalues of M are all zero."
    return (
        f"{len(eigenvalues)} eigenvalues of M in descending order, from {number(float(positive[0]))} "
        f"to {number(float(positive[-1]))}; {len(eigenvalues) - len(positive)} are zero."
    )


def _spectrum(name: str, eigenvalues: FloatArray, look: Mapping[str, Any]) -> dict[str, Any]:
    drawn = np.asarray(eigenvalues, dtype=np.float64)
    keep = drawn > 0
    order = np.arange(1, len(drawn) + 1)
    return {"type": "scatter", "name": name, "x": order[keep], "y": drawn[keep], **look}


def _log_ticks(positive: FloatArray) -> dict[str, Any]:
    """Decades, or within few of them also 2 and 5, written out: plotly would write 0.5 as 5."""
    low, high = np.log10([positive.min(), positive.max()]) if len(positive) else (0.0, 0.0)
    if high - low >= 1.5:
        return {"dtick": float(np.ceil((high - low) / 6))}
    if 0 < high - low < 0.5:
        ticks = _round_numbers(10**low, 10**high)
        return {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    decades = range(int(np.floor(low)) - 1, int(np.ceil(high)) + 2)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)]
    return {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _round_numbers(low: float, high: float) -> list[float]:
    """Three to seven round numbers that reach over an interval."""
    power = 10.0 ** np.floor(np.log10((high - low) / 3))
    step = power * max(digit for digit in (1, 2, 5) if digit * power <= (high - low) / 2)
    first, last = int(np.floor(low / step)), int(np.ceil(high / step))
    return [float(f"{count * step:.6g}") for count in range(first, last + 1)]


def _mark(name: str, x: float, y: float, style: Style) -> dict[str, Any]:
    marker = {"symbol": "diamond", "size": 11, "color": style.ink}
    return {"type": "scatter", "mode": "markers", "name": name, "x": [x], "y": [y], "marker": marker}


def _layout(style: Style, height: int, x_title: str, y_title: str, legend: bool) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 52, "r": 8, "t": 28 if legend else 8, "b": 40, "pad": 0},
        "xaxis": axis(style, automargin=True, title={"text": x_title, "standoff": 6}),
        "yaxis": axis(style, automargin=True, title={"text": y_title, "standoff": 6}),
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
        **style.ground,
        "uirevision": "training",
    }
