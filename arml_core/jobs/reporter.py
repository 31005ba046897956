"""A job's progress on its way to the store: the computation only sets variables, a thread writes them down."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import Cancelled
from .errors import StoreError
from .eta import TimeLeft
from .store.queue import Queue

INTERVAL = 0.25
WAITING_INTERVAL = 10.0
"""Between two signs of life of a job that waits for room on the disk: each takes some of it."""
HISTORY_ROWS = 2000
SPECTRUM = 64
SPECTRUM_SECONDS = 1.0
COST_SHARE = 0.05
"""At most this part of the time goes into eigenvalues and checkpoints."""


class Paused(Cancelled):
    """The worker ends on purpose: the job goes back to the queue."""


class Pacer:
    """Says when something costly is due again: after `interval`, and later if it takes long itself."""

    def __init__(self, interval: float, *, at_once: bool = False) -> None:
        self._interval, self._next = interval, time.monotonic() + (0.0 if at_once else interval)

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def done(self, cost: float) -> None:
        self._next = time.monotonic() + max(self._interval, cost / COST_SHARE)


class Reporter:
    """Phase, progress, time left and history of one job.

    :meth:`callback` fits every long call of this package; it raises :class:`~arml_core.Cancelled` when the job is
    to stop. `stop_now` and `pause_now` are set from outside.
    """

    def __init__(self, queue: Queue, job: str, lease: str) -> None:
        self._queue, self._job, self.lease = queue, job, lease
        self.stop_now, self.pause_now = threading.Event(), threading.Event()
        self._wake, self._ended = threading.Event(), threading.Event()
        self._guard, self._writing = threading.Lock(), threading.Lock()
        self._phase, self._done, self._total = "loading", 0, 0
        self._interval = INTERVAL
        self._fresh: list[tuple[int, dict[str, Any]]] = []
        self._left = TimeLeft()
        self._spectrum = Pacer(SPECTRUM_SECONDS, at_once=True)
        self._reported = False
        self._thread = threading.Thread(target=self._write_all_the_time, name="reporter", daemon=True)

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._wake.set()
        self._thread.join()

    def phase(self, name: str) -> None:
        """A new part of the job begins; it is written at once."""
        self.check()
        self._phase = name
        self._wake.set()

    def part(self, name: str) -> None:
        """The same, and its progress counts from 0 again."""
        self.check()
        with self._guard:
            self._phase, self._done, self._total, self._left = name, 0, 0, TimeLeft()
            self._reported = False
        self._wake.set()

    def begin_waiting(self, phase: str) -> None:
        """From now on the job waits for something outside."""
        self._phase, self._interval = phase, WAITING_INTERVAL

    def wait(self, seconds: float) -> None:
        """Raises if the job is to stop."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check()
            time.sleep(min(INTERVAL, seconds))

    def check(self) -> None:
        """Raise if the job is to stop."""
        if self.pause_now.is_set():
            raise Paused
        if self.stop_now.is_set():
            raise Cancelled

    def download(self, done: int, total: int, info: Mapping[str, Any]) -> None:
        """Progress of a download in bytes; what comes after counts from 0 again."""
        self.check()
        with self._guard:
            self._phase, self._done, self._total = "downloading", done, total
            self._left.add(time.monotonic(), done)
            self._reported = done < total
            if not self._reported:
                self._phase, self._done, self._total, self._left = "loading", 0, 0, TimeLeft()

    def callback(self, done: int, total: int, info: Mapping[str, Any]) -> None:
        """Progress of a training or a certification, with numbers for the history and a metric to look at."""
        self.check()
        with self._guard:
            self._done, self._total = done, total
            self._left.add(time.monotonic(), done)
            numbers = self._numbers(done, total, info)
            if numbers:
                self._fresh.append((done, numbers))
        if not self._reported:
            self._reported = True
            self._wake.set()

    def _numbers(self, done: int, total: int, info: Mapping[str, Any]) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        if done % max(1, total // HISTORY_ROWS) == 0 or done == total:
            numbers = {
                name: float(value)
                for name, value in info.items()
                if isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value)
            }
        if callable(info.get("metric")) and (self._spectrum.due() or done == total):
            began, metric = time.monotonic(), info["metric"]()
            if not ("references" in info and metric.is_identity):  # points that learn no metric have no spectrum
                numbers["eigenvalues"] = eigenvalues(metric.components)
            self._spectrum.done(time.monotonic() - began)
        return numbers

    def _write_all_the_time(self) -> None:
        while True:
            self._wake.wait(self._interval)
            self._wake.clear()
            ended = self._ended.is_set()
            self.flush()
            if ended:
                return

    def flush(self) -> None:
        """Write down what is new. If the store cannot be written now, the computation goes on; its end will say so."""
        with suppress(StoreError):
            self.write()

    def write(self) -> None:
        """Write down what is new; one writer at a time keeps the order."""
        with self._writing:
            with self._guard:
                fresh, self._fresh = self._fresh, []
                values = {
                    "phase": self._phase,
                    "done": self._done,
                    "total": self._total,
                    "seconds_left": self._left.left(self._total) if self._reported else None,
                }
            try:
                if not self._queue.progress(self._job, self.lease, values, fresh):
                    self.stop_now.set()  # the job is somebody else's now
            except StoreError:
                with self._guard:
                    self._fresh = [*fresh, *self._fresh][-HISTORY_ROWS:]
                raise


def eigenvalues(components: Any) -> list[float]:
    """The largest eigenvalues of GᵀG, descending."""
    singular = np.linalg.svd(np.asarray(components, dtype=np.float64), compute_uv=False)
    return [float(value) for value in np.square(singular)[:SPECTRUM]]
