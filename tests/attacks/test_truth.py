"""Bounds, search and attacks against the true radius from every neighbour set, on small problems of every kind."""

import numpy as np
import pytest
from hypothesis import assume, given

from tests import oracles

from .oracles import truth
from .problems import Problem, check_adversarial, problems

RTOL = 1e-6


def below(a: float, b: float, size: float, rtol: float = 1e-7) -> bool:
    return a <= b * (1 + rtol) + 1e-8 * size


def check_all(problem: Problem, steps: int = 60) -> None:
    knn = problem.fitted()
    x = problem.x[None]
    assume(knn.predict(x, exclude=problem.options["exclude"])[0] == problem.label)
    real, size = problem.truth(), problem.size
    search = knn.certify(x, method="search", budget=2.0, **problem.options)
    votes = knn.certify(x, method="votes", **problem.options)
    lower, upper = search.lower[0], search.upper[0]
    assert votes.lower[0] <= lower, (votes.lower[0], lower)
    assert below(lower, real.ruled, size), (lower, real)
    assert below(real.closed, upper, size), (real, upper)
    assert lower <= upper
    check_adversarial(problem, knn, upper, search.adversarial[0])
    if search.exact[0]:
        assert upper - lower <= RTOL * upper + 1e-8 * size, (lower, upper)
    movable = len(problem.x) - len(problem.threat.frozen)
    if movable <= 2:
        far = 10 * problem.spread  # so far the plane is always searched
        assert below(min(real.closed, far), lower, size), (lower, upper, real)
        if real.open < far:
            assert below(upper, real.open, size, rtol=1e-5), (lower, upper, real)
            assert search.exact[0] or real.open - real.closed > 1e-9 * size, (lower, upper, real)
    for method in ("whitebox", "boundary"):
        found = knn.attack(x, method=method, steps=steps, **problem.options)
        assert below(real.closed, found.upper[0], size), (method, real, found.upper[0])
        check_adversarial(problem, knn, found.upper[0], found.adversarial[0])
    if problem.k % 2:
        try:
            theorem1 = knn.certify(x, method="theorem1", **problem.options)
        except ValueError:
            return
        assert theorem1.lower[0] <= votes.lower[0] * (1 + 1e-12)


@given(problems(max_n=9, max_d=3))
def test_intervals_hold_the_truth(problem):
    check_all(problem)


@given(problems(max_n=12, max_d=4, min_d=3, ties=False))
def test_intervals_hold_the_truth_off_the_grid(problem):
    check_all(problem)


@given(problems(max_n=12, max_d=2, ties=True))
def test_intervals_hold_the_truth_where_everything_ties(problem):
    check_all(problem)


@given(problems(max_n=7, max_d=3, max_k=3))
def test_the_oracle_agrees_with_itself_and_with_the_other_one(problem):
    """Without its short cut; and with the radius that another program finds for sets without unbreakable ties."""
    arguments = (problem.M, problem.X, problem.y, problem.x, problem.label, problem.k, problem.threat, problem.exclude)
    quick = truth(*arguments)
    np.testing.assert_allclose(quick, truth(*arguments, prune=False), rtol=1e-7, atol=1e-9)
    assert quick.closed <= quick.ruled <= quick.open
    other = oracles.true_radius(*arguments)
    assert quick.closed <= other * (1 + 1e-6) + 1e-7
    assert other <= quick.open * (1 + 1e-6) + 1e-7


def test_ties_that_no_move_can_break():
    """Two rows in the same place: the later one is never ahead, so the answer 0 cannot be changed there."""
    M, X, y = np.eye(1), np.array([[0.0], [0.0], [4.0]]), np.array([0, 1, 1])
    found = truth(M, X, y, np.array([0.0]), 0, 1)
    assert found.closed == 0.0
    assert found.ruled == pytest.approx(2.0)
    assert found.open == pytest.approx(2.0)
    swapped = truth(M, X, np.array([1, 0, 0]), np.array([0.0]), 0, 1)
    assert swapped.ruled == 0.0


def test_a_tie_that_training_order_wins_counts_although_it_has_no_room():
    """In the middle between two pairs the earlier rows of both sides are the neighbours, and only there."""
    X, y = np.array([[-1.0], [1.0], [1.0], [-1.0]]), np.array([1, 1, 0, 0])
    found = truth(np.eye(1), X, y, np.array([0.5]), 0, 2)
    assert found.closed == found.ruled == pytest.approx(0.5)
    assert np.isposinf(found.open)
