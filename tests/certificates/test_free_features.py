"""Features that move at no cost within a range: what they can give is taken off, and the rest is measured."""

import json

import numpy as np
import pytest

from arml_core import MahalanobisKNN, NotSupportedError, ThreatModel
from arml_core.certificates.box import boxed_distance
from arml_core.certificates.candidates import Screening
from arml_core.certificates.triplet_rows import TripletRows
from tests import oracles
from tests.attacks.oracles import truth
from tests.attacks.problems import Problem, check_adversarial
from tests.certificates.test_branch import without_attack
from tests.more import seeds
from tests.point_sets import point_set, triplets_of

NORMS = [1.0, 2.0, np.inf]


def problem(seed: int, norm: float) -> Problem:
    """Eleven rows; one feature or two are free, in narrow and wide ranges, x inside or outside of them."""
    rng = np.random.default_rng(900 + seed)
    d = 3 + seed % 2
    X, x = rng.normal(size=(11, d)), 0.5 * rng.normal(size=d)
    if seed % 3 == 1:
        X, x = np.round(2 * X) / 2, np.round(2 * x) / 2
    g = np.eye(d) if seed % 2 else rng.normal(size=(d, d))
    free = (1,) if seed % 5 else (0, 2)
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    low[list(free)], high[list(free)] = -0.1 - rng.random(), 0.05 + 0.3 * rng.random()
    up = (1,) if seed % 4 == 0 else ()
    costs = 2.0 ** rng.integers(-1, 3, d) if seed % 3 == 0 else None
    threat = oracles.Threat(norm, costs, (), (low, high), only_up=up, at_no_cost=free, by_row=seed % 2 == 0)
    return Problem(g.T @ g, X, np.arange(11) % (2 + seed % 2), x, 1 + seed % 4, threat)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(24))
def test_all_sides_against_the_truth(seed, norm):
    asked = problem(seed, norm)
    knn, x, threat = asked.fitted(), asked.x, asked.options["threat"]
    votes, real = knn.certify(x[None], **asked.options), asked.truth()
    assert votes.lower[0] <= real.ruled * (1 + 1e-9) + 1e-12
    lower, _ = without_attack(knn, x, threat)
    assert votes.lower[0] <= lower <= real.ruled * (1 + 1e-7) + 1e-9
    both = knn.certify(x[None], method="search", budget=5.0, **asked.options)
    assert both.lower[0] <= real.ruled * (1 + 1e-7) + 1e-9
    if asked.k % 2:
        assert knn.certify(x[None], method="theorem1", **asked.options).lower[0] <= votes.lower[0]
    if asked.k == 1:
        exact = knn.certify(x[None], method="exact", **asked.options)
        assert exact.lower[0] >= min(real.closed, 1e3) * (1 - 1e-6) - 1e-7
    attacks = [knn.attack(x[None], **asked.options), knn.attack(x[None], method="boundary", steps=40, **asked.options)]
    for found in (both, *attacks):
        assert found.upper[0] >= real.closed * (1 - 1e-7) - 1e-9
        check_adversarial(asked, knn, found.upper[0], found.adversarial[0])


@pytest.mark.parametrize("norm", NORMS)
def test_both_sides_meet(norm):
    """Most of the small problems are solved, and free features lower the radius of some to a smaller one above 0."""
    exact, smaller = [], 0
    for seed in range(12):
        asked = problem(seed, norm)
        knn = asked.fitted()
        found = knn.certify(asked.x[None], method="search", budget=5.0, **asked.options)
        exact.append(bool(found.exact[0]) or np.isinf(found.lower[0]))
        plain = knn.certify(asked.x[None], method="search", budget=5.0, threat=ThreatModel(norm, asked.threat.costs))
        smaller += 0 < found.upper[0] < 0.99 * plain.lower[0]
    assert np.mean(exact) >= 0.75
    assert smaller >= 2


