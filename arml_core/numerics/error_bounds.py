"""Bounds on floating-point error, so that a certificate can be rounded towards the safe side.

The model is the standard one (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 3): a sum or
inner product of n terms, in any order, with or without fused multiply-add, is off by at most
``γ_n · Σ|terms|`` with ``γ_n = n·u / (1 - n·u)`` and ``u`` the unit roundoff. Underflow adds at most the
smallest normal number per operation; :data:`TINY` covers it.

Other folders take whole bounds from here and never compute with γ themselves.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from .arrays import FloatArray, IntArray

Number = TypeVar("Number", float, FloatArray)

UNIT_ROUNDOFF = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}
TINY = 1e-290
LARGEST = 1e140
"""Squares of larger values, and their products with a metric, could overflow."""
SMALLEST = 1e-140
"""Where all values are smaller, their squares could underflow."""
UNDERFLOW = 1e-150
"""More than a 2-norm can lose where squares underflow, for up to a million entries."""


def gamma(n_terms: int, dtype: type[np.floating] = np.float64) -> float:
    """Higham's γ_n: the relative error bound of an inner product of `n_terms` terms."""
    nu = n_terms * UNIT_ROUNDOFF[np.dtype(dtype)]
    if nu >= 0.5:
        raise ValueError(f"{n_terms} terms are too many for an error bound in {np.dtype(dtype).name}")
    return nu / (1.0 - nu)


def norm(vectors: FloatArray, order: float = 2) -> FloatArray:
    """Norms along the last axis, at any scale: divided by a power of two first, so that no square is out of range."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0.0)
    scale = np.ldexp(1.0, np.frexp(largest)[1])  # 1 for 0, and for what is not finite
    norms: FloatArray = np.linalg.norm(vectors / scale, ord=order, axis=-1) * scale[..., 0]
    return norms


def rounded_up(values: Number, n_terms: int) -> Number:
    """Computed sums or norms of `n_terms` terms, enlarged by their rounding error."""
    return values * (1 + gamma(n_terms))


def rounded_down(values: Number, n_terms: int) -> Number:
    """The same, reduced by it."""
    return values * (1 - gamma(n_terms))


def size_rounded_up(sizes: Number, n_features: int) -> Number:
    """Sizes of moves of so many features, none smaller than the true one."""
    return rounded_up(sizes, n_features + 8)


def norm_rounded_up(vectors: FloatArray, error: FloatArray, order: float = 2, extra_terms: int = 8) -> FloatArray:
    """Norms along the last axis of vectors that may be off by `error`, entry by entry: none below the truth."""
    return rounded_up(norm(np.abs(vectors) + error, order), vectors.shape[-1] + extra_terms)


def sum_error(magnitudes: Number, n_terms: int) -> Number:
    """How far sums of `n_terms` terms may be off whose magnitudes add up to `magnitudes`."""
    return gamma(n_terms + 8) * magnitudes


def sums_rounded_down(terms: FloatArray, first: IntArray) -> FloatArray:
    """The sum of each run of `terms`, which begins at an entry of `first`; none larger than the true one."""
    longest = int(np.diff(np.append(first, len(terms))).max())
    return np.add.reduceat(terms, first) - sum_error(np.add.reduceat(np.abs(terms), first), longest)


def transform_error(magnitude: Number, n_features: int, rank: int) -> Number:
    """How far G v may be off, for a G of `rank` rows and `magnitude` = ‖|G||v|‖ (or an entry of it).

    Four times what one product needs, so that it also covers the squared distances computed from it.
    """
    return 4 * gamma(n_features + rank + 8) * magnitude


def squared_distance_error(d: FloatArray, slack: FloatArray) -> FloatArray:
    """How far squared distances `d` may be off whose difference vectors are off by up to `slack`."""
    return 4 * slack * (np.sqrt(np.maximum(d, 0.0)) + slack) + TINY


def gram_error(spread: Number, n_terms: int, dtype: type[np.floating] = np.float64) -> Number:
    """How far ``‖u‖² + ‖v‖² - 2 u·v`` of vectors of `n_terms` entries may be off, for `spread` = ‖u‖ + ‖v‖."""
    return gamma(n_terms + 16, dtype) * spread**2


def difference_error(lengths: FloatArray, n_terms: int) -> FloatArray:
    """How far the lengths of differences of stored vectors of `n_terms` entries may be off."""
    return gamma(n_terms + 8) * lengths


def float32_error(values: Number) -> Number:
    """How far values may move when they are stored as float32."""
    return gamma(1, np.float32) * values
