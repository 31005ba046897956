"""Bounds on floating-point error, so that a certificate can be rounded towards the safe side.

The model is the standard one (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 3): a sum or
inner product of n terms, in any order, with or without fused multiply-add, is off by at most
``γ_n · Σ|terms|`` with ``γ_n = n·u / (1 - n·u)`` and ``u`` the unit roundoff. Underflow adds at most the
smallest normal number per operation; :data:`TINY` covers it.
"""

import numpy as np

from .arrays import FloatArray

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
