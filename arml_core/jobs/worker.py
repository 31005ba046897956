"""The worker: one process per ``ARML_HOME`` that gives queued jobs to its children and watches over them."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

import psutil

from .capacity import Devices, Limits
from .child_process import GRACE_SECONDS, ChildProcess, start_child
from .disk_reserve import keep_room, with_room
from .errors import StoreError, WorkerRunning
from .garbage_collection import collect_unneeded
from .job_log import log_line
from .paths import Paths
from .store.database import PATIENCE_SECONDS, Database
from .store.queue import Queue
from .store.worker_row import WorkerRow
from .worker_lock import WorkerLock

POLL_SECONDS = 0.05
BEAT_SECONDS = 1.0
CARE_SECONDS = 600.0
IDLE_SECONDS = 900.0
MAX_JOBS_PER_CHILD = 500
MAX_IDLE_BYTES = 1_500 * 2**20


class Worker:
    """Holds the lock from :meth:`run` to its end; a second one for the same folder is refused."""

    def __init__(
        self,
        paths: Paths,
        limits: Limits,
        idle_seconds: float = IDLE_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._paths, self._limits, self._idle_seconds, self._patience = paths, limits, idle_seconds, patience
        self._lock = WorkerLock(paths.lock)
        self._children: list[ChildProcess] = []
        self._devices = Devices()
        self._unsaved: list[tuple[str, str, str, str]] = []
        self._endings: dict[str, str] = {}  # why the child that held a lease ended, until the store has taken it
        self._stop = False
        self._seen, self._stale = -1, True
        self._next_beat = self._next_care = self._next_start = 0.0
        self._failed_starts = 0

    def run(self) -> None:
        """Serve until told to stop, or until there has been nothing to do for a while."""
        self._paths.create()
        if not self._lock.acquire():
            raise WorkerRunning(f"a worker (process {self._lock.holder()}) already serves {self._paths.root}")
        try:
            signal.signal(signal.SIGTERM, self._on_signal)
            signal.signal(signal.SIGINT, self._on_signal)
            self._database = Database(self._paths.database, self._patience)
            self._queue, self._row = Queue(self._database), WorkerRow(self._database)
            with_room(self._paths.spare_room, self._row.announce)
            again = with_room(self._paths.spare_room, self._queue.recover)
            log_line(f"worker {os.getpid()} serves {self._paths.root}; {again} interrupted jobs taken up again")
            self._serve()
        finally:
            for child in self._children:
                child.end()
            self._lock.release()

    def _serve(self) -> None:
        busy_until = time.monotonic()
        while not self._stop:
            try:
                self._look_at_children()
                version = self._database.data_version()
                if self._stale or version != self._seen:
                    self._stale, self._seen = True, version
                    self._give_back_jobs()
                    self._pass_on_cancels()
                    self._assign_jobs()
                    self._stale = False  # only now: what the store refused is tried again
                self._keep_spare()
                self._housekeeping()
            except StoreError as error:  # somebody may free the full disk: try again, without filling the log
                log_line(f"the store cannot be used: {error}")
                time.sleep(1.0)
            if any(child.claim for child in self._children) or self._unsaved:
                busy_until = time.monotonic()
            if self._idle_seconds and time.monotonic() - busy_until > self._idle_seconds and self._leave():
                log_line("nothing to do for a while: the worker ends")
                return
            time.sleep(POLL_SECONDS)
        self._pause_all()

    def _look_at_children(self) -> None:
        """Take in answers, deaths and overdue cancels."""
        for child in list(self._children):
            while not child.answers.empty():
                self._take_answer(child, child.answers.get())
            if child.overdue():
                log_line(f"job {child.claim.job if child.claim else ''} did not stop by itself; its process is ended")
                child.end()
            if child.popen.poll() is not None:
                self._child_ended(child)
            elif child.idle and (child.jobs >= MAX_JOBS_PER_CHILD or _resident(child.popen.pid) > MAX_IDLE_BYTES):
                child.end()
                self._children.remove(child)

    def _take_answer(self, child: ChildProcess, answer: dict[str, object]) -> None:
        if answer["event"] == "ready":
            child.ready, self._failed_starts = True, 0
            names = answer["devices"]
            self._devices.found(names if isinstance(names, list) else [])
        elif answer["event"] == "free":
            self._devices.give(child.device)
            child.claim, child.told_at = None, None
        elif answer["event"] == "unsaved":
            self._unsaved.append(
                (str(answer["job"]), str(answer["lease"]), str(answer["state"]), str(answer["reason"]))
            )
        self._stale = True

    def _child_ended(self, child: ChildProcess) -> None:
        """A child is gone, and with it the hold on its job."""
        child.end()
        self._children.remove(child)
        self._devices.give(child.device)
        if not child.ready:
            self._failed_starts += 1
            self._next_start = time.monotonic() + min(60.0, 2.0**self._failed_starts)
            log_line(f"a child process could not start ({_exit_reason(child)}); the lines above say why")
        if child.claim is not None:
            self._endings[child.claim.lease] = f"its process ended ({_exit_reason(child)})"
        self._stale = True

    def _give_back_jobs(self) -> None:
        """Queue every job again that runs in the store and not here: its child died, or could not write its end."""
        held = {child.claim.lease for child in self._children if child.claim}
        held.update(lease for _, lease, _, _ in self._unsaved)
        for lease, job in self._queue.held_leases().items():
            if lease not in held:
                self._give_back(job, lease)
        self._endings.clear()

    def _give_back(self, job: str, lease: str) -> None:
        died = lease in self._endings
        note = self._endings.get(lease, "the store could not be written at its end")
        state = with_room(self._paths.spare_room, lambda: self._queue.requeue(job, lease, note, counts=died))
        log_line(f"job {job}: {note}; now {state or 'somebody else cares for it'}")

    def _pass_on_cancels(self) -> None:
        """Cancel what is to be cancelled, and what this worker may no longer run."""
        running = {child.claim.job: child for child in self._children if child.claim}
        if not running:
            return
        rows = self._queue.leases(list(running))
        for job, child in running.items():
            row = rows.get(job)
            assert child.claim is not None
            if row is None or row["lease"] != child.claim.lease or row["state"] == "cancelling":
                child.tell("cancel")

    def _assign_jobs(self) -> None:
        """Give queued jobs to the children that wait."""
        for child in self._children:
            if not child.idle or not self._queue.claimable():
                continue
            claim = self._queue.claim(self._devices.available())
            if claim is None:
                return
            child.run(claim, self._devices.take(claim.accelerated))

    def _keep_spare(self) -> None:
        """Have one child more than needed, up to the limit: a job begins at once."""
        all_busy = all(child.claim for child in self._children)
        if all_busy and len(self._children) < self._limits.jobs and time.monotonic() >= self._next_start:
            self._children.append(start_child(self._limits.threads))

    def _housekeeping(self) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + BEAT_SECONDS
            self._row.beat()
            while self._unsaved:
                self._queue.end(*self._unsaved[0])
                self._unsaved.pop(0)
            self._give_back_jobs()
        if now >= self._next_care:
            self._next_care = now + CARE_SECONDS
            keep_room(self._paths.spare_room)
            collect_unneeded(self._paths, self._database)

    def _leave(self) -> bool:
        """Let go of the lock unless a job has just come: whoever adds one later sees that the lock is free."""
        try:
            return self._queue.if_empty(self._lock.release)
        except StoreError:  # it cannot be known: stay
            return False

    def _pause_all(self) -> None:
        """The worker is told to end: jobs save a checkpoint if they can and go back to the queue."""
        log_line("the worker is told to stop; running jobs go back to the queue")
        for child in self._children:
            child.tell("pause")
        until = time.monotonic() + GRACE_SECONDS
        while any(child.claim for child in self._children) and time.monotonic() < until:
            for child in self._children:
                while not child.answers.empty():
                    self._take_answer(child, child.answers.get())
            time.sleep(POLL_SECONDS)
        for child in self._children:
            child.end()
            if child.claim:
                with suppress(StoreError):
                    self._queue.requeue(child.claim.job, child.claim.lease, "the worker was stopped", counts=False)

    def _on_signal(self, *_: object) -> None:
        self._stop = True


def _exit_reason(child: ChildProcess) -> str:
    code = child.popen.returncode
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        if name != "SIGKILL":
            return name
        return f"{name}; was there enough memory?" if child.told_at is None else "it was told to stop"
    return f"exit code {code}"


def _resident(pid: int) -> int:
    """Bytes of memory a process holds, 0 where that cannot be told."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


if __name__ == "__main__":
    try:
        Worker(Paths.default(), Limits.default()).run()
    except (ValueError, OSError) as problem:
        log_line(f"error: {problem}")
        sys.exit(2)
