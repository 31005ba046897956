"""The playground's controls, in the sidebar. Each one changes the view; the script then draws the view."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from arml_core.datasets import dataset_info
from arml_core.vocabulary import NORMS, norm_name

from ..bound_widgets import BoundWidgets
from ..plane_models import ROBUST, TITLES
from ..plane_panel import AUTO, LAYERS, MOST_CLASSES, Points, chosen_place, recorded_training
from . import session
from .edits import fitted, most_neighbours
from .lessons import LESSONS, base_view, control_of
from .view import DEFAULT, FEWEST_PANELS, METHODS, MOST_PANELS, PRESETS, PlaygroundView

PRESET_TITLES = {
    "seven_points": "The paper's seven points",
    "moons": "Two moons",
    "circles": "Circles",
    "blobs": "Three blobs",
    "xor": "XOR",
    "stretched": "Stretched",
    "imbalanced": "Imbalanced",
}
TOOLS = ("Certify", "Add", "Move", "Delete")
Section = Callable[[PlaygroundView, Points], None]
LOW_DOWN = ("hand", "prototypes")
"""Sections that a small window does not show without scrolling."""
ANSWERED = "pg_answered"
TOOL, NEW_CLASS = "pg_tool", "pg_new_class"
COUNTS = (1, 2, 3, 5)
TARGETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)

WIDGETS = BoundWidgets("pg", session.update)


def open_sidebar(view: PlaygroundView, points: Points) -> None:
    """Its first control: a sidebar that opened later would push the pictures aside."""
    _show(_sections(view)[:1], view, points)


def sidebar(view: PlaygroundView, points: Points, opened: bool) -> None:
    """Every control that is not hidden by the address, or all but the first if it has been opened."""
    _show(_sections(view)[opened:], view, points)


def _sections(view: PlaygroundView) -> list[Section]:
    """In their order; the one that a lesson's step is about comes first, so that nobody has to look for it."""
    sections: dict[str, Section] = {
        "lesson": _lesson,
        "data": _data,
        "k": _neighbours,
        "norm": _norm,
        "tools": _tools,
        "points": _place,
        "methods": _panels,
        "hand": _hand,
        "prototypes": _prototypes,
        "layers": _layers,
    }
    if (control := control_of(view)) in LOW_DOWN:
        sections = {"lesson": _lesson, control: sections[control], **sections}
    return [section for name, section in sections.items() if name not in view.hide]


def _show(sections: list[Section], view: PlaygroundView, points: Points) -> None:
    with st.sidebar:
        for section in sections:
            section(view, points)


def _lesson(view: PlaygroundView, points: Points) -> None:
    titles = {"": "Free play", **{name: lesson.title for name, lesson in LESSONS.items()}}
    st.selectbox(
        "Lesson",
        list(titles),
        format_func=titles.__getitem__,
        key=WIDGETS.key("lesson", view.lesson),
        on_change=lambda: go_to_step(WIDGETS.value("lesson"), 1),
    )


def go_to_step(lesson: str, step: int) -> None:
    """Set the scene of a lesson's step; an empty name ends the lesson and leaves the picture as it is."""
    hide = session.current().hide
    if not lesson:
        session.update(lesson="", step=1)
        return
    scene = base_view(lesson, step)
    session.update(**{**scene.__dict__, "hide": hide})
    st.session_state.pop(ANSWERED, None)
    st.session_state[TOOL] = "Move" if scene.lesson == "promise" and step == 4 else "Certify"


