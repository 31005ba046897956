"""Playing a training under its picture: epoch by epoch, with its curve."""

from __future__ import annotations

import streamlit as st

from arml_core.figures import training_figure, training_table

from ..chart import show_chart
from ..csv_out import csv_button
from ..on_demand import on_demand
from ..plane_models import ROBUST, RecordedTraining
from ..plane_panel import END, PLAYED, Points, recorded_training
from ..theme import current_style
from . import session
from .controls import WIDGETS
from .view import PlaygroundView

PLAYING = "pg_playing"
"""The method whose training is being played, in the browser's session."""
TICKS = 20  # steps in which a training is played
LABELS = {"arml": "Epoch of ARML's training", ROBUST: "Epoch of the prototypes' training"}
CURVES = {"arml": "ARML's training curve", ROBUST: "The prototypes' training curve"}
OF_WHAT = {"arml": "of ARML's training triplets", ROBUST: "that the prototypes prove for the training points"}


def is_playing(method: str) -> bool:
    return bool(st.session_state.get(PLAYING) == method)


def advance(method: str, points: Points) -> None:
    """Some epochs further; at the end the page runs again, without a clock."""
    view = session.current()
    try:
        training = recorded_training(method, view, points)
    except (ValueError, FloatingPointError):
        return  # the panel says why
    tick = training.step * max(1, (len(training.models) - 1) // TICKS)
    epoch = min(training.epochs, training.epoch(getattr(view, PLAYED[method])) + tick)
    _set_epoch(method, training, epoch)
    if epoch == training.epochs:
        st.session_state[PLAYING] = ""
        st.rerun()


def _set_epoch(method: str, training: RecordedTraining, epoch: int) -> None:
    at_end = method == ROBUST and epoch >= training.epochs  # how many there are depends on the points
    session.update(**{PLAYED[method]: END if at_end else epoch})


def show_training_controls(method: str, view: PlaygroundView, points: Points) -> None:
    """Play, the epoch that is shown, and the curve for who asks for it."""
    training = recorded_training(method, view, points)
    field = PLAYED[method]
    epoch = training.epoch(getattr(view, field))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"pg_training_{field}"):
        if st.button("Pause" if is_playing(method) else "Play", key=f"pg_play_{field}"):
            _toggle_play(method, epoch == training.epochs)
        st.slider(
            LABELS[method],
            0,
            training.epochs,
            step=training.step,
            key=WIDGETS.key(field, epoch),
            on_change=lambda: _set_epoch(method, training, WIDGETS.value(field)),
        )
    on_demand(CURVES[method], f"pg_open_curve_{field}", lambda: _training_curve(method, training, epoch))


def _training_curve(method: str, training: RecordedTraining, epoch: int) -> None:
    field = PLAYED[method]
    show_chart(
        training_figure(training.radius, current_style(), epoch),
        key=f"pg_curve_{field}",
        alt=f"The mean radius {OF_WHAT[method]} over {training.epochs} epochs; the mark is at epoch {epoch}.",
    )
    st.caption("Look for the flat end: more epochs would change little.")
    csv_button(
        "Curve as CSV",
        lambda: training_table(training.loss, training.radius),
        file_name=f"{method.replace('_', '-')}-training.csv",
        key=f"pg_curve_csv_{field}",
    )


def _toggle_play(method: str, at_end: bool) -> None:
    playing = not is_playing(method)
    st.session_state[PLAYING] = method if playing else ""
    if playing and at_end:
        session.update(**{PLAYED[method]: 0})
    st.rerun()
