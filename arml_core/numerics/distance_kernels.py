"""Sweeps over blocks of bounds on distances, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray
from .compiled import compiled
from .smallest import keep_smallest

Floats = NDArray[np.floating[Any]]


class Vectors(NamedTuple):
    """Points for upper bounds on the distances between a few of them, in the norm `order`.

    In ℓ2 distances come from products: `squares` are those of the lengths, and `error` times the squared sum of two
    entries of `slack` bounds what the square of a distance is off. Else a distance is off by the sum of two entries of
    `slack`, and by the factor `error`.
    """

    points: Floats
    squares: Floats
    slack: Floats
    error: float
    order: float


@compiled
def nearest_by_upper(
    lower: Floats, own: Floats, slack: Floats, width: float, start: int, values: Floats, places: IntArray
) -> None:
    """The smallest upper bounds of each row from the column `start` on, as many as `slack` has, and where they are."""
    upper = np.empty(len(slack), lower.dtype)
    for b in range(len(lower)):
        for i in range(len(upper)):
            spread = own[b] + slack[i]
            upper[i] = lower[b, start + i] + spread * spread * width
        keep_smallest(upper, values[b], places[b])
        places[b] += start


@compiled
def lower_to_upper(squares: Floats, constant: Floats, own: Floats, slack: Floats, width: float) -> None:
    """Turn lower bounds on squared distances, less a constant, into upper bounds, in place."""
    zero = squares.dtype.type(0)
    for b in range(len(squares)):
        row = squares[b]
        for j in range(len(row)):
            spread = own[b] + slack[j]
            above = row[j] + constant[b] + spread * spread * width
            row[j] = above if above > 0 else zero


@compiled
def centres_of(points: FloatArray, places: IntArray, counts: IntArray, order: float) -> tuple[FloatArray, FloatArray]:
    """The mean of the first `counts[b]` of the points at `places[b]`, and how far each of these is from it."""
    centre, away = np.zeros((len(places), points.shape[1])), np.zeros(places.shape)
    for b in range(len(places)):
        for k in range(counts[b]):
            row = points[places[b, k]]
            for d in range(len(row)):
                centre[b, d] += row[d]
        for d in range(points.shape[1]):
            centre[b, d] /= counts[b]
        for k in range(counts[b]):
            row, total = points[places[b, k]], 0.0
            for d in range(len(row)):
                apart = abs(row[d] - centre[b, d])
                if order == 2:
                    total += apart * apart
                elif order == 1:
                    total += apart
                else:
                    total = max(total, apart)
            away[b, k] = np.sqrt(total) if order == 2 else total
    return centre, away


@compiled
def as_columns(points: Floats, places: IntArray) -> Floats:
    """Some points as columns: a sum for each of them at once is quick without giving up its order."""
    result = np.empty((points.shape[1], len(places)), points.dtype)
    for k in range(len(places)):
        for d in range(len(result)):
            result[d, k] = points[places[k], d]
    return result


@compiled
def upper_distances_to(vectors: Vectors, j: int, places: IntArray, columns: Floats, result: Floats) -> None:
    """Upper bounds on the distances of point j to the points at `places`, which are also given as `columns`."""
    if vectors.order != 2:
        _distances(vectors.points[j], columns, vectors.order, result)
        for k in range(len(places)):
            result[k] = (result[k] + (vectors.slack[j] + vectors.slack[places[k]])) * vectors.error
        return
    _products(vectors.points[j], columns, result)
    for k in range(len(places)):
        i = places[k]
        spread = vectors.slack[j] + vectors.slack[i]
        square = (vectors.squares[j] + vectors.squares[i]) - 2 * result[k] + spread * spread * vectors.error
        result[k] = np.sqrt(max(square, 0))


@compiled
def _products(row: Floats, columns: Floats, result: Floats) -> None:
    result[:] = 0
    whole = columns.shape[0] - columns.shape[0] % 4
    for d in range(0, whole, 4):
        r0, r1, r2, r3 = row[d], row[d + 1], row[d + 2], row[d + 3]
        c0, c1, c2, c3 = columns[d], columns[d + 1], columns[d + 2], columns[d + 3]
        for k in range(len(result)):
            result[k] += (r0 * c0[k] + r1 * c1[k]) + (r2 * c2[k] + r3 * c3[k])
    for d in range(whole, columns.shape[0]):
        for k in range(len(result)):
            result[k] += row[d] * columns[d, k]


@compiled
def _distances(row: Floats, columns: Floats, order: float, result: Floats) -> None:
    """Distances in ℓ1 or ℓ∞."""
    result[:] = 0
    for d in range(columns.shape[0]):
        for k in range(len(result)):
            apart = abs(row[d] - columns[d, k])
            if order == 1:
                result[k] += apart
            else:
                result[k] = max(result[k], apart)
