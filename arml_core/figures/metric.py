"""One metric as pictures: M as a heatmap, its eigenvalues, the directions it stretches and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..metric import Metric
from ..numerics.arrays import FloatArray, IntArray
from ..vocabulary import number
from .certified_table import BARS_SHOWN
from .labels import as_label
from .layout import Trace, as_figure, axis, colour_bar, horizontal_bars, signed_marker
from .palette import Style
from .training import spectrum_figure

SHOWN_IN_FULL = 128
NEARLY_NOTHING = 1e-4
DECADES_FOR_LOG = 1.5
NAMES_LISTED = 8


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What M = GᵀG does: its eigenvalues (descending) with their directions as rows, and each feature's own weight.

    A step of length 1 along direction k counts as √eigenvalues[k]; along feature k alone as √weights[k].
    """

    metric: Metric
    eigenvalues: FloatArray
    directions: FloatArray
    weights: FloatArray

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @cached_property
    def matrix(self) -> FloatArray:
        """M."""
        return self.metric.matrix()

    @property
    def is_flat(self) -> bool:
        """Whether all directions count alike: the directions are then arbitrary."""
        return bool(self.eigenvalues[0] - self.eigenvalues[-1] <= 1e-12 * self.eigenvalues[0])

    @property
    def rank(self) -> int:
        """The number of eigenvalues that differ from 0 in floating point."""
        largest = float(self.eigenvalues[0])
        return int(np.count_nonzero(self.eigenvalues > self.n_features * np.finfo(np.float64).eps * largest))

    @property
    def nearly_ignored(self) -> int:
        """How many directions count less than a hundredth of the most stretched one, those of rank 0 included."""
        return int(np.count_nonzero(self.eigenvalues < NEARLY_NOTHING * self.eigenvalues[0]))

    @property
    def unweighted(self) -> IntArray:
        """The features that can change alone, however much, without any effect."""
        threshold = np.finfo(np.float64).eps * float(self.weights.max(initial=0.0))
        return np.flatnonzero(self.weights <= threshold)

    @property
    def decades(self) -> float:
        """Over how many powers of ten the eigenvalues spread that are not 0."""
        positive = self.eigenvalues[: max(self.rank, 1)]
        return float(np.log10(positive[0] / positive[-1])) if positive[-1] > 0 else 0.0


def anatomy(metric: Metric) -> Anatomy:
    """Take a metric apart. The directions of a diagonal metric are the features themselves."""
    if metric.is_diagonal:
        scales = np.square(np.diag(metric.components))
        order = np.argsort(-scales, kind="stable")
        return Anatomy(metric, scales[order], np.eye(len(scales))[order], scales)
    g = metric.components
    _, singular, directions = np.linalg.svd(g, full_matrices=True)
    eigenvalues = np.zeros(g.shape[1])
    eigenvalues[: len(singular)] = np.square(singular)
    largest = np.abs(directions).argmax(axis=1)  # the sign of a direction is free: its largest entry is positive
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return Anatomy(metric, eigenvalues, directions * signs[:, None], np.square(g).sum(axis=0))


def ignored_words(found: Anatomy, names: Sequence[str]) -> list[str]:
    """What a metric does not see, a sentence each; names come as plain text."""
    sentences = []
    if float(found.eigenvalues[0]) == 0.0:
        return ["M is zero: every point is as near as any other."]
    gone = found.unweighted
    if len(gone):
        listed = ", ".join(names[k] for k in gone[:NAMES_LISTED])
        more = f" and {len(gone) - NAMES_LISTED} more" if len(gone) > NAMES_LISTED else ""
        what = "One feature has" if len(gone) == 1 else f"{len(gone)} features have"
        sentences.append(f"{what} no weight and can change freely: {listed}{more}.")
    missing = found.n_features - found.rank
    if missing:
        what = "one direction" if missing == 1 else f"{missing} directions"
        sentences.append(
            f"{_start(what)} of {found.n_features} {'has' if missing == 1 else 'have'} eigenvalue 0 (numerical rank "
            f"{found.rank}): a step along {'it' if missing == 1 else 'them'} changes no distance."
        )
    faint = found.nearly_ignored - missing
    if faint > 0:
        more = " more" if missing else ""
        what = f"one{more} direction counts" if faint == 1 else f"{faint}{more} directions count"
        sentences.append(
            f"{_start(what)} less than a hundredth of the most stretched one: an attacker who must cross the "
            "boundary along them needs a very long step, and noise along them is forgiven."
        )
    if not sentences:
        sentences.append("Nothing: every direction counts at least a hundredth of the most stretched one.")
    return sentences


