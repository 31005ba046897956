"""Computing what a visitor is likely to ask for next, while they look at what they asked for.

Somebody who has just changed K by a step mostly goes on in that direction. The next pictures are computed beside the
page and end up where results are remembered; if the visitor does something else, it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import streamlit as st

from ..plane_panel import Points, panel_of
from ..task_pool import Task, task_pool
from .edits import most_neighbours
from .panels import search_seconds
from .view import PlaygroundView

SHOWN, PREFETCH = "pg_shown", "pg_prefetch"


def stop_prefetch() -> None:
    """At the start of a run: what was being computed for the last one is no longer worth its time."""
    task: Task | None = st.session_state.pop(PREFETCH, None)
    if task is not None:
        task.wanted = False


def prefetch_next(view: PlaygroundView, points: Points) -> None:
    """At the end of a run: if K was what changed, begin with the pictures of the next one."""
    shown = st.session_state.get(SHOWN)
    st.session_state[SHOWN] = view
    following = next_view(shown, view, most_neighbours(len(points.y)))
    if following is None:
        return
    seconds = search_seconds(view)
    steps = [lambda method=method: panel_of(method, following, points, seconds).mean_radius for method in view.methods]
    st.session_state[PREFETCH] = task_pool().prefetch(partial(run_steps, steps))


def run_steps(steps: Sequence[Callable[[], object]], task: Task) -> None:
    """One after the other, until the visitor does something else."""
    with suppress(ValueError, FloatingPointError):  # a method that cannot be fitted says so on the page
        for step in steps:
            task.report("computing ahead")
            step()


def next_view(shown: PlaygroundView | None, view: PlaygroundView, most: int) -> PlaygroundView | None:
    """The view one step further, where K alone was changed; None elsewhere, and where there is no further step."""
    if shown is None or shown == view or replace(shown, k=view.k) != view:
        return None
    k = view.k + (1 if view.k > shown.k else -1)
    return replace(view, k=k) if 1 <= k <= most else None
