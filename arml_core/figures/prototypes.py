"""References of image data as pictures: a line for each class, side by side on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from .labels import as_label
from .layout import as_figure, axis
from .palette import Style
from .pictures import ink_scale

MOST_IN_CLASS = 10
TILE = 46
"""Height of a picture on the screen, in pixels."""
MARGIN = 8
_GREYS = 255


def prototypes_figure(
    points: NDArray[np.floating],
    labels: NDArray[Any],
    shape: tuple[int, int],
    style: Style,
    names: Sequence[str],
    most: int = MOST_IN_CLASS,
) -> go.Figure:
    """The first `most` references of each class as pictures, a line a class, all in the same 256 greys.

    `labels` are places in `names`. A class that has no reference has an empty line.
    """
    (high, wide), gap = shape, max(1, round(shape[0] / 14))
    shown = [np.flatnonzero(labels == code)[:most] for code in range(len(names))]
    across = max(map(len, shown), default=0)
    canvas = np.zeros((len(names) * (high + gap) - gap, max(across, 1) * (wide + gap) - gap), dtype=np.uint8)
    low, top = float(points.min(initial=np.inf)), float(points.max(initial=-np.inf))
    scale = _GREYS / (top - low) if top > low else 0.0
    for line, rows in enumerate(shown):
        for column, row in enumerate(rows):
            y, x = line * (high + gap), column * (wide + gap)
            picture = np.rint((points[row] - low) * scale).astype(np.uint8).reshape(shape)
            canvas[y : y + high, x : x + wide] = picture
    trace = {
        "type": "heatmap",
        "name": "prototypes",
        "z": canvas,
        "zmin": 0,
        "zmax": _GREYS,
        "colorscale": ink_scale(style),
        "showscale": False,
        "hoverinfo": "skip",
    }
    bare: dict[str, Any] = {"showgrid": False, "ticks": "", "constrain": "domain"}
    middles = [line * (high + gap) + (high - 1) / 2 for line in range(len(names))]
    layout = {
        "height": len(names) * TILE + 2 * MARGIN,
        "margin": {"l": 8, "r": 8, "t": MARGIN, "b": MARGIN, "pad": 4},
        "xaxis": axis(style, **bare, showticklabels=False, constraintoward="left"),
        "yaxis": axis(style, **bare, automargin=True, scaleanchor="x", constraintoward="top")
        | {"autorange": "reversed", "tickvals": middles, "ticktext": [as_label(name, 16) for name in names]}
        | {"tickfont": {"color": style.ink}},
        **style.ground,
        "uirevision": "prototypes",
    }
    return as_figure([trace], layout)


def prototypes_alt(labels: NDArray[Any], names: Sequence[str], most: int = MOST_IN_CLASS) -> str:
    """Alternative text of the pictures."""
    counts = [int(np.sum(labels == code)) for code in range(len(names))]
    each = ", ".join(f"{name} {min(count, most)} of {count}" for name, count in zip(names, counts, strict=True))
    return f"References as pictures, a line for each class: {each}."


def references_table(
    points: NDArray[np.floating], labels: NDArray[Any], features: Sequence[str], names: Sequence[str]
) -> pd.DataFrame:
    """A row per reference: its class and its features."""
    table = pd.DataFrame(np.asarray(points, dtype=np.float64), columns=list(features))
    table.insert(0, "class", [names[int(label)] for label in labels], allow_duplicates=True)
    return table