def _data(view: PlaygroundView, points: Points) -> None:
    edited = view.points is not None
    st.selectbox(
        "Points" + (" (edited)" if edited else ""),
        PRESETS,
        format_func=PRESET_TITLES.__getitem__,
        key=WIDGETS.key("data", view.data),
        on_change=lambda: _refit(data=WIDGETS.value("data"), points=None, noise=None, at=None, row=DEFAULT.row),
    )
    if view.data != "seven_points" and not edited:
        with st.expander("Number, noise, seed"):
            noise = dataset_info(view.data).options["noise"] if view.noise is None else view.noise
            st.slider("Points", 6, 200, **REFITTING.bind("n", view.n))
            st.slider("Noise", 0.0, 1.0, step=0.01, **REFITTING.bind("noise", noise))
            st.number_input("Seed", 0, 9999, **REFITTING.bind("seed", view.seed))
    if edited:
        st.button("Undo all edits", on_click=lambda: _refit(points=None), width="stretch")


def _refit(**changes: Any) -> None:
    """Change the training set; what then does not fit any more follows."""
    session.update(**fitted(replace(session.current(), **changes)).__dict__)


REFITTING = BoundWidgets("pg", _refit)


def _neighbours(view: PlaygroundView, points: Points) -> None:
    most = most_neighbours(len(points.y))
    st.slider(
        "Neighbours (K)",
        1,
        max(2, most),
        **WIDGETS.bind("k", view.k),
        disabled=most < 2,
        help="How many nearest training points vote. The smallest class number wins a tied vote.",
    )


def _norm(view: PlaygroundView, points: Points) -> None:
    WIDGETS.segmented_control(
        "Length of a step",
        "norm",
        view.norm,
        {name: norm_name(name) for name in NORMS},
        width="stretch",
        help="ℓ2 is the ordinary length (a disc), ℓ∞ the larger of the two moves (a square), ℓ1 their sum (a diamond).",
    )


def _tools(view: PlaygroundView, points: Points) -> None:
    st.segmented_control(
        "A click will",
        TOOLS,
        required=True,
        key=TOOL,
        default=None if TOOL in st.session_state else "Certify",
        on_change=_change_tool,
        width="stretch",
        wrap=False,
    )
    if st.session_state.get(TOOL) == "Add":
        most = min(MOST_CLASSES, len(points.class_names) + 1)
        names = (*points.class_names, "a new class")[:most]
        if st.session_state.get(NEW_CLASS, 0) >= most:
            st.session_state[NEW_CLASS] = 0
        st.segmented_control(
            "Class of the new point",
            range(len(names)),
            required=True,
            format_func=lambda code: names[code],
            key=NEW_CLASS,
            default=None if NEW_CLASS in st.session_state else 0,
            on_change=session.mark_changed,
            width="stretch",
        )


def _change_tool() -> None:
    session.mark_changed()
    session.forget_move()


def _place(view: PlaygroundView, points: Points) -> None:
    """The chosen point by numbers: the way in without a mouse."""
    for column, name, value in zip(st.columns(2), ("x1", "x2"), chosen_place(view, points), strict=True):
        with column:
            st.number_input(
                f"{name} of your point",
                -1000.0,
                1000.0,
                step=0.05,
                format="%.3f",
                key=WIDGETS.key(name, round(float(value), 3)),
                on_change=_choose_place,
            )


def _choose_place() -> None:
    session.update(at=(round(WIDGETS.value("x1"), 3), round(WIDGETS.value("x2"), 3)), row=None)


def _panels(view: PlaygroundView, points: Points) -> None:
    st.segmented_control(
        "Pictures side by side",
        range(FEWEST_PANELS, MOST_PANELS + 1),
        required=True,
        key=WIDGETS.key("panels", len(view.methods)),
        on_change=_resize,
        width="stretch",
    )


def _resize() -> None:
    if (count := WIDGETS.value("panels")) is not None:  # else the browser had not drawn the buttons yet
        session.update(methods=resized(session.current().methods, count))


def resized(methods: tuple[str, ...], count: int) -> tuple[str, ...]:
    """More or fewer panels: the first ones stay, new ones show methods that are not there yet."""
    fresh = [m for m in ("euclidean", "nca", "arml", ROBUST, "lmnn", "itml", "lfda", "hand") if m not in methods]
    return (*methods, *fresh)[:count]


