"""Arrays in files that are whole or absent, with a checksum; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..npz import read_npz
from .errors import DamagedFile
from .paths import TEMPORARY

Arrays = dict[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write a .npz under a temporary name, flush it to the disk and rename it; returns its sha256.

    There is one temporary name per destination and thread, so an interrupted write leaves at most one file.
    """
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
    content = buffer.getbuffer()
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """The same for plain bytes."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}{TEMPORARY}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:  # also a full disk or a cancel must leave nothing behind
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_arrays(path: Path, sha256: str | None = None) -> Arrays:
    """The arrays of a .npz; :class:`DamagedFile` if it is missing, changed, cut short or not plain numbers."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedFile(f"the file {path.name} is missing") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedFile(f"the file {path.name} is damaged: its content is not what was written")
    try:
        return read_npz(io.BytesIO(content), len(content))  # these are written unpacked
    except ValueError as error:
        raise DamagedFile(f"the file {path.name} is damaged: {error}") from error


def set_aside(path: Path, folder: Path) -> Path | None:
    """Move a damaged file out of the way, keeping it for whoever wants to look; None if it is gone."""
    aside = folder / f"{path.name}.{time.time_ns()}"
    try:
        os.replace(path, aside)
        os.utime(aside)  # it is kept from now on, however old it is
    except FileNotFoundError:
        return None
    return aside


def remove_tree(folder: Path) -> None:
    """Remove a folder of plain files, tolerating one that is gone or loses files meanwhile."""
    try:
        entries = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        entry.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:  # somebody put a file there again: the next collection takes it
        return


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
