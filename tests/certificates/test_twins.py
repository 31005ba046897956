"""Points on top of each other, with different labels: training order decides, in bounds, attacks and the plane."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from benchmarks.campaign.piles import beaten_by, nearest_flip
from benchmarks.campaign.problems import make_pile
from tests.more import RARELY, seeds


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


def test_a_walk_through_a_region_that_training_order_forbids_goes_on_to_the_one_that_flips():
    """Four rows that no point has as its neighbours lie as near as four that one has, 2.8333 away."""
    places = np.array([[-3.0, 1.0], [3.0, -2.0]], dtype=np.float32)
    X = places[[0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1]]
    knn = MahalanobisKNN(4).fit(X, [0, 2, 2, 1, 2, 0, 0, 1, 0, 1, 1, 0, 0, 2, 2])
    x, z = np.array([[[-3.0, 2.0]], [[-0.1666666, -0.83333325]]], dtype=np.float32)
    assert knn.predict(x)[0] != knn.predict(z)[0]
    found = knn.certify(x, method="search", threat=ThreatModel("linf"))
    assert found.lower[0] <= np.abs(z.astype(float) - x).max()
    assert found.lower[0] == pytest.approx(17 / 6, rel=1e-7)


def test_the_wall_of_a_box_among_twins_on_a_line():
    """At the wall the two places are equally far, and training order flips the answer: 3 away, not a hair more."""
    X = np.array([[0.0], [2.0], [0.0], [0.0], [1.0], [1.0], [1.0]], dtype=np.float32)
    knn = MahalanobisKNN(4).fit(X, [1, 1, 1, 1, 0, 1, 0])
    x, threat = np.array([[2.0]], dtype=np.float32), ThreatModel(costs=[2.0], box=(0.5, 0.5))
    assert knn.predict(x, exclude=[1])[0] != knn.predict([[0.5]], exclude=[1])[0]
    found = knn.certify(x, method="search", threat=threat, exclude=[1])
    assert 3 - 1e-9 < found.lower[0] <= 3.0


@pytest.mark.parametrize("number", seeds(60, 40, every=RARELY))
def test_no_point_among_piles_of_rows_flips_nearer_than_what_is_searched(number):
    problem = make_pile(0, number)
    knn = problem.fitted()
    nearest = nearest_flip(problem, knn)
    found = knn.certify(problem.x[None], method="search", budget=5.0, **problem.options)
    assert nearest is None or not beaten_by(problem, {"search": found}, nearest)
