"""The process that reads one file: a question on its standard input, the table on its standard output.

    python -m arml_core.datasets.table.read_child

The first line of the question is JSON, `{"seconds": …, "memory": …, "options": {…}}`; the file's content follows. The
limits hold even if nobody watches any more.
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from contextlib import suppress
from typing import Any

from .read import read_table
from .transport import OUT_OF_MEMORY, REFUSED, write_result

NICE = 10


def main() -> int:
    question, answer = sys.stdin.buffer, sys.stdout.buffer
    gc.disable()  # millions of short lists are no cycles; the process ends soon
    asked = json.loads(question.readline())
    _step_back(asked["seconds"], asked["memory"])
    try:
        write_result(read_table(question.read(), **asked["options"]), answer)
        answer.flush()
    except MemoryError:
        return OUT_OF_MEMORY
    except ValueError as error:
        answer.seek(0)
        answer.write(str(error).encode(errors="replace"))
        return REFUSED
    return 0


def _step_back(seconds: float, memory: int) -> None:
    """A low priority; and limits of the system's own, where it has them."""
    with suppress(AttributeError, OSError):
        os.nice(NICE)
    with suppress(ImportError):
        import resource

        _limit(resource, resource.RLIMIT_CPU, math.ceil(seconds) + 1)
        _limit(resource, resource.RLIMIT_AS, _address_space() + memory)


def _limit(resource: Any, kind: int, most: int) -> None:
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def _address_space() -> int:
    """What this process has mapped before it has read anything; libraries count, though they take no memory."""
    import psutil

    return int(psutil.Process().memory_info().vms)


if __name__ == "__main__":
    sys.exit(main())
