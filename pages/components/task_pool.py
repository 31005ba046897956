"""Work that may take longer than a click, done beside the page by two threads: one for large datasets, one for others.

A classifier is only ever touched by the thread of its lane. A page asks, waits a moment, shows what is there, and
looks again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from arml_core import Cancelled

log = logging.getLogger(__name__)
MOST = {"large": 1, "small": 8, "work": 200, "studies": 400}
LATELY = 3.0
"""Seconds. A page that waits looks several times within them."""
STOPPED = "stopped on request"


class Task:
    """Something that is being worked out: its result, what went wrong, and what is going on now."""

    def __init__(self, work: Callable[[Task], Any]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self.result: Any = None
        self.problem = ""
        self.doing = "waiting for its turn"
        self.version = 0
        self.done = False
        self.wanted = True
        self.stopped = False
        self.left: set[str] = set()
        self._looked: dict[str, float] = {}

    def look(self, who: str) -> None:
        """Somebody waits for it."""
        with self._changed:
            self._looked[who] = time.monotonic()

    def leave(self, who: str) -> None:
        """Stop waiting for it; if nobody else waits it ends, at its next step.

        Unlike what nobody wants, it is not begun again by itself for whoever has left.
        """
        with self._changed:
            self.left.add(who)
            self.stopped = not self._awaited_by_others(who)

    def drop(self, who: str) -> None:
        """`who` has gone on to something else; if nobody else waits it is no longer wanted."""
        with self._changed:
            self.wanted = self._awaited_by_others(who)

    def _awaited_by_others(self, who: str) -> bool:
        self._looked.pop(who, None)
        return any(time.monotonic() - seen <= LATELY for seen in self._looked.values())

    def say(self, doing: str) -> None:
        """Tell what is done now; stops here if nobody waits for it any more."""
        with self._changed:
            self.doing = doing
            self.version += 1
            self._changed.notify_all()
        if self.stopped or not self.wanted:
            raise Cancelled("nobody waits for this any more")

    def wait(self, seconds: float, until: Callable[[Task], bool] = lambda task: task.done) -> bool:
        """Whether it was so within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: until(self), seconds)

    def run(self) -> None:
        """Do it, in the lane's thread."""
        try:
            self.say("starting")
            self.result = self._work(self)
            self._end("")
        except Cancelled:
            self._end(STOPPED if self.stopped else "cancelled")
        except (ValueError, OSError, MemoryError) as reason:
            self._end(str(reason) or type(reason).__name__)
        except Exception as reason:
            log.exception("an inspection failed")
            self._end(f"an unexpected {type(reason).__name__}")

    def _end(self, problem: str) -> None:
        del self._work  # it holds the dataset, which may be thrown away while this is kept
        with self._changed:
            self.problem, self.done = problem, True
            self.version += 1
            self._changed.notify_all()

    @property
    def dropped(self) -> bool:
        return self.done and not self.wanted and self.problem == "cancelled"

    def stopped_for(self, who: str) -> bool:
        """Whether `who` has stopped waiting for what goes on for others."""
        return who in self.left and not self.stopped and not self.done

    def stopped_by_others(self, who: str) -> bool:
        return self.done and self.problem == STOPPED and who not in self.left

    @classmethod
    def at_rest(cls) -> Task:
        """What somebody sees of a task they have left."""
        task = cls(lambda task: None)
        task.stopped = True
        task._end(STOPPED)
        return task


T = TypeVar("T")


class TaskPool:
    """Everything that was asked for lately, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, OrderedDict[Hashable, Task]] = {
            shelf: OrderedDict() for shelf in ("large", "small", "work")
        }
        self._studies: OrderedDict[Hashable, Any] = OrderedDict()
        self._asked: dict[str, Task] = {}
        self._lanes: dict[bool, queue.SimpleQueue[Task]] = {}
        for large in (False, True):
            self._lanes[large] = queue.SimpleQueue()
            name = f"inspect-{'large' if large else 'small'}"
            threading.Thread(target=_work_through, args=(self._lanes[large],), name=name, daemon=True).start()

    def ask(
        self,
        shelf: str,
        key: Hashable,
        large: bool,
        work: Callable[[Task], Any],
        who: str = "",
        instead: bool = False,
    ) -> Task:
        """The task with this key, begun now if it is new, or if it was dropped or stopped by others.

        `who` asks; with `instead` what they asked for so before is no longer wanted.
        """
        with self._lock:
            kept = self._kept[shelf]
            task = kept.get(key)
            if task is not None and task.stopped_for(who):
                return Task.at_rest()
            fresh = task is None or task.dropped or task.stopped_by_others(who)
            if task is None or fresh:
                task = kept[key] = Task(work)
            kept.move_to_end(key)
            while len(kept) > MOST[shelf]:
                kept.popitem(last=False)[1].wanted = False
            self._asked = {name: asked for name, asked in self._asked.items() if not asked.done}
            if instead:
                before = self._asked.get(who)
                if before is not None and before is not task:
                    before.drop(who)
                self._asked[who] = task
            task.wanted = True
            task.look(who)
            if fresh:
                self._lanes[large].put(task)
            return task

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was begun under this key, to be gone on with."""
        with self._lock:
            if key not in self._studies:
                self._studies[key] = make()
            self._studies.move_to_end(key)
            while len(self._studies) > MOST["studies"]:
                self._studies.popitem(last=False)
            found: T = self._studies[key]
            return found

    def forget(self, shelf: str, key: Hashable, who: str = "") -> None:
        """Let what went wrong be tried again; what goes on for others is waited for again."""
        with self._lock:
            task = self._kept[shelf].get(key)
            if task is not None and task.stopped_for(who):
                task.left.discard(who)
            else:
                self._kept[shelf].pop(key, None)


def _work_through(lane: queue.SimpleQueue[Task]) -> None:
    while True:
        lane.get().run()


@st.cache_resource(show_spinner=False)
def task_pool() -> TaskPool:
    """The one task pool of this server."""
    return TaskPool()
