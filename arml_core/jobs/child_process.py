"""The worker's children: started ahead of time, given jobs, ended when they must."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .store.queue import Claim

GRACE_SECONDS = 2.0
"""How long a cancelled job may take to stop by itself."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class ChildProcess:
    """One child process, in a process group of its own."""

    popen: subprocess.Popen[bytes]
    ready: bool = False
    claim: Claim | None = None
    device: str = "cpu"
    told_at: float | None = None
    jobs: int = 0
    answers: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)

    @property
    def idle(self) -> bool:
        return self.ready and self.claim is None

    def run(self, claim: Claim, device: str) -> None:
        self.claim, self.device, self.told_at = claim, device, None
        self.jobs += 1
        self._order(order="run", job=claim.job, lease=claim.lease, device=device)

    def tell(self, order: str) -> None:
        """Ask for a cancel or a pause, once; after the grace time :meth:`overdue` is true."""
        if self.claim is not None and self.told_at is None:
            self.told_at = time.monotonic()
            self._order(order=order, lease=self.claim.lease)

    def overdue(self) -> bool:
        return self.told_at is not None and time.monotonic() - self.told_at > GRACE_SECONDS

    def end(self) -> None:
        """Kill the whole group: what a child may have started ends with it."""
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        assert self.popen.stdin is not None
        with suppress(OSError):
            self.popen.stdin.close()

    def _order(self, **message: Any) -> None:
        assert self.popen.stdin is not None
        with suppress(OSError):  # it has just died; the next look at it will tell
            self.popen.stdin.write(json.dumps(message).encode() + b"\n")
            self.popen.stdin.flush()


def start_child(threads: int) -> ChildProcess:
    """Start a child; it says when it is ready."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": import_path()}
    popen = subprocess.Popen(
        [sys.executable, "-m", "arml_core.jobs.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    process = ChildProcess(popen)
    threading.Thread(target=_read_answers, args=(process,), daemon=True).start()
    return process


def import_path() -> str:
    """A PYTHONPATH under which a new process finds this very package, installed or not."""
    here = str(Path(__file__).resolve().parents[2])
    others = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != here]
    return os.pathsep.join([here, *others])


def _read_answers(process: ChildProcess) -> None:
    assert process.popen.stdout is not None
    with process.popen.stdout as stream:
        for line in stream:
            with suppress(json.JSONDecodeError):
                process.answers.put(json.loads(line))
