"""Work that may take longer than a click, done beside the page.

A lane is one thread. There is one for large datasets and one for the others, and a classifier is only ever touched by
the thread of its lane; a third one computes ahead what somebody may ask for next. A page submits a task, waits a
moment, shows what is there, and asks again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from arml_core import Cancelled

log = logging.getLogger(__name__)
LANES = ("small", "large", "prefetch")
MOST_KEPT = {"large dataset": 1, "small dataset": 8, "work": 200}
MOST_PREFETCHES = 4  # on a busy server nothing is computed ahead
WAITING_SECONDS = 3.0
"""Who has not asked for so long does not wait any more: a page that waits asks several times within them."""
STOPPED, CANCELLED = "stopped on request", "cancelled"


class Task:
    """Something that is being computed: its result, what went wrong, and what is going on now.

    Visitors share a task. It ends early, at its next report, once each of them has stopped it (then it is `stopped`) or
    has gone on to something else (then it is not `wanted`).
    """

    def __init__(self, work: Callable[[Task], Any]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._last_asked: dict[str, float] = {}
        self._stopped_by: set[str] = set()
        self.result: Any = None
        self.problem = ""
        self.doing = "waiting for its turn"
        self.done = False
        self.wanted = True
        self.stopped = False

    def renew(self, visitor: str) -> None:
        """`visitor` waits for it."""
        with self._changed:
            self._last_asked[visitor] = time.monotonic()

    def stop(self, visitor: str) -> None:
        """`visitor` wants it stopped: for them it does not begin again by itself."""
        with self._changed:
            self._stopped_by.add(visitor)
            self.stopped = not self._is_awaited_without(visitor)

    def release(self, visitor: str) -> None:
        """`visitor` has gone on to something else."""
        with self._changed:
            self.wanted = self._is_awaited_without(visitor)

    def _is_awaited_without(self, visitor: str) -> bool:
        self._last_asked.pop(visitor, None)
        return any(time.monotonic() - asked <= WAITING_SECONDS for asked in self._last_asked.values())

    def report(self, doing: str) -> None:
        """Tell what is done now; ends the work if nobody waits for it any more."""
        self.doing = doing
        if self.stopped or not self.wanted:
            raise Cancelled("nobody waits for this any more")

    def wait(self, seconds: float) -> bool:
        """Whether it is done within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.done, seconds)

    def run(self) -> None:
        """Do it, in the lane's thread."""
        try:
            self.report("starting")
            self.result = self._work(self)
            self._end("")
        except Cancelled:
            self._end(STOPPED if self.stopped else CANCELLED)
        except (ValueError, OSError, MemoryError) as reason:
            self._end(str(reason) or type(reason).__name__)
        except Exception as reason:
            log.exception("%s failed", self.doing)
            self._end(f"an unexpected {type(reason).__name__}")

    def _end(self, problem: str) -> None:
        del self._work  # it holds the dataset, which may be thrown away while this is kept
        with self._changed:
            self.problem, self.done = problem, True
            self._changed.notify_all()

    @property
    def abandoned(self) -> bool:
        """Whether it ended because nobody wanted it."""
        return self.done and not self.wanted and self.problem == CANCELLED

    def goes_on_without(self, visitor: str) -> bool:
        """Whether `visitor` has stopped what goes on for others."""
        return visitor in self._stopped_by and not self.stopped and not self.done

    def stopped_by_others(self, visitor: str) -> bool:
        return self.done and self.problem == STOPPED and visitor not in self._stopped_by

    def rejoin(self, visitor: str) -> None:
        """`visitor` waits again for what they have stopped."""
        self._stopped_by.discard(visitor)


def _stopped_task() -> Task:
    """What somebody sees of a task they have stopped while it goes on for others."""
    task = Task(lambda task: None)
    task.stopped = True
    task.run()
    return task


class TaskPool:
    """The threads, and everything that was asked for lately, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, OrderedDict[Hashable, Task]] = {kind: OrderedDict() for kind in MOST_KEPT}
        self._latest: dict[str, Task] = {}
        self._prefetches: list[Task] = []
        self._lanes: dict[str, queue.SimpleQueue[Task]] = {lane: queue.SimpleQueue() for lane in LANES}
        for lane, tasks in self._lanes.items():
            threading.Thread(target=_run_all, args=(tasks,), name=f"tasks-{lane}", daemon=True).start()

    def submit(
        self,
        kind: str,
        key: Hashable,
        lane: str,
        work: Callable[[Task], Any],
        visitor: str = "",
        supersede: bool = False,
    ) -> Task:
        """The task with this key, begun now if it is new, or if it was abandoned or stopped by others.

        `kind` says how many are kept. With `supersede`, what the visitor submitted so before is no longer wanted.
        """
        with self._lock:
            kept = self._kept[kind]
            task = kept.get(key)
            if task is not None and task.goes_on_without(visitor):
                return _stopped_task()
            is_new = task is None or task.abandoned or task.stopped_by_others(visitor)
            if task is None or is_new:
                task = kept[key] = Task(work)
            kept.move_to_end(key)
            while len(kept) > MOST_KEPT[kind]:
                kept.popitem(last=False)[1].wanted = False
            self._latest = {name: latest for name, latest in self._latest.items() if not latest.done}
            if supersede:
                before = self._latest.get(visitor)
                if before is not None and before is not task:
                    before.release(visitor)
                self._latest[visitor] = task
            task.wanted = True
            task.renew(visitor)
            if is_new:
                self._lanes[lane].put(task)
            return task

    def prefetch(self, work: Callable[[Task], Any]) -> Task | None:
        """A task that nobody waits for; None if enough of them are there already."""
        with self._lock:
            self._prefetches = [task for task in self._prefetches if not task.done]
            if len(self._prefetches) >= MOST_PREFETCHES:
                return None
            task = Task(work)
            self._prefetches.append(task)
            self._lanes["prefetch"].put(task)
            return task

    def forget(self, kind: str, key: Hashable, visitor: str = "") -> None:
        """Let what went wrong be tried again; what goes on for others is waited for again."""
        with self._lock:
            task = self._kept[kind].get(key)
            if task is not None and task.goes_on_without(visitor):
                task.rejoin(visitor)
            else:
                self._kept[kind].pop(key, None)


def _run_all(tasks: queue.SimpleQueue[Task]) -> None:
    while True:
        tasks.get().run()


@st.cache_resource(show_spinner=False)
def task_pool() -> TaskPool:
    """The one task pool of this server."""
    return TaskPool()
