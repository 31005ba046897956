"""What is worked out beside the Inspect page while visitors wait for it, or do not."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

from pages.components import task_pool as task_pool_module
from pages.components.inspect import sections, waiting
from pages.components.inspect.choices import InspectView
from pages.components.inspect.controls import FINDING_ROW
from pages.components.inspect.study import PointQuestion
from pages.components.markdown import escaped
from pages.components.task_pool import Task, TaskPool, task_pool

from .inspect_page import PATIENCE, page, settled, tile


def test_a_page_does_not_wait_for_long_work_and_says_what_it_waits_for() -> None:
    go = threading.Event()
    task_pool().submit("work", "blocker", "small", lambda task: go.wait(PATIENCE))
    start = time.monotonic()
    app = page(wait=False)
    spent = time.monotonic() - start
    try:
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in app.caption)
        assert not app.metric
        assert spent < 20
    finally:
        go.set()
    assert tile(settled(app), "Answer")


def test_one_visitors_stop_leaves_the_work_to_another_who_waits_for_it(monkeypatch) -> None:
    monkeypatch.setattr(waiting, "STOP_AFTER", 0.0)
    monkeypatch.setattr(task_pool_module, "WAITING_SECONDS", PATIENCE)  # no matter how slowly the two pages run here
    go = threading.Event()
    task_pool().submit("work", "blocker", "small", lambda task: go.wait(PATIENCE))
    try:
        ann, bob = page(wait=False), page(wait=False)
        ann.button(key="inspect_stop").click().run()
        assert [found.value for found in ann.info] == ["Stopped on request."]
        bob.run()
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in bob.caption)
        ann.button(key="inspect_again").click().run()
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in ann.caption)
    finally:
        go.set()
    assert tile(settled(bob), "Answer") == tile(settled(ann), "Answer")


def test_what_nobody_waits_for_any_more_is_dropped_and_can_be_asked_for_again() -> None:
    found, go, started = TaskPool(), threading.Event(), threading.Event()

    def slow(task: Task) -> str:
        started.set()
        go.wait(PATIENCE)
        task.report("second half")
        return "finished"

    first = found.submit("work", 1, "small", slow, "me", supersede=True)
    assert started.wait(PATIENCE)
    second = found.submit("work", 2, "small", lambda task: "other", "me", supersede=True)
    go.set()
    assert second.wait(PATIENCE)
    assert (second.result, first.abandoned, first.result) == ("other", True, None)
    again = found.submit("work", 1, "small", slow, "me", supersede=True)
    assert again is not first
    assert again.wait(PATIENCE)
    assert again.result == "finished"
    assert found.submit("work", 1, "small", slow) is again


def test_what_goes_wrong_is_told_and_may_be_tried_again() -> None:
    found = TaskPool()

    def fails(task: Task) -> None:
        raise ValueError("the reason")

    task = found.submit("work", 1, "small", fails)
    assert task.wait(PATIENCE)
    assert task.problem == "the reason"
    found.forget("work", 1)
    assert found.submit("work", 1, "small", lambda task: 7).wait(PATIENCE)


def test_only_one_large_dataset_is_kept_and_it_does_not_hold_up_small_ones() -> None:
    found, go = TaskPool(), threading.Event()
    large = found.submit("large dataset", "a", "large", lambda task: go.wait(PATIENCE))
    small = found.submit("small dataset", "b", "small", lambda task: "quick")
    assert small.wait(PATIENCE)
    assert not large.done
    found.submit("large dataset", "c", "large", lambda task: None)
    go.set()
    assert found.submit("large dataset", "a", "large", lambda task: "read anew") is not large


def test_why_no_other_row_could_be_looked_for_is_never_formatted(monkeypatch) -> None:
    task = SimpleNamespace(wait=lambda seconds: True, problem="column **x** of [a](b) is gone")
    pool = SimpleNamespace(submit=lambda *arguments, **options: task, forget=lambda *key: None)
    said: list[str] = []
    monkeypatch.setattr(sections, "task_pool", lambda: pool)
    monkeypatch.setattr(sections, "session_id", lambda: "somebody")
    monkeypatch.setattr(sections, "st", SimpleNamespace(session_state={FINDING_ROW: True}, warning=said.append))
    source: Any = SimpleNamespace(identity="x", lane="small")
    prepared: Any = SimpleNamespace(gives="metric")
    assert not sections.find_another(InspectView(), source, prepared, PointQuestion("train", 0, 1, "l2", own=False))
    assert said == [escaped("No other row could be looked for: column **x** of [a](b) is gone.")]
