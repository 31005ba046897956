"""Answers do not depend on what stands beside a row, nor on what the caller has switched on in torch."""

import numpy as np
import pytest
import torch

from arml_core import MahalanobisKNN, Metric
from tests.more import seeds


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), rng.integers(3, size=3000)
    return X, y, MahalanobisKNN(5).fit(X, y), rng.normal(size=(2000, 20))


def test_half_precision_around_the_call_changes_nothing(crowd):
    X, y, knn, x = crowd
    predicted, certified = knn.predict(x), knn.certify(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fitted = MahalanobisKNN(5).fit(X, y)
        np.testing.assert_array_equal(fitted.predict(x), predicted)
        np.testing.assert_allclose(fitted.certify(x).lower, certified.lower, rtol=1e-12)
        np.testing.assert_array_equal(knn.kneighbors(x)[1], fitted.kneighbors(x)[1])
        assert torch.is_autocast_enabled("cpu")  # the caller's own work goes on as it was


def test_coarser_products_are_for_the_callers_own_work(crowd):
    _, _, knn, x = crowd
    seen = []
    torch.set_float32_matmul_precision("medium")
    try:
        knn.certify(x[:5], callback=lambda *_: seen.append(torch.get_float32_matmul_precision()))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert set(seen) == {"highest"}


def test_another_default_type_changes_nothing(crowd):
    _, _, knn, x = crowd
    before = knn.attack(x[:5], method="boundary", steps=20)
    torch.set_default_dtype(torch.float64)
    try:
        after = knn.attack(x[:5], method="boundary", steps=20)
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(before.upper, after.upper)


def half_way(seed):
    """Points half-way between rows of a grid and the one row of class 1, seen by a metric too large for plain loops.

    Each is as far from both, but a matrix product need not say so.
    """
    rng = np.random.default_rng(seed)
    D = int(rng.integers(65, 90))
    X, y = rng.integers(-4, 5, size=(200, D)).astype(float), np.zeros(200, dtype=int)
    odd = int(rng.integers(200))
    y[odd], X[odd] = 1, rng.choice([-4.0, 4.0], size=D)
    knn = MahalanobisKNN(1, Metric.from_components(rng.normal(size=(D, D)))).fit(X, y)
    start = X[rng.choice(np.flatnonzero(y == 0), 8, replace=False)]
    middle = (start + X[odd]) / 2
    tied = [odd in knn.kneighbors(point[None], 2)[1][0] for point in middle]
    return knn, start, middle[tied]


@pytest.mark.parametrize("seed", seeds(25, step=4))
def test_ties_are_decided_alike_whatever_is_compared(seed):
    """Leaving out the farthest row cannot change who is nearest, and other queries cannot either."""
    knn, _, middle = half_way(seed)
    if len(middle):
        farthest = knn.kneighbors(middle, 200)[1][:, -1]
        predicted = knn.predict(middle)
        np.testing.assert_array_equal(knn.predict(middle, exclude=farthest), predicted)
        np.testing.assert_array_equal([knn.predict(point[None])[0] for point in middle], predicted)


@pytest.mark.parametrize("seed", seeds(25, step=4))
def test_what_the_boundary_attack_found_fools_the_classifier_itself(seed):
    knn, start, _ = half_way(seed)
    found = knn.attack(start, method="boundary", steps=1)
    for row in np.flatnonzero(np.isfinite(found.upper)):
        assert knn.predict(found.adversarial[row : row + 1])[0] != found.predicted[row]
    np.testing.assert_array_equal(np.isnan(found.adversarial[:, 0]), np.isinf(found.upper))
