"""Reading a file in a process of its own, with limits on its time and memory.

What is in a file decides how long reading takes, and a file is hostile. A process can be stopped, gives all its memory
back, and keeps neither the other threads of a server waiting nor, should a library fail on a file, takes it down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from . import problems
from .encoding import Source, read_bytes
from .limits import MAX_BYTES, MAX_MEMORY, MAX_SECONDS
from .problems import Problem, Problems
from .read import is_quick, read_table
from .table import ReadResult
from .transport import OUT_OF_MEMORY, REFUSED, read_result

AT_ONCE = 2
"""Files that are read at the same time; more would only take cores and memory from each other."""
LOOK_SECONDS = 0.02
PATIENCE = 3.0
"""A busy machine may take so many times as long as the limit, which counts the processor time of the child."""
_PLACES = threading.BoundedSemaphore(AT_ONCE)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def read_table_apart(
    file: Source, *, seconds: float = MAX_SECONDS, memory: int = MAX_MEMORY, **options: Any
) -> ReadResult:
    """As :func:`read_table`, within `seconds` and `memory` bytes; a problem says which of them was not enough.

    A short text is read at once: it is over before a process has started.
    """
    content = read_bytes(file, options.get("max_bytes", MAX_BYTES))
    if isinstance(content, Problem):
        return ReadResult(None, Problems([content]))
    if is_quick(content):
        return read_table(content, **options)
    with _PLACES, tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(json.dumps({"seconds": seconds, "memory": memory, "options": options}).encode() + b"\n")
        question.write(content)
        question.seek(0)
        return _answer_of(question, answer, seconds, memory)


def _answer_of(question: IO[bytes], answer: IO[bytes], seconds: float, memory: int) -> ReadResult:
    child = subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.read_child"],
        stdin=question,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ONE_THREAD, "PYTHONPATH": _import_path(os.environ)},
    )
    try:
        stopped = _watch(child, seconds, memory)
    finally:
        with suppress(OSError):
            child.kill()
        child.wait()
    if stopped is not None:
        return ReadResult(None, Problems([stopped]))
    answer.seek(0)
    if child.returncode == OUT_OF_MEMORY:
        return ReadResult(None, Problems([problems.took_too_much_memory(memory)]))
    if child.returncode == REFUSED:
        raise ValueError(answer.read(10_000).decode(errors="replace"))
    if child.returncode != 0:
        return ReadResult(None, Problems([problems.reader_ended()]))
    return read_result(answer, 2 * memory)


def _watch(child: subprocess.Popen[bytes], seconds: float, memory: int) -> Problem | None:
    """Wait for the child; the reason why it must be stopped, or None when it has ended."""
    until = time.monotonic() + PATIENCE * seconds
    while time.monotonic() < until:
        try:
            child.wait(LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            with suppress(psutil.Error):
                used = psutil.Process(child.pid)
                if used.memory_info().rss > memory:
                    return problems.took_too_much_memory(memory)
                if sum(used.cpu_times()[:2]) > seconds:
                    return problems.took_too_long(seconds)
    else:
        return problems.took_too_long(PATIENCE * seconds)
    return None


def _import_path(environment: Mapping[str, str]) -> str:
    """A PYTHONPATH under which the child finds this very package, installed or not."""
    here = str(Path(__file__).resolve().parents[3])
    others = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part and part != here]
    return os.pathsep.join([here, *others])
