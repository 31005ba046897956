"""What must not matter: chunk sizes, the order of points and features, the memory layout; and progress, cancel."""

import numpy as np
import pytest

import arml_core.certificates.bounds as bounds_module
import arml_core.certificates.candidates as candidates_module
import arml_core.certificates.exact as exact_module
import arml_core.certificates.triplet_rows as rows_module
import arml_core.neighbors.prepared as reference_module
import arml_core.numerics.distance_bounds as screen_module
from arml_core import Cancelled, MahalanobisKNN, ThreatModel

from .cases import make_metric

METHODS = [("theorem1", 3), ("votes", 4), ("exact", 1)]


def problem(n: int = 130, n_points: int = 37, n_features: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 1)  # some ties and duplicates
    return X, rng.integers(4, size=n), rng.normal(size=(n_points, n_features)), make_metric("full", n_features, rng)


def certify_all(knn, points, method, exclude=None):
    certificates = knn.certify(points, method=method, exclude=exclude)
    return certificates.lower, certificates.upper, certificates.predicted


def assert_same(got, expected):
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-6)
    np.testing.assert_array_equal(got[2], expected[2])


@pytest.mark.parametrize(("method", "k"), METHODS)
@pytest.mark.parametrize("chunk_bytes", [1, 4 * 130, 4 * 130 * 36, 4 * 130 * 37, 4 * 130 * 38])
def test_the_chunk_size_of_the_screen_does_not_matter(chunk_bytes, method, k, monkeypatch):
    """Including one point at a time, exactly all of them, one fewer and one more."""
    X, y, points, M = problem()
    exclude = np.arange(37)
    expected = certify_all(MahalanobisKNN(k, M).fit(X, y), points, method, exclude)
    monkeypatch.setattr(screen_module, "CHUNK_BYTES", chunk_bytes)
    assert_same(certify_all(MahalanobisKNN(k, M).fit(X, y), points, method, exclude), expected)


@pytest.mark.parametrize(("method", "k"), METHODS)
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_no_other_block_size_matters(method, k, norm, monkeypatch):
    if method == "exact" and norm != 2:
        pytest.skip("exact is for ℓ2")
    X, y, points, M = problem(seed=1)
    threat = ThreatModel(norm=norm)
    expected = MahalanobisKNN(k, M).fit(X, y).certify(points, method=method, threat=threat)
    for module, name, value in [
        (rows_module, "ROW_BYTES", 1),
        (reference_module, "DIRECT_BYTES", 1),
        (reference_module, "EXTRA", 0),
        (candidates_module, "NEAREST", 1),
        (bounds_module, "WIDTH", 2),
        (exact_module, "WIDTH", 2),
        (candidates_module, "PER_PLACE", 1),
        (bounds_module, "GUESS", 0.0),
        (bounds_module, "MORE_ROWS", 1),
        (exact_module, "ROWS_AT_ONCE", 1),
        (exact_module, "NEW_CONSTRAINTS", 1),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            got = MahalanobisKNN(k, M).fit(X, y).certify(points, method=method, threat=threat)
        np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-8, err_msg=name)
        np.testing.assert_array_equal(got.predicted, expected.predicted, err_msg=name)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_the_float64_screen_gives_the_same(method, k, monkeypatch):
    X, y, points, M = problem(seed=2)
    expected = certify_all(MahalanobisKNN(k, M).fit(X, y), points, method)
    monkeypatch.setattr(screen_module, "FAR", 0.0)  # every point counts as far away
    assert_same(certify_all(MahalanobisKNN(k, M).fit(X, y), points, method), expected)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_the_order_of_the_points_does_not_matter(method, k):
    X, y, points, M = problem(seed=3)
    knn = MahalanobisKNN(k, M).fit(X, y)
    order = np.random.default_rng(0).permutation(len(points))
    exclude = np.arange(len(points)) % 7
    expected = certify_all(knn, points, method, exclude)
    assert_same(certify_all(knn, points[order], method, exclude[order]), [e[order] for e in expected])
    one_by_one = [certify_all(knn, points[b : b + 1], method, exclude[b : b + 1]) for b in range(len(points))]
    assert_same([np.concatenate(parts) for parts in zip(*one_by_one, strict=True)], expected)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_the_order_of_the_features_does_not_matter(method, k):
    rng = np.random.default_rng(4)
    X, y, points = rng.normal(size=(60, 5)), rng.integers(3, size=60), rng.normal(size=(20, 5))
    M, costs = make_metric("full", 5, rng), np.exp(rng.normal(size=5))
    order = rng.permutation(5)
    frozen = [2]
    expected = (
        MahalanobisKNN(k, M).fit(X, y).certify(points, method=method, threat=ThreatModel(costs=costs, frozen=frozen))
    )
    got = (
        MahalanobisKNN(k, M[np.ix_(order, order)])
        .fit(X[:, order], y)
        .certify(
            points[:, order],
            method=method,
            threat=ThreatModel(costs=costs[order], frozen=[int(np.flatnonzero(order == 2)[0])]),
        )
    )
    np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-6)
    np.testing.assert_allclose(got.upper, expected.upper, rtol=1e-6)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_the_order_of_the_training_rows_does_not_matter_without_ties(method, k):
    rng = np.random.default_rng(5)
    X, y, points = rng.normal(size=(60, 3)), rng.integers(3, size=60), rng.normal(size=(20, 3))
    order = rng.permutation(60)
    expected = certify_all(MahalanobisKNN(k).fit(X, y), points, method)
    assert_same(certify_all(MahalanobisKNN(k).fit(X[order], y[order]), points, method), expected)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_turning_the_space_does_not_matter_in_l2(method, k):
    rng = np.random.default_rng(6)
    X, y, points = rng.normal(size=(50, 4)), rng.integers(3, size=50), rng.normal(size=(15, 4))
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    expected = MahalanobisKNN(k).fit(X, y).certify(points, method=method).lower
    got = MahalanobisKNN(k).fit(X @ turn, y).certify(points @ turn, method=method).lower
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_a_feature_that_is_always_zero_does_not_matter(method, k):
    rng = np.random.default_rng(7)
    X, y, points = rng.normal(size=(50, 3)), rng.integers(3, size=50), rng.normal(size=(15, 3))

    def pad(a):
        return np.column_stack([a, np.zeros(len(a))])

    expected = MahalanobisKNN(k).fit(X, y).certify(points, method=method).lower
    np.testing.assert_allclose(
        MahalanobisKNN(k).fit(pad(X), y).certify(pad(points), method=method).lower, expected, rtol=1e-9
    )


