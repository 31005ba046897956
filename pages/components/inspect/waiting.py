"""What the page says while something is computed, and looking again until it is there."""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from ..markdown import escaped
from ..task_pool import Task, task_pool

LOOK_SECONDS = 0.4
PATIENCE = 0.7
STOP_AFTER = 2.0
SESSION, SINCE = "inspect_session", "inspect_since"


def session_id() -> str:
    """Who asks: one browser session."""
    found: str = st.session_state.setdefault(SESSION, uuid.uuid4().hex)
    return found


def is_done(task: Task) -> bool:
    """Whether a task is done by now or within a moment; if not, the page says what it waits for."""
    if task.wait(PATIENCE):
        return True
    watch(task)
    return False


def watch(task: Task, shown: Any = None, progress: Callable[[], Any] = lambda: None) -> None:
    """Say what goes on, and draw the page again as soon as there is more than `shown`."""
    started = since(task)

    def look() -> None:
        task.renew(session_id())
        if task.done or progress() != shown:
            st.rerun(scope="app")
        seconds = time.monotonic() - started
        slow = seconds >= STOP_AFTER
        doing = "stopping" if task.stopped else task.doing
        spent = f" ({seconds:.0f} s)" if slow else ""
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"⏳ {escaped(doing[:1].upper() + doing[1:])}{spent} …", width="content")
            if slow:
                st.button("Stop", key="inspect_stop", on_click=task.stop, args=(session_id(),), disabled=task.stopped)

    st.fragment(look, run_every=LOOK_SECONDS)()


def since(task: Task) -> float:
    """When this browser first waited for a task."""
    known = st.session_state.get(SINCE)
    if known is None or known[0]() is not task:
        # a browser left open must not keep a dataset that was thrown away
        st.session_state[SINCE] = (weakref.ref(task), time.monotonic())
    started: float = st.session_state[SINCE][1]
    return started


def show_problem(task: Task, what: str, kind: str, key: Hashable) -> None:
    """What went wrong, and a way to try again."""
    if task.stopped:
        st.info("Stopped on request.")
    else:
        st.error(escaped(f"{what}: {task.problem.removesuffix('.')}."))
    st.button("Try again", key="inspect_again", on_click=lambda: task_pool().forget(kind, key, session_id()))
