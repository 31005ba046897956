"""The exact 1-NN radius: both sides, the point that proves the upper one, and an independent QP."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from arml_core import MahalanobisKNN, Metric, ThreatModel
from arml_core.certificates import exact
from tests import oracles
from tests.more import more, seeds

from .cases import LAYOUTS, METRICS, Case, assert_same_radius, make_case, make_metric


def exact_case(seed: int, **options) -> Case:
    case = make_case(seed, max_k=1, **options)
    case.threat = oracles.Threat(2.0, case.threat.costs, case.threat.frozen)
    return case


def check_interval(case: Case, knn: MahalanobisKNN, certificates) -> None:
    """`lower ≤ upper`; the adversarial point is really misclassified and really that far away."""
    excluded = case.exclude if case.exclude is not None else [[]] * len(case.points)
    for b, x in enumerate(case.points):
        assert certificates.lower[b] <= certificates.upper[b]
        found = certificates.adversarial[b]
        if np.isinf(certificates.upper[b]):
            assert np.all(np.isnan(found))
            assert not certificates.exact[b]
            continue
        answer = knn.predict(found[None], exclude=[excluded[b]])[0]
        assert answer != certificates.predicted[b]
        delta = found - x
        assert np.all(delta[list(case.threat.frozen)] == 0)
        assert certificates.upper[b] == pytest.approx(case.threat.size(delta), rel=1e-12)
        gap = certificates.upper[b] - certificates.lower[b]
        if certificates.exact[b]:
            assert gap <= 1e-6 * certificates.upper[b] + 1e-8 * np.linalg.norm(case.X.std(axis=0))


@pytest.mark.parametrize("seed", range(len(METRICS) * len(LAYOUTS)))
def test_awkward_cases_equal_the_smallest_of_independent_programs(seed):
    case = exact_case(seed, n=14)
    if case.X.shape[1] - len(case.threat.frozen) > 3:
        case.threat = oracles.Threat(2.0, case.threat.costs, tuple(range(case.X.shape[1] - 3)))
    if np.linalg.norm(case.M, 2) > 1e5:
        pytest.skip("scales 1e12 apart defeat the oracle's tolerances; soundness has its own test")
    knn = case.fitted()
    certificates = case.certify("exact", knn=knn)
    check_interval(case, knn, certificates)
    for b, x in enumerate(case.points):
        expected = oracles.exact_1nn(
            case.M, case.X, case.y, x, certificates.predicted[b], case.threat, case.left_out(b)
        )
        if certificates.exact[b]:
            assert_same_radius(certificates.lower[b], expected, case.scale, rtol=2e-6)
            assert_same_radius(certificates.upper[b], expected, case.scale, rtol=2e-6)
        assert certificates.lower[b] <= expected * (1 + 1e-9) + 1e-9 * case.scale
        assert certificates.upper[b] >= expected * (1 - 1e-9) - 1e-9 * case.scale


@pytest.mark.parametrize("metric", ["identity", "diagonal", "full", "low_rank", "rank_1", "badly_scaled"])
@pytest.mark.parametrize("seed", range(3))
def test_every_generic_point_is_exact(metric, seed):
    """Nothing awkward in the data: then both sides always meet."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    case = Case(make_metric(metric, 4, rng), X, y, rng.normal(size=(20, 4)), 1)
    knn = case.fitted()
    certificates = case.certify("exact", knn=knn)
    assert certificates.exact.all()
    check_interval(case, knn, certificates)


