"""Robust-error curves: what is proved (solid), what an attack reached (dashed), and the open part between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..curves import dkw_band, robust_error
from ..numerics.arrays import FloatArray
from ..vocabulary import BOTH_CAPTION, EXACT_CAPTION, METHOD_WORDS, PROVED_CAPTION, REACHED_CAPTION, share_up
from .labels import as_label
from .layout import Trace, as_figure, axis, line_at
from .lines import (
    CERTIFIED,
    EMPIRICAL,
    RobustLine,
    colour_of,
    corners,
    largest_radius,
    mark_radii,
    staircase,
    symbol_of,
)
from .palette import LIGHT, Style, with_opacity

PAPER_CERTIFIED, PAPER_EMPIRICAL = "paper, certified", "paper, empirical"
CONFIDENCE = 0.95


def curves_figure(lines: Sequence[RobustLine], style: Style = LIGHT, **look: Any) -> go.Figure:
    """:func:`curves_spec` as a figure."""
    spec = curves_spec(lines, style, **look)
    return as_figure(spec["data"], spec["layout"])


def curves_spec(
    lines: Sequence[RobustLine],
    style: Style = LIGHT,
    *,
    epsilon: float | None = None,
    upto: float | None = None,
    confidence: float | None = None,
    norm: str = "ℓ2",
    height: int = 460,
    legend: bool = True,
) -> Trace:
    """Robust-error curves as data and layout, for pages that draw them often: Plotly's own checks cost more.

    Parameters
    ----------
    lines : what is drawn, one classifier each; all under the same threat model.
    style : the colours of the theme.
    epsilon : a radius to mark with a vertical line.
    upto : the largest radius shown; by default nearly all certified points have fallen there.
    confidence : draw a band that holds the curves of fresh points with this confidence (DKW); None for no band.
    norm : the name of the norm the radii are measured in, for the axis.
    height : in pixels.
    legend : whether the methods and line styles are explained below the chart.
    """
    reach = largest_radius(lines) if upto is None else float(upto)
    traces: list[Trace] = []
    for line in lines:
        if confidence is not None:
            traces += _confidence_band(line, style, reach, confidence)
    for line in lines:
        traces += _staircases(line, style, reach)
    for line in lines:
        traces += _marks(line, style, reach)
    if legend:
        traces += _legend_keys(lines, style, confidence)
    return {"data": traces, "layout": _layout(style, epsilon, reach, norm, height, legend)}


def curves_table(
    lines: Sequence[RobustLine], upto: float | None = None, confidence: float | None = None
) -> pd.DataFrame:
    """Every corner as a row: method, kind, where it comes from, points, radius, error, and the band if drawn.

    The error holds from its radius to the next one. All corners are here, also those of a curve that has so many that
    the figure leaves some out.
    """
    reach = largest_radius(lines) if upto is None else float(upto)
    frames = []
    for line in lines:
        for kind, radii, source in line.sides():
            radius, error = corners(radii, reach)
            frame = pd.DataFrame({"radius": radius, "error": error})
            if confidence is not None:
                frame["low"], frame["high"] = dkw_band(error, line.n_points, confidence)
            frames.append(_labelled(frame, line, kind, source))
        for kind, radius, error in _paper_values(line, reach):
            frames.append(_labelled(pd.DataFrame({"radius": radius, "error": error}), line, kind, "the paper"))
    return pd.concat(frames, ignore_index=True)


def curves_alt(lines: Sequence[RobustLine], epsilon: float, norm: str = "ℓ2") -> str:
    """Alternative text: the values at one radius, line by line."""
    parts = [f"Robust-error curves over the radius in {norm}; at ε = {epsilon:g}:"]
    for line in lines:
        sides = [f"{kind} error {share_up(float(robust_error(radii, epsilon)))}" for kind, radii, _ in line.sides()]
        if line.exact:
            sides = [text.replace("certified", "exact") for text in sides]
        parts.append(f"{line.name}, {' and '.join(sides)};")
    return " ".join(parts).rstrip(";") + "."


def curves_caption(lines: Sequence[RobustLine]) -> str:
    """What to look for, by what is drawn."""
    if all(line.exact for line in lines):
        return EXACT_CAPTION
    drawn = {kind for line in lines for kind, _, _ in line.sides()}
    if CERTIFIED not in drawn:
        return REACHED_CAPTION
    return BOTH_CAPTION if EMPIRICAL in drawn else PROVED_CAPTION


def _staircases(line: RobustLine, style: Style, upto: float) -> list[Trace]:
    """The dashed line first: the solid one then fills the band down to it."""
    colour = colour_of(style, line.place)
    traces = []
    sides = {kind: (radii, source) for kind, radii, source in line.sides()}
    for kind in (EMPIRICAL, CERTIFIED):
        if kind not in sides:
            continue
        radii, source = sides[kind]
        radius, error = staircase(radii, upto, kind)
        words = "exact" if line.exact else kind
        trace = _curve(line, kind, radius, error) | {
            "meta": source,
            "line": {"color": colour, "width": 2.5, "shape": "hv", "dash": "dash" if kind == EMPIRICAL else "solid"},
            "hovertemplate": f"{as_label(line.name, None)}: {words} error %{{y:.3f}} at ε = %{{x:.4g}}<extra></extra>",
        }
        if kind == CERTIFIED and EMPIRICAL in sides:
            trace |= {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.13)}
        traces.append(trace)
    return traces


def _confidence_band(line: RobustLine, style: Style, upto: float, confidence: float) -> list[Trace]:
    """From below the lowest curve to above the highest: it holds the true curve of fresh points."""
    sides = [radii for _, radii, _ in line.sides()]
    top, bottom = staircase(sides[0], upto, CERTIFIED), staircase(sides[-1], upto, EMPIRICAL)
    low = (bottom[0], dkw_band(bottom[1], line.n_points, confidence)[0])
    high = (top[0], dkw_band(top[1], line.n_points, confidence)[1])
    look = {"line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    fill = {"fill": "tonexty", "fillcolor": with_opacity(colour_of(style, line.place), 0.1)}
    return [_curve(line, "confidence, low", *low) | look, _curve(line, "confidence, high", *high) | look | fill]


def _curve(line: RobustLine, kind: str, radius: FloatArray, error: FloatArray) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{as_label(line.label, None)}, {kind}",
        "legendgroup": line.label,
        "showlegend": False,
        "x": radius,
        "y": error,
    }


def _marks(line: RobustLine, style: Style, upto: float) -> list[Trace]:
    """Filled markers on the curves, open ones for the paper's values, at the same radii."""
    colour, symbol = colour_of(style, line.place), symbol_of(line.place)
    at = mark_radii([line], upto)
    traces = []
    for kind, radii, _ in line.sides():
        marker = {"symbol": symbol, "color": colour, "size": 7, "line": {"color": style.paper, "width": 0.5}}
        trace = _curve(line, f"{kind}, markers", at, robust_error(radii, at))
        traces.append(trace | {"mode": "markers", "marker": marker, "hoverinfo": "skip", "cliponaxis": False})
    for kind, radius, error in _paper_values(line, upto):
        marker = {"symbol": f"{symbol}-open", "color": colour, "size": 14, "line": {"width": 2}}
        whose, side = as_label(line.label, None), kind.split(", ")[1]
        template = f"{whose} in the paper: {side} error %{{y:.3f}} at ε = %{{x:g}}<extra></extra>"
        trace = _curve(line, kind, radius, error)
        traces.append(trace | {"mode": "markers", "marker": marker, "hovertemplate": template, "cliponaxis": False})
    return traces


