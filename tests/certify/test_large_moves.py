"""Moves larger than the data: predict rounds more at x + δ than at x, and `lower` must allow for that."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, ThreatModel

from .cases import make_metric


def in_units(seed: int, unit: float, n_features: int = 4, n: int = 30):
    """Feature 0 alone can move and hardly counts: it has to go 1/unit times as far as the data is wide."""
    rng = np.random.default_rng(seed)
    units = np.append(unit, np.ones(n_features - 1))
    X, points = rng.normal(size=(n, n_features)) * units, rng.normal(size=(5, n_features)) * units
    return X, rng.integers(2, size=n), points, rng


def first_flip(knn, x, label, lower, feature=0):
    """The smallest of many moves of one feature just inside `lower` that predict answers otherwise."""
    steps = lower * (1 - np.geomspace(1e-15, 1e-2, 3000))
    moves = np.concatenate([steps, -steps])
    moved = np.repeat(x[None], len(moves), axis=0)
    moved[:, feature] += moves
    flipped = moved[knn.predict(moved) != label, feature] - x[feature]
    return np.abs(flipped).min(initial=np.inf)


@pytest.mark.parametrize("unit", [1e-7, 1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("method", ["theorem1", "votes", "exact", "search"])
def test_predict_does_not_flip_inside_lower_however_far_the_one_movable_feature_goes(method, unit):
    """Only the rounding at x was allowed for: at units of 1e-5 one in five bounds was above predict's own flip."""
    k = 1 if method == "exact" else 3
    for seed in range(1 if method == "search" else 3):
        X, y, points, _ = in_units(seed, unit)
        knn, threat = MahalanobisKNN(k).fit(X, y), ThreatModel(frozen=[1, 2, 3])
        certificates = knn.certify(points, method=method, threat=threat)
        for x, lower, label in zip(points, certificates.lower, certificates.predicted, strict=True):
            if np.isfinite(lower):
                assert first_flip(knn, x, label, lower) >= lower


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_attacks_stay_above_lower_where_costs_are_uneven(norm):
    """Both sides of a curve come from different methods: a lower side above an upper one cannot be joined."""
    for seed in range(4):
        X, y, points, rng = in_units(seed, 1e-5)
        knn = MahalanobisKNN(3, make_metric("full", 4, rng)).fit(X, y)
        threat = ThreatModel(norm, costs=[1.0, 1e9, 1e9, 1e9])
        upper = knn.attack(points, threat=threat).upper
        for method in ("theorem1", "votes"):
            assert np.all(knn.certify(points, method=method, threat=threat).lower <= upper)


def test_search_and_exact_stay_at_or_below_every_attack_when_three_features_move():
    """Three movable features of unit 1e-5: branch and bound and the dual bounds, not the plane."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        units = np.array([1e-5, 1e-5, 1e-5, 1.0, 1.0])
        X, points = rng.normal(size=(25, 5)) * units, rng.normal(size=(3, 5)) * units
        y, threat = rng.integers(2, size=25), ThreatModel(frozen=[3, 4])
        for k, method in ((1, "exact"), (3, "search")):
            knn = MahalanobisKNN(k).fit(X, y)
            found = knn.certify(points, method=method, threat=threat, budget=0.2)
            assert np.all(found.lower <= knn.attack(points, threat=threat).upper)
            for x, delta, lower, label in zip(
                points, found.adversarial - points, found.lower, found.predicted, strict=True
            ):
                if np.isfinite(lower) and np.isfinite(delta).all():
                    length = np.linalg.norm(delta)
                    steps = lower * (1 - np.geomspace(1e-15, 1e-3, 2000)) / length
                    assert np.all(knn.predict(x + np.multiply.outer(steps, delta)) == label)


def test_what_a_large_move_costs_is_little():
    """The allowance is what rounding can do at that size, not more: 1e-12 of the move's square, by the radius."""
    X, y, points, _ = in_units(4, 1e-3)
    knn, threat = MahalanobisKNN(3).fit(X, y), ThreatModel(frozen=[1, 2, 3])
    lower = knn.certify(points, threat=threat).lower
    upper = knn.attack(points, threat=threat).upper
    finite = upper < 1.01 * lower  # where votes is all there is to it
    assert finite.any()
    assert np.all(lower[finite] >= upper[finite] * (1 - 1e-6))


def test_data_of_one_scale_is_computed_once(monkeypatch):
    """Moves up to the distances themselves are within the allowance at x: nothing is computed again."""
    from arml_core.certify import bounds

    calls = []
    real = bounds.Rows
    monkeypatch.setattr(bounds, "Rows", lambda *args: calls.append(args[4]) or real(*args))
    rng = np.random.default_rng(0)
    X, y, points = rng.normal(size=(200, 6)), rng.integers(3, size=200), rng.normal(size=(50, 6))
    for metric in (None, Metric.from_components(np.eye(6) + 0.1 * rng.normal(size=(6, 6)))):
        MahalanobisKNN(5, metric).fit(X, y).certify(points)
    assert calls
    assert all(reach is None for reach in calls)
