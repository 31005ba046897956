"""Certificates at the ends of what floats can hold: squares that overflow or underflow prove nothing."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 5.0, 1.0], [0.0, 3.0, 2.0]])
Y = np.array([0, 1, 1, 0])
ORIGIN = np.zeros((1, 3))
METHODS = ["votes", "theorem1", "exact", "search"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e270])
def test_a_metric_or_costs_out_of_range_are_refused(scale, method):
    """‖h‖ was inf or 0, every ε̃ not a number or +inf, and so was `lower`: the radius is 0.5."""
    with pytest.raises(ValueError, match="Rescale the features, the metric or the costs"):
        MahalanobisKNN(1, scale * np.eye(3)).fit(X, Y).certify(ORIGIN, method=method)
    with pytest.raises(ValueError, match="Rescale the features, the metric or the costs"):
        MahalanobisKNN(1).fit(X, Y).certify(ORIGIN, method=method, threat=ThreatModel(costs=[scale] * 3))
    mixed = ThreatModel(costs=[scale, 1.0, 1.0])
    if scale < 1:
        with pytest.raises(ValueError, match="Rescale the features, the metric or the costs"):
            MahalanobisKNN(1).fit(X, Y).certify(ORIGIN, method=method, threat=mixed)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-120, 1e-60, 1e60, 1e120])
def test_a_metric_and_costs_within_range_only_scale_the_radius(scale, method):
    plain = MahalanobisKNN(1).fit(X, Y).certify(ORIGIN, method=method)
    scaled = MahalanobisKNN(1, scale * np.eye(3)).fit(X, Y).certify(ORIGIN, method=method)
    dear = MahalanobisKNN(1).fit(X, Y).certify(ORIGIN, method=method, threat=ThreatModel(costs=[scale] * 3))
    assert plain.lower[0] == pytest.approx(0.5, rel=1e-9)
    np.testing.assert_allclose([scaled.lower, dear.lower / scale], [plain.lower] * 2, rtol=1e-9)
    np.testing.assert_allclose([scaled.upper, dear.upper / scale], [plain.upper] * 2, rtol=1e-9)


@pytest.mark.parametrize("box", [None, (-10.0, 10.0)])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("method", ["votes", "theorem1", "exact"])
def test_a_negative_that_differs_in_one_dear_feature_only_has_a_radius(method, norm, box):
    """h spans an ordinary range, h_i - h_j = 1e-160 does not: the square underflows, the radius of 0.5e160 is real."""
    if method == "exact" and (norm != 2 or box is not None):
        pytest.skip("exact is ℓ2 without a box")
    x = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [5.0, -5.0, 1.0], [-3.0, -4.0, 2.0]])
    knn = MahalanobisKNN(1).fit(x, [0, 1, 0, 0])
    threat = ThreatModel(norm, costs=[1.0, 1e160, 1.0], box=box)
    assert 0 <= knn.certify(ORIGIN, method=method, threat=threat).lower[0] <= 0.5e160


@pytest.mark.parametrize("method", METHODS)
def test_a_pull_that_underflows_to_zero_is_not_taken_for_none(method):
    """M(x_i - x_j) / costs = 1e-400 is 0 in floats; moving by 0.5e-100 at a cost of 1e300 each still flips it."""
    x = np.array([[0.0, 0.0, 0.0], [1e-100, 1e-100, 1e-100], [0.0, 0.0, 0.0], [1e-100, 1e-100, 1e-100]])
    knn = MahalanobisKNN(1).fit(x, [0, 1, 0, 1])
    threat = ThreatModel(costs=[1e300] * 3)
    moved = knn.predict(np.full((1, 3), 0.51e-100))
    assert moved[0] == 1
    assert knn.certify(ORIGIN, method=method, threat=threat).lower[0] <= 1e200


@pytest.mark.parametrize("method", METHODS)
def test_a_small_weight_of_the_metric_does_not_raise_the_radius(method):
    """Feature 1 counts 1e-160: the squares of what it adds underflow, which made `lower` 6e-6 too large."""
    weights = np.array([1e-160, 1.0, 1.0])
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 5.0, 1.0], [-3.0, 7.0, 2.0]])
    certificates = MahalanobisKNN(1, np.diag(weights)).fit(x, [0, 1, 0, 1]).certify(ORIGIN, method=method)
    assert certificates.lower[0] <= 0.5


def test_a_point_beyond_all_squares_of_the_data_is_refused():
    """1e160 times as far out as the data: bounds were not numbers, sorted last and skipped, and `lower` was inf."""
    rng = np.random.default_rng(0)
    knn = MahalanobisKNN(1).fit(rng.normal(size=(20, 3)) * 1e-100, [0, 1] * 10)
    with pytest.raises(ValueError, match="Rescale its features"):
        knn.certify(np.full((1, 3), 1e60))


def test_an_upper_side_is_the_size_of_its_move_however_small_or_large():
    """The square of 1e-170 underflows: a point that moved was reported as a perturbation of size 0."""
    for scale in (1e-300, 1e-170, 1.0, 1e170, 1e300):
        for norm, expected in ((1, 7.0), (2, 5.0), (np.inf, 4.0)):
            threat = ThreatModel(norm).resolve(2)
            assert threat.size(np.array([3.0, 4.0]) * scale) == pytest.approx(expected * scale, rel=1e-14)
    assert ThreatModel().resolve(2).size(np.zeros((1, 2)))[0] == 0


def test_what_is_not_a_number_is_refused_as_too_large():
    """inf - inf inside G x: a comparison that is false for NaN let it through."""
    x = np.array([[1e300, 1e300], [0.0, 1.0], [1.0, 0.0]])
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="Rescale"):
        MahalanobisKNN(1, np.array([[1e20, -1e20], [-1e20, 1e20]])).fit(x, [0, 1, 1])