def block_edges(n_features: int, most: int = SHOWN_IN_FULL) -> IntArray:
    """Where the blocks begin that are averaged so that at most `most` remain; the last entry is the end."""
    return np.unique(np.linspace(0, n_features, min(n_features, most) + 1).astype(np.intp))


def in_blocks(matrix: FloatArray, most: int = SHOWN_IN_FULL) -> FloatArray:
    """The mean of each block, at most `most` × `most` of them; a small matrix comes back as it is."""
    edges = block_edges(len(matrix), most)
    starts, sizes = edges[:-1], np.diff(edges)
    sums = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    means: FloatArray = sums / np.outer(sizes, sizes)
    return means


def signed_scale(style: Style) -> list[list[Any]]:
    """Orange below 0, the paper at 0, blue above: for values whose sign matters."""
    return [[0.0, style.classes[1]], [0.5, style.paper], [1.0, style.classes[0]]]


def matrix_figure(matrix: FloatArray, names: Sequence[str], style: Style, *, height: int = 450) -> go.Figure:
    """M as a heatmap, 0 in the colour of the paper; more than 128 features are averaged over blocks."""
    shown = in_blocks(matrix)
    edges = block_edges(len(matrix))
    labels = block_names(names, edges)
    reach = float(np.abs(shown).max()) or 1.0
    few = len(labels) <= 40
    trace = {
        "type": "heatmap",
        "z": shown,
        "customdata": np.array([[f"{row} × {column}" for column in labels] for row in labels]),
        "zmin": -reach,
        "zmax": reach,
        "colorscale": signed_scale(style),
        "colorbar": colour_bar(style, 12, 6) | {"lenmode": "pixels", "len": 270, "y": 1, "yanchor": "top", "ypad": 0},
        "hovertemplate": "%{customdata}<br>%{z:.4g}<extra></extra>",
    }
    step = 1 if few else int(np.ceil(len(labels) / 16))
    ticks = list(range(0, len(labels), step))
    each = axis(style, grid=False, size=11, showgrid=False, constrain="domain", automargin=True)
    each |= {"tickvals": ticks, "ticktext": [as_label(labels[k], 16) for k in ticks]}
    layout = _layout(style, height)
    layout |= {
        "xaxis": {**each, "tickangle": -90},
        "yaxis": {**each, "autorange": "reversed", "scaleanchor": "x", "constraintoward": "top"},
    }
    return as_figure([trace], layout)


def block_names(names: Sequence[str], edges: IntArray) -> list[str]:
    """The name of each feature, or "first … last" of a block."""
    return [
        names[low] if high - low == 1 else f"{names[low]} … {names[high - 1]}" for low, high in pairwise(edges.tolist())
    ]


def matrix_alt(found: Anatomy, names: Sequence[str]) -> str:
    """Alternative text of the heatmap."""
    if found.is_flat:
        return f"M is {number(float(found.weights[0]))} times the identity: a diagonal line, nothing beside it."
    heaviest = int(found.weights.argmax())
    beside = found.matrix - np.diag(found.weights)
    i, j = divmod(int(np.abs(beside).argmax()), len(beside))
    words = f"M as a heatmap of {len(names)} features. The largest entry on the diagonal is {names[heaviest]}"
    words += f" with {number(float(found.weights[heaviest]))}"
    if beside[i, j] != 0:
        words += f"; beside it {names[i]} with {names[j]}, {number(float(beside[i, j]))}"
    return f"{words}."


