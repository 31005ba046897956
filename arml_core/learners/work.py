"""The work of a training in numbers: matrix products, values touched, memory; from the size of the data alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .arml import FULL_BATCH, LARGE_BATCH, epochs_between_rankings
from .neighbours import BLOCK_BYTES
from .precision import SMALL_DATA
from .solvers import FULL_SOLVER_LIMIT

FIRST_STEP = 1.3
"""Seconds torch takes to get its optimiser ready, once in a process."""
TYPICAL_ITERATIONS = {"nca": 80, "lmnn": 320, "itml": 600}
"""Evaluations of the objective (NCA, LMNN) or passes over the pairs (ITML), at most the learner's `max_iter`."""


@dataclass(frozen=True)
class Work:
    """Multiply-adds, values touched outside of matrix products, other seconds, and bytes beyond the data.

    `in_float64` says that the learner never computes in less; others do with data that is not small.
    """

    products: float = 0.0
    values: float = 0.0
    seconds: float = 0.0
    memory: float = 0.0
    in_float64: bool = False


CountWork = Callable[[int, int, int, Mapping[str, Any]], Work]
"""From the numbers of points, features and classes, and the parameters with their defaults."""


def euclidean_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    return Work()


def arml_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    rank, epochs = p["n_components"] or d, p["n_epochs"]
    if p["objective"] == "unsampled":
        return Work(values=6.0 * epochs * n**3 * (c - 1) / c**2, seconds=1e-3 * epochs, memory=64.0 * n * n)
    batch = min(n, p["batch_size"] or (n if n <= FULL_BATCH else LARGE_BATCH))
    rankings = -(-epochs // epochs_between_rankings(n, p["batch_size"], p["refresh"]))
    ranking = batch * n * rank + n * d * rank
    update = 2 * batch * d * min(d, 2 * rank) + 4 * d * d * rank
    return Work(
        products=rankings * ranking + epochs * update,
        values=20.0 * rankings * batch * n + 100.0 * epochs * batch * d,
        seconds=FIRST_STEP + 2e-3 * epochs,
        memory=_block(batch, n) + 48.0 * batch * d + 64.0 * d * d,
    )


def _block(rows: int, n: int) -> float:
    """Bytes of a block of distances."""
    return float(min(BLOCK_BYTES, 8 * rows * n))


def _pairwise(n: int, d: int, p: Mapping[str, Any], evaluations: float) -> Work:
    """A solver over a pair objective: on all points, or on batches of anchors."""
    rank = p["n_components"] or d
    full = p["solver"] != "stochastic" and (p["solver"] != "auto" or n <= FULL_SOLVER_LIMIT)
    anchors, steps = (n, evaluations) if full else (min(n, p["batch_size"]), p["n_steps"])
    products = anchors * n * (d + rank) + 2 * n * d * rank + 2 * anchors * d * rank
    touches = 85.0 if n * d <= SMALL_DATA else 33.0  # float64 or float32
    return Work(
        products=steps * products,
        values=steps * (touches * anchors * n + 4.0 * n * d),
        seconds=5e-4 * steps if full else FIRST_STEP + 5e-3 * steps,
        memory=3.0 * _block(anchors, n) + 16.0 * n * d + 200.0 * d * d,
    )


def nca_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    if p["backend"] == "metric-learn":
        return Work(products=3.0 * TYPICAL_ITERATIONS["nca"] * n * n * d, memory=8.0 * 6 * n * n)
    return _pairwise(n, d, p, min(TYPICAL_ITERATIONS["nca"], p["max_iter"] + 2))


def lmnn_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    evaluations = min(TYPICAL_ITERATIONS["lmnn"], p["max_iter"])
    memory = 8.0 * n * n * 4 if p["backend"] == "metric-learn" else 0.0
    work = _pairwise(n, d, p, evaluations)
    targets = n * n / c
    return Work(work.products + targets * d, work.values + 20.0 * targets, work.seconds, work.memory + memory)


def itml_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    pairs = 2 * (p["n_constraints"] or 20 * c * c)
    projections = pairs * min(TYPICAL_ITERATIONS["itml"], p["max_iter"])
    points = min(n, 2 * pairs)
    return Work(
        products=points * points * d,
        values=2.0 * projections * d * d + 100.0 * points * points,
        seconds=4e-6 * projections,
        memory=8.0 * (1.2 * points * points + 4 * pairs * d + 4 * d * d),
        in_float64=True,
    )


def lfda_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    size = n / c
    return Work(
        products=2.5 * c * (2 * size * size * d + 3 * size * d * d) + 40.0 * d**3,
        values=12.0 * c * size * size,
        memory=8.0 * (5 * size * size + 2 * n * d + 10 * d * d),
        in_float64=True,
    )
