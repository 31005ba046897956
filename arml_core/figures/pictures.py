"""Rows of image data as pictures: a strip of them, and a picture beside its adversarial twin and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..numerics.arrays import FloatArray
from .layout import as_figure, colour_bar
from .metric import signed_scale
from .palette import Style

MOST_TILES = 12
GAP = 0.06
TITLE = 22
TITLE_LINE = 15  # of each further line of a title
DIFFERENCE = "what changed"


def ink_scale(style: Style) -> list[list[Any]]:
    """From the paper to the ink: the largest value stands out in both themes."""
    return [[0.0, style.paper], [1.0, style.ink]]


def twin_figure(
    before: FloatArray,
    after: FloatArray,
    shape: tuple[int, int],
    style: Style,
    titles: tuple[str, str] = ("the row", "its twin"),
    *,
    height: int = 196,
) -> go.Figure:
    """Three pictures: a row, its adversarial twin, and the difference on a scale centred at 0.

    The first two share the greys of the row; where the twin goes beyond them it is drawn with the last one. The third
    has a scale of its own, because the change is small beside the picture.
    """
    low, high = _range(before)
    change = after - before
    reach = float(np.abs(change).max(initial=0.0)) or 1.0
    ink = {"zmin": low, "zmax": high, "colorscale": ink_scale(style), "showscale": False}
    bar = colour_bar(style, 10, 5) | {
        "lenmode": "pixels",
        "len": 136,
        "y": 1 - TITLE / height,
        "yanchor": "top",
        "ypad": 0,
    }
    signed = {"zmin": -reach, "zmax": reach, "colorscale": signed_scale(style), "colorbar": bar}
    pictures = [(before, titles[0], ink), (after, titles[1], ink), (change, DIFFERENCE, signed)]
    return _side_by_side(pictures, shape, style, height)


def strip_figure(
    rows: FloatArray,
    shape: tuple[int, int],
    style: Style,
    titles: Sequence[str],
    *,
    signed: bool = False,
    columns: int = 6,
    row_height: int = 132,
) -> go.Figure:
    """Small pictures in reading order on one common scale, each with its title above.

    A title in two lines (parted by "<br>") stays beside its neighbours in a narrow window, too.
    `signed` is for directions, where 0 is the colour of the paper; else the scale runs from the smallest value to the
    largest.
    """
    if len(rows) != len(titles):
        raise ValueError(f"{len(rows)} pictures need as many titles; got {len(titles)}")
    if signed:
        reach = float(np.abs(rows).max(initial=0.0)) or 1.0
        look: dict[str, Any] = {"zmin": -reach, "zmax": reach, "colorscale": signed_scale(style), "showscale": False}
    else:
        low, high = _range(rows)
        look = {"zmin": low, "zmax": high, "colorscale": ink_scale(style), "showscale": False}
    wide = min(columns, max(len(rows), 1))
    lines = int(np.ceil(len(rows) / wide))
    title_height = TITLE + TITLE_LINE * max((title.count("<br>") for title in titles), default=0)
    row_height += title_height - TITLE
    height = lines * row_height
    traces: list[dict[str, Any]] = []
    layout = _layout(style, height)
    for k, (row, title) in enumerate(zip(rows, titles, strict=True)):
        line, column = divmod(k, wide)
        across = [column / columns + GAP / 2 / columns, (column + 1) / columns - GAP / 2 / columns]
        along = [1 - ((line + 1) * row_height - 4) / height, 1 - (line * row_height + title_height) / height]
        _place(traces, layout, k, _picture(row, shape, title, look), across, along, title, style)
    return as_figure(traces, layout)


def picture_figure(
    values: FloatArray, shape: tuple[int, int], style: Style, title: str, *, height: int = 300
) -> go.Figure:
    """One picture with its scale, for a number per pixel that is never negative; 0 is the colour of the paper."""
    bar = colour_bar(style, 10, 5)
    scale = [[0.0, style.paper], [1.0, style.classes[2]]]
    high = float(values.max(initial=0.0)) or 1.0
    traces: list[dict[str, Any]] = []
    layout = _layout(style, height)
    look = {"zmin": 0.0, "zmax": high, "colorscale": scale, "colorbar": bar}
    _place(traces, layout, 0, _picture(values, shape, title, look), [0, 1], [0, 1], "", style)
    return as_figure(traces, layout)


def _side_by_side(
    pictures: Sequence[tuple[FloatArray, str, dict[str, Any]]], shape: tuple[int, int], style: Style, height: int
) -> go.Figure:
    n = len(pictures)
    traces: list[dict[str, Any]] = []
    layout = _layout(style, height)
    for k, (values, title, look) in enumerate(pictures):
        across = [k / n + GAP / 2 / n, (k + 1) / n - GAP / 2 / n]
        _place(traces, layout, k, _picture(values, shape, title, look), across, [0, 1 - TITLE / height], title, style)
    return as_figure(traces, layout)


def _picture(values: FloatArray, shape: tuple[int, int], title: str, look: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": title,
        "z": np.asarray(values, dtype=np.float64).reshape(shape),
        "hovertemplate": "row %{y}, column %{x}<br>%{z:.4g}<extra></extra>",
        **look,
    }


def _place(
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
    k: int,
    trace: dict[str, Any],
    across: list[float],
    along: list[float],
    title: str,
    style: Style,
) -> None:
    """Add a picture with axes of its own: square pixels, at the top of its place, and a title above it."""
    number = "" if k == 0 else str(k + 1)
    traces.append(trace | {"xaxis": f"x{number}", "yaxis": f"y{number}"})
    bare = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "linecolor": style.grid,
        "fixedrange": True,
        "constrain": "domain",
    }
    layout[f"xaxis{number}"] = {**bare, "domain": across, "anchor": f"y{number}"}
    layout[f"yaxis{number}"] = {
        **bare,
        "domain": along,
        "anchor": f"x{number}",
        "autorange": "reversed",
        "scaleanchor": f"x{number}",
        "constraintoward": "top",
    }
    if title:
        layout["annotations"].append(
            {
                "text": title,
                "x": sum(across) / 2,
                "y": along[1],
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"color": style.ink, "size": 13},
            }
        )


def _range(values: FloatArray) -> tuple[float, float]:
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return (low, high) if high > low else (low, low + 1.0)


def _layout(style: Style, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 2, "r": 2, "t": 2, "b": 2, "pad": 0},
        "annotations": [],
        "showlegend": False,
        **style.ground,
    }
