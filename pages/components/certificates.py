"""The one door from the pages to certificates of single points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import arml_core as arml
from arml_core.certify import METHODS
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


def mean_radius(
    knn: arml.MahalanobisKNN, X: NDArray[np.float64], y: NDArray[np.int64], norm: float
) -> tuple[float, int]:
    """The mean certified radius over the training points, each left out in turn, and how many of them are wrong.

    Exact where that is quick for all points at once, else the `votes` lower bound. A point nothing can flip counts
    with the largest radius of the others.
    """
    method = "exact" if best_method(knn.n_neighbors, norm) == "exact" else "votes"
    found = knn.certify(X, y, method=method, threat=arml.ThreatModel(norm=norm), exclude=np.arange(len(X)))
    finite = found.lower[np.isfinite(found.lower)]
    largest = float(finite.max()) if finite.size else 0.0
    return float(np.minimum(found.lower, largest).mean()), int((~found.correct).sum())