@pytest.mark.parametrize("seed", range(4))
def test_equals_slsqp_in_more_dimensions(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 7)), rng.integers(3, size=20)
    M = make_metric("full" if seed % 2 else "low_rank", 7, rng)
    threat = oracles.Threat(costs=np.exp(rng.normal(size=7)), frozen=(3,))
    case = Case(M, X, y, rng.normal(size=(4, 7)), 1, threat)
    certificates = case.certify("exact")
    for b, x in enumerate(case.points):
        expected = oracles.exact_1nn(M, X, y, x, certificates.predicted[b], threat)
        assert certificates.exact[b]
        assert certificates.lower[b] == pytest.approx(expected, rel=1e-5)
        assert certificates.upper[b] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_flips_inside_and_the_returned_direction_flips_outside(seed):
    rng = np.random.default_rng(seed)
    n_features = 2 + seed % 2
    X, y = rng.normal(size=(25, n_features)), rng.integers(3, size=25)
    knn = MahalanobisKNN(metric=make_metric(METRICS[2 + seed % 3], n_features, rng)).fit(X, y)
    points = rng.normal(size=(10, n_features))
    certificates = knn.certify(points, method="exact")
    unit = rng.normal(size=(2000, n_features))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert certificates.exact.all()
    for b, x in enumerate(points):
        assert np.all(knn.predict(x + certificates.lower[b] * (1 - 1e-4) * unit) == certificates.predicted[b])
        towards = certificates.adversarial[b] - x
        inside, outside = x + (1 - 1e-4) * towards, x + (1 + 1e-4) * towards
        assert knn.predict(inside[None])[0] == certificates.predicted[b]
        assert knn.predict(outside[None])[0] != certificates.predicted[b]


@pytest.mark.parametrize("seed", range(6))
def test_exact_lies_above_the_triplet_bounds(seed):
    """All three certify the same thing; the exact one is the largest."""
    case = exact_case(80_000 + seed)
    lower = {method: case.certify(method).lower for method in ("theorem1", "votes", "exact")}
    assert np.all(lower["exact"] >= lower["votes"] * (1 - 1e-9))
    np.testing.assert_allclose(lower["votes"], lower["theorem1"], rtol=1e-9)


