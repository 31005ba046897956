"""How long calls report progress and can be stopped."""

from collections.abc import Callable, Mapping
from typing import Any

Callback = Callable[[int, int, Mapping[str, Any]], None]
"""``callback(done, total, info)``; raise :class:`arml_core.Cancelled` in it to stop the work cleanly."""


def report(callback: Callback | None, done: int, total: int, **info: Any) -> None:
    """Call `callback` if there is one."""
    if callback is not None:
        callback(done, total, info)
