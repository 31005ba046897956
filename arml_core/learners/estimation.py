"""How long a training will take and how much memory it needs, before it starts.

The work of each learner is counted in multiplications of matrices and in values touched outside of them, and
divided by how fast this machine does either. How many iterations a solver needs depends on the data; where it does
not run a fixed number, a typical one is assumed (see `arml_core/learners/work.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import psutil
import torch

from ..vocabulary import duration, gigabytes
from .precision import SMALL_DATA
from .registry import LearnerEntry, get_learner

BASE_BYTES = 400 * 2**20
"""Python, torch and scikit-learn themselves."""


@dataclass(frozen=True)
class Rates:
    """What a machine does in a second."""

    float32: float  # multiply-adds in matrix products
    float64: float
    values: float  # float32 values scaled in place


@dataclass(frozen=True)
class Estimate:
    """Expected wall-clock seconds and peak memory in bytes, data and interpreter included."""

    seconds: float
    memory: int

    def __str__(self) -> str:
        return f"about {duration(self.seconds)}, {gigabytes(self.memory)} of memory"


def estimate(
    learner: str | LearnerEntry,
    n_points: int,
    n_features: int,
    n_classes: int,
    parameters: Mapping[str, Any] | None = None,
    rates: Rates | None = None,
) -> Estimate:
    """Time and memory to fit `learner`, a metric's name or any entry with a `work`, on the CPU of this machine.

    Within a factor of 2 of what was measured on the paper's six datasets, for trainings of more than a second.
    """
    entry = get_learner(learner) if isinstance(learner, str) else learner
    if entry.work is None:
        raise ValueError(f"there is no estimate for {entry.title}")
    known = {p.name: p.default for p in entry.parameters}
    known.update({name: entry.parameter(name).check(value) for name, value in (parameters or {}).items()})
    speed = rates or measure_rates()
    work = entry.work(n_points, n_features, n_classes, known)
    in_float64 = work.in_float64 or n_points * n_features <= SMALL_DATA
    seconds = work.products / (speed.float64 if in_float64 else speed.float32) + work.values / speed.values
    data = 8.0 * n_points * n_features * (3 if in_float64 else 2)
    return Estimate(seconds + work.seconds, int(BASE_BYTES + data + work.memory))


def memory_available() -> int:
    """Bytes a new process can have on this machine or in this container."""
    free, room = int(psutil.virtual_memory().available), _container_memory()
    return free if room is None else min(free, room)


def refusal(needed: Estimate, available: int | None) -> str | None:
    """Why a training cannot run here, or None if it can."""
    if available is None or needed.memory <= available:
        return None
    return f"it needs about {gigabytes(needed.memory)} of memory, and {gigabytes(available)} are free"


def _container_memory(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container leaves: its limit minus what is in use and cannot be dropped."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        numbers = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(numbers.get("inactive_file", 0)) + int(numbers.get("active_file", 0)))
    except (OSError, ValueError):  # no limit reads "max"
        return None


@lru_cache(maxsize=2)
def measure_rates(clock: Callable[[], float] = time.perf_counter) -> Rates:
    """This machine's rates, measured once in about a tenth of a second."""
    generator = torch.Generator().manual_seed(0)
    square = torch.rand(1024, 1024, generator=generator, dtype=torch.float64)
    products = [_seconds(partial(torch.mm, a, a), clock) for a in (square.float(), square)]
    wide = torch.rand(4_000_000, generator=generator)
    return Rates(1024**3 / products[0], 1024**3 / products[1], len(wide) / _seconds(lambda: wide.mul_(0.999), clock))


def _seconds(function: Callable[[], Any], clock: Callable[[], float]) -> float:
    function()
    times = []
    for _ in range(5):  # the fastest is the one that was disturbed least
        started = clock()
        function()
        times.append(clock() - started)
    return min(times)
