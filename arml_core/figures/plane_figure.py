"""Plotly figures of a :class:`~arml_core.figures.decision_plane.Plane`, with or without a certificate on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..metric import Metric
from ..numerics.arrays import FloatArray
from .decision_plane import LabelledPlaces, Plane, Probe
from .layout import Trace, axis
from .palette import SHAPES, Style, with_opacity
from .shapes import ball_outline, metric_ellipse, metric_glyph

BOUNDARY, CERTIFIED, UPPER, ARROW = "decision boundary", "certified radius", "attack radius", "adversarial point"
NEIGHBOURS, EQUAL, GLYPH, SELECTED = "deciding neighbours", "equally far", "unit ellipse", "your point"
VOTING, LEFT_OUT, PROTOTYPES = "neighbours that vote", "left out", "prototypes"
OVERLAY = "overlay"
"""`meta` of a trace that follows the visitor's choices: a page may draw it by itself and leave the rest as it is."""
PLANE = "plane"
"""`meta` of the layout: what is drawn is a plane at equal scale, and nothing but."""
PROTOTYPE_SIZE, SMALL = 18, 8
FADED = 0.55  # of training points that do not vote themselves, because prototypes do
AROUND_CROSS = 8  # a hollow point is this much larger than the others: the cross of the chosen point lies on it


def plane_figure(plane: Plane, style: Style, probe: Probe | None = None, **look: Any) -> go.Figure:
    """:func:`plane_spec` as a figure."""
    return go.Figure(plane_spec(plane, style, probe, **look))


def plane_spec(
    plane: Plane,
    style: Style,
    probe: Probe | None = None,
    *,
    height: int = 440,
    ellipse: bool = True,
    neighbours: bool = True,
    legend: bool = False,
) -> Trace:
    """Regions, boundary, training points and prototypes; with a probe also its certified ball, attack and neighbours.

    Data and layout, for pages that draw them often: Plotly's own checks cost more than all the rest. Whatever depends
    on the metric, the probe or the row left out is in the regions, in traces marked as OVERLAY, and in the annotations.
    """
    below = [_glyph(plane, style)] if ellipse else []
    above = [_left_out_point(plane, style)] if plane.left_out is not None else []
    above += [_prototypes(plane.prototypes, style)] if plane.prototypes is not None else []
    if probe is not None:
        below += [_equally_far(plane.metric, probe, style)] if ellipse else []
        below += _balls(probe, style)
        below += [_neighbour_lines(plane, probe, style)] if neighbours else []
        above += [_voting_points(plane, probe, style), *_probe_marks(probe, style)]
    traces = [*_regions(plane, style), *_overlaid(below), *_training_points(plane, style), *_overlaid(above)]
    for trace in traces:
        trace["showlegend"] = legend and trace.get("showlegend", True) and trace["name"] != GLYPH
    return {"data": traces, "layout": _layout(plane, probe, style, height, legend)}


def _overlaid(traces: list[Trace]) -> list[Trace]:
    return [{**trace, "meta": OVERLAY} for trace in traces]


def _shown_classes(plane: Plane) -> list[int]:
    """The classes that win somewhere; where all points coincide nobody does, and the earliest row decides."""
    winning = [code for code in range(len(plane.class_names)) if (plane.margin[code] > 0).any()]
    return winning or [int(plane.codes[1 if plane.left_out == 0 else 0])]


def _ground(plane: Plane, style: Style) -> Trace:
    """All that was computed, in the colour of the first class: the regions of the others lie on it."""
    return {
        "type": "rect",
        "layer": "below",
        "x0": plane.x1[0],
        "x1": plane.x1[-1],
        "y0": plane.x2[0],
        "y1": plane.x2[-1],
        "fillcolor": style.region(_shown_classes(plane)[0]),
        "line": {"width": 0},
    }


