"""The playground's view between two runs of its script: in the browser's session, and in the address."""

from __future__ import annotations

import streamlit as st

from ..address import Choices
from ..markdown import escaped
from .edits import fitting_notices
from .lessons import LESSONS, base_view
from .view import DEFAULT, PlaygroundView, from_query, to_query

MOVING, REFUSED = "pg_moving", "pg_refused"
TRAINING_SET = ("data", "n", "noise", "seed", "points")


class _Playground(Choices[PlaygroundView]):
    """The address says what differs from the scene of the lesson's step it names."""

    def read(self, query: dict[str, str]) -> tuple[PlaygroundView, list[str]]:
        lesson, step = query.get("lesson", ""), query.get("step", "1")
        notices = []
        if lesson and lesson not in LESSONS:
            notices.append(f"There is no lesson '{escaped(lesson[:24])}'; there are {', '.join(LESSONS)}.")
            query = {name: text for name, text in query.items() if name not in ("lesson", "step")}
            lesson = ""
        base = base_view(lesson, int(step) if step in ("1", "2", "3", "4", "5") else 1)
        view, more = from_query(query, base)
        return view, notices + more + fitting_notices(view)

    def query(self) -> dict[str, str]:
        return query_of(self.current())

    def put(self, value: PlaygroundView) -> None:
        """Keep the view; a point that was picked up and a refusal go with the points they are about."""
        before = self.current() if self.known else value
        if any(getattr(value, name) != getattr(before, name) for name in TRAINING_SET):
            forget_move()
            st.session_state.pop(REFUSED, None)
        super().put(value)


CHOICES = _Playground("playground", DEFAULT, {})
load_view = CHOICES.load
current = CHOICES.current
update = CHOICES.update
update_quietly = CHOICES.put
mark_changed = CHOICES.mark_changed
publish = CHOICES.publish
notices = CHOICES.notices


def query_of(view: PlaygroundView) -> dict[str, str]:
    return to_query(view, base_view(view.lesson, view.step))


def forget_move() -> None:
    """Put down the point that was picked up."""
    st.session_state.pop(MOVING, None)
