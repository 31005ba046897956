"""Radii in the plane read off the bisectors are those of the walk through all regions, an independent way."""

import time
from dataclasses import replace

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, ThreatModel
from arml_core.certificates import search
from arml_core.certificates.bisectors import flipping_edges
from arml_core.certificates.region_walk import PlanarProblem, walk
from tests.certificates.test_region_walk import training_set
from tests.more import more, seeds

NORMS = (1, 2, np.inf)


def problem(seed: int):
    """A random classifier, point, attacker and left-out row, two features free to move."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    n = int(rng.integers(n_classes + 2, 50))
    X, y = training_set("random", n, n_classes, rng)
    frozen = None
    if rng.random() < 0.3:
        X = np.hstack([X, rng.normal(size=(n, 1))])
        frozen = [int(rng.integers(3))]
    if rng.random() < 0.2:
        X = X.round(1)
    n_features = X.shape[1]
    G = rng.normal(size=(n_features, n_features))
    if rng.random() < 0.2:
        G = G[:-1]  # singular
    knn = MahalanobisKNN(int(rng.integers(1, min(n - 1, 12))), metric=Metric.from_components(G)).fit(X, y)
    box = (X.min(axis=0) - 0.1, X.max(axis=0) + 0.1) if rng.random() < 0.3 else None
    costs = rng.uniform(0.5, 2, n_features) if rng.random() < 0.3 else None
    row = int(rng.integers(n))
    x = X[[row]] + (0.3 * rng.normal(size=(1, n_features)) if rng.random() < 0.6 else 0)
    x = x if box is None else np.clip(x, *box)
    threat = ThreatModel(norm=NORMS[seed % 3], costs=costs, frozen=frozen, box=box)
    return knn, x, threat, [row] if rng.random() < 0.5 else None


def radius(knn, x, threat, exclude):
    found = knn.certify(x, method="search", threat=threat, exclude=exclude, budget=60.0)
    return found.lower[0], found.upper[0], found


@pytest.mark.parametrize("sixteen", seeds(5))
def test_both_ways_agree(sixteen, monkeypatch):
    answered = 0
    for seed in range(16 * sixteen, 16 * sixteen + 16):
        case = problem(seed)
        calls = []
        with monkeypatch.context() as patch:
            patch.setattr(
                search, "flipping_edges", lambda *a, calls=calls: calls.append(flipping_edges(*a)) or calls[-1]
            )
            lower, upper, found = radius(*case)
        with monkeypatch.context() as patch:
            patch.setattr(search, "flipping_edges", lambda *a: None)
            walked_lower, walked_upper, _ = radius(*case)
        assert lower <= walked_upper, seed
        assert walked_lower <= upper, seed
        if np.isfinite(lower):
            assert lower == pytest.approx(walked_lower, rel=1e-6, abs=1e-7), seed
        if np.isfinite(upper):
            assert case[0].predict(found.adversarial, exclude=case[3])[0] != found.predicted[0]
        answered += len(calls) == 1 and calls[0] is not None
    assert answered > 8


@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
def test_three_hundred_points_and_fifteen_neighbours_are_exact(norm):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    found = (
        MahalanobisKNN(15)
        .fit(X, y)
        .certify(X[:12], method="search", threat=ThreatModel(norm=norm), exclude=np.arange(12), budget=60.0)
    )
    assert found.exact.all()


GRID = np.array([(i, j) for i in range(4) for j in range(4)], dtype=float)
TWINS = np.vstack([np.random.default_rng(1).normal(size=(12, 2))] * 2)[:16]


@pytest.mark.parametrize(("X", "x"), [(GRID, [1.5, 1.5]), (TWINS, [0.1, 0.2])], ids=["grid", "twins"])
def test_where_many_bisectors_meet_or_points_coincide_the_question_is_left_to_the_walk(X, x, monkeypatch):
    knn = MahalanobisKNN(3).fit(X, np.arange(16) % 2)
    seen = []
    monkeypatch.setattr(search, "flipping_edges", lambda *a: seen.append(flipping_edges(*a)) or seen[-1])
    found = knn.certify([x], method="search", budget=60.0)
    assert seen == [None]
    assert found.lower[0] <= found.upper[0]


def test_no_time_is_no_answer(monkeypatch):
    knn = MahalanobisKNN(3).fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2)
    planes = []
    monkeypatch.setattr(
        search, "flipping_edges", lambda plane, deadline: planes.append(plane) or flipping_edges(plane, deadline)
    )
    knn.certify([[0.0, 0.0]], method="search", budget=60.0)
    assert flipping_edges(planes[0], time.perf_counter() + 60) is not None
    assert flipping_edges(planes[0], time.perf_counter() - 1) is None


def shaken(plane, rng):
    """The same rows with keys that differ by no more than the error bound, and are exact."""
    return replace(plane, d=plane.d + plane.error * rng.choice([-1.0, 0.0, 1.0], size=len(plane.d)), error=0.0)


def nearest_flip(plane) -> float:
    """The size of the smallest move seen to change the answer, stepping across the first few edges."""
    edges = flipping_edges(plane, time.perf_counter() + 60)
    if edges is None or not len(edges.distance):
        return np.inf
    steps = np.append(0.0, np.geomspace(1e-12, 1.0, 40))[:, None, None]
    few = slice(0, 5)
    inside = edges.middle[few] + 1e-3 * edges.length[few, None] * edges.across[few]
    moves = (edges.nearest[few] + steps * (inside - edges.nearest[few])).reshape(-1, 2)
    neighbours = np.argsort(plane.d - 2 * moves @ plane.h.T, axis=1, kind="stable")[:, : plane.n_neighbors]
    votes = np.eye(plane.n_classes)[plane.labels][neighbours].sum(axis=1)
    return np.linalg.norm(moves[votes.argmax(axis=1) != plane.label], plane.norm, axis=1).min(initial=np.inf)


@pytest.mark.parametrize("thirty", seeds(5))
@pytest.mark.parametrize("norm", NORMS)
def test_no_keys_within_the_error_bound_flip_nearer_than_promised(norm, thirty):
    """Also where two rows are a hair apart: their line may be shifted by far more than the ties along it are wide."""
    answered = 0
    for seed in range(30 * thirty, 30 * thirty + 30):
        rng = np.random.default_rng([seed, int(min(norm, 3))])
        n = int(rng.integers(4, 9))
        h = rng.normal(size=(n, 2))
        h[1] = h[0] + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=2)
        labels = np.arange(n) % 2
        k, nobody = int(rng.integers(1, 4)), np.full(n, -1)
        square, d, error = np.full(2, 8.0), (h**2).sum(axis=1), 10.0 ** rng.uniform(-8, -5)
        label = int(np.bincount(labels[np.argsort(d)[:k]], minlength=2).argmax())
        plane = PlanarProblem(h, d, error, nobody, nobody, -square, square, 8.0, norm, k, labels, 2, label)
        promised = flipping_edges(plane, time.perf_counter() + 60)
        walked = walk(plane, time.perf_counter() + 60, lambda nearest, inside: False)
        for _ in range(10):
            flips_at = nearest_flip(shaken(plane, rng)) * (1 + 1e-9)
            assert walked <= flips_at, seed
            if promised is not None:
                assert promised.distance.min(initial=8.0) <= flips_at, seed
                answered += np.isfinite(flips_at)
    assert answered > 20
