"""What is wrong with a file, in the engine's words, and each remedy as a button."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from arml_core.datasets.table import Problem, Remedy
from arml_core.jobs import DamagedFile, StoreError

from ..markdown import escaped
from .choices import current, update_inputs

SHORT_REMEDY = 60
OWN_CONTROL = ("no_label", "too_few_rows")
"""Their remedies are controls of the page rather than options of the reader."""


def unreachable(reason: StoreError) -> str:
    """That the store cannot be read or written, and what to do (Markdown)."""
    return escaped(f"Your files and jobs cannot be reached: {reason}.")


def damaged(reason: DamagedFile) -> str:
    """That a result was lost, and what becomes of it (Markdown)."""
    return escaped(f"A result cannot be read: {reason}. Load the page again in a moment.")


def show_problems(problems: Iterable[Problem], slot: str, take: Callable[[Remedy], None]) -> None:
    """Errors, questions and notes with their remedies; `take` carries one out."""
    for number, problem in enumerate(problems):
        box = {"error": st.error, "question": st.warning, "note": st.info}[problem.severity]
        box(escaped(problem.message))
        if problem.kind not in OWN_CONTROL:
            _show_remedies(problem, f"{slot}_{number}_{problem.kind}", take)


def take_remedy(slot: str, remedy: Remedy) -> None:
    """Carry a remedy out: the step it belongs to is repeated with its options."""
    view = current()
    name = {"read": "read", "select": "use"}[remedy.step]
    name = name if slot == "file" else f"q{name}"
    update_inputs(**{name: remedy.apply(getattr(view, name))})


def _show_remedies(problem: Problem, key: str, take: Callable[[Remedy], None]) -> None:
    buttons = [remedy for remedy in problem.remedies if remedy.options]
    words = [remedy.words for remedy in problem.remedies if not remedy.options]
    with st.container(horizontal=True, vertical_alignment="center", key=f"cf_remedies_{key}"):
        for index, remedy in enumerate(buttons):
            label, meaning = _label(remedy.words)
            st.button(
                label,
                key=f"cf_remedy_{key}_{index}",
                on_click=take,
                args=(remedy,),
                help=meaning,
                type="primary" if index == 0 and problem.severity == "question" else "secondary",
            )
        if words:
            st.caption(escaped(("… or: " if buttons else "") + " ".join(words)))


def _label(words: str) -> tuple[str, str | None]:
    """A button's label and, where the words go on, their rest as its help."""
    first, point, rest = words.partition(". ")
    label = first if len(first) <= SHORT_REMEDY else first[:SHORT_REMEDY] + "…"
    return escaped(label.rstrip(".")), escaped(rest) if point else None
