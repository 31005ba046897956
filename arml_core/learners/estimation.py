"""How long a training will take and how much memory it needs, before it starts.

The work of each learner is counted in multiplications of matrices and in values touched outside of them, and
divided by how fast this machine does either. How many iterations a solver needs depends on the data; where it does
not run a fixed number, a typical one is assumed (see `TYPICAL_ITERATIONS`).
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
from .arml import FULL_BATCH, LARGE_BATCH, epochs_between_rankings
from .neighbours import BLOCK_BYTES
from .precision import SMALL_DATA
from .registry import get_learner
from .solvers import FULL_SOLVER_LIMIT

BASE_BYTES = 400 * 2**20
"""Python, torch and scikit-learn themselves."""
FIRST_STEP = 1.3
"""Seconds torch takes to get its optimiser ready, once in a process."""
TYPICAL_ITERATIONS = {"nca": 80, "lmnn": 320, "itml": 600}
"""Evaluations of the objective (NCA, LMNN) or passes over the pairs (ITML), at most the learner's `max_iter`."""


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


@dataclass(frozen=True)
class _Work:
    """Multiply-adds, values touched outside of matrix products, other seconds, and bytes beyond the data."""

    products: float = 0.0
    values: float = 0.0
    seconds: float = 0.0
    memory: float = 0.0


def estimate(
    learner: str,
    n_points: int,
    n_features: int,
    n_classes: int,
    parameters: Mapping[str, Any] | None = None,
    rates: Rates | None = None,
) -> Estimate:
    """Time and memory to fit `learner` to data of this size on the CPU of this machine.

    Within a factor of 2 of what was measured on the paper's six datasets, for trainings of more than a second.
    """
    entry = get_learner(learner)
    known = {p.name: p.default for p in entry.parameters}
    known.update({name: entry.parameter(name).check(value) for name, value in (parameters or {}).items()})
    speed = rates or measure_rates()
    work = _WORK[learner](n_points, n_features, n_classes, known)
    in_float64 = learner in ("itml", "lfda") or n_points * n_features <= SMALL_DATA
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


def _euclidean(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    return _Work()


def _arml(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    rank, epochs = p["n_components"] or d, p["n_epochs"]
    if p["objective"] == "unsampled":
        return _Work(values=6.0 * epochs * n**3 * (c - 1) / c**2, seconds=1e-3 * epochs, memory=64.0 * n * n)
    batch = min(n, p["batch_size"] or (n if n <= FULL_BATCH else LARGE_BATCH))
    rankings = -(-epochs // epochs_between_rankings(n, p["batch_size"], p["refresh"]))
    ranking = batch * n * rank + n * d * rank
    update = 2 * batch * d * min(d, 2 * rank) + 4 * d * d * rank
    return _Work(
        products=rankings * ranking + epochs * update,
        values=20.0 * rankings * batch * n + 100.0 * epochs * batch * d,
        seconds=FIRST_STEP + 2e-3 * epochs,
        memory=_block(batch, n) + 48.0 * batch * d + 64.0 * d * d,
    )


def _block(rows: int, n: int) -> float:
    """Bytes of a block of distances."""
    return float(min(BLOCK_BYTES, 8 * rows * n))


def _pairwise(n: int, d: int, p: Mapping[str, Any], evaluations: float) -> _Work:
    """A solver over a pair objective: on all points, or on batches of anchors."""
    rank = p["n_components"] or d
    full = p["solver"] != "stochastic" and (p["solver"] != "auto" or n <= FULL_SOLVER_LIMIT)
    anchors, steps = (n, evaluations) if full else (min(n, p["batch_size"]), p["n_steps"])
    products = anchors * n * (d + rank) + 2 * n * d * rank + 2 * anchors * d * rank
    touches = 85.0 if n * d <= SMALL_DATA else 33.0  # float64 or float32
    return _Work(
        products=steps * products,
        values=steps * (touches * anchors * n + 4.0 * n * d),
        seconds=5e-4 * steps if full else FIRST_STEP + 5e-3 * steps,
        memory=3.0 * _block(anchors, n) + 16.0 * n * d + 200.0 * d * d,
    )


def _nca(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    if p["backend"] == "metric-learn":
        return _Work(products=3.0 * TYPICAL_ITERATIONS["nca"] * n * n * d, memory=8.0 * 6 * n * n)
    return _pairwise(n, d, p, min(TYPICAL_ITERATIONS["nca"], p["max_iter"] + 2))


def _lmnn(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    evaluations = min(TYPICAL_ITERATIONS["lmnn"], p["max_iter"])
    memory = 8.0 * n * n * 4 if p["backend"] == "metric-learn" else 0.0
    work = _pairwise(n, d, p, evaluations)
    targets = n * n / c
    return _Work(work.products + targets * d, work.values + 20.0 * targets, work.seconds, work.memory + memory)


def _itml(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    pairs = 2 * (p["n_constraints"] or 20 * c * c)
    projections = pairs * min(TYPICAL_ITERATIONS["itml"], p["max_iter"])
    points = min(n, 2 * pairs)
    return _Work(
        products=points * points * d,
        values=2.0 * projections * d * d + 100.0 * points * points,
        seconds=4e-6 * projections,
        memory=8.0 * (1.2 * points * points + 4 * pairs * d + 4 * d * d),
    )


def _lfda(n: int, d: int, c: int, p: Mapping[str, Any]) -> _Work:
    size = n / c
    return _Work(
        products=2.5 * c * (2 * size * size * d + 3 * size * d * d) + 40.0 * d**3,
        values=12.0 * c * size * size,
        memory=8.0 * (5 * size * size + 2 * n * d + 10 * d * d),
    )


_WORK = {"euclidean": _euclidean, "arml": _arml, "nca": _nca, "lmnn": _lmnn, "itml": _itml, "lfda": _lfda}
