"""The trail from what is proved about a point to what was reached: one row per method, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from .certified_table import bar_pattern
from .palette import Style
from .words import radius_down, radius_near, radius_up

PROVED, REACHED = "proved safe", "an attack gets here"
PROMISES = {
    "theorem1": ("Theorem 1", "The paper's certificate, from pairs of neighbours: proved, often too modest."),
    "votes": ("Votes", "Counts who would have to win or lose a vote: proved, at least as far as Theorem 1."),
    "search": ("Search", "Tries cases in order until time is up: proved up to its left end, reached at its right end."),
    "exact": ("Exact", "Solved to the end (one neighbour, ℓ2): proved and reached meet."),
    "whitebox": ("White-box attack", "A step that was tried and changes the answer: the truth is not above it."),
}


@dataclass(frozen=True)
class MethodBound:
    """What one method says about a point: nothing below `lower` changes the answer, a step of `upper` does.

    A certificate that proves the lower side only has `upper` = inf; an attack has `lower` = 0. `exact` as in
    `Certificates`: both sides are the same but for rounding.
    """

    method: str
    lower: float
    upper: float
    exact: bool = False

    @property
    def title(self) -> str:
        return PROMISES[self.method][0]

    @property
    def proves(self) -> bool:
        return self.method != "whitebox"

    def describe(self) -> str:
        """The numbers in words, what is proved rounded down, what was found up, what is exact to the nearest."""
        if not self.proves:
            return radius_up(self.upper) if np.isfinite(self.upper) else "found nothing"
        if self.lower == np.inf:
            return "no step at all"
        if self.exact:
            return f"≈ {radius_near(self.lower)} (exact)"
        return radius_down(self.lower) + (f" … {radius_up(self.upper)}" if np.isfinite(self.upper) else "")


def trail_figure(
    marks: Sequence[MethodBound], style: Style, *, norm: str = "ℓ2", height: int | None = None
) -> go.Figure:
    """For each method a bar over what it proves and a hatched one over what it reached; what is left is open.

    A dotted line stands at the best proof and one at the best attack.
    """
    ends = [value for mark in marks for value in (mark.lower, mark.upper) if np.isfinite(value)]
    right = 1.18 * max(ends, default=0.0) or 1.0
    rows = list(range(len(marks)))[::-1]
    proved = [min(mark.lower, right) if mark.proves else 0.0 for mark in marks]
    reached = [right - mark.upper if np.isfinite(mark.upper) else 0.0 for mark in marks]
    words = [mark.describe() for mark in marks]
    common = {"type": "bar", "orientation": "h", "y": rows, "width": 0.62}
    bars = [
        {
            **common,
            "name": PROVED,
            "x": proved,
            "base": 0.0,
            "marker": {"color": style.classes[0]},
            "customdata": words,
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        {
            **common,
            "name": REACHED,
            "x": reached,
            "base": [mark.upper if np.isfinite(mark.upper) else right for mark in marks],
            "marker": {"color": style.classes[1], "pattern": bar_pattern("/", style)},
            "customdata": words,
            "hovertemplate": "%{customdata}<extra></extra>",
        },
    ]
    axis = {"tickfont": {"color": style.muted}, "fixedrange": True, "zeroline": False}
    labels = [f"{mark.title}<br><b>{text}</b>" for mark, text in zip(marks, words, strict=True)]
    layout: dict[str, Any] = {
        "height": height or 92 + 46 * len(marks),
        "margin": {"l": 8, "r": 12, "t": 34, "b": 42, "pad": 4},
        "barmode": "overlay",
        "xaxis": {
            **axis,
            "range": [0, right],
            "title": {"text": f"{norm} length of a step", "standoff": 6},
            "gridcolor": style.grid,
            "nticks": 7,
        },
        "yaxis": {
            **axis,
            "tickvals": rows,
            "ticktext": labels,
            "range": [-0.6, len(marks) - 0.4],
            "automargin": True,
            "showgrid": False,
            "tickfont": {"color": style.ink},
        },
        "shapes": [_line(value, style) for value in sorted({*best(marks)}) if 0 < value < right],
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"color": style.ink}},
        **style.ground,
    }
    return go.Figure({"data": bars, "layout": layout}, skip_invalid=True)


def best(marks: Sequence[MethodBound]) -> tuple[float, float]:
    """The highest proof and the lowest attack."""
    lower = max((mark.lower for mark in marks if mark.proves), default=0.0)
    upper = min((mark.upper for mark in marks), default=float("inf"))
    return lower, upper


def trail_table(marks: Sequence[MethodBound]) -> pd.DataFrame:
    """The chart as a table; an empty cell where a method says nothing."""
    return pd.DataFrame(
        {
            "method": [mark.method for mark in marks],
            "lower": [mark.lower if mark.proves else np.nan for mark in marks],
            "upper": [mark.upper if np.isfinite(mark.upper) else np.nan for mark in marks],
            "promise": [PROMISES[mark.method][1] for mark in marks],
        }
    )


def trail_alt(marks: Sequence[MethodBound], norm: str) -> str:
    """Alternative text of the trail."""
    return f"{norm} radius by method: " + "; ".join(f"{mark.title} {mark.describe()}" for mark in marks) + "."


def _line(value: float, style: Style) -> dict[str, Any]:
    line = {"color": style.ink, "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper", "line": line}
