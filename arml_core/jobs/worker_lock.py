"""The lock that only one worker per folder holds; the system lets go of it when its holder ends, however it ends."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

ACQUIRE_SECONDS = 0.2
LOOKS, LOOK_SECONDS = 5, 0.005
CLOCK_SECONDS = 5.0
"""By so much the start of a process may seem to move when the clock of the machine is set."""
_looking = threading.Lock()
"""Looking takes a free lock for a moment; threads that look at the same time must not take each other for a worker."""


class WorkerLock:
    """An exclusive lock on a file. The file beside it names the holder: some systems let nobody read a locked file."""

    def __init__(self, path: Path) -> None:
        self._path, self._named = path, path.with_suffix(".pid")
        self._lock = _file_lock(path)

    def acquire(self) -> bool:
        """Take the lock if it is free; one refusal may come from :meth:`holder`, which holds it for a moment."""
        try:
            self._lock.acquire(timeout=ACQUIRE_SECONDS, poll_interval=0.01)
        except Timeout:
            return False
        with suppress(OSError):  # on a full disk the lock holds all the same, only its holder has no name
            self._named.write_text(f"{os.getpid()} {psutil.Process().create_time()}", encoding="ascii")
        with suppress(OSError):  # earlier versions read the number here: one that is left over may be anybody's by now
            self._path.write_text(json.dumps({"pid": os.getpid()}), encoding="ascii")
        return True

    def release(self) -> None:
        """Let go of the lock; without it nothing happens, as the name beside it may be another process' by now."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):  # first the name: this process lives on without the lock
            self._named.unlink(missing_ok=True)
        self._lock.release()

    def holder(self) -> int | None:
        """The process that holds the lock, or None if it is free; 0 if it cannot be named.

        A holder that has named itself is found without touching the lock.
        """
        for _ in range(LOOKS):
            pid = self._named_pid()
            if pid is not None:
                return pid
            if self._is_free():
                return None
            time.sleep(LOOK_SECONDS)  # another process looked, or the holder has not named itself yet
        return self._pid_in_lock()

    def _named_pid(self) -> int | None:
        """The process that the file names, if that very process still runs."""
        try:
            pid, started = self._named.read_text(encoding="ascii").split()
            process = psutil.Process(int(pid))
            if process.status() == psutil.STATUS_ZOMBIE or abs(process.create_time() - float(started)) > CLOCK_SECONDS:
                return None
            return int(pid)
        except (OSError, ValueError, psutil.Error):
            return None

    def _pid_in_lock(self) -> int:
        """The number that the holder wrote into the lock itself, as earlier versions do; 0 if it cannot be read."""
        try:
            return int(json.loads(self._path.read_text(encoding="ascii"))["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def _is_free(self) -> bool:
        if not self._path.exists():
            return True
        try:
            with _looking, _file_lock(self._path).acquire(blocking=False):
                return True
        except Timeout:
            return False
        except OSError:  # a folder that cannot be written has no worker
            return True


def _file_lock(path: Path) -> FileLock:
    """A file system that cannot lock is an error: what filelock has instead would outlive its holder."""
    return FileLock(path, mode=0o600, fallback_to_soft=False)
