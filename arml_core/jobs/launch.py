"""Start the worker as a process of its own, stop it, and look whether it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

from .database import Database
from .lock import Lock
from .paths import Paths
from .pool import import_path

LOG_LIMIT = 2**20
STOP_SECONDS = 8.0
_started: list[subprocess.Popen[bytes]] = []
"""Workers this process started; looking at them now and then keeps the system's table clean."""


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
    return Lock(paths.lock).holder()


def worker_status(paths: Paths, database: Database) -> WorkerStatus:
    pid = worker_pid(paths)
    row = database.row("SELECT * FROM worker")
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
    _started[:] = [process for process in _started if process.poll() is None]
    if worker_pid(paths) is not None:
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
    _started.append(process)


def starting() -> bool:
    """Whether a worker that this process started has not yet ended."""
    return any(process.poll() is None for process in _started)


def stop_worker(paths: Paths, database: Database) -> bool:
    """End the worker; running jobs go back to the queue and wait for the next start. False if none lives."""
    pid = worker_pid(paths)
    if not pid:
        return False
    with database.writing() as connection:
        connection.execute("UPDATE worker SET held = 1")
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
