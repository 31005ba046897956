"""The pictures of the playground, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from arml_core.figures import plane_alt, plane_spec, probe_words, radius_interval, training_figure, training_table
from arml_core.vocabulary import MEAN_RULE

from ..chart import show_chart, wait_for_drawing
from ..csv_out import csv_button
from ..on_demand import on_demand
from ..plane_panel import (
    EPOCH_STEP,
    EPOCHS,
    SEARCH_SECONDS,
    Panel,
    Points,
    arml_training,
    panel_of,
    points_of,
)
from ..theme import current_style
from . import session
from .controls import WIDGETS, method_picker
from .view import PlaygroundView

PLAYING, LONGER, PICKERS = "pg_playing", "pg_longer_for", "pg_pickers"
LONGER_SECONDS = 3.0
TICK_SECONDS, TICK_EPOCHS = 0.4, 50
HEIGHTS = {2: 440, 3: 330, 4: 380}
LESSON_HEIGHT = 350
MEAN_HELP = (
    "The mean radius over all training points, each certified without itself. "
    f"Exact for K = 1 and ℓ2, otherwise the proven lower bounds. {MEAN_RULE} A training does not see this number: ARML "
    "enlarges a bound on the radii of its training points, for neighbours drawn at random, and on points that the "
    "Euclidean metric suits already there may be nothing to gain."
)


@dataclass
class _Deferred:
    """What is shown once all pictures are on their way: the browser draws them while the rest is sent.

    The means over all points come last, they take longer than any picture. When a fragment runs on its own there are
    no other pictures, and nothing waits.
    """

    soon: list[Callable[[], None]] | None = field(default_factory=list)
    last: list[Callable[[], None]] | None = field(default_factory=list)

    def show(self, place: DeltaGenerator, panel: Panel) -> None:
        """The words about a picture, and the mean over all points, at their place."""
        _do(self.soon, lambda: self._words(place, panel))

    def show_picker(self, place: DeltaGenerator, view: PlaygroundView, index: int) -> None:
        """At once where there was none before: a picture that is there must not be pushed down."""

        def show() -> None:
            with place:
                method_picker(view, index)

        if st.session_state.get(PICKERS) == len(view.methods):
            _do(self.soon, show)
        else:
            show()

    def finish(self) -> None:
        for queue in ("soon", "last"):
            waiting = getattr(self, queue)
            setattr(self, queue, None)
            for action in waiting or []:
                action()

    def _words(self, place: DeltaGenerator, panel: Panel) -> None:
        mine, everyone = place.columns(2)
        mine.metric("Radius here", radius_interval(panel.probe))
        place.markdown(probe_words(panel.plane, panel.probe))
        _do(self.last, lambda: _show_mean(everyone, panel))


def _do(waiting: list[Callable[[], None]] | None, action: Callable[[], None]) -> None:
    if waiting is None:
        action()
    else:
        waiting.append(action)


def _show_mean(place: DeltaGenerator, panel: Panel) -> None:
    place.metric("Mean of all", radius_interval(panel.mean_radius), help=MEAN_HELP)


def show_panels(view: PlaygroundView, points: Points, stayed: bool) -> list[Panel | None]:
    """Draw every panel; a method that cannot be fitted says why in its place. `stayed`: there were panels before."""
    count = len(view.methods)
    if not stayed:
        st.session_state.pop(PICKERS, None)
    shown: list[Panel | None] = []
    later = _Deferred()
    per_line = 2 if count == 4 else count
    for first in range(0, count, per_line):
        columns = st.columns(min(per_line, count - first), gap="medium")
        for index, column in enumerate(columns, start=first):
            with column:
                shown.append(_show_panel(view, points, index, later))
    wait_for_drawing()
    later.finish()
    st.session_state[PICKERS] = count
    return shown


def search_seconds(view: PlaygroundView) -> float:
    """Seconds to search for each radius: longer if the visitor asked for it on this very view."""
    return LONGER_SECONDS if st.session_state.get(LONGER) == view else SEARCH_SECONDS


def show_search_longer(view: PlaygroundView, panels: list[Panel | None]) -> None:
    """Where an interval is still open, offer to go on."""
    still_open = any(panel is not None and not panel.probe.exact for panel in panels)
    if still_open and search_seconds(view) == SEARCH_SECONDS:
        st.button(
            f"Search longer ({LONGER_SECONDS:.0f} s a picture)",
            key="pg_longer",
            on_click=lambda: st.session_state.update({LONGER: view}),
            help="The radius lies between the two numbers. More time narrows the interval, often to one number.",
        )


def _show_panel(view: PlaygroundView, points: Points, index: int, later: _Deferred) -> Panel | None:
    later.show_picker(st.container(), view, index)
    if view.methods[index] == "arml" and index == view.methods.index("arml"):
        playing = st.session_state.get(PLAYING, False)
        st.fragment(_arml_panel, run_every=TICK_SECONDS if playing else None)(index, later)
        return _panel_or_reason(view, points, index, quiet=True)
    panel = _panel_or_reason(view, points, index)
    if panel is not None:
        _draw(panel, view, index, later)
    return panel


def _panel_or_reason(view: PlaygroundView, points: Points, index: int, quiet: bool = False) -> Panel | None:
    try:
        return panel_of(view.methods[index], view, points, search_seconds(view))
    except (ValueError, FloatingPointError) as reason:
        if not quiet:
            st.warning(f"This method cannot be fitted to these points: {reason}")
        return None


def _draw(panel: Panel, view: PlaygroundView, index: int, later: _Deferred) -> None:
    """The picture and its words."""
    figure = plane_spec(
        panel.plane,
        current_style(),
        panel.probe,
        height=min(HEIGHTS[len(view.methods)], LESSON_HEIGHT if view.lesson else 1000),
        ellipse="ellipse" in view.layers,
        neighbours="neighbours" in view.layers,
    )
    show_chart(figure, key=f"pg_chart{index}", alt=plane_alt(panel.plane, panel.probe, panel.title))
    later.show(st.container(), panel)


def _arml_panel(index: int, later: _Deferred) -> None:
    """ARML's panel, on its own so that playing its training redraws nothing else."""
    view = session.current()
    if st.session_state.get(PLAYING):
        _advance()
        view = session.current()
    points = points_of(view)
    panel = _panel_or_reason(view, points, index)
    if panel is None:
        st.session_state[PLAYING] = False
        return
    _draw(panel, view, index, later)
    if "epoch" not in view.hide:
        _training_controls(view, points)
    if not st.session_state.get(PLAYING):
        session.publish()


