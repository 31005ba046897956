"""Certificates stay true in floating point: float32, tiny and huge scales, outliers, far points, bad conditioning."""

from fractions import Fraction

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.numerics.error_bounds import gamma
from tests import oracles
from tests.more import RARELY, seeds

from .cases import make_metric

JUST_INSIDE = 1 - 1e-9


def problem(seed: int, n_features: int = 4, n: int = 40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_features)), rng.integers(3, size=n), rng.normal(size=(12, n_features)), rng


def assert_holds(knn, points, lower, labels, rng, threat_norm=2):
    """Random moves just inside `lower` do not change the answer."""
    unit = rng.normal(size=(400, points.shape[1]))
    unit /= np.linalg.norm(unit, threat_norm, axis=1, keepdims=True)
    for x, radius, label in zip(points.astype(float), lower, labels, strict=True):
        if np.isfinite(radius):
            assert np.all(knn.predict(x + radius * JUST_INSIDE * unit) == label)


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_float32_input_is_certified_as_the_points_it_is(method):
    X, y, points, rng = problem(0)
    X, points = X.astype(np.float32), points.astype(np.float32)
    k = 1 if method == "exact" else 3
    M = make_metric("full", 4, rng)
    single = MahalanobisKNN(k, M).fit(X, y)
    double = MahalanobisKNN(k, M).fit(X.astype(float), y)
    one, two = single.certify(points, method=method), double.certify(points.astype(float), method=method)
    np.testing.assert_array_equal(one.predicted, two.predicted)
    np.testing.assert_allclose(one.lower, two.lower, rtol=1e-6)
    assert np.all(one.lower <= two.lower * (1 + 1e-9))
    assert_holds(double, points, one.lower, one.predicted, rng)


def test_float32_and_float64_may_be_mixed():
    X, y, points, _ = problem(1)
    X, points = X.astype(np.float32), points.astype(np.float32)
    expected = MahalanobisKNN(3).fit(X.astype(float), y).certify(points.astype(float)).lower
    for train, test in [(X, points.astype(float)), (X.astype(float), points), (X, points)]:
        np.testing.assert_allclose(MahalanobisKNN(3).fit(train, y).certify(test).lower, expected, rtol=1e-12)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("factor", [1e-100, 1e-30, 1e-6, 1e6, 1e30, 1e100])
def test_scaling_the_features_scales_the_radius(factor, norm):
    X, y, points, rng = problem(2)
    M = make_metric("full", 4, rng)
    threat = ThreatModel(norm=norm)
    expected = MahalanobisKNN(3, M).fit(X, y).certify(points, threat=threat).lower
    got = MahalanobisKNN(3, M).fit(X * factor, y).certify(points * factor, threat=threat).lower
    np.testing.assert_allclose(got, expected * factor, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-100, 1e-12, 1e12, 1e100])