@pytest.mark.parametrize("norm", NORMS)
def test_one_half_space_by_hand(norm):
    """3a + 4b + 2c ≥ 10 with c free in [-1, 2]: c gives 4, and 6 is left for a and b."""
    v, room = np.array([[3.0, 4.0, 2.0]]), (np.array([9.0, 9.0, 1.0]), np.array([9.0, 9.0, 2.0]))
    free = np.array([False, False, True])
    left = {1.0: 6 / 4, 2.0: 6 / 5, np.inf: 6 / 7}[norm]
    found = boxed_distance(v, np.zeros((1, 3)), np.array([10.0]), room, norm, free)[0]
    assert left * (1 - 1e-12) <= found <= left
    assert boxed_distance(v, np.zeros((1, 3)), np.array([4.0]), room, norm, free)[0] == 0.0
    off = boxed_distance(v, np.full((1, 3), 0.1), np.array([10.0]), room, norm, free)[0]  # c may give 0.1 · 2 more
    assert off <= {1.0: 5.8 / 4.1, 2.0: 5.8 / np.hypot(3.1, 4.1), np.inf: 5.8 / 7.2}[norm]


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_listed_first_is_never_bounded_too_high(norm):
    """Screening's bounds of many negatives against the values they bound."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 5))
    knn = MahalanobisKNN(3, np.diag([1.0, 2.0, 0.5, 1.0, 3.0])).fit(X, np.arange(300) % 3)
    box = (np.where(np.arange(5) == 3, -0.3, -9.0), np.where(np.arange(5) == 3, 0.4, 9.0))
    threat, x = ThreatModel(norm, box=box, free=[3]), 0.5 * rng.normal(size=(6, 5))
    triplets, points = triplets_of(knn, threat), point_set(knn, x, threat)
    for label in range(3):
        rows = TripletRows(triplets, x, label, None, ranges=points.ranges)
        found = Screening(triplets, rows, 1, None).candidates(np.arange(6), 300)
        b, k = np.nonzero(np.isfinite(found.bound))
        values = rows.largest(b, found.place[b, k], 2)[:, 1]
        assert (found.bound[b, k] <= values * (1 + 1e-12)).all()
        assert (found.bound[b, k] > 0.3 * values).any()


def test_free_features_alone_may_change_the_answer():
    """x is nearest to row 0 unless its second feature is at least 1; both sides are 0, and the point is another."""
    X, y = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), [0, 1]
    knn, x = MahalanobisKNN(1).fit(X, y), np.array([[0.0, 0.5, 0.0]])
    threat = ThreatModel(box=(-1.5, 1.5), free=[1])
    for method in ("exact", "search"):
        found = knn.certify(x, method=method, threat=threat)
        assert (found.lower[0], found.upper[0], found.exact[0], found.correct[0]) == (0.0, 0.0, True, True)
        assert 1.0 <= found.adversarial[0, 1] <= 1.5
        assert knn.predict(found.adversarial)[0] == 1
    narrow = knn.certify(x, method="exact", threat=ThreatModel(box=(-1.5, 0.9), free=[1]))
    assert np.isinf(narrow.lower[0])  # nothing else tells the two rows apart


def test_the_words_the_arguments_and_what_is_refused():
    threat = ThreatModel(box=(0, 1), free=[2, 0])
    assert threat.describe() == "ℓ2 norm, inside [0, 1], 2 free features"
    assert ThreatModel(**json.loads(json.dumps(threat.arguments()))) == threat
    assert "free=[0, 2]" in threat.python()
    assert "free" not in ThreatModel(box=(0, 1)).arguments()  # the keys of old questions
    with pytest.raises(ValueError, match="feature 1 is frozen and free"):
        ThreatModel(frozen=[1], free=[1])
    with pytest.raises(ValueError, match="every feature that may move is free"):
        ThreatModel(frozen=[0], free=[1, 2], box=(0, 1)).resolve(3)
    knn = MahalanobisKNN(1).fit(np.eye(3), [0, 1, 1])
    for box in (None, (0, np.inf), (-np.inf, 1)):
        with pytest.raises(ValueError, match="feature 2 is free and needs a finite limit on both sides"):
            knn.certify(np.zeros((1, 3)), threat=ThreatModel(box=box, free=[2]))
    one_way = ThreatModel(box=(-np.inf, 1), free=[2], only_up=[2])  # the point itself is the other limit
    assert knn.certify(np.zeros((1, 3)), threat=one_way).lower[0] >= 0
    with pytest.raises(NotSupportedError, match="frozen and free features"):
        MahalanobisKNN(2).fit(np.eye(3), [0, 1, 1]).certify(np.zeros((1, 3)), method="exact", threat=threat)


def test_the_cost_of_a_free_feature_does_not_matter():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4))
    knn, x = MahalanobisKNN(3).fit(X, np.arange(40) % 2), rng.normal(size=(5, 4))
    box = (-0.2, 0.2)
    one, other = (knn.certify(x, threat=ThreatModel(costs=[1, c, 1, 2], box=box, free=[1])) for c in (1, 50))
    np.testing.assert_array_equal(one.lower, other.lower)


@pytest.mark.parametrize("norm", NORMS)
def test_a_free_feature_without_room_is_frozen(norm):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 4))
    knn, x = MahalanobisKNN(3).fit(X, np.arange(40) % 2), rng.normal(size=(5, 4))
    low, high = (np.where(np.arange(4) == 1, x, side) for side in (-9.0, 9.0))
    free = knn.certify(x, method="search", budget=10.0, threat=ThreatModel(norm, box=(low, high), free=[1]))
    frozen = knn.certify(x, method="search", budget=10.0, threat=ThreatModel(norm, box=(low, high), frozen=[1]))
    np.testing.assert_allclose(free.lower, frozen.lower, rtol=1e-6)
    np.testing.assert_allclose(free.upper, frozen.upper, rtol=1e-6)


def test_truth_by_elimination_is_the_truth_over_a_fine_grid():
    """The oracle itself: the radius of the best of many values of the free feature."""
    for seed in (1, 7, 13, 19, 31):
        asked = problem(seed, 2.0)
        low, high = asked.threat.limits(asked.x)
        best = np.inf
        for value in np.linspace(low[1], high[1], 60):
            at = asked.x.copy()
            at[1] = value
            held = oracles.Threat(2.0, asked.threat.costs, (1,))
            best = min(best, truth(asked.M, asked.X, asked.y, at, asked.label, asked.k, held).closed)
        assert asked.truth().closed <= best * (1 + 1e-9) + 1e-9
        assert best <= asked.truth().closed + 0.05


@pytest.mark.parametrize("seed", seeds(8))
def test_a_wide_range_of_a_free_feature_counts_even_where_no_move_of_the_others_ends(seed):
    """All ranges are wider than the radius: what limits no measured move still says how much a free one gives."""
    rng = np.random.default_rng(900 + seed)
    M, X, y, x = np.diag([1.0, 1.0, 1.0, 1e-3]), rng.normal(size=(11, 4)), np.arange(11) % 2, rng.normal(size=4)
    knn = MahalanobisKNN(3, M).fit(X, y)
    box = (-10.0, 10.0)
    asked = oracles.Threat(2.0, None, (), box, at_no_cost=(3,))
    real = truth(M, X, y, x, int(knn.predict(x[None])[0]), 3, asked).closed
    assert real < 7
    found = without_attack(knn, x, ThreatModel(box=box, free=[3]), upper=1.1 * real)[0]
    assert found == pytest.approx(real, rel=1e-5)
