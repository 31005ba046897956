"""The metric: M = GᵀG, what is accepted as one, and distances that do not cancel."""

from fractions import Fraction

import numpy as np
import pytest

from arml_core import Metric, NotPSDError
from arml_core.metric import as_metric
from tests import oracles


def random_psd(n: int, rank: int, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed).normal(size=(rank, n))
    return g.T @ g


@pytest.mark.parametrize("rank", [0, 1, 2, 4, 5])
def test_from_matrix_gives_back_the_matrix_with_its_rank(rank):
    M = random_psd(5, rank)
    metric = Metric.from_matrix(M)
    np.testing.assert_allclose(metric.matrix(), M, atol=1e-12)
    if rank:
        assert metric.rank == rank or metric.is_diagonal
    assert metric.n_features == 5


def test_from_components_is_gtg():
    g = np.random.default_rng(1).normal(size=(2, 4))
    metric = Metric.from_components(g)
    np.testing.assert_allclose(metric.matrix(), g.T @ g, rtol=1e-14)
    assert metric.rank == 2
    np.testing.assert_array_equal(metric.components, g)


@pytest.mark.parametrize("M", [np.eye(4), np.diag([4.0, 0, 1, 9]), random_psd(4, 4), random_psd(4, 2)])
def test_distances_equal_the_quadratic_form(M):
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(3, 4)), rng.normal(size=(6, 4))
    got = Metric.from_matrix(M).squared_distances(x[:, None], z)
    expected = [[oracles.distance(M, a, b) for b in z] for a in x]
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    same = Metric.from_matrix(M).squared_distances(x, x)
    np.testing.assert_array_equal(same, 0.0)


@pytest.mark.parametrize("offset", [1e3, 1e8, 1e15])
def test_distances_do_not_cancel(offset):
    """Two points a hair apart, far from the origin: exact rational arithmetic as the oracle."""
    x, z = np.array([offset, offset + 1]), np.array([offset + 2.0, offset + 1])
    exact = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), z.tolist(), strict=True))
    assert Metric.identity(2).squared_distances(x, z) == float(exact)


def test_float32_points_have_float64_distances():
    x, z = np.float32([[0.1, 0.2]]), np.float32([[0.1000001, 0.2]])
    got = Metric.identity(2).squared_distances(x, z)
    exact = (Fraction(float(x[0, 0])) - Fraction(float(z[0, 0]))) ** 2
    assert got.dtype == np.float64
    assert got[0] == pytest.approx(float(exact), rel=1e-15)


def test_transform_apply_and_magnitudes():
    rng = np.random.default_rng(3)
    for M in (random_psd(4, 3), np.diag([1.0, 4.0, 0.0, 9.0]), np.eye(4)):
        metric = Metric.from_matrix(M)
        v = rng.normal(size=(5, 4))
        np.testing.assert_allclose(metric.transform(v), v @ metric.components.T, atol=1e-12)
        np.testing.assert_allclose(metric.apply(v), v @ M, atol=1e-12)
        absolute = np.abs(metric.components)
        np.testing.assert_allclose(metric.magnitude(v), np.linalg.norm(np.abs(v) @ absolute.T, axis=1), rtol=1e-12)
        np.testing.assert_allclose(metric.absolute_apply(v), np.abs(v) @ absolute.T @ absolute, rtol=1e-12)
        assert metric.operator_magnitude() >= np.linalg.norm(absolute, 2) * (1 - 1e-12)


def test_a_large_metric_uses_matrix_products_with_the_same_result():
    rng = np.random.default_rng(4)
    g = rng.normal(size=(80, 90))
    x, z = rng.normal(size=90), rng.normal(size=(7, 90))
    expected = [float(((g @ (x - b)) ** 2).sum()) for b in z]
    np.testing.assert_allclose(Metric.from_components(g).squared_distances(x, z), expected, rtol=1e-12)


def test_identity_and_diagonal_know_what_they_are():
    assert Metric.identity(3).is_identity
    assert Metric.from_matrix(np.eye(3)).is_identity
    assert Metric.from_matrix(np.diag([1.0, 2.0])).is_diagonal
    assert not Metric.from_matrix(np.diag([1.0, 2.0])).is_identity
    assert not Metric.from_matrix(random_psd(3, 3)).is_diagonal


