"""Choosing the smallest of numbers that are only known up to an error."""

from __future__ import annotations

import numpy as np

from .arrays import BoolArray, FloatArray
from .error_bounds import TINY


def k_smallest(values: FloatArray, error: FloatArray, k: int) -> tuple[BoolArray, BoolArray]:
    """Which entries of each row are among its k smallest whatever the errors, and which are only with some.

    An infinite value is left out, however uncertain it is.
    """
    with np.errstate(invalid="ignore"):  # what is left out is infinitely far, and as uncertain
        lower, upper = values - error - TINY, values + error + TINY
    lower = np.where(np.isfinite(values), lower, np.inf)
    inside = upper < np.partition(lower, k - 1, axis=1)[:, k - 1, None]
    possible = lower <= np.partition(upper, k - 1, axis=1)[:, k - 1, None]
    inside |= possible & (possible.sum(axis=1, keepdims=True) == k)
    return inside, possible & ~inside
