"""Numbers under stress: exact arithmetic, other units, single precision, more threads, the same question twice."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from arml_core import MahalanobisKNN, Metric, ThreatModel
from benchmarks.campaign import repeat
from tests import rational

UNITS = (1e-6, 1e-3, 1.0, 1e3, 1e6)
METHODS = [("theorem1", 3), ("votes", 4), ("exact", 1), ("search", 2)]


def certify(k, metric, X, y, points, method, **options):
    return MahalanobisKNN(k, metric).fit(X, y).certify(points, method=method, **options)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("method", "k"), METHODS)
def test_lower_is_at_most_the_radius_in_fractions_where_one_feature_moves(method, k, unit):
    """ε* itself, not a bound: nothing is rounded on the other side, so nothing is forgiven."""
    met = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y, x = rng.normal(size=(10, 3)) * unit, np.arange(10) % 2, rng.normal(size=3) * unit
        if seed % 2:
            X = np.round(X / unit * 2) / 2 * unit  # ties and duplicates
        G = rng.normal(size=(2, 3))
        threat = ThreatModel(frozen=[0, 2])
        found = certify(k, Metric.from_components(G), X, y, x[None], method, threat=threat)
        radius = rational.line_radius(G, X, y, x, k, feature=1)
        lower = float(found.lower[0])
        if radius is None:
            assert np.isposinf(found.upper[0])
            continue
        assert Fraction(lower) <= radius
        assert found.upper[0] >= float(radius) * (1 - 1e-9)
        met += lower >= float(radius) * (1 - 1e-6)
    assert met >= (4 if method in ("exact", "search") else 1)


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
@pytest.mark.parametrize(("method", "k"), METHODS[:3])
def test_units_that_round_nothing_scale_the_radius_and_nothing_else(method, k, unit):
    rng = np.random.default_rng(0)
    X, y, points = np.round(rng.normal(size=(60, 4)), 1), rng.integers(3, size=60), rng.normal(size=(10, 4))
    G = rng.normal(size=(4, 4))
    plain = certify(k, G.T @ G, X, y, points, method)
    scaled = certify(k, G.T @ G, X * unit, y, points * unit, method)
    np.testing.assert_allclose(scaled.lower, plain.lower * unit, rtol=1e-12)
    np.testing.assert_array_equal(scaled.predicted, plain.predicted)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("method", "k"), METHODS[:3])
def test_single_precision_is_certified_as_the_same_numbers_in_double(method, k, unit):
    rng = np.random.default_rng(1)
    X = (np.round(rng.normal(size=(60, 4)), 1) * unit).astype(np.float32)
    points = (rng.normal(size=(10, 4)) * unit).astype(np.float32)
    y, G = rng.integers(3, size=60), rng.normal(size=(4, 4))
    single = certify(k, G.T @ G, X, y, points, method)
    double = certify(k, G.T @ G, X.astype(float), y, points.astype(float), method)
    if method == "exact":  # its upper sides are points in the precision of the data
        assert np.all(single.upper >= double.lower)
    np.testing.assert_allclose(single.lower, double.lower, rtol=1e-9 if method == "exact" else 1e-14)


def test_two_runs_are_the_same_to_the_last_bit_and_three_threads_contradict_nothing():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one, again = repeat.radii(0, n_points=4), repeat.radii(0, n_points=4)
        torch.set_num_threads(3)
        three = repeat.radii(0, n_points=4)
    finally:
        torch.set_num_threads(threads)
    assert one == again
    assert repeat.compare(one, three)[0] == []
    for name in one:
        if name.endswith("lower"):
            np.testing.assert_allclose(*(([float.fromhex(v) for v in run[name]]) for run in (one, three)), rtol=1e-9)


@pytest.mark.more
def test_processes_of_one_and_of_three_threads():
    wrong, summary = repeat.run_repeats(seed=0)
    assert wrong == []
    assert "two processes: the same to the last bit" in summary


def test_by_how_much_lower_is_rounded_down():
    """As the docstring of `certify` says: by the errors that two distances may have, and by 1e-8 at most beyond."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_features = int(rng.integers(1, 30))
        X, x = rng.normal(size=(12, n_features)), rng.normal(size=n_features)
        if seed % 3 == 0:  # all on a sphere around x: distances that tie in all but a few digits
            away = X - x
            X = x + away / np.linalg.norm(away, axis=1, keepdims=True) * (1 + 1e-9 * rng.random((12, 1)))
        elif seed % 3 == 1:  # far from x: they agree in their leading digits
            X += 10.0 ** rng.integers(1, 5) * rng.normal(size=n_features)
        y = np.arange(12) % 2
        knn = MahalanobisKNN().fit(X, y)
        found = knn.certify(x[None])
        rows, at = [rational.fractions(row) for row in X], rational.fractions(x)
        moved = [[a - b for a, b in zip(at, row, strict=True)] for row in rows]
        d = [rational.dot(v, v) for v in moved]
        stated = Fraction(16 * (2 * n_features + 8), 2**53) * 5 / 4  # it is taken off; distances are rounded too

        def triplet(i, j, share, rows=rows, d=d):
            """ε̃₊(i, j) with each squared distance off by `share` of itself."""
            apart = [a - b for a, b in zip(rows[i], rows[j], strict=True)]
            above = float(d[j] * (1 - share) - d[i] * (1 + share))
            return max(0.0, above / (2 * float(rational.dot(apart, apart)) ** 0.5))

        positives, negatives = np.flatnonzero(y == found.predicted[0]), np.flatnonzero(y != found.predicted[0])
        exact, least = (
            min(max(triplet(i, j, share) for i in positives) for j in negatives) for share in (Fraction(0), stated)
        )
        assert least * (1 - 1e-8) <= found.lower[0] <= exact
