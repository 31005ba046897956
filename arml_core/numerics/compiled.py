"""The decorator of every compiled loop, and where the compiled code is kept.

Numba keeps what it compiled as long as the file of a function stays the same; that a function of another file, which
was compiled into it, has changed, it does not see. So the folder is named after the contents of all those files: after
a change to any of them everything is compiled again, and no loop ever runs with an old one inside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs

PACKAGE = Path(__file__).parents[1]
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled at its first call or loaded from where it is kept.

    It sums in its own order, never with fastmath: the error bounds hold for every order.
    """
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(_folder())  # read while decorating
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    finally:
        settings.CACHE_DIR = before


@cache
def _folder() -> Path:
    """Beside the code or, where that cannot be written, in a folder of the user."""
    name = f"compiled-{digest(sources())}"
    beside = PACKAGE / "__pycache__" / name
    try:
        beside.mkdir(parents=True, exist_ok=True)
        (beside / "writable").touch()
    except OSError:
        return Path(platformdirs.user_cache_dir("arml-explorer", appauthor=False)) / name
    return beside


def sources() -> list[Path]:
    """The files with compiled loops, and this one."""
    return sorted(path for path in PACKAGE.glob("*/*.py") if "import compiled" in path.read_text(encoding="utf-8"))


def digest(files: list[Path]) -> str:
    """A short name for the contents of some files."""
    contents = hashlib.sha256()
    for file in files:
        contents.update(file.read_bytes())
    return contents.hexdigest()[:16]