def eigenvalue_figure(found: Anatomy, style: Style, *, height: int = 260) -> go.Figure:
    """The eigenvalues in descending order, on a logarithmic scale where they span decades."""
    figure = spectrum_figure(found.eigenvalues, style, height=height)
    if found.decades < DECADES_FOR_LOG:
        top = float(found.eigenvalues[0]) * 1.08 or 1.0
        figure.layout.yaxis = figure.layout.yaxis.to_plotly_json() | {
            "type": "linear",
            "tickmode": "auto",
            "dtick": None,
            "range": [0, top],
            "exponentformat": "none",
        }
    return figure


def eigenvalue_table(found: Anatomy) -> pd.DataFrame:
    """Every eigenvalue with how much a step of length 1 along its direction counts."""
    order = np.arange(1, len(found.eigenvalues) + 1)
    return pd.DataFrame(
        {"direction": order, "eigenvalue": found.eigenvalues, "stretch": np.sqrt(found.eigenvalues)},
    )


def direction_figure(direction: FloatArray, names: Sequence[str], style: Style) -> go.Figure:
    """The features with the largest share in a direction, signed: blue up, orange and hatched down."""
    order = np.argsort(-np.abs(direction), kind="stable")[:BARS_SHOWN]
    order = order[np.abs(direction[order]) > 0][::-1]
    shares = direction[order]
    bars = horizontal_bars(shares, [f"{share:+.2f}" for share in shares], signed_marker(shares, style), style)
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    low = -1.3 * reach if (shares < 0).any() else -0.03 * reach
    return _named_bars(bars, [names[k] for k in order], style, [low, 1.3 * reach], "share of the direction")


def weights_figure(weights: FloatArray, names: Sequence[str], style: Style) -> go.Figure:
    """The features that count most alone: the square roots of the diagonal of M."""
    counts = np.sqrt(weights)
    order = np.argsort(-counts, kind="stable")[:BARS_SHOWN][::-1]
    texts = [number(float(counts[k])) for k in order]
    bars = horizontal_bars(counts[order], texts, {"color": style.classes[2]}, style)
    span = [0, 1.25 * (float(counts.max(initial=0.0)) or 1.0)]
    return _named_bars(bars, [names[k] for k in order], style, span, "what a step of 1 counts")


def weights_table(weights: FloatArray, names: Sequence[str]) -> pd.DataFrame:
    """What a step of 1 along each feature alone counts, and its square, the entry on the diagonal of M."""
    return pd.DataFrame({"feature": list(names), "counts": np.sqrt(weights), "weight": weights})


def directions_table(found: Anatomy, names: Sequence[str]) -> pd.DataFrame:
    """A row per feature: its own weight, then its share in each direction, the most stretched first."""
    columns: dict[str, Any] = {"feature": list(names), "weight": found.weights}
    return pd.DataFrame(
        columns | {f"direction_{k + 1}": direction for k, direction in enumerate(found.directions)},
    )


def matrix_table(found: Anatomy, names: Sequence[str]) -> pd.DataFrame:
    """M with a row and a column per feature."""
    table = pd.DataFrame(found.matrix, columns=list(names))
    table.insert(0, "", list(names), allow_duplicates=True)
    return table


def _start(words: str) -> str:
    return words[:1].upper() + words[1:]


def _named_bars(bars: Trace, names: Sequence[str], style: Style, span: list[float], title: str) -> go.Figure:
    labels = [as_label(name) for name in names]
    bars |= {"customdata": labels, "hovertemplate": "%{customdata}: %{x:.4g}<extra></extra>"}
    layout = _layout(style, 84 + 24 * max(len(labels), 1))
    layout["xaxis"] = axis(style, range=span, title={"text": title, "standoff": 6}, nticks=6)
    layout["xaxis"] |= {"zeroline": True, "zerolinecolor": style.muted}
    layout["yaxis"] = axis(style, grid=False, showgrid=False, tickvals=bars["y"], ticktext=labels, automargin=True)
    layout["margin"] = {"l": 8, "r": 12, "t": 6, "b": 44, "pad": 4}
    return as_figure([bars], layout)


def _layout(style: Style, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0},
        "showlegend": False,
        **style.ground,
    }