def _paper_values(line: RobustLine, upto: float) -> Iterable[tuple[str, FloatArray, FloatArray]]:
    if line.paper_radii is None:
        return
    for kind, values in ((PAPER_CERTIFIED, line.paper_certified), (PAPER_EMPIRICAL, line.paper_empirical)):
        if values is not None:
            shown = line.paper_radii <= upto
            yield kind, line.paper_radii[shown], np.asarray(values)[shown]


def _labelled(frame: pd.DataFrame, line: RobustLine, kind: str, source: str) -> pd.DataFrame:
    frame.insert(0, "method", line.label)
    frame.insert(1, "kind", "exact" if line.exact and kind == CERTIFIED else kind)
    frame.insert(2, "from", source)
    frame.insert(3, "points", line.n_points)
    return frame


def _legend_keys(lines: Sequence[RobustLine], style: Style, confidence: float | None) -> list[Trace]:
    """One entry per method, then one for each line style with the certificate or attack behind it."""
    keys: list[Trace] = []

    def key(name: str, mode: str, group: str = "", **look: Any) -> None:
        keys.append(
            {"type": "scatter", "x": [None], "y": [None], "name": name, "mode": mode, "hoverinfo": "skip"}
            | ({"legendgroup": group} if group else {"legendgroup": f"key {len(keys)}"})
            | look
        )

    for line in lines:
        colour = colour_of(style, line.place)
        marker = {"symbol": symbol_of(line.place), "color": colour, "size": 9}
        key(as_label(line.name, None), "lines+markers", line.label, line={"color": colour, "width": 2.5}, marker=marker)
    sources = _sources(lines)
    for (kind, source), labels in sources.items():
        if source and all(label.startswith(source) for label in labels):
            continue  # the line's own name says it
        dash = "dash" if kind == EMPIRICAL else "solid"
        whose = "" if len(labels) == len(lines) or len(sources) <= 2 else f" ({as_label(', '.join(labels), None)})"
        verb = {CERTIFIED: "proved", "exact": "exact", EMPIRICAL: "reached"}[kind]
        words = "exact radii" if source == METHOD_WORDS["exact"].title else f"{verb}: {source or kind}"
        key(f"{words}{whose}", "lines", line={"color": style.muted, "width": 2.5, "dash": dash})
    if any(line.certified is not None and line.empirical is not None and not line.exact for line in lines):
        key("between: undecided", "markers", marker={"symbol": "square", "size": 12, "color": _faint(style, 0.25)})
    if confidence is not None:
        name = f"outer band: {confidence:.0%} confidence"
        key(name, "markers", marker={"symbol": "square", "size": 12, "color": _faint(style, 0.12)})
    if any(line.paper_certified is not None or line.paper_empirical is not None for line in lines):
        marker = {"symbol": "circle-open", "size": 12, "color": style.muted, "line": {"width": 2}}
        key("the paper's values", "markers", marker=marker)
    return keys


