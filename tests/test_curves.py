"""Per-point radii to curves, tables and confidence bands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ksone

from arml_core import dkw_band, robust_error, robust_error_curve
from arml_core.curves import FrontPoint, front_point, mean_attack_radius, mean_radius, on_front, verdict_shares
from arml_core.radii import Radii

radius = st.one_of(st.floats(0, 10), st.just(0.0), st.just(np.inf))


def test_the_share_with_radius_at_most_epsilon():
    np.testing.assert_array_equal(
        robust_error([0.0, 0.1, 0.2, np.inf], [0, 0.05, 0.1, 0.2, 5]), [0.25, 0.25, 0.5, 0.75, 0.75]
    )


@given(st.lists(radius, min_size=1, max_size=30), st.lists(st.floats(0, 12), min_size=1, max_size=10))
def test_robust_error_is_a_plain_count(radii, at):
    expected = [sum(r <= e for r in radii) / len(radii) for e in at]
    np.testing.assert_array_equal(robust_error(radii, at), expected)


@given(st.lists(radius, min_size=1, max_size=30))
def test_the_curve_is_a_rising_staircase_through_the_counts(radii):
    curve = robust_error_curve(radii)
    assert curve.n_points == len(radii)
    assert curve.radius[0] == 0.0
    assert np.all(np.diff(curve.radius) > 0)
    assert np.all(np.diff(curve.error) > 0)
    assert np.all(np.isfinite(curve.radius))
    np.testing.assert_array_equal(curve.error, [sum(r <= e for r in radii) / len(radii) for e in curve.radius])
    between = (curve.radius[:-1] + curve.radius[1:]) / 2  # nothing happens between two steps
    wide = (between > curve.radius[:-1]) & (between < curve.radius[1:])
    np.testing.assert_array_equal(robust_error(radii, between)[wide], curve.error[:-1][wide])


def test_points_that_can_never_be_fooled_keep_the_curve_below_one():
    curve = robust_error_curve([np.inf, np.inf, 1.0])
    np.testing.assert_array_equal(curve.radius, [0.0, 1.0])
    np.testing.assert_allclose(curve.error, [0.0, 1 / 3])
    assert robust_error([np.inf], [np.inf])[0] == 1.0


def test_a_single_number_as_epsilon():
    assert float(robust_error([0.1, 0.3], 0.2)) == 0.5


@pytest.mark.parametrize("n", [1, 10, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_band_is_massarts(n, confidence):
    low, high = dkw_band([0.5], n, confidence)
    half = np.sqrt(np.log(2 / (1 - confidence)) / (2 * n))
    assert low[0] == pytest.approx(max(0.5 - half, 0), rel=1e-12, abs=1e-12)
    assert high[0] == pytest.approx(min(0.5 + half, 1), rel=1e-12)


@pytest.mark.parametrize("n", [20, 200])
def test_the_band_is_at_least_as_wide_as_the_exact_one_sided_one(n):
    """Kolmogorov's exact one-sided quantile at α/2 can not be wider than the inequality's."""
    low, high = dkw_band([0.5], n, 0.95)
    exact = ksone.ppf(1 - 0.025, n)
    assert (high[0] - low[0]) / 2 >= exact
    assert (high[0] - low[0]) / 2 <= 1.1 * exact


def test_the_band_covers_the_true_curve_as_often_as_it_says():
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(400):
        radii = rng.random(50)
        curve = robust_error_curve(radii)
        just_before = np.concatenate([[0.0], curve.error[:-1]])
        low, _ = dkw_band(curve.error, 50, 0.9)
        _, high = dkw_band(just_before, 50, 0.9)
        truth = curve.radius  # of radii drawn uniformly from [0, 1]
        misses += bool(np.any(truth < low) or np.any(truth > high))
    assert misses <= 0.1 * 400


def test_the_band_stays_between_0_and_1():
    low, high = dkw_band([0.0, 0.5, 1.0], 10)
    assert np.all((low >= 0) & (high <= 1) & (low <= high))


@pytest.mark.parametrize(
    ("radii", "at", "text"),
    [
        ([], [0.1], r"at least one; got shape \(0,\)"),
        ([[0.1]], [0.1], r"got shape \(1, 1\)"),
        ([0.1, np.nan], [0.1], "NaN or a negative"),
        ([-0.1], [0.1], "NaN or a negative"),
        ([0.1], [-0.5], "at least 0; got -0.5"),
        ([0.1], [np.nan], "at least 0; got nan"),
    ],
)
def test_what_is_no_radius_is_refused(radii, at, text):
    with pytest.raises(ValueError, match=text):
        robust_error(radii, at)


@pytest.mark.parametrize("n", [0, -3])
def test_a_band_needs_points(n):
    with pytest.raises(ValueError, match=f"at least one point; got {n}"):
        dkw_band([0.5], n)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, float("nan")])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match=f"between 0 and 1; got {confidence}"):
        dkw_band([0.5], 10, confidence)


def test_verdicts_are_plain_counts():
    found = verdict_shares([0.0, 0.1, 0.3, 0.5], [0.0, 0.4, 0.4, np.inf], 0.2)
    assert (found.certified, found.attackable, found.undecided, found.n_points) == (0.5, 0.25, 0.25, 4)
    at_the_radius = verdict_shares([0.2], [0.2], 0.2)
    assert at_the_radius.attackable == 1.0


@given(st.lists(st.tuples(radius, radius), min_size=1, max_size=30), st.floats(0, 12))
def test_verdicts_agree_with_the_curves(pairs, epsilon):
    lower, upper = np.sort(np.array(pairs), axis=1).T
    found = verdict_shares(lower, upper, epsilon)
    assert found.certified == pytest.approx(1 - float(robust_error(lower, epsilon)))
    assert found.attackable == pytest.approx(float(robust_error(upper, epsilon)))
    assert found.certified + found.attackable + found.undecided == pytest.approx(1)


def test_a_point_proved_safe_and_flipped_is_a_contradiction():
    with pytest.raises(ValueError, match="1 of 2 points have a lower radius above their upper one"):
        verdict_shares([0.5, 0.0], [0.1, 0.0], 0.2)
    with pytest.raises(ValueError, match="got 2 and 1"):
        verdict_shares([0.5, 0.0], [0.1], 0.2)
    with pytest.raises(ValueError, match="at least 0"):
        verdict_shares([0.5], [0.6], -1)


@pytest.mark.parametrize(
    ("radii", "mean"), [([0.0, 1.0, 2.0], 1.0), ([0.0, 2.0, np.inf], 4 / 3), ([np.inf, np.inf], np.inf), ([0.0], 0.0)]
)
def test_a_point_nothing_can_flip_counts_with_the_largest_other_radius(radii, mean) -> None:
    assert mean_radius(radii) == pytest.approx(mean)


def test_the_mean_of_an_attack_is_that_of_the_points_it_flipped():
    assert mean_attack_radius([0.0, 1.0, np.inf, np.inf]) == (0.5, 2)
    assert mean_attack_radius([np.inf]) == (np.inf, 0)


def test_a_models_errors_are_shares_of_its_points():
    radii = Radii(
        index=np.arange(4),
        lower=np.array([0.0, 0.1, 0.2, 0.0]),
        upper=np.array([0.0, 0.1, np.inf, np.inf]),
        exact=np.array([True, True, False, False]),
        correct=np.array([False, True, True, True]),
        predicted=np.zeros(4, dtype=int),
        adversarial=np.zeros((4, 1)),
    )
    assert front_point(radii, 0.1, "A", 7, 0.5) == FrontPoint("A", 7, 0.25, 0.75, 4, 0.5)
    assert front_point(radii, 0.0, "A", 7).robust_error == 0.5


errors = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.tuples(errors, errors), min_size=1, max_size=8))
def test_a_model_is_on_the_front_unless_another_is_better_in_one_and_not_worse_in_the_other(pairs):
    points = [FrontPoint("m", 1, clean, robust, 9) for clean, robust in pairs]
    expected = [
        not any((c < clean and r <= robust) or (c <= clean and r < robust) for c, r in pairs) for clean, robust in pairs
    ]
    assert on_front(points) == expected
    assert any(expected)
