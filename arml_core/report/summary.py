"""Many radii in a few numbers: verdict counts, a radius worth starting at, a histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.directed_rounding import digits_down
from ..vocabulary import VERDICTS

FALLBACK_RADIUS = 0.1
BINS = 30


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many rows have their proven radius between two neighbouring edges, by verdict.

    `beyond` rows are not drawn: no step of any length flips them.
    """

    edges: FloatArray
    counts: dict[str, IntArray]
    beyond: int


def count_verdicts(verdicts: NDArray[np.str_]) -> dict[str, int]:
    return {name: int((verdicts == name).sum()) for name in VERDICTS}


def suggested_radius(lower: FloatArray) -> float:
    """A round ε to begin with: half the median proven radius, cut to one digit."""
    proved = lower[(lower > 0) & np.isfinite(lower)]
    if not len(proved):
        return FALLBACK_RADIUS
    return digits_down(float(np.median(proved)) / 2, 1)


def largest_finite_radius(lower: FloatArray, upper: FloatArray) -> float:
    """The largest finite radius on either side; 1 if there is none."""
    both = np.concatenate([lower, upper])
    finite = both[np.isfinite(both)]
    return float(finite.max()) if len(finite) and finite.max() > 0 else 1.0


def radius_histogram(lower: FloatArray, verdicts: NDArray[np.str_], bins: int = BINS) -> Histogram:
    """The proven radii in `bins` equal bins from 0 to the largest finite one."""
    finite = np.isfinite(lower)
    top = float(lower[finite].max()) if finite.any() else 0.0
    edges = np.linspace(0.0, top if top > 0 else 1.0, bins + 1)
    counts = {name: np.histogram(lower[finite & (verdicts == name)], edges)[0].astype(np.intp) for name in VERDICTS}
    return Histogram(edges, counts, int((~finite).sum()))
