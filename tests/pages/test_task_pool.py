"""The pool beside the Inspect page: work that is stopped stays stopped until somebody asks to try again."""

import gc
import threading
import time
import weakref
from collections.abc import Callable

import pytest
import streamlit as st

from pages.components import task_pool as module
from pages.components.inspect import waiting
from pages.components.task_pool import Task, TaskPool

PATIENCE = 10.0


def endless(begun: threading.Event):
    def work(task: Task) -> None:
        while True:
            begun.set()
            task.report("counting")

    return work


def test_stop_ends_the_work_and_asking_again_does_not_begin_it_anew() -> None:
    pool, begun = TaskPool(), threading.Event()
    task = pool.submit("work", "key", "small", endless(begun), "ann")
    assert begun.wait(PATIENCE)
    task.stop("ann")
    assert pool.submit("work", "key", "small", endless(begun), "ann") is task  # the page runs again and asks as before
    assert task.wait(PATIENCE)
    assert task.problem == "stopped on request"
    assert pool.submit("work", "key", "small", endless(begun), "ann") is task
    pool.forget("work", "key", "ann")
    again = pool.submit("work", "key", "small", lambda task: "done")
    assert again.wait(PATIENCE)
    assert again.result == "done"


def test_what_nobody_wants_is_dropped_and_begun_anew_when_it_is_wanted() -> None:
    pool, begun = TaskPool(), threading.Event()
    first = pool.submit("work", 1, "small", endless(begun), "ann", supersede=True)
    assert begun.wait(PATIENCE)
    second = pool.submit("work", 2, "small", lambda task: "second", "ann", supersede=True)
    assert second.wait(PATIENCE)
    assert first.abandoned
    assert pool.submit("work", 1, "small", lambda task: "first", "ann", supersede=True) is not first


def test_what_one_stops_goes_on_for_another_until_they_stop_it_too() -> None:
    pool, begun = TaskPool(), threading.Event()
    task = pool.submit("work", "key", "small", endless(begun), "ann")
    assert pool.submit("work", "key", "small", endless(begun), "bob") is task
    task.stop("ann")
    hers = pool.submit("work", "key", "small", endless(begun), "ann")
    assert (hers.done, hers.stopped, hers.problem) == (True, True, "stopped on request")
    assert not task.stopped
    pool.forget("work", "key", "ann")
    assert pool.submit("work", "key", "small", endless(begun), "ann") is task
    task.stop("bob")
    assert not task.stopped
    task.stop("ann")
    assert task.wait(PATIENCE)
    assert task.problem == "stopped on request"


def test_what_others_have_stopped_is_begun_anew_for_whoever_asks() -> None:
    pool, begun = TaskPool(), threading.Event()
    task = pool.submit("work", "key", "small", endless(begun), "ann")
    task.stop("ann")
    assert task.wait(PATIENCE)
    again = pool.submit("work", "key", "small", lambda task: "done", "bob")
    assert again.wait(PATIENCE)
    assert again.result == "done"


def test_who_has_not_looked_lately_does_not_wait_any_more(monkeypatch) -> None:
    pool, begun = TaskPool(), threading.Event()
    task = pool.submit("work", "key", "small", endless(begun), "ann")
    pool.submit("work", "key", "small", endless(begun), "bob")
    monkeypatch.setattr(module, "WAITING_SECONDS", -1.0)
    task.stop("ann")
    assert task.wait(PATIENCE)
    assert task.stopped


def test_what_one_goes_on_from_is_kept_for_another() -> None:
    pool, begun = TaskPool(), threading.Event()
    shared = pool.submit("work", 1, "small", endless(begun), "ann", supersede=True)
    pool.submit("work", 1, "small", endless(begun), "bob", supersede=True)
    pool.submit("work", 2, "small", lambda task: None, "ann", supersede=True)
    assert shared.wanted
    pool.submit("work", 2, "small", lambda task: None, "bob", supersede=True)
    assert not shared.wanted


class Dataset:
    """Something large."""


def gone(thing: weakref.ref) -> bool:
    deadline = time.monotonic() + PATIENCE
    while thing() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return thing() is None


def using(data: Dataset, ends: Callable[[], None]) -> Callable[[Task], None]:
    def work(task: Task) -> None:
        assert data
        ends()

    return work


def fail() -> None:
    raise ValueError("no")


@pytest.mark.parametrize("ends", [lambda: None, fail])
def test_a_finished_task_keeps_no_dataset_it_worked_on(ends: Callable[[], None]) -> None:
    pool, data = TaskPool(), Dataset()
    known = weakref.ref(data)
    task = pool.submit("work", 1, "small", using(data, ends), "ann", supersede=True)
    assert task.wait(PATIENCE)
    del data
    assert gone(known)


def test_nothing_is_kept_of_a_visitor_whose_work_is_done_and_thrown_away() -> None:
    pool = TaskPool()
    task = pool.submit("work", 1, "small", lambda task: None, "ann", supersede=True)
    assert task.wait(PATIENCE)
    pool.forget("work", 1)
    pool.submit("work", 2, "small", lambda task: None, "bob")
    known = weakref.ref(task)
    del task
    assert gone(known)


def test_a_browser_that_waited_keeps_nothing_of_what_it_waited_for(monkeypatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    task = Task(lambda task: None)
    assert waiting.since(task) == waiting.since(task)
    known = weakref.ref(task)
    del task
    assert gone(known)
