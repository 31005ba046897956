"""The process that computes, ``python -m arml_core.jobs.child``: it waits with torch imported, one job at a time.

It is started by the worker, reads orders as JSON lines from stdin and answers on stdout. When stdin closes, the
worker is gone and so is this process, at once.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import torch

from ..errors import Cancelled
from ..learners.arml import ARML
from ..warm_up import compile_loops
from .disk_reserve import with_room
from .errors import DamagedFile, StoreError, may_pass
from .files import Arrays, read_arrays, sha256_of, write_arrays
from .job_log import log_line
from .learners import entry_problems
from .paths import Paths
from .reporter import Paused, Reporter
from .run_job import JobContext, RunDamaged, run_job
from .states import CANCELLED, FAILED
from .store.database import Database
from .store.queue import Queue
from .workspace import Workspace

NICENESS = 10
SAVE_AGAIN_SECONDS = 1.0
PATIENCE_SECONDS = 5.0
"""How long a write waits for a busy store: whatever a child writes is tried again, and orders come meanwhile."""
LOG_LIMIT = 2**20
_PR_SET_PDEATHSIG = 1
_Result = TypeVar("_Result")


class Child:
    """Reads orders, runs one job at a time and answers when it is free again."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._orders, self._answers = orders, answers
        self._inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reporter: Reporter | None = None
        self._told: dict[str, str] = {}  # orders to stop, by lease: one may come before its job has begun
        self._guard = threading.Lock()
        self._paths = Paths.default()
        self._database = Database(self._paths.database, PATIENCE_SECONDS)
        self._queue = Queue(self._database)
        self._context = JobContext(self._paths, self._database)

    def serve(self) -> None:
        threading.Thread(target=self._listen, name="orders", daemon=True).start()
        warm_up()
        for problem in entry_problems():
            log_line(problem)
        self._answer(event="ready", devices=_devices())
        while True:
            order = self._inbox.get()
            try:
                self._run(order["job"], order["lease"], order["device"])
            except StoreError as error:  # the worker sees that nobody holds the job any more, and queues it again
                log_line(f"job {order['job']}: {error}")
            self._answer(event="free", job=order["job"])

    def _listen(self) -> None:
        for line in self._orders:
            order = json.loads(line)
            if order["order"] == "run":
                self._inbox.put(order)
            else:
                with self._guard:
                    self._told[order["lease"]] = order["order"]
                    self._obey()
        os._exit(1)  # the worker is gone; the next one takes the job up from its checkpoint

    def _obey(self) -> None:
        """Pass an order to stop on to the job it is for, if that runs."""
        order = None if self._reporter is None else self._told.get(self._reporter.lease)
        if self._reporter is not None and order is not None:
            (self._reporter.stop_now if order == "cancel" else self._reporter.pause_now).set()

    def _begin(self, reporter: Reporter | None) -> None:
        with self._guard:
            if reporter is None:
                self._told.clear()
            self._reporter = reporter
            self._obey()

    def _run(self, job: str, lease: str, device: str) -> None:
        row = self._queue.job(job, lease)
        if row is None:
            return
        reporter = Reporter(self._queue, job, lease)
        self._begin(reporter)
        state, reason = "", ""
        with _log(self._paths, job):
            log_line(f"{row['kind']} {row['title']}, attempt {row['attempt']}, process {os.getpid()}")
            try:
                with reporter:
                    arrays = self._finished_before(job, lease)
                    if arrays is None:
                        arrays = run_job(self._context, row, lease, device, reporter)
                    self._save(job, lease, arrays, reporter)
                Workspace(self._paths.unfinished_of(job)).remove()
                log_line("done")
            except Paused:
                self._queue.requeue(job, lease, "the worker was stopped", counts=False)
                log_line("paused")
            except Cancelled:
                state = CANCELLED
                log_line("cancelled")
            except RunDamaged as error:
                self._queue.wait_for_run(job, lease, error.run, error.note)
                log_line(error.note)
            except BaseException as error:
                log_line(traceback.format_exc())
                state, reason = FAILED, explain(error)
            finally:
                self._begin(None)
        if state:
            self._end(job, lease, state, reason)

    def _finished_before(self, job: str, lease: str) -> Arrays | None:
        """The result of an attempt that was ended while it waited to enter it: a draft is whole or absent."""
        for path in self._paths.drafts(job):
            with suppress(OSError, DamagedFile):
                draft = path.replace(self._paths.draft(job, lease))
                arrays = read_arrays(draft)
                log_line("the result was computed before; only its entry is missing")
                return arrays
        return None

    def _save(self, job: str, lease: str, arrays: Arrays, reporter: Reporter) -> None:
        """Write the result down; while the disk is full or the store busy, wait with it until told to stop."""
        draft = self._paths.draft(job, lease)
        publish = partial(os.replace, draft, self._paths.result(job))
        reporter.phase("saving")
        try:
            while True:
                try:
                    sha256 = sha256_of(draft) if draft.exists() else write_arrays(draft, arrays)
                    reporter.flush()
                    reporter.check()
                    if not self._with_room(partial(self._queue.finish, job, lease, sha256, publish)):
                        raise Cancelled
                    return
                except OSError as error:
                    if not may_pass(error):
                        raise
                    log_line(f"the result waits: {explain(error)}")
                reporter.begin_waiting("waiting to save")
                with suppress(StoreError):
                    self._with_room(reporter.write)
                reporter.wait(SAVE_AGAIN_SECONDS)
        except Paused:
            raise  # the draft stays for the next attempt
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise

    def _with_room(self, write: Callable[[], _Result]) -> _Result:
        return with_room(self._paths.spare_room, write)

    def _end(self, job: str, lease: str, state: str, reason: str) -> None:
        try:
            self._with_room(lambda: self._queue.end(job, lease, state, reason))
        except StoreError:  # the worker tries until there is room
            self._answer(event="unsaved", job=job, lease=lease, state=state, reason=reason)

    def _answer(self, **message: Any) -> None:
        self._answers.write(json.dumps(message).encode() + b"\n")
        self._answers.flush()


