"""At x + δ distances round otherwise than at x: where that could decide, `predict` compares without rounding."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, ThreatModel
from tests.more import RARELY, more, seeds

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


@pytest.mark.parametrize("point", seeds(15, every=RARELY))
@pytest.mark.parametrize("unit", [1e-5, *more(1e-7, 1e-3, 0.1)])
@pytest.mark.parametrize("method", ["votes", "exact", "search", *more("theorem1")])
def test_predict_does_not_flip_inside_lower_however_far_the_one_movable_feature_goes(method, unit, point):
    """With rounded distances, at units of 1e-5, one in five bounds was above predict's own flip."""
    X, y, points, _ = in_units(point // 5, unit)
    knn, x = MahalanobisKNN(1 if method == "exact" else 3).fit(X, y), points[point % 5]
    found = knn.certify(x[None], method=method, threat=ThreatModel(frozen=[1, 2, 3]))
    if np.isfinite(found.lower[0]):
        assert first_flip(knn, x, found.predicted[0], found.lower[0]) >= found.lower[0]


@pytest.mark.parametrize("norm", [2.0, *more(1.0, np.inf)])
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


SHARED = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
NEARLY = np.array([[0.0, 1e-9], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact", "search"])
@pytest.mark.parametrize(
    ("X", "scales", "threat"),
    [
        (SHARED, [1.0, 1e-9], ThreatModel()),
        (SHARED, [1.0, 1e-30], ThreatModel()),
        (SHARED, [1.0, 1e-6], ThreatModel(np.inf)),
        (NEARLY, [1.0, 1.0], ThreatModel(frozen=[1])),
        (NEARLY, [1.0, 1.0], ThreatModel(box=([-2.0, 0.0], [2.0, 0.0]))),
        (NEARLY, [1.0, 1.0], ThreatModel(costs=[1.0, 1e10])),
    ],
    ids=["light feature", "lighter", "linf", "frozen", "box", "costs"],
)
def test_a_small_difference_is_not_lost_beside_what_the_move_adds_to_both_distances(method, X, scales, threat):
    """x shares the heavy feature with both rows; moving along it, rounded distances tied, and the first row won."""
    if method == "exact" and (threat.norm != 2 or threat.box is not None):
        pytest.skip("not supported")
    x, y = np.zeros(2), [1, 0, 0, 0]
    knn = MahalanobisKNN(1, Metric.from_components(np.diag(scales))).fit(X, y)
    found = knn.certify(x[None], method=method, threat=threat)
    lower = min(found.lower[0], 0.5)
    steps = lower * (1 - np.geomspace(1e-12, 0.9, 500))
    moved = np.multiply.outer(np.concatenate([steps, -steps]), [1.0, 0.0])
    assert lower > 0.3
    assert np.all(knn.predict(moved) == found.predicted[0])
