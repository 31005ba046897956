"""What comes from outside: which files are read, and how much of a foreign text an error tells."""

from __future__ import annotations

import os
import stat

LONGEST = 200


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """A ValueError for a folder, a pipe or a device: some never end, some never begin.

    FileNotFoundError if there is nothing.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{os.fspath(path)} is a folder, a pipe or a device; save its content to a file first")


def shortened(value: object, limit: int = LONGEST) -> str:
    """The value as text, cut where it is longer than anybody reads."""
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
