"""Where at most two features move: the points at which an answer can change, for `predict` to be asked about.

The answer changes only across lines on which two training rows are equally far. Each region between them that comes
nearest to x does so where one such line is nearest to it, or where two of them, or one and an edge of the box, meet. So
points all around those places tell whether anything flips; that they do needs no tolerance to be believed.
"""

from __future__ import annotations

import itertools

import numpy as np

from .oracles import Threat

HAIRS = (1e-13, 1e-11, 1e-9, 1e-7, 1e-5)
AROUND = np.stack([np.cos(np.arange(16) * np.pi / 8 + 0.1), np.sin(np.arange(16) * np.pi / 8 + 0.1)], axis=1)


def places_to_probe(M: np.ndarray, X: np.ndarray, x: np.ndarray, threat: Threat) -> np.ndarray:
    """Points the attacker may move x to, in the precision of x, a hair apart around every place of interest."""
    free, centre = threat.free(len(x)), x.astype(float)
    weights = threat.weights(len(x))
    rows = np.unique(X.astype(float), axis=0)
    lines = [(normal[free] / weights, offset) for normal, offset in _bisectors(M, rows, centre)]
    sides = threat.limits(centre) or ()
    walls = [
        (unit, weight * (side - centre)[feature])
        for side in sides
        for unit, weight, feature in zip(np.eye(len(free)), weights, free, strict=True)
        if np.isfinite(side[feature])
    ]
    places = [place for line in lines for place in _nearest(*line)]
    places += [place for one, other in itertools.combinations(lines + walls, 2) if (place := _meet(one, other)).size]
    if not places:
        return np.empty((0, len(x)), dtype=x.dtype)
    moves = np.array(places)
    size = max(1.0, float(np.abs(moves).max()))
    around = AROUND[:, : len(free)]
    moves = np.concatenate([moves, *(moves + hair * size * step for hair in HAIRS for step in around)])
    points = np.repeat(centre[None], len(moves), axis=0)
    points[:, free] += moves / weights
    points = points.astype(x.dtype)
    if sides:
        low, high = sides
        points = np.clip(points, low, high).astype(x.dtype)
        points = points[((points >= low) & (points <= high)).all(axis=1)]  # single precision may round out of the box
    points[:, list(threat.frozen)] = x[list(threat.frozen)]
    return points


def _bisectors(M: np.ndarray, rows: np.ndarray, x: np.ndarray):
    """For every two rows, w and o such that they are equally far from x + δ where w·δ = o."""
    pull, distance = (rows - x) @ M, np.einsum("nd,de,ne->n", rows - x, M, rows - x)
    for a, b in itertools.combinations(range(len(rows)), 2):
        yield 2 * (pull[a] - pull[b]), distance[a] - distance[b]


def _nearest(normal: np.ndarray, offset: float):
    """The points of a line nearest to 0 in each of the three norms."""
    if np.abs(normal).max() < 1e-9:
        return
    yield normal * offset / (normal @ normal)
    yield np.sign(normal) * offset / np.abs(normal).sum()
    for k in np.flatnonzero(normal):
        yield np.eye(len(normal))[k] * offset / normal[k]


def _meet(one, other) -> np.ndarray:
    normals = np.array([one[0], other[0]])
    if normals.shape[1] < 2 or abs(np.linalg.det(normals)) < 1e-9:
        return np.empty(0)
    return np.linalg.solve(normals, [one[1], other[1]])
