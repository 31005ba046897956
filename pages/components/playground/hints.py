"""Words above the pictures: notices, the lesson's step, or what a click will do."""

from __future__ import annotations

import streamlit as st

from ..plane_panel import PLAYED
from ..theme import current_style
from . import session
from .controls import ANSWERED, TOOL, go_to_step
from .lessons import CONTROLS, LESSONS, next_lesson
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
HIGHLIGHTS = {
    "k": ("pg_k",),
    "norm": ("pg_norm",),
    "hand": ("pg_hand",),
    "epoch": tuple(f"pg_training_{field}" for field in PLAYED.values()),
    "tools": ("pg_tool",),
    "prototypes": ("pg_prototypes_card",),
}


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
    """The step's sentence, the control it is about, its question with the answer hidden, and the way on.

    The answer takes the place of the task: it covers nothing that it is about.
    """
    lesson = LESSONS[view.lesson]
    total = len(lesson.steps)
    step = lesson.steps[view.step - 1]
    with st.container(border=True, key="pg_lesson_card"):
        scene, quiz = st.columns([5, 3], gap="medium")
        with scene, st.container(gap="xsmall"):
            st.markdown(f"**{lesson.title}** · step {view.step} of {total}")
            st.markdown(step.text)
            answered = st.session_state.get(ANSWERED, False)
            st.markdown(f"**Answer.** {step.answer}" if answered else f"**Try {CONTROLS[step.control]}.** {step.task}")
        with quiz, st.container(gap="xsmall"):
            st.markdown(f"**Question.** {step.question}")
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button("Hide" if answered else "Answer", key="pg_answer", on_click=_toggle_answer)
                _step_buttons(view, total)
    _highlight(step.control)


def _toggle_answer() -> None:
    st.session_state[ANSWERED] = not st.session_state.get(ANSWERED, False)


def _step_buttons(view: PlaygroundView, total: int) -> None:
    here = view.step
    st.button("Back", key="pg_back", on_click=go_to_step, args=(view.lesson, here - 1), disabled=here == 1)
    if here < total:
        st.button("Next", key="pg_next", on_click=go_to_step, args=(view.lesson, here + 1))
    else:
        st.button("Finish", key="pg_next", on_click=go_to_step, args=("", 1))
    st.button("Reset", key="pg_again", on_click=go_to_step, args=(view.lesson, here), help="Back to this step's scene")
    following = next_lesson(view.lesson)
    if here == total and following is not None:
        words, first = f"Next lesson: {following.title}", (following.name, 1)
        st.button(words, key="pg_next_lesson", on_click=go_to_step, args=first)


def _highlight(control: str) -> None:
    """A frame around the control the step is about; the text names it too."""
    if control in HIGHLIGHTS:
        keys = ", ".join(f".st-key-{key}" for key in HIGHLIGHTS[control])
        look = f"outline: 2px solid {current_style().classes[0]}; outline-offset: 5px; border-radius: 4px;"
        st.html(f"<style>{keys} {{{look}}}</style>")
