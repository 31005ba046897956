"""How long calls report progress and can be stopped."""

from collections.abc import Callable, Mapping
from typing import Any

Callback = Callable[[int, int, Mapping[str, Any]], None]
"""``callback(done, total, info)``; raise :class:`arml_core.Cancelled` in it to stop the work cleanly."""


def report(callback: Callback | None, done: int, total: int, **info: Any) -> None:
    """Call `callback` if there is one."""
    if callback is not None:
        callback(done, total, info)


def none_done(callback: Callback | None) -> Callback:
    """`callback` for a first step that finishes nothing, but can be stopped."""
    return lambda done, total, info: report(callback, 0, total, **info)
