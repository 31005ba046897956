"""No attacker gets in below `lower`: dense directions, grids, and the true radius, none of which use our formulas."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from tests import oracles
from tests.more import seeds

from .cases import METRICS, Case, make_case, make_metric, make_threat

JUST_INSIDE = 1 - 1e-9
NORMS = [1.0, 2.0, np.inf]


def directions(n_features: int, norm: float, rng: np.random.Generator, n: int = 600) -> np.ndarray:
    """Unit vectors of the norm, spread densely, with axes, diagonals and corners among them."""
    if n_features == 2:
        angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
        v = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        v = rng.normal(size=(n, n_features))
    signs = np.array(np.meshgrid(*[[-1, 0, 1]] * n_features)).reshape(n_features, -1).T
    v = np.vstack([v, signs[np.any(signs != 0, axis=1)]])
    return v / np.linalg.norm(v, norm, axis=1, keepdims=True)


def small_case(seed: int, n_features: int, k: int, norm: float) -> Case:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    X = rng.normal(size=(14, n_features))
    if seed % 3 == 1:
        X = np.round(X)  # ties, duplicates, rows on top of each other with different labels
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=14 - n_classes)])
    M = make_metric(METRICS[seed % len(METRICS)], n_features, rng)
    return Case(M, X, y, rng.normal(size=(3, n_features)), k, oracles.Threat(norm=norm))


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_features", [2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_dense_directions_never_flip_below_lower(k, n_features, norm, seed):
    rng = np.random.default_rng([k, seed])
    case = small_case(100 * k + seed, n_features, k, norm)
    knn = case.fitted()
    methods = ["votes", "theorem1"] if k == 1 else ["votes"]
    methods += ["exact"] if k == 1 and norm == 2 else []
    unit = directions(n_features, norm, rng)
    for method in methods:
        certificates = case.certify(method, knn=knn)
        for x, lower, label in zip(case.points, certificates.lower, certificates.predicted, strict=True):
            reach = min(lower, 100.0) * JUST_INSIDE
            radii = np.concatenate([[1.0, 0.999, 0.9], rng.random(2)])
            moved = (x + reach * radii[:, None, None] * unit).reshape(-1, n_features)
            assert np.all(knn.predict(moved) == label)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_grid_over_the_plane_never_flips_below_lower(k, norm):
    """Every place of a fine grid that answers differently is at least `lower` away."""
    steps = np.linspace(-4, 4, 121)
    grid = np.array(np.meshgrid(steps, steps)).reshape(2, -1).T
    for seed in range(6):
        case = small_case(7000 + seed, 2, k, norm)
        knn = case.fitted()
        certificates = case.certify("votes", knn=knn)
        answers = knn.predict(grid)
        for x, lower, label in zip(case.points, certificates.lower, certificates.predicted, strict=True):
            away = np.linalg.norm(grid[answers != label] - x, norm, axis=1)
            assert lower * JUST_INSIDE <= away.min(initial=np.inf)


@pytest.mark.parametrize("seed", seeds(60))
def test_lower_is_at_most_the_true_radius(seed):
    """ε* by trying every possible set of neighbours, with costs, frozen features, boxes, even K and ties in votes."""
    rng = np.random.default_rng(seed)
    n, n_features, n_classes = 7, int(rng.integers(2, 4)), int(rng.integers(2, 4))
    M = make_metric(METRICS[seed % 6], n_features, rng)
    X = rng.random(size=(n, n_features))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    threat = make_threat(n_features, rng)
    if seed % 2:
        threat = oracles.Threat(threat.norm, threat.costs, threat.frozen, box=(0.0, 1.0))
    case = Case(M, X, y, rng.random(size=(2, n_features)), int(rng.integers(1, 5)), threat)
    certificates = case.certify("votes")
    for x, lower, label in zip(case.points, certificates.lower, certificates.predicted, strict=True):
        truth = oracles.true_radius(M, X, y, x, label, case.k, threat)
        assert lower <= truth * (1 + 1e-7) + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_for_one_negative_and_one_positive_every_bound_is_the_true_radius(seed):
    """Two training points: nothing is lost between the certificate and ε*."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 4))
    threat = make_threat(n_features, rng) if n_features > 1 else oracles.Threat()
    case = Case(make_metric("full", n_features, rng), rng.random((2, n_features)), np.array([0, 1]),
                rng.random((3, n_features)), 1, threat)  # fmt: skip
    certificates = case.certify("votes")
    for x, lower, label in zip(case.points, certificates.lower, certificates.predicted, strict=True):
        truth = oracles.true_radius(case.M, case.X, case.y, x, label, 1, threat)
        assert lower == pytest.approx(truth, rel=1e-6, abs=1e-9)


def test_certified_leave_one_out_holds_for_predict_without_that_row():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 2)), rng.integers(3, size=30)
    knn = MahalanobisKNN(n_neighbors=3).fit(X, y)
    own = np.arange(30)
    certificates = knn.certify(X, method="votes", exclude=own)
    unit = directions(2, 2, rng, n=200)
    for i in own:
        moved = X[i] + certificates.lower[i] * JUST_INSIDE * unit
        assert np.all(knn.predict(moved, exclude=np.full(len(moved), i)) == certificates.predicted[i])


@pytest.mark.parametrize("norm", NORMS)
def test_frozen_features_and_costs_hold_against_moves_that_respect_them(norm):
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(25, 3)), rng.integers(3, size=25)
    costs = np.array([0.5, 1.0, 4.0])
    threat = ThreatModel(norm=norm, costs=costs, frozen=[1])
    knn = MahalanobisKNN(n_neighbors=5, metric=make_metric("full", 3, rng)).fit(X, y)
    points = rng.normal(size=(10, 3))
    certificates = knn.certify(points, threat=threat)
    unit = directions(3, norm, rng)
    unit[:, 1] = 0
    size = np.linalg.norm(unit, norm, axis=1, keepdims=True)
    delta = (unit / np.where(size > 0, size, 1)) / costs
    for x, lower, label in zip(points, certificates.lower, certificates.predicted, strict=True):
        for share in (JUST_INSIDE, 0.95, 0.5):
            assert np.all(knn.predict(x + share * min(lower, 1e3) * delta) == label)


@pytest.mark.parametrize("seed", range(12))
def test_every_awkward_case_holds_against_random_moves(seed):
    case = make_case(60_000 + 5 * seed, even_k=bool(seed % 2))
    case.exclude = None
    knn, rng = case.fitted(), np.random.default_rng(seed)
    certificates = case.certify("votes", knn=knn)
    n_features = case.X.shape[1]
    costs = np.ones(n_features) if case.threat.costs is None else case.threat.costs
    delta = rng.normal(size=(800, n_features))
    delta[:, list(case.threat.frozen)] = 0
    delta /= np.linalg.norm(costs * delta, case.threat.norm, axis=1, keepdims=True)
    assert len(case.points) > 0
    for x, lower, label in zip(case.points, certificates.lower, certificates.predicted, strict=True):
        assert np.all(knn.predict(x + min(lower, 100.0) * JUST_INSIDE * delta) == label)
