"""Warnings about training data from which a learned metric would be doubtful."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
from numpy.typing import NDArray

SCALE_RATIO = 1e4
"""Features whose spreads differ by more than this are hardly meant to be measured in one norm."""


def warn_if_doubtful(X: NDArray[np.floating], codes: NDArray[np.intp]) -> None:
    """Say in a UserWarning what makes a metric learned from these points doubtful."""
    n, d = X.shape
    doubts = []
    lonely = int((np.bincount(codes) == 1).sum())
    if lonely:
        doubts.append(f"{lonely} of the classes have a single point, which has no neighbour of its own class")
    if d > n:
        doubts.append(f"there are more features ({d}) than points ({n}), so many metrics fit equally well")
    spread = np.ptp(X, axis=0)
    moving = spread[spread > 0]
    if moving.size == 0:
        doubts.append("all points are the same")
    elif moving.max() > SCALE_RATIO * moving.min():
        doubts.append(
            f"the spreads of the features differ by a factor of {moving.max() / moving.min():.2g}; "
            "scale them alike, or the largest decides alone"
        )
    clashing = count_clashing(X, codes) if moving.size else 0
    if clashing:
        doubts.append(f"{clashing} points coincide with a point of another class, and no metric parts them")
    if doubts:
        warnings.warn("the learned metric may be doubtful: " + "; ".join(doubts), UserWarning, stacklevel=4)


def count_clashing(X: NDArray[np.floating], codes: NDArray[np.intp]) -> int:
    """The number of points that equal, in every feature, a point with another label."""
    labels: dict[bytes, set[int]] = {}
    keys = [
        hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest() for row in X
    ]  # + 0.0 makes -0.0 and 0.0 the same bytes
    for key, code in zip(keys, codes.tolist(), strict=True):
        labels.setdefault(key, set()).add(code)
    return sum(len(labels[key]) > 1 for key in keys)
