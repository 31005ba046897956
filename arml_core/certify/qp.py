"""The small quadratic program behind an exact radius: the point of a polyhedron closest to the origin."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..rounding import FloatArray

INFEASIBLE = 1e-13


def least_distance(normals: FloatArray, offsets: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Minimise ‖δ‖₂ subject to ``normals @ δ ≥ offsets`` (unit normals, at least one positive offset).

    Lawson and Hanson's reduction to non-negative least squares. Returns δ, the multipliers (up to a positive
    factor) and whether the constraints can be met at all; where they cannot, the multipliers combine them into a
    contradiction.
    """
    scale = float(offsets.max())
    triangle = np.linalg.qr(normals.T, mode="r")
    system = np.vstack([triangle, offsets / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    multipliers, _ = nnls(system, target, maxiter=50 * len(offsets) + 100)
    left_over = 1.0 - float(offsets @ multipliers) / scale
    if left_over < INFEASIBLE:
        return np.full(normals.shape[1], np.inf), multipliers, False
    delta: FloatArray = normals.T @ multipliers * (scale / left_over)
    return delta, multipliers, True
