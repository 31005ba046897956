"""Figure 1: seven points, three metrics."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.figures import (
    plane_alt,
    plane_spec,
    radius_interval,
)
from arml_core.reproduce.plan import figure1
from arml_core.reproduce.published import METHODS
from arml_core.results import Evaluation
from arml_core.vocabulary import radius_near

from ..chart import show_chart
from ..plane_panel import SEVEN_POINTS, panel_of, points_of
from ..theme import current_style
from .choices import PaperView, value_or_first
from .downloads import show_downloads
from .row_detail import results_in, show_row
from .row_recomputation import RowToRecompute

TOY_QUERY = {"data": "seven_points", "methods": "euclidean~nca~arml", "k": "1", "norm": "l2", "row": "1"}
"""The playground's opening view in full: without parameters it would show what the visitor left there."""
TOY_METHODS = ("euclidean", "nca", "arml")
AT = np.array([0.25, 0.5, 1.0])
"""Radii at which a recomputed row is shown; the paper has none."""


def show_figure1(view: PaperView) -> None:
    """Seven points under three metrics, drawn now, with the radii that ship."""
    st.markdown(
        "Seven points of two classes. The paper's picture has no numbers and does not print its coordinates; ours is a "
        "layout on which the same happens: NCA pulls the boundary towards the points, ARML pushes it away."
    )
    points = points_of(SEVEN_POINTS)
    for learner, column in zip(TOY_METHODS, st.columns(3, gap="medium"), strict=True):
        with column:
            panel = panel_of(learner, SEVEN_POINTS, points)
            st.markdown(f"**{panel.title}**: radius of the chosen point {radius_interval(panel.probe)}")
            show_chart(
                plane_spec(panel.plane, current_style(), panel.probe, height=340, ellipse=False),
                key=f"paper_toy_{learner}",
                alt=plane_alt(panel.plane, panel.probe, panel.title),
            )
    st.caption("Look at the yellow disc: no point inside it gets another answer. The arrow is the smallest step out.")
    st.page_link(
        "pages/playground.py", label="Open exactly this in the playground", icon="➡️", query_params=dict(TOY_QUERY)
    )
    kept = {evaluation.run.learner: evaluation for evaluation in results_in("figure1")}
    st.markdown("**Exact leave-one-out radii of all seven points (1-NN), as shipped**")
    if not kept:
        st.info("Our results are not there yet. The command below computes them in seconds.", icon="ℹ️")
    else:
        frame = toy_table(kept)
        st.table(frame, border="horizontal", hide_index=True, alt="Radii of the seven points under three metrics")
        st.caption(
            "A radius of 0 is a point that its neighbours already answer wrongly. The table is "
            "trained with seed 42, the pictures with seed 0, as in the playground."
        )
    if "detail" not in view.hide:
        titles = {name: METHODS[name] for name in TOY_METHODS}
        method = value_or_first(view.method, titles)
        (step,) = [step for step in figure1() if step.learner == method]
        show_row("method", "Metric", titles, method, RowToRecompute(step, kept.get(method), AT))
    show_downloads(
        view,
        lambda: pd.DataFrame(
            [
                {"metric": METHODS[name], "point": row, "radius": radius, "right": bool(right)}
                for name, found in kept.items()
                for row, (radius, right) in enumerate(zip(found.radii.lower, found.radii.correct, strict=True))
            ],
            columns=["metric", "point", "radius", "right"],
        ),
        "paper-figure1",
        "python -m arml_core reproduce figure1",
        'from arml_core.results import FOLDER, shipped\n\nfor found in shipped(FOLDER / "figure1"):\n'
        "    print(found.run.learner, found.radii.lower)",
    )


def toy_table(kept: dict[str, Evaluation]) -> pd.DataFrame:
    """The radius of each of the seven points, which is exact, and their mean, to three digits."""
    there = [name for name in TOY_METHODS if name in kept]
    found = {"Metric": [METHODS[name] for name in there]}
    for row in range(len(kept[there[0]])):
        found[f"Point {row + 1}"] = [radius_near(float(kept[name].radii.lower[row])) for name in there]
    found["Mean"] = [f"**{radius_near(float(kept[name].radii.lower.mean()))}**" for name in there]
    return pd.DataFrame(found)
