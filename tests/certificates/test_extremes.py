"""Units, weights and costs so far apart that error bounds overflow: never a certificate, at worst a refusal."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.metric import Metric
from tests.more import more

METHODS = ("votes", "theorem1", "exact", "search")
LINE = np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 5.0], [4.0, 5.0]])  # class 0 up to 2, class 1 beyond; 0.5 is 1.5 away


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", [1e-25, 1e-33, 1e-60, 1e-120])
def test_a_constant_column_that_is_all_but_free_to_move_proves_nothing(method, cost):
    knn = MahalanobisKNN(1).fit(LINE, [0, 0, 1, 1])
    found = knn.certify([[0.5, 5.0]], method=method, threat=ThreatModel(costs=[1, cost]))
    assert 0 <= found.lower[0] <= 1.5
    if cost >= 1e-33:
        assert found.lower[0] == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_heavy_weight_on_a_constant_column_proves_nothing(method):
    knn = MahalanobisKNN(1, metric=np.diag([1.0, 1e64])).fit(LINE, [0, 0, 1, 1])
    assert knn.certify([[0.5, 5.0]], method=method).lower[0] == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_column_that_is_cheap_to_move_but_has_no_weight(norm):
    rows = np.array([[0.0, 5.0], [1.0, 7.0], [0.5, 1.0], [3.0, 2.0], [4.0, 9.0], [3.5, 4.0]])
    knn = MahalanobisKNN(3, metric=np.diag([1.0, 0.0])).fit(rows, [0, 0, 0, 1, 1, 1])
    found = knn.certify([[0.5, 5.0]], threat=ThreatModel(norm=norm, costs=[1, 1e-40]))
    assert knn.predict([[2.6, 5.0]]) == [1]
    assert 0 <= found.lower[0] <= 2.1


@pytest.mark.parametrize(("large", "small"), [(1e6, 1e-6), (1e18, 1e-13), (1e40, 1e-30), (1e100, 1e-110)])
@pytest.mark.parametrize("method", METHODS)
def test_a_large_frozen_column_and_small_units(large, small, method):
    rows = np.array([[large, -small], [large, small], [-large, -small], [-large, small]])
    knn = MahalanobisKNN(1).fit(rows, [0, 1, 0, 1])
    x = np.array([[large, -small / 2]])
    try:
        found = knn.certify(x, method=method, threat=ThreatModel(frozen=[0]))
    except ValueError as refused:
        assert "Rescale" in str(refused)  # noqa: PT017
        return
    assert knn.predict(np.vstack([x, [[large, small / 2]]])).tolist() == [0, 1]
    assert 0 <= found.lower[0] <= small / 2


def test_far_out_where_the_metric_has_no_weight():
    knn = MahalanobisKNN(1, metric=Metric.from_components([[1.0, -1.0]])).fit(
        [[0.0, 0.0], [1, 0], [3, 0], [0, 3]], [0, 0, 1, 1]
    )
    for method in METHODS:
        lower = knn.certify([[1e31, 1e31]], method=method).lower[0]
        assert 0 <= lower <= 1e31  # [2e31, 1e31] is of the other class


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", [1e130, 1e-130])
def test_costs_far_from_the_features_units(method, cost):
    knn = MahalanobisKNN(1).fit([[-1.0], [1.0]], [0, 1])
    assert 0 <= knn.certify([[-0.5]], method=method, threat=ThreatModel(costs=[cost])).lower[0] <= 0.5 * cost


@pytest.mark.parametrize("method", METHODS)
def test_radii_that_floats_do_not_hold_are_refused(method):
    knn = MahalanobisKNN(1).fit([[-1e139], [1e139]], [0, 1])
    with pytest.raises(ValueError, match=r"floats do not hold them\. Rescale"):
        knn.certify([[-1e-30]], method=method, threat=ThreatModel(costs=[1e170]))


@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
def test_rows_that_agree_in_all_that_can_move_do_not_end_the_search(norm):
    """Their half-space has no direction, and at this scale an offset that is infinite once it is divided."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3, (30, 3)), rng.integers(0, 2, 30)])
    labels = (rng.random(30) < 0.5).astype(int)
    x = rows[:6] + 0.1 * rng.standard_normal((6, 4))
    threat = ThreatModel(norm=norm, frozen=[3])
    small, large = (
        MahalanobisKNN(3).fit(rows * s, labels).certify(x * s, method="search", threat=threat, budget=5.0)
        for s in (1.0, 1e10)
    )
    np.testing.assert_allclose(large.lower, 1e10 * small.lower, rtol=1e-4)
    np.testing.assert_array_equal(large.correct, small.correct)


def test_rows_that_only_rounding_around_the_centre_makes_equal_stay_apart():
    rows = np.array([[0.0], [100.0], *([1.7e18 + n * 1e9] for n in range(5))])
    knn = MahalanobisKNN(1).fit(rows, [0, 1, 0, 1, 0, 1, 0])
    assert knn.predict([[100.0], [0.0]]).tolist() == [1, 0]
    assert knn.kneighbors([[100.0]])[1] == [[1]]
    assert knn.certify([[100.0]]).lower[0] <= 50


def test_a_bound_that_is_not_a_number_promises_nothing(monkeypatch):
    monkeypatch.setattr("arml_core.knn.triplet_bound", lambda *a, **o: np.array([np.nan]))
    assert MahalanobisKNN(1).fit(LINE, [0, 0, 1, 1]).certify([[0.5, 5.0]], method="votes").lower.tolist() == [0.0]


@pytest.mark.parametrize("seed", [9, 28, 41, 43])
@pytest.mark.parametrize("ties", ["order", "any"])
def test_a_certificate_beyond_what_float32_holds(seed, ties):
    """No distance depends on what may move: nothing flips it, and the search does not look where no float32 is.

    What `votes` proves may be 1e149 then, because what is lost to underflow counts as a length.
    """
    rng = np.random.default_rng(seed)
    k, n_classes = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    rows, x = (rng.normal(size=(n, 2)).astype(np.float32) for n in (12, 2))
    knn = MahalanobisKNN(k, np.diag([0.0, 1.0])).fit(rows, np.arange(12) % n_classes)
    votes, found = (
        knn.certify(x, method=method, threat=ThreatModel(frozen=[1]), ties=ties) for method in ("votes", "search")
    )
    assert np.all(found.lower >= votes.lower)
    assert np.all((found.lower > 1e100) | (found.lower == 0))
    assert np.all(found.upper == np.where(found.lower == 0, 0.0, np.inf))
