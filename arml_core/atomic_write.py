"""Files that are whole or absent, also after a power cut."""

from __future__ import annotations

import os
import threading
from pathlib import Path

TEMPORARY = ".tmp"
"""How the name of a file ends that is not yet in its place."""


def atomic_write(path: Path, content: bytes | memoryview) -> None:
    """Write under another name in the same folder, flush to the disk and rename: a reader sees the old file or the new.

    There is one temporary name per destination and thread, so an interrupted write leaves at most one file.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}{TEMPORARY}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:  # also a full disk, a cancel or Ctrl-C must leave nothing behind
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """The new name, too, has to reach the disk. Windows opens no folders and writes names by itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
