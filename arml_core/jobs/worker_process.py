"""Start the worker as a process of its own, stop it, and look whether it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .child_process import import_path
from .paths import Paths
from .store.database import Database
from .store.worker_row import WorkerRow
from .worker_lock import WorkerLock

LOG_LIMIT = 2**20
STOP_SECONDS = 8.0
START_SECONDS = 60.0
PAUSE_SECONDS = 2.0
"""A worker that ended at once is not started again and again without a pause."""
_started: dict[Path, tuple[subprocess.Popen[bytes], float]] = {}
"""The last worker this process started for each folder, and when."""


@dataclass(frozen=True)
class WorkerStatus:
    """`silent` is the time since its last sign of life; `held` says that somebody stopped it on purpose."""

    alive: bool
    pid: int | None
    started: float | None
    silent: float | None
    held: bool


def worker_pid(paths: Paths) -> int | None:
    """The process that serves this folder, or None."""
    return WorkerLock(paths.lock).holder()


def worker_status(paths: Paths, database: Database) -> WorkerStatus:
    pid = worker_pid(paths)
    row = WorkerRow(database).read()
    if row is None:
        return WorkerStatus(pid is not None, pid, None, None, False)
    alive = pid is not None
    return WorkerStatus(
        alive, pid, row["started"] if alive else None, time.time() - row["beat"] if alive else None, bool(row["held"])
    )


def start_worker(paths: Paths) -> None:
    """Start a worker unless one lives; if two are started at the same moment, one of them gives way.

    It is a plain process in a session of its own: it outlives the server, and Ctrl-C there does not reach it.
    """
    pid = worker_pid(paths)
    if pid is not None or _is_starting(paths):
        return
    paths.create()
    mode = "ab" if paths.worker_log.exists() and paths.worker_log.stat().st_size < LOG_LIMIT else "wb"
    environment = {**os.environ, "ARML_HOME": str(paths.root.parent), "PYTHONPATH": import_path()}
    with paths.worker_log.open(mode) as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "arml_core.jobs.worker"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    _started[paths.root] = (process, time.monotonic())


def _is_starting(paths: Paths) -> bool:
    """Whether this process started a worker a moment ago that does not hold the lock yet."""
    process, began = _started.get(paths.root, (None, 0.0))
    if process is None:
        return False
    patience = START_SECONDS if process.poll() is None else PAUSE_SECONDS
    return time.monotonic() - began < patience


def stop_worker(paths: Paths, database: Database) -> bool:
    """End the worker; running jobs go back to the queue and wait for the next start. False if none lives.

    One that this process has started and that does not hold the lock yet is ended too.
    """
    pid = worker_pid(paths)
    starting, _ = _started.pop(paths.root, (None, 0.0))
    if starting is not None and starting.pid != pid and starting.poll() is None:
        starting.kill()
        starting.wait()
        if not pid:
            WorkerRow(database).hold()
            return True
    if not pid:
        return False
    WorkerRow(database).hold()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while worker_pid(paths) == pid:
        if time.monotonic() > until:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.05)
    return True
