"""The next pictures are computed before they are asked for, and never in the visitor's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
import streamlit as st

from pages.components import plane_panel
from pages.components.playground.prefetch import PREFETCH, next_view, run_steps, stop_prefetch
from pages.components.playground.view import PlaygroundView
from pages.components.task_pool import MOST_PREFETCHES, Task, task_pool

from ..app import alone

SECONDS = 20


def done_with_the_rest() -> None:
    """Return once everything that was waiting has been worked off."""
    until = time.monotonic() + SECONDS
    while (last := task_pool().prefetch(lambda task: None)) is None:  # as long as too many wait
        assert time.monotonic() < until
    assert last.wait(SECONDS)


def compute_soon(steps: Sequence[Callable[[], object]]) -> Task | None:
    return task_pool().prefetch(partial(run_steps, steps))


def test_a_step_of_k_leads_to_the_next_one_in_the_same_direction() -> None:
    view = PlaygroundView()
    assert next_view(replace(view, k=3), replace(view, k=4), 15) == replace(view, k=5)
    assert next_view(replace(view, k=9), replace(view, k=4), 15) == replace(view, k=3)


@pytest.mark.parametrize(
    ("shown", "view"),
    [
        (None, PlaygroundView()),
        (PlaygroundView(), PlaygroundView()),
        (PlaygroundView(k=2), PlaygroundView(k=1)),
        (PlaygroundView(k=5), PlaygroundView(k=6)),
        (PlaygroundView(k=2, norm="l1"), PlaygroundView(k=3)),
        (PlaygroundView(norm="l1"), PlaygroundView()),
    ],
    ids=["first run", "nothing changed", "smallest", "largest", "more than K changed", "something else changed"],
)
def test_elsewhere_nothing_is_computed_ahead(shown: PlaygroundView | None, view: PlaygroundView) -> None:
    assert next_view(shown, view, 6) is None


def test_the_page_finds_the_next_pictures_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    app = alone("pages/playground.py", data="moons", n="40", methods="euclidean~hand", at="0.25_0.35")
    app.slider(key="pg_k").set_value(2).run()
    done_with_the_rest()
    computed = []
    make_plane = plane_panel.make_plane
    monkeypatch.setattr(plane_panel, "make_plane", lambda *args: computed.append(args[4]) or make_plane(*args))
    app.slider(key="pg_k").set_value(3).run()
    done_with_the_rest()
    assert not app.exception
    assert computed == [4, 4]  # those of 3 were there; those of 4 came after the page


def test_the_next_run_stops_what_was_begun_for_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on, done = threading.Event(), threading.Event(), []

    def first() -> None:
        started.set()
        go_on.wait(SECONDS)

    monkeypatch.setattr(st, "session_state", {PREFETCH: compute_soon([first, lambda: done.append("second")])})
    assert started.wait(SECONDS)
    stop_prefetch()
    go_on.set()
    done_with_the_rest()
    assert not done


def test_a_busy_server_computes_nothing_ahead_and_recovers() -> None:
    go_on = threading.Event()
    taken = [compute_soon([lambda: go_on.wait(SECONDS)]) is not None for _ in range(MOST_PREFETCHES + 2)]
    go_on.set()
    assert taken == [True] * MOST_PREFETCHES + [False] * 2
    done_with_the_rest()
    assert compute_soon([]) is not None


def test_a_method_that_cannot_be_fitted_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fails(reason: Exception) -> None:
        raise reason

    compute_soon([lambda: fails(ValueError("too few points"))])
    done_with_the_rest()
    assert not caplog.records
    compute_soon([lambda: fails(KeyError("a mistake of ours"))])
    done_with_the_rest()
    assert "computing ahead failed" in caplog.text