# progress and cancel -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_progress_rises_to_the_total(method, k, monkeypatch):
    monkeypatch.setattr(screen_module, "CHUNK_BYTES", 4 * 130 * 5)
    X, y, points, M = problem(seed=8)
    calls = []
    MahalanobisKNN(k, M).fit(X, y).certify(points, method=method, callback=lambda *call: calls.append(call))
    done, totals = [call[0] for call in calls], {call[1] for call in calls}
    certified = [d for d in done if d > 0]  # before that the points are predicted: 0 done, but it can be stopped
    assert done == sorted(done)
    assert len(certified) >= 8
    assert certified == sorted(set(certified))
    assert totals == {done[-1]} == {len(points)}


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_every_step_can_be_the_last(method, k, monkeypatch):
    """Cancelled at its first call, somewhere in the middle, or at its last: it stops there."""
    monkeypatch.setattr(screen_module, "CHUNK_BYTES", 4 * 130 * 5)
    X, y, points, M = problem(seed=8)
    knn = MahalanobisKNN(k, M).fit(X, y)
    steps = []
    knn.certify(points, method=method, callback=lambda *call: steps.append(call))
    for last in (1, len(steps) // 2, len(steps)):
        calls = []

        def stop(*call, calls=calls, last=last):
            calls.append(call)
            if len(calls) == last:
                raise Cancelled

        with pytest.raises(Cancelled):
            knn.certify(points, method=method, callback=stop)
        assert calls == steps[:last]


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_cancelled_stops_at_once_and_leaves_the_classifier_usable(method, k, monkeypatch):
    monkeypatch.setattr(screen_module, "CHUNK_BYTES", 4 * 130 * 5)
    X, y, points, M = problem(seed=9)
    knn = MahalanobisKNN(k, M).fit(X, y)
    expected = certify_all(knn, points, method)
    calls = []

    def stop(done, total, info):
        calls.append(done)
        if len(calls) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        knn.certify(points, method=method, callback=stop)
    assert len(calls) == 2
    assert_same(certify_all(knn, points, method), expected)
