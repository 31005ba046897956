"""The one door from the pages to certificates of single points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import arml_core as arml
from arml_core.certificates import METHODS
from arml_core.curves import mean_radius
from arml_core.figures import Probe, make_probe

SEARCH_SECONDS = 0.06  # per point; whatever is still open then is shown as an interval
LONGER_SECONDS = 3.0


def best_method(n_neighbors: int, norm: float) -> str:
    """The method with the tightest answer for this K and norm."""
    if n_neighbors == 1 and norm in METHODS["exact"].norms:
        return "exact"
    return "search"


def probe_point(
    knn: arml.MahalanobisKNN,
    point: tuple[float, float],
    norm: float,
    row: int | None = None,
    label: int | None = None,
    seconds: float = SEARCH_SECONDS,
) -> Probe:
    """Certify one place, or training row `row` with its own label and without itself (leave-one-out)."""
    x = np.array([point], dtype=np.float64)
    exclude = None if row is None else [row]
    method = best_method(knn.n_neighbors, norm)
    options = {"budget": seconds} if method == "search" else {}
    found = knn.certify(
        x,
        None if label is None else [label],
        method=method,
        threat=arml.ThreatModel(norm=norm),
        exclude=exclude,
        **options,
    )
    squared, neighbours = knn.kneighbors(x, exclude=exclude)
    return make_probe(found, x[0], int(found.predicted[0]), neighbours[0], squared[0], row, label)


def mean_of_all(knn: arml.MahalanobisKNN, X: NDArray[np.float64], y: NDArray[np.int64], norm: float) -> float:
    """The mean certified radius over the training points, each left out in turn.

    Exact where that is quick for all points at once, else the `votes` lower bound.
    """
    method = "exact" if best_method(knn.n_neighbors, norm) == "exact" else "votes"
    found = knn.certify(X, y, method=method, threat=arml.ThreatModel(norm=norm), exclude=np.arange(len(X)))
    return mean_radius(found.lower)
