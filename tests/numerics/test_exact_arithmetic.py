"""Distances as whole numbers, and a classifier that answers as exact arithmetic does."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN, Metric
from arml_core.numerics.exact_arithmetic import ExactDistances
from tests.oracles import plurality
from tests.point_sets import references_of
from tests.rational import dot, fractions


def squared(g, x, z) -> Fraction:
    apart = [a - b for a, b in zip(fractions(x), fractions(z), strict=True)]
    image = [dot(fractions(row), apart) for row in g]
    return dot(image, image)


@pytest.mark.parametrize("kind", ["identity", "diagonal", "full", "wide"])
def test_they_are_the_true_ones_in_some_unit(kind):
    rng = np.random.default_rng(0)
    g = {
        "identity": np.eye(3),
        "diagonal": np.diag([1.0, 1e-120, 3e5]),
        "full": rng.normal(size=(3, 3)) * np.array([1e-9, 1.0, 1e7]),
        "wide": rng.normal(size=(1, 3)),
    }[kind]
    distances = ExactDistances(np.diag(g) if kind in ("identity", "diagonal") else g)
    for scale in (1e-100, 1.0, 1e100):
        x, z = rng.normal(size=3) * scale, rng.normal(size=(5, 3)) * scale
        z[0], z[1, 0] = x, 0.0
        found, true = distances(x, z), [squared(g, x, row) for row in z]
        assert found[0] == 0
        assert all(Fraction(a, found[1]) == b / true[1] for a, b in zip(found, true, strict=True))
    assert distances(np.zeros(3), np.zeros((2, 3))) == [0, 0]


@st.composite
def problems(draw):
    """Few places on a grid, so that distances tie, in units and metrics that make squares drown differences."""
    n, d = draw(st.integers(3, 9)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)) * draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    y = rng.integers(3, size=n)
    y[:2] = 0, 1
    scales = np.array([draw(st.sampled_from([1.0, 1e-3, 1e-9, 1e-25])) for _ in range(d)])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0] if draw(st.booleans()) else np.eye(d)
    far = draw(st.sampled_from([0.0, 0.1, 1.0, 1e3, 1e9, 1e14]))
    points = X[rng.integers(n, size=4)] + far * rng.integers(-1, 2, size=(4, d))
    return X, y, scales[:, None] * turn, points, draw(st.integers(1, n))


@given(problems())
def test_predict_answers_as_exact_arithmetic_does(problem):
    X, y, g, points, k = problem
    knn = MahalanobisKNN(k, Metric.from_components(g)).fit(X, y)
    places = references_of(knn).points(np.arange(len(X)))  # those it cannot tell apart are in one place
    for x, answer in zip(points, knn.predict(points), strict=True):
        ranked = sorted((squared(g, x, place), r) for r, place in enumerate(places))
        assert answer == plurality(y[r] for _, r in ranked[:k])


def test_rows_that_tie_in_exact_arithmetic_are_ranked_by_training_order():
    """The same three differences in another order: their sums round differently."""
    steps = np.array([0.1, 0.2, 0.6])
    X = np.array([steps[[2, 1, 0]], steps, steps[[1, 0, 2]], [9.0, 9.0, 9.0]])
    sums = (X[:3] ** 2).sum(axis=1)
    assert len(set(sums.tolist())) > 1
    for order in ([0, 1, 2, 3], [2, 1, 0, 3], [1, 2, 0, 3]):
        knn = MahalanobisKNN(1).fit(X[order], [0, 1, 2, 0])
        assert knn.predict(np.zeros((1, 3)))[0] == 0
