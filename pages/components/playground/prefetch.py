"""Computing what a visitor is likely to ask for next, while they look at what they asked for.

Somebody who has just changed K by a step mostly goes on in that direction. The next pictures are computed in a thread
of their own and end up where results are remembered; if the visitor does something else, it stops.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import streamlit as st

from .compute import Points, panel_of
from .edits import most_neighbours
from .panels import patience
from .view import PlaygroundView

MOST_WAITING = 4  # on a busy server nobody gets ahead
SHOWN, TURN = "pg_shown", "pg_ahead"
_pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
_places = threading.BoundedSemaphore(MOST_WAITING)


@dataclass
class Turn:
    """One run of the page: what is computed ahead for it stops when the next one begins."""

    is_over: threading.Event = field(default_factory=threading.Event)


def begin_turn() -> None:
    """At the start of a run: what was being computed for the last one is no longer worth its time."""
    last = st.session_state.get(TURN)
    if last is not None:
        last.is_over.set()
    st.session_state[TURN] = Turn()


def prefetch_next(view: PlaygroundView, points: Points) -> None:
    """At the end of a run: if K was what changed, begin with the pictures of the next one."""
    shown = st.session_state.get(SHOWN)
    st.session_state[SHOWN] = view
    following = next_view(shown, view, most_neighbours(len(points.y)))
    if following is None:
        return
    seconds = patience(view)
    tasks = [lambda method=method: panel_of(method, following, points, seconds).mean_radius for method in view.methods]
    compute_soon(tasks, st.session_state[TURN])


def next_view(shown: PlaygroundView | None, view: PlaygroundView, most: int) -> PlaygroundView | None:
    """The view one step further, where K alone was changed; None elsewhere, and where there is no further step."""
    if shown is None or shown == view or replace(shown, k=view.k) != view:
        return None
    k = view.k + (1 if view.k > shown.k else -1)
    return replace(view, k=k) if 1 <= k <= most else None


def compute_soon(tasks: Sequence[Callable[[], object]], turn: Turn) -> bool:
    """Have the tasks done one after the other until the turn is over; whether there was a place for them."""
    if not _places.acquire(blocking=False):
        return False

    def work() -> None:
        try:
            for task in tasks:
                if turn.is_over.is_set():
                    return
                task()
        except (ValueError, FloatingPointError):
            pass  # a method that cannot be fitted says so on the page
        except Exception:
            logging.getLogger(__name__).exception("computing ahead failed")
        finally:
            _places.release()

    _pool.submit(work)
    return True