def test_scaling_the_metric_changes_nothing(factor):
    X, y, points, rng = problem(3)
    M = make_metric("low_rank", 4, rng)
    for method in ("votes", "exact"):
        expected = MahalanobisKNN(1, M).fit(X, y).certify(points, method=method)
        got = MahalanobisKNN(1, M * factor).fit(X, y).certify(points, method=method)
        np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-6)
        np.testing.assert_allclose(got.upper, expected.upper, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_one_feature_on_another_scale_equals_its_cost(factor):
    """Measuring feature 0 in other units, with its cost and M adapted, is the same problem."""
    X, y, points, rng = problem(4)
    M = make_metric("full", 4, rng)
    units = np.array([factor, 1, 1, 1])
    expected = MahalanobisKNN(3, M).fit(X, y).certify(points).lower
    knn = MahalanobisKNN(3, M / np.outer(units, units)).fit(X * units, y)
    np.testing.assert_allclose(
        knn.certify(points * units, threat=ThreatModel(costs=1 / units)).lower, expected, rtol=1e-6
    )


@pytest.mark.parametrize("method", ["votes", "exact"])
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_an_offset_common_to_all_points_changes_nothing(offset, method):
    X, y, points, rng = problem(5)
    X, points = np.round(X * 2**20) / 2**20, np.round(points * 2**20) / 2**20  # so that adding the offset is exact
    offset = 2.0 ** np.round(np.log2(offset))
    M = make_metric("full", 4, rng)
    expected = MahalanobisKNN(1, M).fit(X, y).certify(points, method=method)
    got = MahalanobisKNN(1, M).fit(X + offset, y).certify(points + offset, method=method)
    np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("distance", [1e6, 1e9])
def test_a_far_away_training_point_costs_no_certificate(distance, k):
    X, y, points, rng = problem(6)
    X[0] = distance
    M = make_metric("full", 4, rng)
    knn = MahalanobisKNN(k, M).fit(X, y)
    certificates = knn.certify(points)
    for b, x in enumerate(points):
        expected = oracles.votes(M, X, y, x, certificates.predicted[b], k)
        assert certificates.lower[b] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert_holds(knn, points, certificates.lower, certificates.predicted, rng)


@pytest.mark.parametrize("method", ["votes", "exact"])
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
def test_a_far_away_test_point(distance, method):
    """Its distances agree in all leading digits; the difference that decides must survive."""
    X, y, points, rng = problem(7, n_features=2, n=15)
    points = points[:4] + distance * np.array([1.0, -0.3])
    knn = MahalanobisKNN(1).fit(X, y)
    certificates = knn.certify(points, method=method)
    for b, x in enumerate(points):
        label = certificates.predicted[b]
        bound = oracles.votes(np.eye(2), X, y, x, label, 1)
        truth = oracles.exact_1nn(np.eye(2), X, y, x, label) if method == "exact" else bound
        assert certificates.lower[b] <= truth * (1 + 1e-9)
        assert certificates.lower[b] >= bound * (1 - 1e-3)
        assert certificates.upper[b] >= truth * (1 - 1e-9)
    assert_holds(knn, points, certificates.lower, certificates.predicted, rng)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gap", [1e-15, 1e-12, 1e-9, 1e-6])
def test_almost_tied_points_are_never_over_certified(gap, dtype):
    """A positive and a negative all but equally far: lower is at most the true, tiny radius."""
    rng = np.random.default_rng(8)
    direction = rng.normal(size=(2, 6))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    X = (direction * np.array([[1.0], [1.0 + gap]])).astype(dtype)
    knn = MahalanobisKNN().fit(X, [0, 1])
    points = np.zeros((1, 6), dtype=dtype)
    certificates = knn.certify(points, method="exact")
    a, b = X.astype(np.longdouble)
    da, db = (a**2).sum(), (b**2).sum()
    truth = float(abs(db - da) / (2 * np.sqrt(((a - b) ** 2).sum())))
    assert certificates.lower[0] <= truth
    assert certificates.upper[0] >= truth


@pytest.mark.parametrize("spread", [1e8, 1e12, 1e16, 1e20])
def test_ill_conditioned_metrics_are_never_over_certified(spread):
    """Even where predict's own rounding decides, it does not change inside `lower`."""
    rng = np.random.default_rng(9)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    G = np.sqrt(np.array([1.0, np.sqrt(spread), spread]))[:, None] * turn / np.sqrt(spread)

    class Learner:
        components_ = G

    for seed in range(6):
        X, y, points, rng = problem(seed, n_features=3, n=30)
        points[:6] = X[:6]  # on top of a positive, where a distance says nothing about its own rounding
        knn = MahalanobisKNN(1, Learner()).fit(X, y)
        for method in ("votes", "exact"):
            certificates = knn.certify(points, method=method)
            assert_holds(knn, points, certificates.lower, certificates.predicted, rng)
            assert np.all(certificates.lower <= certificates.upper)


def rational_radius_squared(weights, X, y, x, label, norm) -> Fraction:
    """The 1-NN triplet bound of a diagonal M without a single rounding: min over j of max over i, squared."""

    def squared(i, j):
        a, b = X[i], X[j]
        gap = sum(w * ((c - q) ** 2 - (c - p) ** 2) for w, p, q, c in zip(weights, a, b, x, strict=True))
        pull = [abs(w * (p - q)) for w, p, q in zip(weights, a, b, strict=True)]
        below = {1.0: max(pull) ** 2, 2.0: sum(v * v for v in pull), np.inf: sum(pull) ** 2}[norm]
        return gap * gap / (4 * below) if gap > 0 else Fraction(0)

    rows = range(len(X))
    return min(max(squared(i, j) for i in rows if y[i] == label) for j in rows if y[j] != label)


@pytest.mark.parametrize("seed", seeds(12, every=RARELY))
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize(
    "layout", ["plain", "clusters_far_apart", "far_negatives", "on_a_positive", "offset", "float32"]
)
def test_lower_is_at_most_the_radius_in_exact_arithmetic(layout, norm, seed):
    """Rounded down means down: not one unit in the last place above, whatever cancels on the way."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 7))
    X, y, points = rng.normal(size=(14, n_features)), np.arange(14) % 2, rng.normal(size=(3, n_features))
    if layout == "clusters_far_apart":
        X[:7] += 1000.0
        points += np.array([[1000.0], [0.0], [500.0]])
    elif layout == "far_negatives":  # nearly all rows sit around x, the few of the other class are far away
        y = (np.arange(14) < 2).astype(int)
        X[:2] += 100.0
    elif layout == "on_a_positive":
        points = X[:3].copy()
    elif layout == "offset":
        X, points = X + 12345.678, points + 12345.678
    elif layout == "float32":
        X, points = X.astype(np.float32), points.astype(np.float32)
    weights = 4.0 ** rng.integers(-3, 4, n_features) if seed % 2 else np.ones(n_features)
    knn = MahalanobisKNN(metric=np.diag(weights)).fit(X, y)
    rational = [[Fraction(float(v)) for v in row] for row in X]
    for method in ("theorem1", "votes"):
        certificates = knn.certify(points, method=method, threat=ThreatModel(norm=norm))
        for b, x in enumerate(points):
            exact = [Fraction(float(v)) for v in x]
            ours = [Fraction(float(w)) for w in weights]
            truth = rational_radius_squared(ours, rational, y, exact, certificates.predicted[b], norm)
            assert Fraction(float(certificates.lower[b])) ** 2 <= truth
            assert certificates.lower[b] >= np.sqrt(float(truth)) * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("factor", [1e-150, 1e-158, 1e-161, 1e-163, 1e-170, 1e-200])
def test_features_so_small_that_squares_underflow_are_refused_or_sound(factor):
    """Distances of 1e-320 have one digit: what cannot be computed must not be certified."""
    X, y, points, rng = problem(10, n_features=2)
    X, points = X * factor, points * factor
    try:
        knn = MahalanobisKNN().fit(X, y)
        certificates = knn.certify(points)
    except ValueError as refused:
        assert "Rescale" in str(refused)  # noqa: PT017
        return
    assert_holds(knn, points, certificates.lower, certificates.predicted, rng)


@pytest.mark.parametrize("value", [1e150, 1e200, 1e300])
def test_features_so_large_that_squares_overflow_are_refused(value):
    X, y, points, _ = problem(11)
    with pytest.raises(ValueError, match="Rescale"):
        MahalanobisKNN().fit(X * value, y)
    with pytest.raises(ValueError, match="Rescale"):
        MahalanobisKNN().fit(X, y).certify(points * value)


def test_gamma_bounds_the_error_of_a_float32_sum():
    rng = np.random.default_rng(12)
    for n in (3, 50, 2000):
        values = rng.normal(size=n).astype(np.float32)
        total = np.float32(0)
        for v in values:
            total += v * v
        exact = float((values.astype(float) ** 2).sum())
        assert abs(float(total) - exact) <= gamma(n, np.float32) * exact
    with pytest.raises(ValueError, match="too many"):
        gamma(2**24, np.float32)
