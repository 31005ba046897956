"""A little room on the disk kept for the moment when it is full."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from .errors import DiskFull

SIZE = 512 * 1024
_Result = TypeVar("_Result")


def keep_room(path: Path) -> None:
    """Fill the reserve if it is not there. On a disk without room for it there is none, and nothing fails."""
    try:
        if path.exists() and path.stat().st_size == SIZE:
            return
        with path.open("wb") as stream:
            stream.write(os.urandom(SIZE))  # not zeros: some file systems store those as nothing
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def with_room(path: Path, write: Callable[[], _Result]) -> _Result:
    """Run `write`; if the disk is full, give up the reserve and try once more."""
    try:
        return write()
    except DiskFull:
        if not path.exists():
            raise
        path.unlink(missing_ok=True)
        return write()
