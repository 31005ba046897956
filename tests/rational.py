"""Answers without a single rounding, in fractions, for what is small enough.

* :func:`line_radius`: ε* itself where one feature can move, for any M, K and number of classes.
* :func:`least_distance`: the point of a polyhedron nearest to 0, for the oracles' programs that float64 cannot solve.

Floating-point numbers are fractions; whatever is handed over is taken to be exactly what it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tests.oracles import plurality

Vector = list[Fraction]


def fractions(values) -> Vector:
    return [Fraction(float(v)) for v in np.asarray(values).ravel()]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def line_radius(G, X, y, x, k, feature: int, cost=1.0, box=None, exclude=(), label=None) -> Fraction | None:
    """The smallest cost·|t| for which x + t·e_feature is not answered `label`; None where no t does that.

    The metric is GᵀG, ties go to the lower index, and `label` is the answer at x unless given. With
    ``h_a = (M(x - x_a))_feature`` the key ``d(x, x_a) + 2 t h_a`` orders the rows at t, so the answer changes only
    where two keys meet: these places, and one point between each two of them, are all there is to look at. `box`
    limits the moving feature; it is widened to hold x.
    """
    rows = [r for r in range(len(X)) if r not in set(exclude)]
    g = [fractions(row) for row in np.atleast_2d(G)]
    distance, slope = {}, {}
    for r in rows:
        moved = [a - b for a, b in zip(fractions(x), fractions(X[r]), strict=True)]
        image = [dot(row, moved) for row in g]
        distance[r] = dot(image, image)
        slope[r] = dot(image, [row[feature] for row in g])

    def answer(t: Fraction) -> object:
        ranked = sorted((distance[r] + 2 * t * slope[r], r) for r in rows)
        return plurality(y[r] for _, r in ranked[:k])

    label = answer(Fraction(0)) if label is None else label
    if answer(Fraction(0)) != label:
        return Fraction(0)
    meetings = {
        (distance[b] - distance[a]) / (2 * (slope[a] - slope[b]))
        for a, b in itertools.combinations(rows, 2)
        if slope[a] != slope[b]
    }
    at = Fraction(float(x[feature]))
    room = (
        (None, None)
        if box is None
        else (max(at - Fraction(float(box[0])), Fraction(0)), max(Fraction(float(box[1])) - at, Fraction(0)))
    )
    found = [
        size
        for sign, limit in zip((-1, 1), room, strict=True)
        if (size := _first_flip(answer, label, sign, sorted({abs(t) for t in meetings if t * sign > 0}), limit))
        is not None
    ]
    return Fraction(float(cost)) * min(found) if found else None


def _first_flip(answer, label, sign: int, places: list[Fraction], limit: Fraction | None) -> Fraction | None:
    """The smallest of 0 and `places` at or behind which the answer differs, on one side of x and up to `limit`."""
    for here, following in itertools.pairwise([Fraction(0), *places, None]):
        if limit is not None and here > limit:
            return None
        if answer(sign * here) != label:
            return here
        end = following if limit is None else min(limit, limit if following is None else following)
        if end == here:
            return None
        if answer(sign * (here + 1 if end is None else (here + end) / 2)) != label:
            return here
    return None


def least_distance(A, b) -> np.ndarray | None:
    """The smallest z with A z ≥ b; None where there is none.

    Lawson and Hanson's reduction to non-negative least squares (*Solving Least Squares Problems*, chapter 23), whose
    active-set method ends after finitely many steps where nothing is rounded.
    """
    columns = [[*fractions(row), offset] for row, offset in zip(A, fractions(b), strict=True)]
    width = len(columns[0])
    target = [Fraction(0)] * (width - 1) + [Fraction(1)]
    weight = [Fraction(0)] * len(columns)
    passive: list[int] = []

    def residual() -> Vector:
        return [target[r] - sum((weight[j] * columns[j][r] for j in passive), Fraction(0)) for r in range(width)]

    while True:
        rest = residual()
        gains = {j: dot(columns[j], rest) for j in range(len(columns)) if j not in passive}
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or gains[best] <= 0:
            break
        passive.append(best)
        while True:
            chosen = [columns[j] for j in passive]
            solution = _solve([[dot(p, q) for q in chosen] for p in chosen], [dot(p, target) for p in chosen])
            if min(solution) > 0:
                break
            step = min(weight[j] / (weight[j] - s) for j, s in zip(passive, solution, strict=True) if s <= 0)
            for j, s in zip(passive, solution, strict=True):
                weight[j] += step * (s - weight[j])
            passive = [j for j in passive if weight[j] > 0]
        for j, s in zip(passive, solution, strict=True):
            weight[j] = s
    if rest[-1] == 0:
        return None
    return np.array([float(-r / rest[-1]) for r in rest[:-1]])


def _solve(matrix: list[Vector], right: Vector) -> Vector:
    """The solution of a regular system, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for c in range(len(rows)):
        pivot = next(r for r in range(c, len(rows)) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [value / rows[c][c] for value in rows[c]]
        for r in range(len(rows)):
            if r != c and rows[r][c] != 0:
                rows[r] = [value - rows[r][c] * top for value, top in zip(rows[r], rows[c], strict=True)]
    return [row[-1] for row in rows]
