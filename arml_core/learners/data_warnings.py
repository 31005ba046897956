"""A warning about training data from which a learned metric would be doubtful."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ..numerics.equal_rows import conflicting_rows

SCALE_RATIO = 1e4
"""Features whose ranges differ by more than this are hardly meant to be measured in one norm."""


def warn_about_data(X: NDArray[np.floating], codes: NDArray[np.intp]) -> None:
    """A UserWarning that says what makes a metric learned from these points doubtful, if anything does."""
    n, d = X.shape
    messages = []
    n_singletons = int((np.bincount(codes) == 1).sum())
    if n_singletons:
        messages.append(f"{n_singletons} of the classes have a single point, which has no neighbour of its own class")
    if d > n:
        messages.append(f"there are more features ({d}) than points ({n}), so many metrics fit equally well")
    ranges = np.ptp(X, axis=0)
    varying = ranges[ranges > 0]
    if varying.size == 0:
        messages.append("all points are the same")
    elif varying.max() > SCALE_RATIO * varying.min():
        messages.append(
            f"the spreads of the features differ by a factor of {varying.max() / varying.min():.2g}; "
            "scale them alike, or the largest decides alone"
        )
    n_conflicting = len(conflicting_rows(X, codes)) if varying.size else 0
    if n_conflicting:
        messages.append(f"{n_conflicting} points coincide with a point of another class, and no metric parts them")
    if messages:
        warnings.warn("the learned metric may be doubtful: " + "; ".join(messages), UserWarning, stacklevel=4)
