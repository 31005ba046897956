"""What the page says while something is worked out, and looking again until it is there."""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable
from typing import Any

import streamlit as st

from ..markdown import escaped
from ..task_pool import Task, task_pool

LOOK_SECONDS = 0.4
PATIENCE = 0.7
STOP_AFTER = 2.0
SESSION, SINCE = "inspect_session", "inspect_since"


def session() -> str:
    """Who asks: one browser session."""
    found: str = st.session_state.setdefault(SESSION, uuid.uuid4().hex)
    return found


def watch(task: Task, signature: Any, now: Callable[[], Any], started: float) -> None:
    """Say what goes on, and draw the page again as soon as there is more to show."""

    def look() -> None:
        task.look(session())
        if task.done or now() != signature:
            st.rerun(scope="app")
        seconds = time.monotonic() - started
        slow = seconds >= STOP_AFTER
        doing = "stopping" if task.stopped else task.doing
        spent = f" ({seconds:.0f} s)" if slow else ""
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"⏳ {escaped(doing[:1].upper() + doing[1:])}{spent} …", width="content")
            if slow:
                st.button("Stop", key="inspect_stop", on_click=task.leave, args=(session(),), disabled=task.stopped)

    st.fragment(look, run_every=LOOK_SECONDS)()


def since(task: Task) -> float:
    """When this browser first waited for a task."""
    known = st.session_state.get(SINCE)
    if known is None or known[0]() is not task:
        # a browser left open must not keep a dataset that was thrown away
        st.session_state[SINCE] = (weakref.ref(task), time.monotonic())
    started: float = st.session_state[SINCE][1]
    return started


def show_problem(task: Task, what: str, forget: Callable[[], None]) -> None:
    """What went wrong, and a way to try again."""
    if task.stopped:
        st.info("Stopped on request.")
    else:
        st.error(escaped(f"{what}: {task.problem.removesuffix('.')}."))
    st.button("Try again", key="inspect_again", on_click=forget)


def forget(shelf: str, key: Any) -> Callable[[], None]:
    return lambda: task_pool().forget(shelf, key, session())
