"""Points on top of each other, with different labels: training order decides, in bounds, attacks and the plane."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel


def duplicated(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(60, 2))
    return places[rng.integers(60, size=300)], rng.integers(3, size=300)


def test_regions_that_training_order_forbids_do_not_lower_the_radius():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(60, 2))
    X = places[rng.integers(60, size=300)]
    y = np.where(X[:, 0] > 0, rng.integers(2, size=300), 0)
    points = X[::37] + 0.1 * np.random.default_rng(1).normal(size=X[::37].shape)
    found = MahalanobisKNN(15).fit(X, y).certify(points, method="search", budget=20)
    # Nearer than its upper side the answer at point 7 changes on a line only, where two places tie exactly and the
    # earlier rows of both come first: the lower side is right, and no float64 lies on the line to show it.
    assert np.flatnonzero(~found.exact).tolist() == [7]


def test_an_earlier_twin_blocks_even_where_most_positives_are_nearer():
    rng = np.random.default_rng(2)
    crowd = 0.1 * rng.normal(size=(200, 2))
    X = np.vstack([[[3.0, 0.0]], crowd, [[3.0, 0.0]], [[9.0, 0.0]]])  # the first row and the last but one coincide
    y = np.array([0, *np.zeros(200, dtype=int), 1, 1])
    knn = MahalanobisKNN(1).fit(X, y)
    assert knn.predict([[3.0, 0.0]])[0] == 0
    assert knn.certify([[0.0, 0.0]], method="votes").lower[0] == pytest.approx(6.0, rel=1e-9)


def test_the_attack_finds_its_way_among_twins():
    X, y = duplicated(3)
    points = X[::37] + 0.1 * np.random.default_rng(4).normal(size=X[::37].shape)
    knn = MahalanobisKNN(15).fit(X, y)
    found = knn.attack(points)
    assert np.isfinite(found.upper).all()
    assert (knn.predict(found.adversarial) != found.predicted).all()


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_search_among_twins_in_the_middle_of_the_data_divides_by_nothing(norm):
    """A positive and a negative in one place, which is the centre: 0 apart, with an error bound of 0."""
    X = np.array([[2.0, 0.0, 0.0], [-2.0, -1.0, 1.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-2.0, -1.0, 1.0]])
    found = MahalanobisKNN(3).fit(X, [3, 3, 1, 3, 2]).certify(X[:1], method="search", threat=ThreatModel(norm))
    expected = MahalanobisKNN(3).fit(X, [3, 3, 1, 3, 2]).certify(X[:1], threat=ThreatModel(norm))
    assert expected.lower[0] <= found.lower[0] <= found.upper[0]


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e12, 1e30])
def test_equal_distances_of_large_numbers_overflow_nothing(unit):
    """How much of a difference of 0 is error is asked with a division; the bound scales with the unit all the same."""
    X = unit * np.array([[2.0], [2.0], [-2.0], [-2.0], [0.0], [2.0]])
    knn = MahalanobisKNN(1, [[1000.0]]).fit(X, [3, 0, 3, 4, 2, 2])
    assert knn.certify(X[:1], threat=ThreatModel("l1")).lower[0] == pytest.approx(unit, rel=1e-9)
