"""The playground's view between two runs of its script: in the browser's session, and in the address."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from .address import put_into_address
from .lessons import LESSONS, base_view
from .plain import plain
from .view import View, from_query, to_query
from .visitor import without_key

VIEW, PUBLISHED, NOTICES, CHANGED = "pg_view", "pg_published", "pg_notices", "pg_changed"
MOVING, REFUSED = "pg_moving", "pg_refused"
TRAINING_SET = ("data", "n", "noise", "seed", "points")


def load_view(stayed: bool) -> View:
    """The view of this visitor: from the address when it is new, else from the session.

    `stayed` is false when another page was shown before: the navigation then brings no address parameters, and the
    visitor expects the picture they left. After a click the address is not asked: a browser that has not heard yet of
    the address of the run before sends the one before that.
    """
    query = without_key(st.query_params.to_dict())
    known = VIEW in st.session_state
    returned = known and not stayed and not query
    if st.session_state.pop(CHANGED, False) and known and stayed:
        return current()
    if not returned and not (known and query == st.session_state.get(PUBLISHED)):
        view, notices = _read(query)
        _put(view)
        st.session_state[NOTICES] = notices
    st.session_state[PUBLISHED] = query  # known now, even if a click ends this run before its own address is written
    return current()


def _read(query: dict[str, str]) -> tuple[View, list[str]]:
    lesson, step = query.get("lesson", ""), query.get("step", "1")
    notices = []
    if lesson and lesson not in LESSONS:
        notices.append(f"There is no lesson '{plain(lesson[:24])}'; there are {', '.join(LESSONS)}.")
        query = {name: text for name, text in query.items() if name not in ("lesson", "step")}
        lesson = ""
    base = base_view(lesson, int(step) if step in ("1", "2", "3", "4", "5") else 1)
    view, more = from_query(query, base)
    return view, notices + more


def current() -> View:
    view: View = st.session_state[VIEW]
    return view


def update(**changes: Any) -> None:
    """Change the view; the address follows at the end of the run."""
    _put(replace(current(), **changes))
    st.session_state[NOTICES] = []
    touch()


def touch() -> None:
    """The run that follows is about something done on the page, not about a new address."""
    st.session_state[CHANGED] = True


def publish() -> None:
    """Write the view into the address."""
    query = query_of(current())
    put_into_address(query)
    st.session_state[PUBLISHED] = query
    st.session_state.pop(CHANGED, None)


def query_of(view: View) -> dict[str, str]:
    return to_query(view, base_view(view.lesson, view.step))


def notices() -> list[str]:
    found: list[str] = st.session_state.get(NOTICES, [])
    return found


def update_quietly(view: View) -> None:
    """Replace the view without dropping the notices."""
    _put(view)


def _put(view: View) -> None:
    """Keep the view; a point that was picked up and a refusal go with the points they are about."""
    before = st.session_state.get(VIEW, view)
    if any(getattr(view, name) != getattr(before, name) for name in TRAINING_SET):
        forget_move()
        st.session_state.pop(REFUSED, None)
    st.session_state[VIEW] = view


def forget_move() -> None:
    """Put down the point that was picked up."""
    st.session_state.pop(MOVING, None)
