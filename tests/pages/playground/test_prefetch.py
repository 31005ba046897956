"""The next pictures are computed before they are asked for, and never in the visitor's way."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from pages.components.playground import ahead, compute
from pages.components.playground.prefetch import MOST_WAITING, Turn, compute_soon, next_view
from pages.components.playground.view import PlaygroundView

from ..app import alone

SECONDS = 20


def done_with_the_rest() -> None:
    """Return once everything that was waiting has been worked off."""
    ahead._pool.submit(lambda: None).result(timeout=SECONDS)


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
    make_plane = compute.make_plane
    monkeypatch.setattr(compute, "make_plane", lambda *args: computed.append(args[4]) or make_plane(*args))
    app.slider(key="pg_k").set_value(3).run()
    done_with_the_rest()
    assert not app.exception
    assert computed == [4, 4]  # those of 3 were there; those of 4 came after the page


def test_the_next_run_stops_what_was_begun_for_the_last() -> None:
    turn, started, go_on, done = Turn(), threading.Event(), threading.Event(), []

    def first() -> None:
        started.set()
        go_on.wait(SECONDS)

    assert compute_soon([first, lambda: done.append("second")], turn)
    assert started.wait(SECONDS)
    turn.is_over.set()
    go_on.set()
    done_with_the_rest()
    assert not done


def test_a_busy_server_computes_nothing_ahead_and_recovers() -> None:
    go_on = threading.Event()
    taken = [compute_soon([lambda: go_on.wait(SECONDS)], Turn()) for _ in range(MOST_WAITING + 2)]
    go_on.set()
    assert taken == [True] * MOST_WAITING + [False] * 2
    done_with_the_rest()
    assert compute_soon([], Turn())


def test_a_method_that_cannot_be_fitted_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fails(reason: Exception) -> None:
        raise reason

    compute_soon([lambda: fails(ValueError("too few points"))], Turn())
    done_with_the_rest()
    assert not caplog.records
    compute_soon([lambda: fails(KeyError("a mistake of ours"))], Turn())
    done_with_the_rest()
    assert "computing ahead failed" in caplog.text