def _advance() -> None:
    epoch = min(EPOCHS, session.current().epoch + TICK_EPOCHS)
    session.update(epoch=epoch)
    if epoch == EPOCHS:
        st.session_state[PLAYING] = False
        st.rerun()


def _training_controls(view: PlaygroundView, points: Points) -> None:
    playing = st.session_state.get(PLAYING, False)
    with st.container(horizontal=True, vertical_alignment="bottom", key="pg_training"):
        if st.button("Pause" if playing else "Play", key="pg_play"):
            _toggle_play()
        st.slider(
            "Epoch of ARML's training",
            0,
            EPOCHS,
            step=EPOCH_STEP,
            **WIDGETS.bind("epoch", view.epoch),
        )
    on_demand("ARML's training curve", "pg_open_curve", lambda: _training_curve(view, points))


def _training_curve(view: PlaygroundView, points: Points) -> None:
    training = arml_training(points.X, points.y)
    show_chart(
        training_figure(training.radius, current_style(), view.epoch),
        key="pg_curve",
        alt=f"The mean radius of ARML's training triplets over {EPOCHS} epochs; the mark is at epoch {view.epoch}.",
    )
    st.caption("Look for the flat end: more epochs would change little.")
    csv_button(
        "Curve as CSV",
        lambda: training_table(training.loss, training.radius),
        file_name="arml-training.csv",
        key="pg_curve_csv",
    )


def _toggle_play() -> None:
    playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING] = playing
    if playing and session.current().epoch >= EPOCHS:
        session.update(epoch=0)
    st.rerun()