def _regions(plane: Plane, style: Style) -> list[Trace]:
    """One filled contour per class but the first, where its margin is positive, bounded by the contour at 0.

    Plotly shades what a constraint excludes. Every boundary of the first class is one of another class too.
    """
    others = _shown_classes(plane)[1:]
    return [
        {
            "type": "contour",
            "name": BOUNDARY,
            "meta": plane.class_names[code],
            "x": plane.x1,
            "y": plane.x2,
            "z": plane.margin[code].astype(np.float32),
            "contours": {"type": "constraint", "operation": "<", "value": 0.0},
            "fillcolor": style.region(code),
            "line": {"width": 2, "color": style.ink, "smoothing": 0},
            "hoverinfo": "skip",
            "showscale": False,
            "showlegend": code == others[0],
        }
        for code in others
    ]


def _outline(points: FloatArray, name: str, **look: Any) -> Trace:
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines",
        "x": points[:, 0],
        "y": points[:, 1],
        "hoverinfo": "skip",
        **look,
    }


def _balls(probe: Probe, style: Style) -> list[Trace]:
    """The ball nothing can leave to flip the answer (solid), and the larger one an attack reached (dashed)."""
    balls = []
    if probe.lower > 0 and np.isfinite(probe.lower):
        fill = with_opacity(style.certified, 0.6)
        outline = ball_outline(probe.point, probe.lower, probe.norm)
        balls.append(
            _outline(outline, CERTIFIED, line={"color": style.ink, "width": 2.5}, fill="toself", fillcolor=fill)
        )
    if not probe.exact and probe.adversarial is not None:
        outline = ball_outline(probe.point, probe.upper, probe.norm)
        balls.append(_outline(outline, UPPER, line={"color": style.ink, "width": 1.5, "dash": "dash"}))
    return balls


def _equally_far(metric: Metric, probe: Probe, style: Style) -> Trace:
    outline = metric_ellipse(metric, probe.point, probe.reach)
    return _outline(outline, EQUAL, line={"color": style.muted, "width": 1.5, "dash": "dot"})


def _glyph(plane: Plane, style: Style) -> Trace:
    (left, _), (bottom, _) = plane.window.ranges()
    size = 0.15 * min(plane.window.half)
    centre = np.array([left + 1.35 * size, bottom + 1.35 * size])
    outline = metric_glyph(plane.metric, centre, size)
    return _outline(
        outline,
        GLYPH,
        line={"color": style.ink, "width": 1.5, "dash": "dot"},
        fill="toself",
        fillcolor=with_opacity(style.paper, 0.7),
    )


def _neighbour_lines(plane: Plane, probe: Probe, style: Style) -> Trace:
    """A thin line from the point to each neighbour that votes."""
    ends = plane.voters[0][list(probe.neighbours)]
    gap = np.full(len(ends), np.nan)
    across = np.column_stack([np.full(len(ends), probe.point[0]), ends[:, 0], gap]).ravel()
    along = np.column_stack([np.full(len(ends), probe.point[1]), ends[:, 1], gap]).ravel()
    return _outline(np.column_stack([across, along]), NEIGHBOURS, line={"color": style.muted, "width": 1.5})


def _training_points(plane: Plane, style: Style) -> list[Trace]:
    """One trace per class, so that each has its colour and its shape; `customdata` is the training row.

    Where prototypes vote, the points are smaller and fainter.
    """
    fainter = plane.prototypes is not None
    colours = [with_opacity(colour, FADED) if fainter else colour for colour in style.classes]
    traces: list[Trace] = []
    for code, name in enumerate(plane.class_names):
        rows = np.flatnonzero(plane.codes == code)
        traces.append(
            {
                "type": "scatter",
                "name": name,
                "mode": "markers",
                "x": plane.points[rows, 0],
                "y": plane.points[rows, 1],
                "customdata": rows.tolist(),
                "marker": {
                    "symbol": SHAPES[code],
                    "color": colours[code],
                    "opacity": 1.0,
                    "size": _marker_size(plane),
                    "line": {"color": style.paper, "width": 1},
                },
                "hovertemplate": f"{name}, row %{{customdata}}<br>x1 = %{{x:.3g}}, x2 = %{{y:.3g}}<extra></extra>",
            }
        )
    return traces


