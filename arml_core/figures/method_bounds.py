"""What each method says about one point, from what is proved to what was reached: a bar each, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..vocabulary import METHOD_WORDS, radius_down, radius_near, radius_up
from .layout import as_figure, axis, bar_pattern, line_at
from .palette import Style

PROVED, REACHED = "proved safe", "an attack gets here"


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
        return METHOD_WORDS[self.method].full_title

    @property
    def proves(self) -> bool:
        return METHOD_WORDS[self.method].kind == "certificate"

    def describe(self) -> str:
        """The numbers in words, what is proved rounded down, what was found up, what is exact to the nearest."""
        if not self.proves:
            return radius_up(self.upper) if np.isfinite(self.upper) else "found nothing"
        if self.lower == np.inf:
            return "no step at all"
        if self.exact:
            return f"≈ {radius_near(self.lower)} (exact)"
        return radius_down(self.lower) + (f" … {radius_up(self.upper)}" if np.isfinite(self.upper) else "")


def method_bounds_figure(
    bounds: Sequence[MethodBound], style: Style, *, norm: str = "ℓ2", height: int | None = None
) -> go.Figure:
    """For each method a bar over what it proves and a hatched one over what it reached; what is left is open.

    A dotted line stands at the best proof and one at the best attack.
    """
    ends = [value for bound in bounds for value in (bound.lower, bound.upper) if np.isfinite(value)]
    right = 1.18 * max(ends, default=0.0) or 1.0
    rows = list(range(len(bounds)))[::-1]
    proved = [min(bound.lower, right) if bound.proves else 0.0 for bound in bounds]
    reached = [right - bound.upper if np.isfinite(bound.upper) else 0.0 for bound in bounds]
    words = [bound.describe() for bound in bounds]
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
            "base": [bound.upper if np.isfinite(bound.upper) else right for bound in bounds],
            "marker": {"color": style.classes[1], "pattern": bar_pattern("/", style)},
            "customdata": words,
            "hovertemplate": "%{customdata}<extra></extra>",
        },
    ]
    labels = [f"{bound.title}<br><b>{text}</b>" for bound, text in zip(bounds, words, strict=True)]
    layout: dict[str, Any] = {
        "height": height or 92 + 46 * len(bounds),
        "margin": {"l": 8, "r": 12, "t": 34, "b": 42, "pad": 4},
        "barmode": "overlay",
        "xaxis": axis(style, range=[0, right], title={"text": f"{norm} length of a step", "standoff": 6}, nticks=7),
        "yaxis": axis(style, grid=False, showgrid=False, range=[-0.6, len(bounds) - 0.4], automargin=True)
        | {"tickvals": rows, "ticktext": labels, "tickfont": {"color": style.ink}},
        "shapes": [line_at(value, style) for value in sorted({*best_bounds(bounds)}) if 0 < value < right],
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"color": style.ink}},
        **style.ground,
    }
    return as_figure(bars, layout)


def best_bounds(bounds: Sequence[MethodBound]) -> tuple[float, float]:
    """The highest proof and the lowest attack."""
    lower = max((bound.lower for bound in bounds if bound.proves), default=0.0)
    upper = min((bound.upper for bound in bounds), default=float("inf"))
    return lower, upper


def method_bounds_table(bounds: Sequence[MethodBound]) -> pd.DataFrame:
    """The chart as a table; an empty cell where a method says nothing."""
    return pd.DataFrame(
        {
            "method": [bound.method for bound in bounds],
            "lower": [bound.lower if bound.proves else np.nan for bound in bounds],
            "upper": [bound.upper if np.isfinite(bound.upper) else np.nan for bound in bounds],
            "promise": [METHOD_WORDS[bound.method].promise for bound in bounds],
        }
    )


def method_bounds_alt(bounds: Sequence[MethodBound], norm: str) -> str:
    """Alternative text of the chart."""
    return f"{norm} radius by method: " + "; ".join(f"{bound.title} {bound.describe()}" for bound in bounds) + "."
