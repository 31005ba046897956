"""Only the most promising negatives are looked at; a negative that is not listed can still be the one that decides."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN
from arml_core.certificates import bounds, exact
from tests.more import seeds

CLOUDS = [(0, 3), (1, 8), (3, 3), (5, 3)]
"""Seeds and dimensions at which a listed negative's bound once hid that an unlisted one's was smaller."""


def clouds(seed: int, dimension: int):
    """Four overlapping classes of 600 points, 60 test points, and a metric stretched tenfold."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, dimension))
    y = rng.integers(0, 4, 600)
    x = centres[y] + 0.5 * rng.normal(size=(600, dimension))
    g = np.diag(np.geomspace(1, 0.1, dimension)) @ np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    y_test = rng.integers(0, 4, 60)
    return x, y, centres[y_test] + 0.5 * rng.normal(size=(60, dimension)), y_test, g.T @ g


def all_pairs(point, x, y, label, m, k) -> float:
    """Theorem 1 by computing every triplet."""
    positive, negative = x[y == label], x[y != label]
    p = np.einsum("nd,de,ne->n", positive - point, m, positive - point)
    n = np.einsum("nd,de,ne->n", negative - point, m, negative - point)
    below = 2 * np.linalg.norm((positive @ m)[None] - (negative @ m)[:, None], axis=2)
    values = np.maximum((n[:, None] - p) / below, 0.0)
    return float(np.sort(np.sort(values, axis=1)[:, -k])[k - 1])


@pytest.mark.parametrize("k", [1, 11])
@pytest.mark.parametrize(("seed", "dimension"), CLOUDS)
def test_theorem1_equals_all_pairs(seed, dimension, k):
    x, y, points, labels, m = clouds(seed, dimension)
    found = MahalanobisKNN(k, metric=m).fit(x, y).certify(points, labels, method="theorem1")
    for row in np.flatnonzero(found.correct):
        truth = all_pairs(points[row], x, y, labels[row], m, (k + 1) // 2)
        assert found.lower[row] == pytest.approx(truth, rel=1e-7, abs=1e-12)
        assert found.lower[row] <= truth * (1 + 1e-12)


@pytest.mark.parametrize(("method", "k"), [("theorem1", 11), ("votes", 11), ("votes", 4), ("exact", 1)])
@pytest.mark.parametrize(("seed", "dimension"), CLOUDS)
def test_short_lists_prove_no_more_than_complete_ones(seed, dimension, method, k, monkeypatch):
    x, y, points, labels, m = clouds(seed, dimension)
    knn = MahalanobisKNN(k, metric=m).fit(x, y)
    short = knn.certify(points, labels, method=method)
    monkeypatch.setattr(bounds, "WIDTH", len(x))
    monkeypatch.setattr(exact, "WIDTH", len(x))
    complete = knn.certify(points, labels, method=method)
    np.testing.assert_allclose(short.lower, complete.lower, rtol=1e-9)
    np.testing.assert_allclose(short.upper, complete.upper, rtol=1e-6)


def two_clusters(seed: int):
    """One class in two places, each with a shell of another class around one side of it, at different distances.

    From either centre hundreds of negatives are about equally near, so every list is too short at first, and how long
    it must become differs between the centres.
    """
    rng = np.random.default_rng(seed)
    d, centres = 12, np.zeros((2, 12))
    centres[1, 0] = 30.0
    rows, labels = [], []
    for centre, count, radius in zip(centres, (450, 300), (8, 14), strict=True):
        rows.append(centre + rng.normal(size=(60, d)))
        side = rng.normal(size=(count, d)) + 12 * np.eye(d)[1]
        side /= np.linalg.norm(side, axis=1, keepdims=True)
        rows.append(centre + side * radius * rng.uniform(1, 1.02, size=(count, 1)))
        labels += [0] * 60 + [1] * count
    return np.concatenate(rows), np.array(labels), centres


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize(("method", "k"), [("votes", 3), ("theorem1", 5), ("votes", 1), ("exact", 1)])
def test_points_are_certified_together_as_each_of_them_alone(method, k, seed):
    """Longer lists are made for several points at once, in another order than that of the points."""
    X, y, centres = two_clusters(seed)
    knn = MahalanobisKNN(k).fit(X, y)
    for points in (centres, centres[::-1], np.concatenate([centres, centres + 0.3])):
        together = knn.certify(points, method=method).lower
        alone = [knn.certify(point[None], method=method).lower[0] for point in points]
        np.testing.assert_allclose(together, alone, rtol=1e-8)
        assert (together <= knn.attack(points).upper).all()
