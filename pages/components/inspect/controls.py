"""The Inspect page's controls. Each one changes the view; the script then draws the view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from arml_core.vocabulary import NORM_HELP, NORMS, norm_name

from ..address import keys_of
from .choices import CHOICES, PARTS, SECONDS, SHOWS, WANTS, InspectView
from .sources import EUCLIDEAN, Source, SourceCatalogue

HUNT = "inspect_hunt"


bound = keys_of("inspect")


def on_change(name: str, **also: Any) -> Callable[[], None]:
    """A callback that puts the widget's new value into the view, and `also` with it."""

    def change() -> None:
        st.session_state.pop(HUNT, None)
        CHOICES.update(**{name: st.session_state[f"inspect_{name}"]}, **also)

    return change


def sidebar(view: InspectView, source: Source, catalogue: SourceCatalogue) -> None:
    """Which metric, and what an attacker and the classifier may do."""
    if "data" not in view.hide:
        st.selectbox(
            "Dataset",
            list(catalogue.titles),
            format_func=catalogue.titles.__getitem__,
            key=bound("data", source.data),
            on_change=on_change("data", metric=EUCLIDEAN, row=0, part="test", seconds=SECONDS[0]),
            help="Everything that is on this machine: built in, the paper's sets, and your uploads.",
        )
    if "metric" not in view.hide:
        offered = catalogue.sources[source.data]
        st.selectbox(
            "Metric",
            list(offered),
            format_func=lambda key: offered[key].title,
            key=bound("metric", source.metric),
            on_change=on_change("metric", seconds=SECONDS[0]),
            help="Euclidean, what ships for this dataset, and what you trained or uploaded on the Train page.",
        )
        if len(offered) == 1:
            st.caption("Metrics you train or upload for this dataset on the Train page can be chosen here.")


def show_choice(view: InspectView) -> None:
    """Which of the two views."""
    if "show" not in view.hide:
        st.segmented_control(
            "What to look at",
            list(SHOWS),
            required=True,
            format_func=SHOWS.__getitem__,
            key=bound("show", view.show),
            on_change=on_change("show"),
            label_visibility="collapsed",
        )


def point_sidebar(view: InspectView, n_train: int, k: int) -> None:
    """K, norm, and whose answer is certified."""
    if "k" not in view.hide:
        most = max(1, min(99, n_train - 1))
        st.number_input(
            "Neighbours (K)",
            1,
            most,
            key=bound("k", k),
            on_change=on_change("k", seconds=SECONDS[0]),
            help="How many nearest training points vote. With K = 1 and ℓ2 the radius is known exactly.",
        )
    if "norm" not in view.hide:
        st.segmented_control(
            "Length of a step",
            list(NORMS),
            required=True,
            format_func=norm_name,
            key=bound("norm", view.norm),
            on_change=on_change("norm", seconds=SECONDS[0]),
            width="stretch",
            help=NORM_HELP,
        )
    if "own" not in view.hide:
        st.toggle(
            "Certify the answer itself",
            key=bound("own", view.own),
            on_change=on_change("own", seconds=SECONDS[0]),
            help="Off: a wrong answer has radius 0. On: how far until the answer changes, right or wrong.",
        )


def row_controls(view: InspectView, part: str, row: int, n_test: int, n_train: int) -> None:
    """Which row, and a way to another one."""
    if "row" in view.hide:
        return
    n = n_test if part == "test" else n_train
    with st.container(horizontal=True, vertical_alignment="bottom", key="inspect_rows"):
        parts = [name for name in PARTS if name == "train" or n_test]
        st.segmented_control(
            "From",
            parts,
            required=True,
            format_func=PARTS.__getitem__,
            key=bound("part", part),
            on_change=on_change("part", row=0, seconds=SECONDS[0]),
            help="A training row is certified without itself (leave-one-out): else it would be its own neighbour.",
        )
        st.number_input(
            f"Row, 0 to {n - 1:,}",
            0,
            n - 1,
            key=bound("row", row),
            on_change=on_change("row", seconds=SECONDS[0]),
            width=150,
        )
        st.button("Another one", key="inspect_another", on_click=_another, type="primary")
        st.selectbox(
            "Another one is",
            list(WANTS),
            format_func=WANTS.__getitem__,
            key=bound("want", view.want),
            on_change=on_change("want"),
            width=180,
        )


def _another() -> None:
    """Begin to look for the next row; the page takes it as soon as it is found."""
    st.session_state[HUNT] = True