def test_by_hand_on_a_line():
    """Positives at 0 and 10, a negative at 4 and one at 7: from 1 the boundary is at 2, from 9.5 at 8.5."""
    knn = MahalanobisKNN().fit([[0.0], [4.0], [7.0], [10.0]], [0, 1, 1, 0])
    certificates = knn.certify([[1.0], [9.5], [5.0]], method="exact")
    np.testing.assert_allclose(certificates.lower, [1.0, 1.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(certificates.upper, [1.0, 1.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(certificates.adversarial.ravel(), [2.0, 8.5, 2.0], rtol=1e-5)


def test_a_positive_that_shields_a_negative_is_seen():
    """The nearest negative hides behind a positive: the triplet bound is 1.5, the way around is longer."""
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [2.5, 0.0]]), np.array([0, 0, 1])
    knn = MahalanobisKNN().fit(X, y)
    x = np.array([[0.5, 0.0]])
    exact = knn.certify(x, method="exact")
    assert exact.lower[0] == pytest.approx(2.25 - 0.5, rel=1e-6)
    far = knn.certify(np.array([[2.0, 3.0]]), method="exact")
    assert far.lower[0] == pytest.approx(0.25, rel=1e-6)


def test_a_wrong_prediction_has_radius_zero_on_both_sides():
    knn = MahalanobisKNN().fit([[0.0], [1.0]], [0, 1])
    certificates = knn.certify([[0.1], [0.9]], [1, 1], method="exact")
    assert certificates.lower[0] == certificates.upper[0] == 0.0
    assert certificates.exact[0]
    assert not certificates.correct[0]
    assert certificates.lower[1] == pytest.approx(0.4, rel=1e-6)


def test_a_frozen_boundary_can_never_be_crossed():
    knn = MahalanobisKNN().fit([[0.0, 0.0], [1.0, 0.0]], [0, 1])
    certificates = knn.certify([[0.2, 0.0]], method="exact", threat=ThreatModel(frozen=[0]))
    assert np.isposinf(certificates.lower[0])
    assert np.isposinf(certificates.upper[0])
    assert np.all(np.isnan(certificates.adversarial[0]))


def test_an_outlier_does_not_make_a_loose_interval_exact():
    """One row a million away makes the data's scale huge; `exact` must still mean that both sides agree."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.integers(2, size=40)
    X[0] = 1e6
    certificates = MahalanobisKNN().fit(X, y).certify(rng.normal(size=(30, 3)), method="exact")
    claimed = certificates.exact
    assert claimed.any()
    np.testing.assert_allclose(certificates.lower[claimed], certificates.upper[claimed], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iris_in_both_precisions(dtype):
    X, y = load_iris(return_X_y=True)
    X = X.astype(dtype)
    knn = MahalanobisKNN().fit(X, y)
    own = np.arange(len(X))
    certificates = knn.certify(X, y, method="exact", exclude=own)
    assert certificates.adversarial.dtype == dtype
    attacked = certificates.correct & np.isfinite(certificates.upper)
    assert attacked.sum() > 130
    flipped = knn.predict(certificates.adversarial[attacked], exclude=own[attacked])
    assert np.all(flipped != y[attacked])
    sizes = np.linalg.norm(certificates.adversarial[attacked].astype(float) - X[attacked].astype(float), axis=1)
    np.testing.assert_allclose(certificates.upper[attacked], sizes, rtol=1e-12)


@pytest.mark.parametrize("dtype", [*more(np.float32), np.float64])
def test_leave_one_out_on_iris_petals_equals_the_smallest_of_independent_programs(dtype):
    """Measured to a tenth of a centimetre: full of ties and of rows on top of each other."""
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:].astype(dtype)
    knn = MahalanobisKNN().fit(X, y)
    some = np.arange(60, 150, 22)
    certificates = knn.certify(X[some], method="exact", exclude=some)
    for b, i in enumerate(some):
        expected = oracles.exact_1nn(
            np.eye(2), X.astype(float), y, X[i].astype(float), certificates.predicted[b], exclude=[i]
        )
        assert certificates.lower[b] <= expected * (1 + 1e-9) + 1e-9
        assert certificates.upper[b] >= expected * (1 - 1e-9) - 1e-9
        if certificates.exact[b]:
            assert certificates.lower[b] == pytest.approx(expected, rel=1e-5, abs=2e-6)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 10.0, 1e3, 1e6])
def test_rows_that_tie_wherever_x_can_go_are_not_left_out(unit):
    """Row 0 comes before row 1, from which it is never told apart; row 2 holds both back until x has moved by 12.

    What keeps rows 0 and 1 level is no half-space (its normal is 0), and no weight of it may overflow.
    """
    metric = Metric.from_components([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    X = unit * np.array([[0.0, 1.0, 3.0], [0.0, -1.0, 4.0], [1.0, 0.0, 0.0]])
    knn = MahalanobisKNN(1, metric).fit(X, [1, 0, 0])
    assert knn.predict(unit * np.array([[0.0, 0.0, 0.0], [-12.5, 0.0, 0.0]])).tolist() == [0, 1]
    found = knn.certify(np.zeros((1, 3)), method="exact", threat=ThreatModel(frozen=[1, 2]))
    assert found.lower[0] == pytest.approx(12 * unit, rel=1e-9)


def test_a_negative_that_training_order_always_holds_back_overflows_nothing():
    X = np.array([[-1.0, -1.0, -2.0], [-2.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    knn = MahalanobisKNN(1, 1000.0 * np.eye(3)).fit(X, [0, 0, 0, 1])
    threat = ThreatModel(frozen=[0, 2])
    found = knn.certify([[0.0, -1.0, -2.0]], method="exact", threat=threat)
    assert found.lower[0] >= knn.certify([[0.0, -1.0, -2.0]], threat=threat).lower[0]


@pytest.mark.parametrize("metric", METRICS)
def test_dual_bounds_of_many_programs_at_once_are_those_of_each(metric, monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 4)) + y[:, None]
    knn = MahalanobisKNN(1, metric=make_metric(metric, 4, rng)).fit(x, y)
    together = knn.certify(x, y, exclude=np.arange(150), method="exact")
    monkeypatch.setattr(exact, "DUAL_BYTES", 1)
    alone = knn.certify(x, y, exclude=np.arange(150), method="exact")
    np.testing.assert_allclose(together.lower, alone.lower, rtol=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("seed", seeds(20))
def test_never_below_the_triplets(seed, far):
    """Far out a small program loses its digits; what the triplets prove stays."""
    rng = np.random.default_rng(seed)
    d = 1 + seed % 3
    X = rng.normal(size=(40, d)).astype(np.float32 if seed % 2 else np.float64)
    x = (far * rng.normal(size=(6, d))).astype(X.dtype)
    knn = MahalanobisKNN(1, np.diag(rng.uniform(0.1, 3, d))).fit(X, np.arange(40) % 2)
    threat = ThreatModel(costs=rng.uniform(0.3, 3, d))
    votes, exact = (knn.certify(x, method=method, threat=threat) for method in ("votes", "exact"))
    assert np.all(exact.lower >= votes.lower * (1 - 1e-8))
    assert np.all(exact.lower <= exact.upper)