def _faint(style: Style, opacity: float) -> str:
    return with_opacity(style.muted, opacity)


def _sources(lines: Sequence[RobustLine]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        for kind, _, source in line.sides():
            shown = "exact" if line.exact and kind == CERTIFIED else kind
            found.setdefault((shown, source), []).append(line.label)
    return found


def _layout(style: Style, epsilon: float | None, upto: float, norm: str, height: int, legend: bool) -> Trace:
    title = {"font": {"color": style.muted, "size": 13}, "standoff": 6}
    mark: Trace = {}
    if epsilon is not None:
        mark["shapes"] = [line_at(epsilon, style, layer="below")]
        mark["annotations"] = [
            {
                "x": epsilon,
                "y": 1.0,
                "yref": "paper",
                "yanchor": "bottom",
                "text": f"ε = {epsilon:g}",
                "showarrow": False,
                "font": {"color": style.ink, "size": 13},
            }
        ]
    return {
        "height": height,
        "margin": {"l": 52, "r": 12, "t": 24, "b": 44, "pad": 0},
        "xaxis": {
            **axis(style, size=12),
            "range": [-0.012 * upto, 1.012 * upto],
            "title": {"text": f"radius ε in {norm}", **title},
            "nticks": 8,
            "automargin": True,
        },
        "yaxis": {
            **axis(style, size=12),
            "range": [-0.015, 1.015],
            "title": {"text": "robust error (share of points)", **title},
            "dtick": 0.2,
        },
        "showlegend": legend,
        "legend": {
            "orientation": "h",
            "yref": "container",  # at the bottom, however many rows it has: it never meets the axis title
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "font": {"color": style.ink, "size": 12},
            "groupclick": "togglegroup",
            "itemwidth": 34,
        },
        "hovermode": "closest",
        **style.ground,
        **mark,
    }
