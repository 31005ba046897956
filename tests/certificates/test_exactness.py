"""`exact` means that both sides meet at that very point, whatever units the columns have."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, ThreatModel

WIDE = np.array([1.0, 1.0, 1.0, 1e6])  # one column in other units, as in any table, which the metric makes up for


def test_a_wide_column_without_weight_does_not_make_loose_sides_meet():
    """Without time for the proof the sides stay apart by up to 0.8, a millionth of the wide column's spread."""
    rng = np.random.default_rng(0)
    X, y, x = rng.normal(size=(60, 4)) * WIDE, rng.integers(3, size=60), rng.normal(size=(6, 4)) * WIDE
    found = MahalanobisKNN(5, np.diag(WIDE**-2.0)).fit(X, y).certify(x, method="search", budget=0.0)
    assert np.all(found.upper - found.lower > 1e-5 * found.upper)
    assert not found.exact.any()


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_wide_column_does_not_keep_the_plane_from_its_radius(norm):
    """Steps, limits and margins go by the lengths around the point: both sides still meet, to 1e-6 of the radius."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2)) * WIDE[2:]
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    knn = MahalanobisKNN(3, np.diag(WIDE[2:] ** -2.0)).fit(X, y)
    rows = np.arange(6)
    found = knn.certify(X[rows], method="search", threat=ThreatModel(norm=norm), exclude=rows, budget=20.0)
    assert found.exact.all()
    np.testing.assert_allclose(found.lower, found.upper, rtol=1e-6)


def test_an_exact_radius_is_exact_by_its_own_measure_in_any_units():
    rng = np.random.default_rng(2)
    X, y, x = rng.normal(size=(60, 4)), rng.integers(3, size=60), rng.normal(size=(20, 4))
    units = np.array([1.0, 1e-3, 1e3, 1e6])
    found = MahalanobisKNN(1, np.diag(units**-2.0)).fit(X * units, y).certify(x * units, method="exact")
    assert found.exact.all()
    np.testing.assert_allclose(found.lower, found.upper, rtol=1e-6)


def test_on_the_boundary_both_sides_vanish_against_the_neighbours():
    """x is as far from one class as from the other: 0 below, a few units in the last place above."""
    X = np.array([[0.0, 0.3], [1.0, 0.3], [0.4, 7.0], [0.9, -8.0]])
    knn = MahalanobisKNN(1).fit(X, [0, 1, 0, 1])
    for method in ("exact", "search"):
        found = knn.certify([[0.5, 0.1]], method=method, threat=ThreatModel())
        assert found.exact[0]
        assert 0 <= found.lower[0] <= found.upper[0] <= 1e-9


def test_far_from_everything_loose_sides_do_not_meet():
    """What rounding blurs out there is no measure of the data: the boundary is y = 0.5, the radius 0.3."""
    knn = MahalanobisKNN(1).fit([[0.0, 0.0], [0.0, 1.0], [0.0, -3.0]], [0, 1, 0])
    found = knn.certify([[1e9, 0.2]], method="search", threat=ThreatModel(norm="linf"))
    assert found.lower[0] <= 0.3 * (1 + 1e-9) <= found.upper[0]
    assert found.exact[0] == (found.upper[0] - found.lower[0] < 1e-4)


def test_a_frozen_column_far_away_does_not_make_loose_sides_meet():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60, 2))
    knn = MahalanobisKNN(3).fit(np.column_stack([np.zeros(60), rows]), (rows[:, 0] > 0).astype(int))
    x = np.column_stack([np.full(4, 1e10), rng.standard_normal((4, 2))])
    found = knn.certify(x, method="search", threat=ThreatModel(frozen=[0]), budget=0.3)
    assert (found.exact == (found.upper - found.lower < 1e-4 * found.upper)).all()


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("far", [1e9, 1e10, 1e12])
def test_a_wide_column_beside_a_frozen_one_far_away_does_not_make_loose_sides_meet(norm, boxed, far):
    """Time is frozen and late, the amount is wide (and held still by the box), the ratio flips 0.3 away."""
    X = np.array([[0, 0, 0.1], [0, 0, 0.9], [0, far, 0.1], [0, -far, 0.9], [0, far, 0.3], [0, -far, 0.2]])
    knn = MahalanobisKNN(1).fit(X, [0, 1, 0, 1, 0, 1])
    box = ([0.0, 0.0, 0.0], [far, 0.0, 1.0]) if boxed else None
    found = knn.certify([[far, 0.0, 0.2]], method="search", threat=ThreatModel(norm, frozen=[0], box=box))
    assert found.lower[0] <= 0.3 * (1 + 1e-9)
    assert not (found.exact[0] and found.upper[0] - found.lower[0] > 1e-4 * found.upper[0])


@pytest.mark.parametrize("box", [(-5.0, 5.0), None])
@pytest.mark.parametrize("far", [1e10, 1e12])
def test_a_column_that_is_the_same_in_every_row_does_not_make_loose_sides_meet(box, far):
    """Only a column without any width can move; the metric ties it to one that cannot. The radius is 0.9."""
    G = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    knn = MahalanobisKNN(1, Metric.from_components(G)).fit(X, [0, 0, 1, 1])
    found = knn.certify([[0.6, 0.0, far]], method="search", threat=ThreatModel(frozen=[0, 2], box=box))
    assert found.lower[0] <= 0.9 <= found.upper[0] * (1 + 1e-9)
    assert not (found.exact[0] and found.upper[0] - found.lower[0] > 1e-4 * found.upper[0])


def test_where_nothing_can_flip_there_is_no_radius_to_be_exact_about():
    knn = MahalanobisKNN(1).fit([[0.0, 0.0], [1.0, 0.0]], [0, 1])
    for method in ("exact", "search"):
        found = knn.certify([[0.2, 0.0]], method=method, threat=ThreatModel(frozen=[0]))
        assert found.lower[0] == found.upper[0] == np.inf
        assert not found.exact[0]


def test_a_float32_grid_coarser_than_the_radius_is_not_called_exact():
    """Features near 2e6 come in steps of 1/8: the nearest point that flips is far beyond the boundary."""
    X = np.array([[2e6, 0.0], [2e6 + 1.0, 0.5], [2e6 + 1.0, -9.0]], dtype=np.float32)
    knn = MahalanobisKNN(1, [[2.0, 1.0], [1.0, 3.0]]).fit(X, [0, 1, 1])
    for method in ("exact", "search"):
        found = knn.certify(X[:1] + np.float32([0.375, 0.2]), method=method)
        apart = found.upper[0] - found.lower[0] > 2e-4 * found.upper[0]
        assert not (found.exact[0] and apart), (found.lower, found.upper)
