"""The pictures of the playground, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from arml_core.figures import plane_alt, plane_spec, probe_words, prototype_words, radius_interval
from arml_core.vocabulary import MEAN_RULE

from ..chart import show_chart, wait_for_drawing
from ..plane_models import ROBUST
from ..plane_panel import PLAYED, SEARCH_SECONDS, Panel, Points, panel_of, points_of
from ..theme import current_style
from . import session
from .controls import method_picker
from .lessons import control_of
from .training_controls import PLAYING, advance, is_playing, show_training_controls
from .view import PlaygroundView

LONGER, PICKERS = "pg_longer_for", "pg_pickers"
LONGER_SECONDS = 3.0
TICK_SECONDS = 0.4
HEIGHTS = {2: 440, 3: 330, 4: 380}
LESSON_HEIGHT = 265  # so that picture, numbers and the step's control are seen at once in a window of 720 pixels
MEAN_HELP = (
    "The mean radius over all training points, each certified without itself. "
    f"Exact for K = 1 and ℓ2, otherwise the proven lower bounds. {MEAN_RULE} A training does not see this number: ARML "
    "enlarges a bound on the radii of its training points, for neighbours drawn at random, and on points that the "
    "Euclidean metric suits already there may be nothing to gain."
)
LEARNED_MEAN_HELP = (
    "The mean radius over all training points. The prototypes were learned from these points, so unlike the means of "
    f"the other methods it is no leave-one-out number: new points may do worse. {MEAN_RULE}"
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
        if panel.plane.prototypes is not None:
            place.caption(_prototype_caption(panel))
        _do(self.last, lambda: _show_mean(everyone, panel))


def _do(waiting: list[Callable[[], None]] | None, action: Callable[[], None]) -> None:
    if waiting is None:
        action()
    else:
        waiting.append(action)


def _show_mean(place: DeltaGenerator, panel: Panel) -> None:
    meaning = MEAN_HELP if panel.plane.prototypes is None else LEARNED_MEAN_HELP
    total = len(panel.points.y)
    place.metric(
        "Mean of all",
        radius_interval(panel.mean_radius),
        help=f"{meaning} Wrong answers count as 0: they are {panel.wrong} of {total}.",
        delta=f"{panel.wrong} of {total} wrong" if ROBUST in session.current().methods else None,
        delta_color="off",
        delta_arrow="off",
    )


def _prototype_caption(panel: Panel) -> str:
    words = prototype_words(panel.plane, panel.probe)
    if session.current().k > panel.n_neighbors:
        words += " They are learned for one neighbour, so K = 1 in this picture."
    return words


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
    method = view.methods[index]
    if method in PLAYED and index == view.methods.index(method):
        st.fragment(_played_panel, run_every=TICK_SECONDS if is_playing(method) else None)(index, later)
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
    _draw_picture(panel, view, index)
    later.show(st.container(), panel)


def _draw_picture(panel: Panel, view: PlaygroundView, index: int) -> None:
    figure = plane_spec(
        panel.plane,
        current_style(),
        panel.probe,
        height=min(HEIGHTS[len(view.methods)], LESSON_HEIGHT if view.lesson else 1000),
        ellipse="ellipse" in view.layers,
        neighbours="neighbours" in view.layers,
    )
    show_chart(figure, key=f"pg_chart{index}", alt=plane_alt(panel.plane, panel.probe, panel.title))


def _played_panel(index: int, later: _Deferred) -> None:
    """A panel with its training, on its own so that playing it redraws nothing else."""
    view = session.current()
    method, points = view.methods[index], points_of(view)
    if is_playing(method):
        advance(method, points)
        view = session.current()
    panel = _panel_or_reason(view, points, index)
    if panel is None:
        st.session_state[PLAYING] = ""
        return
    _draw_picture(panel, view, index)
    places = st.container(), st.container()
    words, controls = reversed(places) if control_of(view) == "epoch" else places
    later.show(words, panel)
    if "epoch" not in view.hide:
        with controls:
            show_training_controls(method, view, points)
    if not is_playing(method):
        session.publish()
