"""A lock file that the kernel lets go when its holder ends, however it ends (POSIX)."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


class Lock:
    """An exclusive lock on a file that also names its holder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _try_for_a_moment(handle):
            os.close(handle)
            return False
        with suppress(OSError):  # on a full disk the lock holds all the same, only its holder has no name
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps({"pid": os.getpid()}).encode(), 0)
        self._handle = handle
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def holder(self) -> int | None:
        """The process that holds the lock, or None if it is free (0 if it has not written its number yet)."""
        try:
            handle = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _pid(os.pread(handle, 4096, 0))
        else:
            return None
        finally:
            os.close(handle)


def _try_for_a_moment(handle: int) -> bool:
    """:meth:`Lock.holder` holds a free lock for microseconds: one refusal does not mean that it is taken."""
    for _ in range(20):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.01)
    return False


def _pid(content: bytes) -> int:
    try:
        written: Any = json.loads(content)
        return int(written["pid"])
    except (ValueError, KeyError, TypeError):
        return 0
