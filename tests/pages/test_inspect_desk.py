"""The desk beside the Inspect page: work that is stopped stays stopped until somebody asks to try again."""

import threading

from pages.components.inspect.desk import Desk, Task

PATIENCE = 10.0


def endless(begun: threading.Event):
    def work(task: Task) -> None:
        while True:
            begun.set()
            task.say("counting")

    return work


def test_stop_ends_the_work_and_asking_again_does_not_begin_it_anew() -> None:
    desk, begun = Desk(), threading.Event()
    task = desk.ask("work", "key", False, endless(begun))
    assert begun.wait(PATIENCE)
    task.stop()
    assert desk.ask("work", "key", False, endless(begun)) is task  # the page runs again and asks as before
    assert task.wait(PATIENCE)
    assert task.problem == "stopped on request"
    assert desk.ask("work", "key", False, endless(begun)) is task
    desk.forget("work", "key")
    again = desk.ask("work", "key", False, lambda task: "done")
    assert again.wait(PATIENCE)
    assert again.result == "done"


def test_what_nobody_wants_is_dropped_and_begun_anew_when_it_is_wanted() -> None:
    desk, begun = Desk(), threading.Event()
    first = desk.ask("work", 1, False, endless(begun), instead_of="ann")
    assert begun.wait(PATIENCE)
    second = desk.ask("work", 2, False, lambda task: "second", instead_of="ann")
    assert second.wait(PATIENCE)
    assert first.dropped
    assert desk.ask("work", 1, False, lambda task: "first", instead_of="ann") is not first
