"""Arrays in files that are whole or absent, with a checksum; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_write import atomic_write
from ..npz import read_npz
from .errors import DamagedFile

Arrays = dict[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write a .npz that is whole or absent; returns its sha256."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
    content = buffer.getbuffer()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_write(path, content)
    return hashlib.sha256(content).hexdigest()


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


def sha256_of(path: Path) -> str:
    """The checksum of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
