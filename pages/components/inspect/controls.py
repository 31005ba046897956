"""The Inspect page's controls. Each one changes the view; the script then draws the view."""

from __future__ import annotations

from typing import Any

import streamlit as st

from arml_core.learners.registry import Gives
from arml_core.vocabulary import NORM_HELP, NORMS, norm_name

from ..bound_widgets import BoundWidgets
from .choices import CHOICES, PARTS, SECONDS, SHOWS, WANTS, InspectView
from .sources import EUCLIDEAN, Source, SourceCatalogue

FINDING_ROW = "inspect_finding_row"


def _update(**changes: Any) -> None:
    """Change the view; a row that is looked for meanwhile is not asked for any more."""
    st.session_state.pop(FINDING_ROW, None)
    CHOICES.update(**changes)


WIDGETS = BoundWidgets("inspect", _update)
SHORTEST = {"seconds": SECONDS[0]}
"""Another question begins with the shortest search."""


def sidebar(view: InspectView, source: Source, catalogue: SourceCatalogue) -> None:
    """Which metric, and what an attacker and the classifier may do."""
    if "data" not in view.hide:
        WIDGETS.selectbox(
            "Dataset",
            "data",
            source.data,
            catalogue.titles,
            {"metric": EUCLIDEAN, "row": 0, "part": "test", "of": 0, "ref": None, **SHORTEST},
            help="Everything that is on this machine: built in, the paper's sets, and your uploads.",
        )
    if "metric" not in view.hide:
        offered = {key: found.title for key, found in catalogue.sources[source.data].items()}
        WIDGETS.selectbox(
            "Model",
            "metric",
            source.metric,
            offered,
            {"ref": None, **SHORTEST},
            help="Euclidean, what ships for this dataset, and the metrics and prototypes you trained or uploaded on "
            "the Train page.",
        )
        if len(offered) == 1:
            st.caption(
                "Metrics and prototypes you train or upload for this dataset on the Train page can be chosen here."
            )


def show_choice(view: InspectView, gives: Gives) -> str:
    """Which of the views; returns the one that is shown. Only learned references have one of their own."""
    offered = {show: title for show, title in SHOWS.items() if show != "references" or gives != "metric"}
    if gives == "rows":
        offered["references"] = "The kept rows"
    show = view.show if view.show in offered else "point"
    if "show" not in view.hide:
        WIDGETS.segmented_control("What to look at", "show", show, offered, label_visibility="collapsed")
    return show


def point_sidebar(view: InspectView, n_voters: int, k: int, voter: str) -> None:
    """K, norm, and whose answer is certified."""
    if "k" not in view.hide:
        st.number_input(
            "Neighbours (K)",
            1,
            max(1, min(99, n_voters - (voter != "prototype"))),
            **WIDGETS.bind("k", k, also=SHORTEST),
            help=f"How many nearest {voter}s vote. With K = 1 and ℓ2 the radius is known exactly.",
        )
    if "norm" not in view.hide:
        WIDGETS.segmented_control(
            "Length of a step",
            "norm",
            view.norm,
            {name: norm_name(name) for name in NORMS},
            SHORTEST,
            width="stretch",
            help=NORM_HELP,
        )
    if "own" not in view.hide:
        st.toggle(
            "Certify the answer itself",
            **WIDGETS.bind("own", view.own, also=SHORTEST),
            help="Off: a wrong answer has radius 0. On: how far until the answer changes, right or wrong.",
        )


def row_controls(view: InspectView, part: str, row: int, n_test: int, n_train: int) -> None:
    """Which row, and a way to another one."""
    if "row" in view.hide:
        return
    n = n_test if part == "test" else n_train
    with st.container(horizontal=True, vertical_alignment="bottom", key="inspect_rows"):
        WIDGETS.segmented_control(
            "From",
            "part",
            part,
            {name: title for name, title in PARTS.items() if name == "train" or n_test},
            {"row": 0, **SHORTEST},
            help="A training row is certified without itself (leave-one-out): else it would be its own neighbour.",
        )
        st.number_input(f"Row, 0 to {n - 1:,}", 0, n - 1, **WIDGETS.bind("row", row, also=SHORTEST), width=150)
        st.button("Another one", key="inspect_another", on_click=_another, type="primary")
        WIDGETS.selectbox("Another one is", "want", view.want, WANTS, width=180)


def _another() -> None:
    """Begin to look for the next row; the page takes it as soon as it is found."""
    st.session_state[FINDING_ROW] = True