def explain(error: BaseException) -> str:
    """Why a job failed, in one sentence; the log has the rest."""
    if isinstance(error, MemoryError):
        return f"there was not enough memory: {error}" if str(error) else "there was not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, ValueError | ArithmeticError | OSError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"


@contextmanager
def _log(paths: Paths, job: str) -> Iterator[None]:
    """Everything printed, by C code too, goes to the job's log; a disk without room for it gets none."""
    try:
        handle = os.open(paths.log(job), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(handle).st_size > LOG_LIMIT:
            os.ftruncate(handle, 0)
    except OSError:
        handle = os.open(os.devnull, os.O_WRONLY)
    before = os.dup(2)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    ended = threading.Event()
    threading.Thread(target=_limit_log, args=(handle, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os.dup2(before, 1)
        os.dup2(before, 2)
        os.close(before)


def _limit_log(handle: int, ended: threading.Event) -> None:
    """A job that prints without end must not fill the disk."""
    while not ended.wait(1.0):
        if os.fstat(handle).st_size > LOG_LIMIT:
            os.write(handle, f"\nthe log is cut here, at {LOG_LIMIT} bytes\n".encode())
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            break
    ended.wait()
    os.close(handle)


def niceness() -> int:
    """``ARML_NICE``, 10 by default: the pages go first. A machine that only computes may set 0."""
    text = os.environ.get("ARML_NICE", "").strip()
    return int(text) if text.isdigit() else NICENESS


def lower_priority(by: int) -> None:
    """Let other processes have the processor first.

    Where Linux groups processes by session, the nice value only counts among processes of the same session; the
    session itself has one too. This child leads its own session, so nobody else is slowed down.
    """
    os.nice(by)
    if by and os.getsid(0) == os.getpid():
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(by))


def warm_up() -> None:
    """Train and search a little: parts of torch are set up at their first use, and compiled loops are loaded then."""
    x = np.random.default_rng(0).random((32, 4))
    ARML(n_epochs=2, random_state=0, device="cpu").fit(x, np.arange(32) % 2)
    compile_loops()


def _devices() -> list[str]:
    if torch.cuda.is_available():
        return [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    return ["mps"] if torch.backends.mps.is_available() else []


def _die_with_parent() -> None:
    """Linux ends this process with the worker even if it is deep in C code and does not look at stdin."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    lower_priority(niceness())
    faulthandler.enable()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    orders = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # stray prints must not look like answers
    Child(orders, answers).serve()


if __name__ == "__main__":
    main()
