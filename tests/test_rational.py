"""The oracle in fractions against answers known by hand, and against the oracle that enumerates neighbour sets."""

from fractions import Fraction

import numpy as np
import pytest

from tests import rational
from tests.attacks.oracles import least, truth
from tests.oracles import Threat


def test_half_way_between_two_rows():
    X, y = np.array([[0.0], [3.0]]), np.array([0, 1])
    assert rational.line_radius(np.eye(1), X, y, np.array([1.0]), 1, feature=0) == Fraction(1, 2)
    assert rational.line_radius(np.eye(1), X, y, np.array([1.0]), 1, feature=0, cost=4.0) == 2


def test_a_box_keeps_the_boundary_out_of_reach_or_just_within():
    X, y, x = np.array([[0.0], [3.0]]), np.array([1, 0]), np.array([1.0])  # at 1.5 the tie goes to row 0, label 1
    assert rational.line_radius(np.eye(1), X, y, x, 1, 0, box=(0.0, 1.5)) is None
    assert rational.line_radius(np.eye(1), X, y, x, 1, 0, box=(0.0, 1.625)) == Fraction(1, 2)
    assert rational.line_radius(np.eye(1), X[::-1], y[::-1], x, 1, 0, box=(0.0, 1.5)) == Fraction(1, 2)  # attained


def test_a_direction_the_metric_does_not_see_flips_nothing():
    X, y = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([0, 1])
    assert rational.line_radius(np.diag([1.0, 0.0]), X, y, np.array([1.0, 0.0]), 1, feature=1) is None


def test_a_wrong_answer_has_radius_zero():
    X, y = np.array([[0.0], [3.0]]), np.array([0, 1])
    assert rational.line_radius(np.eye(1), X, y, np.array([1.0]), 1, feature=0, label=1) == 0


@pytest.mark.parametrize("seed", range(40))
def test_the_line_agrees_with_the_enumeration_of_neighbour_sets(seed):
    rng = np.random.default_rng(seed)
    X, y, G = rng.normal(size=(8, 2)), rng.integers(3, size=8), rng.normal(size=(2, 2))
    if seed % 2:
        X = np.round(X)
    x, k = rng.normal(size=2), int(rng.integers(1, 6))
    box = (np.full(2, -1.5), np.full(2, 1.5)) if seed % 3 == 0 else None
    label = truth_label(G, X, y, x, k)
    expected = truth(G.T @ G, X, y, x, label, k, Threat(box=box, frozen=(1,))).ruled
    sides = None if box is None else (-1.5, 1.5)
    found = rational.line_radius(G, X, y, x, k, feature=0, box=sides, label=label)
    assert (np.inf if found is None else float(found)) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def truth_label(G, X, y, x, k):
    from tests.oracles import predict

    return predict(G.T @ G, X, y, x, k)


@pytest.mark.parametrize("seed", range(30))
def test_least_distance_agrees_with_the_program_in_float64(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(int(rng.integers(1, 9)), 3))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    b = rng.normal(size=len(A))
    found = rational.least_distance(A, b)
    size = np.inf if found is None else np.linalg.norm(found)
    assert size == pytest.approx(least(A, b, 2.0), rel=1e-7, abs=1e-9)


def test_least_distance_knows_what_is_impossible():
    assert rational.least_distance(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 0.0])) is None
    almost = np.array([[1.0, 1e-9], [-1.0, 1e-9]])  # parallel in all but the ninth digit: possible, but far away
    np.testing.assert_allclose(rational.least_distance(almost, np.array([1.0, 0.0])), [0.5, 5e8], rtol=1e-12)
