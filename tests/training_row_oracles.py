"""How many training rows must be wrong before an answer changes, by trying all of them: slow, and independent.

Rows are given by their squared distances to the point, in numbers that are compared exactly, and by their labels, in
training order. Nothing here imports the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from tests.oracles import plurality

ANYWHERE = 3


def exact_distances(G: Any, X: Any, x: Any) -> list[Fraction]:
    """‖G(x - x_i)‖² without rounding."""
    g = [[Fraction(float(value)) for value in row] for row in np.asarray(G)]
    found = []
    for row in np.asarray(X):
        apart = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(x, row, strict=True)]
        found.append(sum(sum(a * b for a, b in zip(line, apart, strict=True)) ** 2 for line in g))
    return found


def vote(distances: Sequence[Any], labels: Sequence[Any], k: int) -> Any:
    """The answer of the k nearest; equal distances go to the earlier row, equal votes to the smaller label."""
    ranked = sorted(range(len(labels)), key=lambda i: (distances[i], i))
    return plurality(labels[i] for i in ranked[:k])


def fewest_removed(distances: Sequence[Any], labels: Sequence[Any], k: int) -> float:
    n, answer = len(labels), vote(distances, labels, k)
    for r in range(1, n - k + 1):
        for kept in combinations(range(n), n - r):
            if vote([distances[i] for i in kept], [labels[i] for i in kept], k) != answer:
                return r
    return math.inf


def fewest_relabelled(distances: Sequence[Any], labels: Sequence[Any], k: int, classes: Sequence[Any]) -> float:
    n, answer = len(labels), vote(distances, labels, k)
    for r in range(1, n + 1):
        for rows in combinations(range(n), r):
            for new in product(classes, repeat=r):
                changed = dict(zip(rows, new, strict=True))
                if vote(distances, [changed.get(i, labels[i]) for i in range(n)], k) != answer:
                    return r
    return math.inf


def fewest_added(distances: Sequence[Any], labels: Sequence[Any], k: int, classes: Sequence[Any]) -> float:
    """New rows stand before the others, at the point itself, at the distance of any row, or beyond all of them.

    More than `ANYWHERE` of them are tried at the point itself only, of any classes.
    """
    answer = vote(distances, labels, k)
    places = sorted({0, *distances, max(distances) + 1})
    for r in range(1, k + 1):
        for new in combinations_with_replacement(product(places if r <= ANYWHERE else [0], classes), r):
            moved, named = zip(*new, strict=True)
            if vote([*moved, *distances], [*named, *labels], k) != answer:
                return r
    return math.inf
