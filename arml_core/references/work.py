"""The work of learning references in numbers; see `arml_core/learners/work.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..learners.work import Work
from .close_pairs import BLOCK_ROWS
from .deciding_triplets import OTHERS, OWN
from .kmeans import prototypes_per_class
from .robust import METRIC_EVERY, START_CENTRES
from .training import BATCH, FEWEST_STEPS

CENTRE_PASSES = 45
"""Passes of k-means over the rows of a class."""


def _centres(n: int, d: int, c: int, n_prototypes: Any) -> tuple[Work, int]:
    """k-means in each class, and how many centres there are in all."""
    size = max(1, n // c)
    count = prototypes_per_class(n_prototypes, size)
    products = CENTRE_PASSES * n * count * d
    return Work(products=products, values=4.0 * CENTRE_PASSES * n * count, seconds=0.02 * c), c * count


def kmeans_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    return _centres(n, d, c, p["n_prototypes"])[0]


def _steps(n: int, n_epochs: int) -> int:
    a_pass = math.ceil(n / BATCH)
    return max(n_epochs, math.ceil(FEWEST_STEPS / a_pass)) * a_pass


def robust_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    start, count = _centres(n, d, c, p["n_prototypes"])
    judged, _ = _centres(n, d, c, START_CENTRES)
    learned = p["metric"] == "learned"
    rank = (p["n_components"] or d) if learned else 0
    steps, batch = _steps(n, p["n_epochs"]), min(n, BATCH)
    pairs = min(OWN, count) * min(OTHERS, count)
    seldom = (count * count + 4 * rank * d) * d / METRIC_EVERY  # the metric moves, prototypes are measured
    products = batch * count * d + seldom + (d * d * (count + 2 * batch) if learned else 0)
    values = batch * (300.0 * count + 180.0 * pairs + 40.0 * d) + 3.0 * count * count + 20.0 * (count + rank) * d
    if p["norm"] != "l2":  # no matrix product measures prototypes in these norms
        values += 12.0 * count * count * d / METRIC_EVERY
    return Work(
        products=start.products + judged.products + steps * products,
        values=start.values + judged.values + steps * values,
        seconds=start.seconds + judged.seconds + 7e-4 * steps,
        memory=8.0 * (batch * (6 * count + 8 * pairs + 8 * d) + 3 * count * count + 8 * (count + rank) * d),
    )


def gmlvq_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    start, count = _centres(n, d, c, p["n_prototypes"])
    rank = p["n_components"] or d
    steps, batch = _steps(n, p["n_epochs"]), min(n, BATCH)
    products = batch * count * rank + rank * d * (7 * batch + count)
    values = 12.0 * batch * count + 40.0 * batch * d + 20.0 * (count + rank) * d
    return Work(
        products=start.products + steps * products,
        values=start.values + steps * values,
        seconds=start.seconds + 1e-3 * steps,
        memory=8.0 * (batch * (6 * count + 8 * d) + 8 * (count + rank) * d),
    )


def pruning_work(n: int, d: int, c: int, p: Mapping[str, Any]) -> Work:
    pairs = n * n / 2
    exact = p["norm"] != "l2"
    return Work(
        products=0.0 if exact else 1.5 * pairs * d,
        values=900.0 * pairs + (10.0 * pairs * d if exact else 0.0),
        memory=8.0 * (8 * min(n, BLOCK_ROWS) ** 2 + n * d),
        in_float64=True,
    )
