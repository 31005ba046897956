"""Features that may only grow, or only fall: a box one side of which is the point itself."""

import json

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from tests import oracles
from tests.attacks.oracles import truth
from tests.certificates.test_branch import without_attack
from tests.more import seeds

NORMS = [1.0, 2.0, np.inf]


def problem(seed: int):
    rng = np.random.default_rng(700 + seed)
    d, n_classes = 2 + seed % 3, 2 + seed % 2
    X, x = rng.normal(size=(11, d)), 0.5 * rng.normal(size=d)
    if seed % 3 == 1:
        X, x = np.round(2 * X) / 2, np.round(2 * x) / 2
    ways = rng.integers(0, 3, d)  # both, up, down
    ways[0] = 1 + seed % 2
    up, down = np.flatnonzero(ways == 1), np.flatnonzero(ways == 2)
    box = (-1.0, 1.3) if seed % 4 == 0 else None
    low = np.full(d, -np.inf if box is None else box[0])
    high = np.full(d, np.inf if box is None else box[1])
    low[up], high[down] = x[up], x[down]
    return X, np.arange(11) % n_classes, x, up, down, box, (np.minimum(low, x), np.maximum(high, x))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(24))
def test_all_sides_against_the_truth(seed, norm):
    X, y, x, up, down, box, limits = problem(seed)
    k, d = 1 + seed % 4, X.shape[1]
    threat = ThreatModel(norm, only_up=up, only_down=down, box=box)
    knn = MahalanobisKNN(k).fit(X, y)
    votes = knn.certify(x[None], threat=threat)
    real = truth(np.eye(d), X, y, x, votes.predicted[0], k, oracles.Threat(norm, None, (), limits))
    assert votes.lower[0] <= real.ruled * (1 + 1e-9) + 1e-12
    lower, _ = without_attack(knn, x, threat)
    assert lower <= real.ruled * (1 + 1e-7) + 1e-9
    assert lower >= min(real.closed, 1e3) * (1 - 1e-6) - 1e-7 or d == 2  # in the plane it looks only so far
    assert lower >= without_attack(knn, x, ThreatModel(norm, box=box))[0] * (1 - 1e-6) - 1e-9
    for found in (knn.attack(x[None], threat=threat), knn.attack(x[None], threat=threat, method="boundary", steps=40)):
        assert found.upper[0] >= real.closed * (1 - 1e-9)
        if np.isfinite(found.upper[0]):
            point = found.adversarial[0]
            assert (point >= limits[0]).all()
            assert (point <= limits[1]).all()
            assert knn.predict(point[None])[0] != votes.predicted[0]


def test_a_direction_in_float32_is_kept_to_the_last_digit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    knn = MahalanobisKNN(3).fit(X, np.arange(60) % 2)
    x = rng.normal(size=(8, 4)).astype(np.float32)
    found = knn.attack(x, threat=ThreatModel(only_up=[0, 1], only_down=[2]))
    moved = found.adversarial[np.isfinite(found.upper)]
    start = x[np.isfinite(found.upper)]
    assert len(moved)
    assert moved.dtype == np.float32
    assert (moved[:, :2] >= start[:, :2]).all()
    assert (moved[:, 2] <= start[:, 2]).all()


def test_the_words_the_arguments_and_what_is_refused():
    threat = ThreatModel(only_up=[2, 0], only_down=np.array([False, True, False]))
    assert threat.describe() == "ℓ2 norm, 2 features that may only grow, 1 feature that may only fall"
    again = ThreatModel(**json.loads(json.dumps(threat.arguments())))
    assert again == threat
    assert "only_up=[0, 2]" in threat.python()
    assert set(ThreatModel().arguments()) == {"norm", "costs", "frozen", "box"}  # the keys of old questions
    with pytest.raises(ValueError, match="feature 1 may only grow and only fall"):
        ThreatModel(only_up=[1], only_down=[1, 2])
    with pytest.raises(ValueError, match="only_down feature 7 does not exist"):
        ThreatModel(only_down=[7]).resolve(3)
    with pytest.raises(ValueError, match="only_up must hold feature indices"):
        ThreatModel(only_up=[0.5])


def test_a_direction_of_a_frozen_feature_changes_nothing():
    X = np.random.default_rng(1).normal(size=(30, 3))
    knn = MahalanobisKNN(3).fit(X, np.arange(30) % 2)
    plain = knn.certify(X[:5] + 0.1, threat=ThreatModel(frozen=[1]))
    directed = knn.certify(X[:5] + 0.1, threat=ThreatModel(frozen=[1], only_up=[1]))
    np.testing.assert_array_equal(plain.lower, directed.lower)
