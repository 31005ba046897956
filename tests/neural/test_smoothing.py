"""Randomized smoothing: the radius formula and abstention by hand, and a base classifier whose truth is known."""

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, norm

from arml_core.neural import ABSTAIN, ReLUNetwork, SmoothedClassifier, smoothed_radius


def test_all_hits_by_hand():
    """If all n samples agree, p solves pⁿ = α."""
    p = 0.001 ** (1 / 10_000)
    assert smoothed_radius(10_000, 10_000, 0.2) == pytest.approx(0.2 * norm.ppf(p), rel=1e-9)
    assert smoothed_radius(10_000, 10_000, 1.0) == pytest.approx(3.1987, abs=1e-3)


@pytest.mark.parametrize(("hits", "n"), [(60, 100), (99, 100), (7000, 10_000), (9999, 10_000)])
def test_the_one_sided_clopper_pearson_bound(hits, n):
    bound = binomtest(hits, n, alternative="greater").proportion_ci(0.999, method="exact").low
    found = smoothed_radius(hits, n, 0.5, 0.001)
    if bound < 0.5:
        assert found is None
    else:
        assert found == pytest.approx(0.5 * norm.ppf(bound), rel=1e-9)


def test_it_abstains_where_a_half_cannot_be_excluded():
    assert smoothed_radius(0, 10, 1.0) is None
    assert smoothed_radius(5_000, 10_000, 1.0) is None
    assert smoothed_radius(9, 9, 1.0, 0.001) is None  # 0.001^(1/9) = 0.464
    assert smoothed_radius(10, 10, 1.0, 0.001) == pytest.approx(norm.ppf(0.001**0.1))  # 0.501
    with pytest.raises(ValueError, match="hits must be between 0 and n; got 11 of 10"):
        smoothed_radius(11, 10, 1.0)


def half_space(rows: torch.Tensor) -> torch.Tensor:
    return (rows[:, 0] > 0).long()


def test_a_half_space_has_its_distance_as_radius():
    """For a linear base classifier the smoothed radius is the distance to the plane; samples only bound it below."""
    smoothed = SmoothedClassifier(half_space, 2, sigma=0.5, n=20_000)
    distances = np.array([0.2, -0.5, 0.8, 0.0])
    answers, radii = smoothed.certify(np.column_stack([distances, np.ones(4)]))
    np.testing.assert_array_equal(answers, [1, 0, 1, ABSTAIN])
    assert (radii <= np.abs(distances)).all()
    np.testing.assert_allclose(radii, np.abs(distances), atol=0.06)


def test_the_same_seed_gives_the_same_radii_and_a_network_can_be_smoothed():
    network = ReLUNetwork(((np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)), (np.eye(2), np.zeros(2))))
    points = np.array([[0.7, 0.0], [-0.7, 3.0]])
    first = SmoothedClassifier.of(network, 0.3, n=1000, seed=4).certify(points)
    again = SmoothedClassifier.of(network, 0.3, n=1000, seed=4).certify(points)
    np.testing.assert_array_equal(first[0], [0, 1])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[1] > 0.4).all()


@pytest.mark.parametrize(("far", "sigma", "off"), [(1e6, 0.01, 0.02), (1e8, 1.0, 0.5), (1e4, 3e-4, 4e-4)])
def test_features_much_larger_than_the_noise_do_not_swallow_it(far, sigma, off):
    """Class 0 from `far` on: the smoothed radius is the distance to it."""
    network = ReLUNetwork(((np.array([[1.0], [0.0]]), np.array([-far, 0.0])),))
    answers, radii = SmoothedClassifier.of(network, sigma).certify([[far - off], [far + off]])
    np.testing.assert_array_equal(answers, [1, 0])
    assert (radii <= off * (1 + 1e-6)).all()
    np.testing.assert_allclose(radii, off, rtol=0.2)


def test_noise_finer_than_the_features_are_exact_is_refused():
    with pytest.raises(ValueError, match="too coarse for noise of σ = 1e-06"):
        SmoothedClassifier(half_space, 2, sigma=1e-6).certify([[1e10, 0.0]])
