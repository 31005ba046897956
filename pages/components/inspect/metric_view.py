"""One metric: M as a heatmap, its eigenvalues, the directions it stretches, and what it ignores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.datasets import Dataset
from arml_core.figures import spectrum_alt
from arml_core.figures.certified_table import BARS_SHOWN
from arml_core.figures.metric import (
    SHOWN_IN_FULL,
    Anatomy,
    direction_figure,
    directions_table,
    eigenvalue_figure,
    eigenvalue_table,
    ignored_words,
    matrix_alt,
    matrix_figure,
    matrix_table,
    weights_figure,
    weights_table,
)
from arml_core.figures.pictures import picture_figure, strip_figure
from arml_core.vocabulary import number

from ..chart import show_chart
from ..csv_out import csv_button
from ..formula import show_formula
from ..markdown import escaped
from ..theme import current_style
from .choices import InspectView
from .sources import Source
from .study import PreparedSource

DIRECTIONS, PICTURES = 3, 6
FORMULA = r"""
The metric measures $d(x, x') = (x-x')^\top M\,(x-x')$ with $M = G^\top G$. Its eigenvectors $v_1, v_2, \dots$ are
directions at right angles, and its eigenvalues $\lambda_1 \ge \lambda_2 \ge \dots \ge 0$ say how much each counts: a
step of length 1 along $v_k$ is $\sqrt{\lambda_k}$ long for the metric. A step along feature $k$ alone counts
$\sqrt{M_{kk}}$, and $M_{kl} \neq 0$ says that features $k$ and $l$ are judged together: moving both the same way is
longer ($M_{kl} > 0$) or shorter ($M_{kl} < 0$) than the two moves apart.

The *numerical rank* counts the eigenvalues above $D \cdot 2^{-52} \lambda_1$; what is below cannot be told from 0.
"""


def show_metric(view: InspectView, source: Source, prepared: PreparedSource, found: Anatomy) -> None:
    """Everything about the metric."""
    data = prepared.data
    st.markdown(f"#### {escaped(source.title)} on {escaped(data.title)}")
    st.markdown(summary_words(found))
    left, right = st.columns([11, 9], gap="large")
    with left:
        _matrix(view, data, found)
    with right:
        _weights(view, data, found)
    _eigenvalues(view, data, found)
    _directions(view, data, found)
    st.markdown("**What it ignores**")
    for sentence in ignored_words(found, [escaped(name) for name in data.feature_names]):
        st.markdown(sentence)
    show_formula(FORMULA)


def summary_words(found: Anatomy) -> str:
    """The metric in two sentences."""
    largest, smallest = float(found.eigenvalues[0]), float(found.eigenvalues[-1])
    if found.is_flat:
        scale = "" if largest == 1.0 else f", {number(np.sqrt(largest))} times as long"
        return f"All {found.n_features} features and all directions count alike{scale}: the ordinary distance."
    ratio = np.sqrt(largest / smallest) if smallest > 0 and found.rank == found.n_features else np.inf
    words = f"{found.n_features} features, numerical rank {found.rank}. "
    if np.isfinite(ratio):
        times = f"{ratio:,.0f}" if ratio >= 100 else number(ratio)
        return f"{words}A step along the most stretched direction counts {times} times one along the least."
    return f"{words}Some directions do not count at all."


def _matrix(view: InspectView, data: Dataset, found: Anatomy) -> None:
    st.markdown("**The matrix M**")
    show_chart(
        matrix_figure(found.matrix, data.feature_names, current_style()),
        key="inspect_matrix",
        alt=matrix_alt(found, data.feature_names),
    )
    averaged = ""
    if data.n_features > SHOWN_IN_FULL:
        averaged = f" Each cell is the mean over a block: {data.n_features:,} features are too many to draw singly."
    st.caption(
        "The diagonal is what each feature counts alone. Beside it, blue: the two add up; orange: they cancel."
        + averaged
    )
    show_csv(view, "matrix", lambda: matrix_table(found, data.feature_names), data)


def _eigenvalues(view: InspectView, data: Dataset, found: Anatomy) -> None:
    st.markdown("**Eigenvalues**")
    show_chart(
        eigenvalue_figure(found, current_style()),
        key="inspect_eigenvalues",
        alt=spectrum_alt(found.eigenvalues),
    )
    zeros = int(np.count_nonzero(found.eigenvalues == 0))
    left_out = f" {zeros} that are 0 are not drawn." if zeros else ""
    st.caption(
        f"A flat line treats all directions alike; a steep one lets few decide. Numerical rank {found.rank} of "
        f"{found.n_features}.{left_out}"
    )
    show_csv(view, "eigenvalues", lambda: eigenvalue_table(found), data)


def _weights(view: InspectView, data: Dataset, found: Anatomy) -> None:
    st.markdown("**What each pixel counts**" if data.image_shape else "**What each feature counts**")
    heaviest = int(found.weights.argmax())
    counts = np.sqrt(found.weights)
    alt = (
        f"Each feature's own weight, from {number(float(counts.min()))} to {number(float(counts.max()))}; "
        f"the largest is {data.feature_names[heaviest]}."
    )
    if data.image_shape:
        figure = picture_figure(counts, data.image_shape, current_style(), "weight", height=400)
        caption = "The stronger the colour, the more a change of that pixel alone counts: √M on the diagonal."
    else:
        figure = weights_figure(found.weights, data.feature_names, current_style())
        drawn = f" The {BARS_SHOWN} largest of {data.n_features} are drawn." if data.n_features > BARS_SHOWN else ""
        caption = f"How long a change of this feature alone by 1 (scaled) is for the metric: √M on the diagonal.{drawn}"
    show_chart(figure, key="inspect_weights", alt=alt)
    st.caption(caption)
    show_csv(view, "weights", lambda: weights_table(found.weights, data.feature_names), data)


def _directions(view: InspectView, data: Dataset, found: Anatomy) -> None:
    st.markdown("**Most stretched directions**")
    if found.is_flat:
        st.markdown("None: all directions are stretched alike, so no direction stands out.")
        return
    if data.image_shape:
        _direction_pictures(data, found)
    else:
        _direction_bars(data, found)
    show_csv(view, "directions", lambda: directions_table(found, data.feature_names), data)


def _direction_pictures(data: Dataset, found: Anatomy) -> None:
    shown = found.directions[: min(PICTURES, found.rank)]
    titles = [f"{k}: {number(float(np.sqrt(found.eigenvalues[k - 1])))}" for k in range(1, len(shown) + 1)]
    assert data.image_shape is not None
    show_chart(
        strip_figure(shown, data.image_shape, current_style(), titles, signed=True, row_height=190),
        key="inspect_directions",
        alt=f"The {len(shown)} most stretched directions as pictures.",
    )
    st.caption(
        "A step that brightens the blue pixels and darkens the orange ones is the longest for the metric. Above each: "
        "how much a step of length 1 counts."
    )


def _direction_bars(data: Dataset, found: Anatomy) -> None:
    shown = min(DIRECTIONS, found.rank)
    for k, column in enumerate(st.columns(DIRECTIONS, gap="medium")[:shown]):
        with column:
            count = number(float(np.sqrt(found.eigenvalues[k])))
            st.markdown(f"Direction {k + 1}: a step of 1 counts {count}")
            direction = found.directions[k]
            top = np.argsort(-np.abs(direction), kind="stable")[:3]
            shares = ", ".join(f"{data.feature_names[j]} {direction[j]:+.2f}" for j in top)
            show_chart(
                direction_figure(direction, data.feature_names, current_style()),
                key=f"inspect_direction{k}",
                alt=f"Direction {k + 1}, mostly {shares}.",
            )
    drawn = f" The {BARS_SHOWN} largest of {data.n_features} are drawn." if data.n_features > BARS_SHOWN else ""
    st.caption(
        "Each direction mixes features: moving the blue ones up and the hatched ones down at once is what this metric "
        f"notices most.{drawn}"
    )


def show_csv(view: InspectView, what: str, table: Callable[[], pd.DataFrame], data: Dataset) -> None:
    """The numbers of a chart, every digit, safe in a spreadsheet."""
    if "csv" in view.hide:
        return
    csv_button(
        "CSV",
        table,
        file_name=f"{file_word(data.name or data.title)}-{what}.csv",
        key=f"inspect_csv_{what}",
        help=f"The numbers of this chart: {what}.",
    )


def file_word(text: str) -> str:
    """Letters, digits and dashes."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in words.split("-") if part)[:40] or "data"
