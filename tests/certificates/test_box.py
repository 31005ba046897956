"""Certificates inside a box: values against linear programs and bisection, and what a box may and may not do."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates.box import boxed_distance
from tests import oracles
from tests.more import RARELY, seeds

from .cases import METRICS, Case, assert_between, assert_same_radius, make_metric

NORMS = [1.0, 2.0, np.inf]


def random_halfspace(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    v = rng.normal(size=n)
    v[rng.random(n) < 0.2] = 0.0
    if rng.random() < 0.2:
        v = np.sign(v)  # equal slopes
    down, up = rng.random(n), rng.random(n)
    down[rng.random(n) < 0.2] = 0.0
    up[rng.random(n) < 0.2] = 0.0
    up[rng.random(n) < 0.1] = np.inf
    reach = np.where(v > 0, v * np.minimum(up, 10.0), -v * down).sum()  # the most that v can gain
    b = reach * rng.choice([0.01, 0.5, 0.99, 1.5]) + 1e-3
    return v, down, up, b


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(60))
def test_boxed_distance_equals_an_independent_program(seed, norm):
    v, down, up, b = random_halfspace(seed)
    got = boxed_distance(v[None], np.zeros((1, len(v))), np.array([b]), (down, up), norm)[0]
    room = np.column_stack([-down, up])
    expected = oracles.least_norm(v[None], np.array([b]), norm, room)
    assert_same_radius(got, expected, 1.0)
    assert got <= expected * (1 + 1e-12) or norm != 2  # the linear programs stop at 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_boxed_distance_in_l2_equals_slsqp(seed):
    v, down, up, b = random_halfspace(seed)
    up = np.minimum(up, 5.0)
    got = boxed_distance(v[None], np.zeros((1, len(v))), np.array([b]), (down, up), 2.0)[0]
    found = minimize(
        lambda z: z @ z,
        np.where(v > 0, up, -down),
        jac=lambda z: 2 * z,
        bounds=list(zip(-down, up, strict=True)),
        constraints={"type": "ineq", "fun": lambda z: v @ z - b, "jac": lambda z: v},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    if v @ np.where(v > 0, up, -down) < b:
        assert np.isposinf(got)
    else:
        assert got == pytest.approx(np.linalg.norm(found.x), rel=1e-5, abs=1e-8)


def boxed_case(seed: int, norm: float, outside: bool = False, k: int = 3) -> Case:
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 5))
    costs = np.exp(rng.normal(size=n_features)) if seed % 2 else None
    frozen = (0,) if seed % 3 == 0 else ()
    points = rng.random((3, n_features)) * (1.6 if outside else 1.0) - (0.3 if outside else 0.0)
    M = make_metric(METRICS[seed % 6], n_features, rng)
    threat = oracles.Threat(norm, costs, frozen, box=(0.0, 1.0))
    return Case(M, rng.random((14, n_features)), np.arange(14) % (2 + seed % 2), points, k, threat)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(12, every=RARELY))
def test_boxed_votes_equals_all_pairs(seed, norm, outside):
    """Where positives prove nothing, `votes` lets only near rows of the other classes count: no more than all pairs."""
    case = boxed_case(seed, norm, outside)
    certificates = case.certify("votes")
    for b, x in enumerate(case.points):
        asked = (case.M, case.X, case.y, x, certificates.predicted[b], case.k, case.threat)
        assert_between(certificates.lower[b], oracles.votes_by_positives(*asked), oracles.votes(*asked), 1.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(10))
def test_boxed_theorem1_equals_all_pairs(seed, norm):
    case = boxed_case(seed, norm)
    certificates = case.certify("theorem1")
    for b, x in enumerate(case.points):
        expected = oracles.theorem1(case.M, case.X, case.y, x, certificates.predicted[b], case.k, case.threat)
        assert_same_radius(certificates.lower[b], expected, 1.0)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("norm", NORMS)
def test_a_box_only_raises_the_radius_and_a_tighter_one_raises_it_more(norm, outside):
    rng = np.random.default_rng(1)
    X, y = rng.random((40, 3)), np.arange(40) % 3
    points = rng.random((25, 3)) * (1.4 if outside else 1.0) - (0.2 if outside else 0.0)
    knn = MahalanobisKNN(n_neighbors=3, metric=make_metric("full", 3, rng)).fit(X, y)
    boxes = [None, (-5, 5), (0, 1), (0.2, 0.8), (0.5, 0.5)]
    lower = [knn.certify(points, threat=ThreatModel(norm=norm, box=box)).lower for box in boxes]
    for looser, tighter in itertools.pairwise(lower):
        assert np.all(tighter >= looser * (1 - 1e-9))
    assert np.any(lower[3] > lower[0] * 1.01)
    np.testing.assert_allclose(lower[1], lower[0], rtol=1e-6)  # a box nobody reaches is no box


def test_a_point_outside_widens_the_box_just_enough():
    """x = 1.5 above [0, 1]: it may come down to 0 but not go up; the negative above is out of reach."""
    knn = MahalanobisKNN().fit([[1.0], [0.0], [3.0]], [0, 1, 1])
    threat = ThreatModel(box=(0.0, 1.0))
    assert knn.certify([[1.5]], threat=threat).lower[0] == pytest.approx(1.0, rel=1e-9)  # down to 0.5
    assert knn.certify([[1.5]]).lower[0] == pytest.approx(0.5, rel=1e-9)  # up to 2.0 without a box
    knn = MahalanobisKNN().fit([[0.0], [1.0], [-3.0]], [0, 1, 1])
    assert knn.certify([[-0.5]], threat=threat).lower[0] == pytest.approx(1.0, rel=1e-9)
    assert knn.certify([[-0.5]]).lower[0] == pytest.approx(1.0, rel=1e-9)


def test_a_box_without_room_is_safe_for_good():
    knn = MahalanobisKNN().fit([[0.1, 0.1], [0.9, 0.9]], [0, 1])
    for norm in NORMS:
        pinned = ThreatModel(norm=norm, box=([0.2, 0.2], [0.2, 0.2]))
        assert np.isposinf(knn.certify([[0.2, 0.2]], threat=pinned).lower[0])
        corner = ThreatModel(norm=norm, box=(0.0, 0.45))
        assert np.isposinf(knn.certify([[0.2, 0.2]], threat=corner).lower[0])


@pytest.mark.parametrize("norm", NORMS)
def test_one_sided_and_per_feature_boxes(norm):
    """Feature 0 may only rise, feature 1 only fall; infinite limits are no limits."""
    rng = np.random.default_rng(3)
    X, y, points = rng.random((12, 2)), np.arange(12) % 2, rng.random((6, 2))
    knn = MahalanobisKNN(n_neighbors=3).fit(X, y)
    for b, x in enumerate(points):
        box = (np.array([x[0], -np.inf]), np.array([np.inf, x[1]]))
        got = knn.certify(points[b : b + 1], threat=ThreatModel(norm=norm, box=box))
        threat = oracles.Threat(norm, box=(np.maximum(box[0], -1e6), np.minimum(box[1], 1e6)))
        expected = oracles.votes(np.eye(2), X, y, x, got.predicted[0], 3, threat)
        assert_same_radius(got.lower[0], expected, 1.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_place_of_the_box_flips_below_lower(k, norm):
    rng = np.random.default_rng(k)
    X, y = rng.random((15, 2)), rng.integers(3, size=15)
    knn = MahalanobisKNN(n_neighbors=k).fit(X, y)
    steps = np.linspace(0, 1, 151)
    grid = np.array(np.meshgrid(steps, steps)).reshape(2, -1).T
    answers = knn.predict(grid)
    points = rng.random((12, 2))
    certificates = knn.certify(points, threat=ThreatModel(norm=norm, box=(0, 1)))
    for x, lower, label in zip(points, certificates.lower, certificates.predicted, strict=True):
        away = np.linalg.norm(grid[answers != label] - x, norm, axis=1)
        assert lower * (1 - 1e-9) <= away.min(initial=np.inf)


@pytest.mark.parametrize("norm", NORMS)
def test_frozen_and_boxed_features_that_cannot_pull_are_safe_for_good(norm):
    knn = MahalanobisKNN().fit([[0.0, 0.0], [1.0, 0.0]], [0, 1])
    threat = ThreatModel(norm=norm, frozen=[0], box=(0, 1))
    assert np.isposinf(knn.certify([[0.2, 0.0]], threat=threat).lower[0])


@pytest.mark.parametrize("norm", NORMS)
def test_where_the_sign_is_in_doubt_the_attacker_has_the_wider_side(norm):
    v, error = np.array([[0.0, 1.0]]), np.array([[1e-3, 0.0]])
    room = np.array([0.0, 1.0]), np.array([5.0, 5.0])
    assert np.isfinite(boxed_distance(v, error, np.array([5.004]), room, norm)[0])  # 1e-3 · 5 + 1 · 5 reaches it
    assert np.isinf(boxed_distance(v, error, np.array([5.006]), room, norm)[0])