def test_rounding_noise_in_m_is_forgiven():
    M = random_psd(4, 2)
    noisy = M + 1e-12 * np.random.default_rng(5).normal(size=(4, 4))
    np.testing.assert_allclose(Metric.from_matrix(noisy).matrix(), M, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_the_psd_tolerance_is_relative(factor):
    with pytest.raises(NotPSDError):
        Metric.from_matrix(factor * np.diag([1.0, -1e-6]))
    Metric.from_matrix(factor * np.diag([1.0, -1e-12]))


def test_features_on_very_different_scales_keep_their_digits():
    """A dense M whose entries span 24 orders of magnitude still measures every feature by itself correctly."""
    base = np.array([[2.0, 1.0], [1.0, 2.0]])
    units = np.array([1.0, 1e6])
    M = base / np.outer(units, units)
    metric = Metric.from_matrix(M)
    for v in (np.array([1.0, 0.0]), np.array([0.0, 1e6]), np.array([1.0, 1e6]), np.array([1.0, -1e6])):
        assert metric.squared_distances(v, np.zeros(2)) == pytest.approx(v @ M @ v, rel=1e-9)


def test_negative_eigenvalues_are_named():
    with pytest.raises(NotPSDError, match=r"positive semi-definite; its smallest eigenvalue is -1 .*Clip"):
        Metric.from_matrix([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(NotPSDError, match=r"smallest eigenvalue is -2"):
        Metric.from_matrix(np.diag([1.0, -2.0]))
    assert issubclass(NotPSDError, ValueError)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([[1.0, 2.0, 3.0]], r"square matrix; got shape \(1, 3\)"),
        ([1.0, 2.0], r"square matrix; got shape \(2,\)"),
        (np.empty((0, 0)), r"square matrix; got shape \(0, 0\)"),
        ([[1.0, 0.5], [0.2, 1.0]], r"symmetric; M and its transpose differ by up to 0\.3.*Pass \(M \+ M\.T\) / 2"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"not finite: nan at \(0, 1\)"),
        ([[np.inf, 0.0], [0.0, 1.0]], r"not finite: inf at \(0, 0\)"),
    ],
)
def test_what_is_no_metric_is_refused_by_name(matrix, text):
    with pytest.raises(ValueError, match=text):
        Metric.from_matrix(matrix)


@pytest.mark.parametrize("components", [np.empty((0, 3)), [1.0, 2.0], [[np.nan, 1.0]]])
def test_bad_components_are_refused(components):
    with pytest.raises(ValueError, match="components"):
        Metric.from_components(components)


class WithComponents:
    components_ = np.array([[1.0, 2.0]])

    def get_mahalanobis_matrix(self):
        raise AssertionError("components_ are exact; M is not needed")


class WithMatrix:
    def get_mahalanobis_matrix(self):
        return np.array([[2.0, 1.0], [1.0, 2.0]])


class Unfitted:
    def fit(self, X, y):
        return self


def test_as_metric_takes_whatever_a_user_has():
    np.testing.assert_array_equal(as_metric(None, 3).matrix(), np.eye(3))
    np.testing.assert_allclose(as_metric([[2, 1], [1, 2]], 2).matrix(), [[2, 1], [1, 2]], rtol=1e-12)
    np.testing.assert_allclose(as_metric(WithMatrix(), 2).matrix(), [[2, 1], [1, 2]], rtol=1e-12)
    np.testing.assert_allclose(as_metric(WithComponents(), 2).matrix(), [[1, 2], [2, 4]])
    ready = Metric.identity(2)
    assert as_metric(ready, 2) is ready


def test_as_metric_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"metric is for 2 features; the data has 3"):
        as_metric(np.eye(2), 3)
    with pytest.raises(ValueError, match=r"not fitted; call its fit\(X, y\) first"):
        as_metric(Unfitted(), 2)


def test_the_caller_keeps_its_matrix():
    M = np.diag([1.0, 4.0])
    metric = Metric.from_matrix(M)
    M[0, 0] = 100.0
    np.testing.assert_array_equal(metric.matrix(), np.diag([1.0, 4.0]))
    g = np.array([[1.0, 2.0]])
    metric = Metric.from_components(g)
    g[:] = 0
    np.testing.assert_array_equal(metric.components, [[1.0, 2.0]])


def test_what_a_classifier_has_computed_with_cannot_be_changed() -> None:
    mine = np.array([[1.0, 0.5], [0.0, 1.0]])
    metric = Metric.from_components(mine)
    with pytest.raises(ValueError, match="read-only"):
        metric.components[0, 0] = 7.0
    mine[0, 0] = 7.0  # the caller's own stays theirs
    assert metric.components[0, 0] == 1.0
    plain = Metric.identity(2)
    plain.components[0, 0] = 7.0  # a copy
    assert plain.is_identity


def test_complex_numbers_are_refused() -> None:
    for make in (Metric.from_matrix, Metric.from_components, lambda m: as_metric(m, 2)):
        with pytest.raises(ValueError, match="real numbers"):
            make(np.eye(2) * 1j)
