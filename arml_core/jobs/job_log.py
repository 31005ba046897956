"""Lines in a job's log, which is stderr while the job runs."""

from __future__ import annotations

import sys
import time
from contextlib import suppress


def log_line(text: str) -> None:
    """Write a line with the time. On a full disk the line is dropped: a log must not make a job fail."""
    with suppress(OSError):
        print(time.strftime("%Y-%m-%d %H:%M:%S"), text, file=sys.stderr, flush=True)  # noqa: T201
