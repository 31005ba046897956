"""Rows that are the same point."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from .arrays import IntArray


def conflicting_rows(X: NDArray[np.floating], y: NDArray[np.integer]) -> IntArray:
    """The rows that equal, in every feature, a row with another label."""
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(X):
        # a digest, since the rows themselves would take the memory of X again; + 0.0 turns -0.0 into 0.0
        key = hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest()
        groups.setdefault(key, []).append(i)
    mixed = [group for group in groups.values() if len(group) > 1 and len(np.unique(y[group])) > 1]
    return np.array(sorted(i for group in mixed for i in group), dtype=np.intp)