def _hand(view: PlaygroundView, points: Points) -> None:
    """The numbers of the hand-made metric; nothing where no picture has it."""
    if "hand" not in view.methods:
        return
    with st.container(border=True, key="pg_hand"):
        st.markdown("**Hand-made metric**")
        labels = (("Scale along", 0.1, 5.0, 0.1), ("Scale across", 0.1, 5.0, 0.1), ("Angle (°)", -90.0, 90.0, 5.0))
        for i, (label, low, high, step) in enumerate(labels):
            st.slider(label, low, high, step=step, key=WIDGETS.key(f"hand{i}", view.hand[i]), on_change=_set_hand)


def _set_hand() -> None:
    session.update(hand=tuple(round(WIDGETS.value(f"hand{i}"), 3) for i in range(3)))


def _prototypes(view: PlaygroundView, points: Points) -> None:
    """How many prototypes and what they are learned for; nothing where no picture has any."""
    if ROBUST not in view.methods:
        return
    with st.container(border=True, key="pg_prototypes_card"):
        st.markdown("**Robust prototypes**")
        WIDGETS.segmented_control(
            "Number in each class",
            "prototypes",
            view.prototypes,
            _with_auto(COUNTS, view.prototypes),
            width="stretch",
            help="How many points are learned for each class; a class has no more of them than different points.",
        )
        targets = _with_auto(TARGETS, view.target)
        st.select_slider(
            "Target radius",
            list(targets),
            format_func=targets.__getitem__,
            **WIDGETS.bind("target", view.target),
            help="How far the points should be able to move. A larger radius earns nothing, a smaller one costs. "
            "It is an ℓ2 length, whatever 'Length of a step' says.",
        )
        if AUTO in (view.prototypes, view.target):
            _show_automatic(view, points)


def _with_auto(offered: tuple[float, ...], chosen: float | str) -> dict[float | str, str]:
    """The automatic rule and the values that are offered, the chosen one among them."""
    values = sorted({*offered, *([] if isinstance(chosen, str) else [chosen])})
    return {AUTO: AUTO, **{value: f"{value:g}" for value in values}}


def _show_automatic(view: PlaygroundView, points: Points) -> None:
    """What the rules came to, where the prototypes can be learned at all."""
    with suppress(ValueError, FloatingPointError):
        training = recorded_training(ROBUST, view, points)
        count = max(np.bincount(training.models[-1].prototypes[1])) if training.models[-1].prototypes else 0
        found = [f"{count} in each class"] if view.prototypes == AUTO else []
        found += [f"target radius {training.target:.3g}"] if view.target == AUTO else []
        st.caption(f"auto: {', '.join(found)}")


def _layers(view: PlaygroundView, points: Points) -> None:
    names = {
        "ellipse": (
            "The metric's ellipses",
            "Dotted, around your point: all places as far away as its K-th neighbour. "
            "In the corner: the metric's unit ellipse, its shape only.",
        ),
        "neighbours": ("Lines to the deciding neighbours", "From your point to the K training points that vote."),
    }
    for name, (label, meaning) in names.items():
        st.toggle(label, key=WIDGETS.key(f"layer_{name}", name in view.layers), on_change=_set_layers, help=meaning)


def _set_layers() -> None:
    session.update(layers=tuple(name for name in LAYERS if WIDGETS.value(f"layer_{name}")))


def method_picker(view: PlaygroundView, index: int) -> None:
    """The method of one picture."""
    if "methods" in view.hide:
        st.markdown(f"**{TITLES[view.methods[index]]}**")
        return
    st.selectbox(
        f"Method of picture {index + 1}",
        METHODS,
        format_func=TITLES.__getitem__,
        key=WIDGETS.key(f"method{index}", view.methods[index]),
        on_change=_set_method,
        args=(index,),
        label_visibility="collapsed",
    )


def _set_method(index: int) -> None:
    methods = list(session.current().methods)
    methods[index] = WIDGETS.value(f"method{index}")
    session.update(methods=tuple(methods))