def _left_out_point(plane: Plane, style: Style) -> Trace:
    """The training point without which the regions were computed, drawn hollow over itself."""
    assert plane.left_out is not None
    (x, y), code = plane.points[plane.left_out], int(plane.codes[plane.left_out])
    return {
        "type": "scatter",
        "name": LEFT_OUT,
        "mode": "markers",
        "x": [x],
        "y": [y],
        "marker": {
            "symbol": SHAPES[code],
            "color": style.paper,
            "opacity": 1.0,
            "size": _marker_size(plane) + AROUND_CROSS,
            "line": {"color": style.classes[code], "width": 2},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _prototypes(prototypes: LabelledPlaces, style: Style) -> Trace:
    """The learned points, larger than any training point and with an edge, in the shape and colour of their class."""
    return _voters(prototypes, style, PROTOTYPES, size=PROTOTYPE_SIZE, edge=2.0) | {"showlegend": True}


def _marker_size(plane: Plane) -> int:
    size = 13 if len(plane.points) <= 30 else 10 if len(plane.points) <= 90 else 8
    return size if plane.prototypes is None else min(size, SMALL)


def _voting_points(plane: Plane, probe: Probe, style: Style) -> Trace:
    """The neighbours once more, larger and with a strong edge."""
    (places, codes), rows = plane.voters, list(probe.neighbours)
    size = _marker_size(plane) if plane.prototypes is None else PROTOTYPE_SIZE
    return _voters((places[rows], codes[rows]), style, VOTING, size=size + 4, edge=3.0)


def _voters(shown: LabelledPlaces, style: Style, name: str, *, size: int, edge: float) -> Trace:
    places, codes = shown
    return {
        "type": "scatter",
        "name": name,
        "mode": "markers",
        "x": places[:, 0],
        "y": places[:, 1],
        "marker": {
            "symbol": [SHAPES[code] for code in codes],
            "color": [style.classes[code] for code in codes],
            "opacity": 1.0,
            "size": size,
            "line": {"color": style.ink, "width": edge},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _probe_marks(probe: Probe, style: Style) -> list[Trace]:
    def mark(name: str, point: FloatArray, **marker: Any) -> Trace:
        return {
            "type": "scatter",
            "name": name,
            "mode": "markers",
            "x": [point[0]],
            "y": [point[1]],
            "marker": marker,
            "hoverinfo": "skip",
        }

    edge = {"color": style.paper, "width": 1.5}
    marks = [mark(SELECTED, probe.point, symbol="cross", color=style.ink, size=12, line=edge)]
    if probe.adversarial is not None:
        marks.append(mark(ARROW, probe.adversarial, symbol="x", color=style.attack, size=10, line=edge))
    return marks


def _arrow(probe: Probe, style: Style) -> Trace:
    assert probe.adversarial is not None
    return {
        "x": probe.adversarial[0],
        "y": probe.adversarial[1],
        "ax": probe.point[0],
        "ay": probe.point[1],
        "xref": "x",
        "yref": "y",
        "axref": "x",
        "ayref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 3,
        "arrowsize": 1.1,
        "arrowwidth": 2.5,
        "arrowcolor": style.attack,
        "standoff": 6,
    }


def _layout(plane: Plane, probe: Probe | None, style: Style, height: int, legend: bool) -> Trace:
    across, along = plane.window.ranges()
    framed = axis(style, grid=False, size=12) | {
        "showgrid": False,
        "showline": True,
        "mirror": True,
        "linecolor": style.grid,
        "nticks": 6,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": style.grid,
    }
    title = {"font": {"color": style.muted, "size": 13}, "standoff": 4}
    return {
        "meta": PLANE,
        "height": height,
        "margin": {"l": 44, "r": 8, "t": 8, "b": 40, "pad": 0},
        "xaxis": {**framed, "range": across, "title": {"text": "x1", **title}},
        "yaxis": {**framed, "range": along, "title": {"text": "x2", **title}, "scaleanchor": "x"},
        **style.ground,
        "hovermode": "closest",
        "showlegend": legend,
        "legend": {"orientation": "h", "y": -0.14, "yanchor": "top", "font": {"color": style.ink}},
        "shapes": [_ground(plane, style)],
        "annotations": [_arrow(probe, style)] if probe is not None and probe.adversarial is not None else [],
    }
