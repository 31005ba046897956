"""The small programs behind a radius: the point of a polyhedron closest to the origin, in each norm."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dgeqrf
from scipy.optimize import linprog, nnls

from ..numerics.arrays import BoolArray, FloatArray
from .program_kernels import ASTRAY, OPTIMAL, least_move

INFEASIBLE = 1e-13


def least_distance(normals: FloatArray, offsets: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Minimise ‖δ‖₂ subject to ``normals @ δ ≥ offsets`` (unit normals, at least one positive offset).

    Lawson and Hanson's reduction to non-negative least squares. Returns δ, the multipliers (up to a positive
    factor) and whether the constraints can be met at all; where they cannot, the multipliers combine them into a
    contradiction.
    """
    scale = float(offsets.max())
    factored, *_ = dgeqrf(normals.T)  # numpy's qr spends most of its time around this call
    height = min(normals.shape)
    system = np.empty((height + 1, len(offsets)))
    np.multiply(factored[:height], _above_diagonal(height, len(offsets)), out=system[:-1])
    np.divide(offsets, scale, out=system[-1])
    target = np.zeros(len(system))
    target[-1] = 1.0
    multipliers, _ = nnls(system, target, maxiter=50 * len(offsets) + 100)
    left_over = 1.0 - float(offsets @ multipliers) / scale
    if left_over < INFEASIBLE:
        return np.full(normals.shape[1], np.inf), multipliers, False
    delta: FloatArray = normals.T @ multipliers * (scale / left_over)
    return delta, multipliers, True


@lru_cache(maxsize=256)
def _above_diagonal(height: int, width: int) -> FloatArray:
    return np.triu(np.ones((height, width)))


def least_distance_by_program(
    normals: FloatArray,
    offsets: FloatArray,
    norm: float,
    room: tuple[FloatArray, FloatArray] | None = None,
    limit: float = np.inf,
    free: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray, bool]:
    """The same in ℓ1 or ℓ∞, a linear program; `room` is how far each coordinate of δ may fall and rise.

    Coordinates that are `free` do not count in ‖δ‖; they need finite room.

    A compiled walk over the corners of the dual (:mod:`.program_kernels`); HiGHS, which spends most of its time on
    being set up, has what few degenerate programs lead that astray. Where the program is infeasible, the multipliers
    combine the constraints into one that no δ within `room` meets; those of HiGHS come as close as they can to proving
    it without `room`. A program whose δ would be longer than `limit` counts as infeasible, as soon as that is seen.
    """
    width = normals.shape[1]
    down, up = (np.full(width, np.inf),) * 2 if room is None else (np.array(side, np.float64) for side in room)
    lines = np.ascontiguousarray(normals, np.float64), np.ascontiguousarray(offsets, np.float64)
    is_free = np.zeros(width, dtype=bool) if free is None else free
    delta, multipliers, outcome = least_move(*lines, float(norm), down, up, float(limit), is_free)
    if outcome == ASTRAY:
        delta, multipliers, feasible = least_distance_by_highs(normals, offsets, norm, room, is_free)
        return delta, multipliers, feasible and bool(np.linalg.norm(delta[~is_free], ord=norm) <= limit)
    return delta, multipliers, outcome == OPTIMAL


def least_distance_by_highs(
    normals: FloatArray,
    offsets: FloatArray,
    norm: float,
    room: tuple[FloatArray, FloatArray] | None = None,
    free: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray, bool]:
    """The same by a general solver."""
    n, width = normals.shape
    counts = np.ones(width) if free is None else (~free).astype(np.float64)
    down, up = room if room is not None else (np.full(width, np.inf), np.full(width, np.inf))
    if norm == 1:  # δ = rise - fall, minimise their sum
        costs, matrix, limits = np.tile(counts, 2), np.hstack([-normals, normals]), -offsets
        bounds = np.column_stack([np.zeros(2 * width), np.concatenate([up, down])])
    else:  # |δ_k| ≤ t, minimise t
        costs = np.append(np.zeros(width), 1.0)
        eye, column = np.eye(width)[counts > 0], np.ones((int(counts.sum()), 1))
        matrix = np.vstack(
            [np.hstack([-normals, np.zeros((n, 1))]), np.hstack([eye, -column]), np.hstack([-eye, -column])]
        )
        limits = np.concatenate([-offsets, np.zeros(2 * len(eye))])
        bounds = np.column_stack([np.append(-down, 0.0), np.append(up, np.inf)])
    answer = linprog(costs, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    if answer.x is None:
        return np.full(width, np.inf), _contradiction(normals, offsets, norm), False
    delta = answer.x[:width] - answer.x[width:] if norm == 1 else answer.x[:width]
    return delta, np.maximum(-answer.ineqlin.marginals[:n], 0.0), True


def _contradiction(normals: FloatArray, offsets: FloatArray, norm: float) -> FloatArray:
    """Multipliers that come as close as possible to proving that the half-spaces have no point in common.

    Maximises λ·offsets with the merged normal at most 1 in the dual norm; where the program is infeasible this is
    limited only by the cap on λ.
    """
    n, width = normals.shape
    if norm == 1:  # dual ℓ∞
        costs, matrix = -offsets, np.vstack([normals.T, -normals.T])
        limits = np.ones(2 * width)
        bounds = [(0.0, 1e9)] * n
    else:  # dual ℓ1: |merged| ≤ z, Σ z ≤ 1
        costs = np.concatenate([-offsets, np.zeros(width)])
        eye = np.eye(width)
        top = np.vstack([np.hstack([normals.T, -eye]), np.hstack([-normals.T, -eye])])
        matrix = np.vstack([top, np.concatenate([np.zeros(n), np.ones(width)])])
        limits = np.append(np.zeros(2 * width), 1.0)
        bounds = [(0.0, 1e9)] * n + [(0.0, 1.0)] * width
    answer = linprog(costs, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    return np.zeros(n) if answer.x is None else np.maximum(answer.x[:n], 0.0)
