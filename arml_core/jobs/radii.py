"""Per-point results: what an evaluation stores, whole or in parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from .files import Arrays


@dataclass(frozen=True)
class Radii:
    """For each evaluated row its interval ``lower ≤ ε* ≤ upper``; the meanings are those of `Certificates`.

    `index` says which of the asked rows each entry belongs to; it is 0 … n - 1 when the result is whole. An attack
    proves nothing: its `lower` is 0.
    """

    index: IntArray
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    correct: BoolArray
    predicted: NDArray[Any]
    adversarial: NDArray[np.floating]

    def __len__(self) -> int:
        return len(self.index)

    def arrays(self) -> Arrays:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Radii:
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    @classmethod
    def from_result(cls, found: Any, index: IntArray) -> Radii:
        """From what `certify` or `attack` returns."""
        n = len(index)
        upper = np.asarray(found.upper, dtype=np.float64)
        lower = getattr(found, "lower", None)
        exact = getattr(found, "exact", None)
        return cls(
            index=index,
            lower=np.zeros(n) if lower is None else np.asarray(lower, dtype=np.float64),
            upper=upper,
            exact=upper == 0.0 if exact is None else np.asarray(exact, dtype=bool),
            correct=np.asarray(found.correct, dtype=bool),
            predicted=np.asarray(found.predicted),
            adversarial=np.asarray(found.adversarial),
        )


def joined(parts: Iterable[Radii]) -> Radii | None:
    """All parts as one, in the order of the rows, each row once; None if there are none."""
    kept = list(parts)
    if not kept:
        return None
    columns = {field.name: np.concatenate([getattr(part, field.name) for part in kept]) for field in fields(Radii)}
    _, order = np.unique(columns["index"], return_index=True)
    return Radii(**{name: column[order] for name, column in columns.items()})


def shards(n: int, method: str) -> list[IntArray]:
    """The rows 0 … n - 1 in blocks that depend on these two alone: wherever it runs, the work is the same.

    The first block is small, so that a result shows soon; the others are a small part of the whole, within limits.
    Methods that take one point after the other gain nothing from larger ones. For the boundary attack all blocks are
    large: its steps take hardly longer for hundreds of points than for a few.
    """
    if method == "boundary":
        first = size = 512
    elif method in ("search", "whitebox"):
        first, size = 2, int(np.clip(n // 100, 4, 16))
    else:
        first, size = 8, int(np.clip(n // 16, 16, 768))
    edges = [0, *range(min(first, n), n, size), n]
    return [np.arange(start, stop) for start, stop in pairwise(edges) if stop > start]
