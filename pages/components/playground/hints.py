"""Words above the pictures: notices, the lesson's step, or what a click will do."""

from __future__ import annotations

import streamlit as st

from ..theme import current_style
from . import session
from .controls import TOOL, go_to_step
from .lessons import CONTROLS, LESSONS
from .session import MOVING, REFUSED
from .view import PlaygroundView

HINTS = {
    "Certify": "Click anywhere. The yellow shape is proved safe; the arrow is the smallest step that changes the "
    "answer. Click a training point to certify it without itself (leave-one-out).",
    "Add": "Click where the new training point should go. It is certified without itself (leave-one-out): drawn "
    "hollow, it does not vote.",
    "Move": "Click the training point to move.",
    "Delete": "Click the training point to delete.",
}
DRAG = " Drag one to move it."
HIGHLIGHTS = {"k": "pg_k", "norm": "pg_norm", "hand": "pg_hand", "epoch": "pg_training", "tools": "pg_tool"}


def show_notices() -> None:
    """Quietly, what in the address made no sense."""
    found = session.notices()
    if found:
        st.info("\n\n".join(found), icon="ℹ️")
    refused = st.session_state.get(REFUSED)
    if refused:
        st.warning(refused)


def show_hint(view: PlaygroundView) -> None:
    """What a click will do, and a drag where points may be dragged."""
    tool = st.session_state.get(TOOL, "Certify")
    moving = st.session_state.get(MOVING)
    if tool == "Move" and moving is not None:
        st.markdown(f"Now click where point {moving} should go.")
    else:
        st.markdown(HINTS[tool] + (DRAG if tool == "Certify" and "tools" not in view.hide else ""))


def show_lesson(view: PlaygroundView) -> None:
    """The step's sentence, the control it is about, its question with the answer hidden, and the way on."""
    lesson = LESSONS[view.lesson]
    total = len(lesson.steps)
    step = lesson.steps[view.step - 1]
    with st.container(border=True, key="pg_lesson_card"):
        scene, quiz = st.columns([3, 2], gap="large")
        with scene:
            st.markdown(f"**{lesson.title}** · step {view.step} of {total}")
            st.markdown(step.text)
            st.markdown(f"**Try {CONTROLS[step.control]}.** {step.task}")
        with quiz:
            st.markdown(f"**Question.** {step.question}")
            with st.container(horizontal=True, vertical_alignment="center"):
                with st.popover("Answer"):
                    st.markdown(step.answer)
                _step_buttons(view, total)
    _highlight(step.control)


def _step_buttons(view: PlaygroundView, total: int) -> None:
    here = view.step
    st.button("Back", key="pg_back", on_click=go_to_step, args=(view.lesson, here - 1), disabled=here == 1)
    if here < total:
        st.button("Next", key="pg_next", on_click=go_to_step, args=(view.lesson, here + 1))
    else:
        st.button("Finish", key="pg_next", on_click=go_to_step, args=("", 1))
    st.button("Reset", key="pg_again", on_click=go_to_step, args=(view.lesson, here), help="Back to this step's scene")


def _highlight(control: str) -> None:
    """A frame around the control the step is about; the text names it too."""
    if control in HIGHLIGHTS:
        key = HIGHLIGHTS[control]
        colour = current_style().classes[0]
        st.html(
            f"<style>.st-key-{key} {{outline: 2px solid {colour}; outline-offset: 5px; border-radius: 4px;}}</style>"
        )
