"""The boundary function has the classifier's sign everywhere, and is continuous."""

from __future__ import annotations

import numpy as np
import pytest

import arml_core as arml
from arml_core.figures import make_plane
from arml_core.figures.margin import decision_margin


def random_case(seed: int):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(6, 40)), int(rng.integers(2, 5))
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    points = rng.normal(size=(n, 2))
    g = rng.normal(size=(2, 2)) * 10.0 ** rng.integers(-2, 3)
    return rng, points, codes, arml.Metric.from_components(g), int(rng.integers(1, n + 1))


@pytest.mark.parametrize("seed", range(60))
def test_the_one_positive_class_is_the_classifiers_answer(seed: int) -> None:
    rng, points, codes, metric, k = random_case(seed)
    at = rng.normal(size=(300, 2)) * 2
    margin = decision_margin(at, points, codes, metric, k, codes.max() + 1)
    answers = arml.MahalanobisKNN(k, metric=metric).fit(points, codes).predict(at)
    assert np.array_equal(margin.argmax(axis=1), answers)
    assert ((margin > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_a_small_step_changes_the_margin_little(k: int) -> None:
    """Continuity is what makes the contour at 0 the boundary: no jumps, also where neighbours change places."""
    rng = np.random.default_rng(k)
    points, codes = rng.normal(size=(20, 2)), np.arange(20) % 3
    path = np.linspace([-2.0, -1.0], [2.0, 1.5], 4001)
    margin = decision_margin(path, points, codes, arml.Metric.identity(2), k, 3)
    step, farthest = np.linalg.norm(path[1] - path[0]), 10.0
    assert np.abs(np.diff(margin, axis=0)).max() <= 4 * farthest * step


def test_one_neighbour_and_two_classes_is_the_difference_of_the_nearest_distances() -> None:
    rng = np.random.default_rng(0)
    points, codes = rng.normal(size=(12, 2)), np.arange(12) % 2
    at = rng.normal(size=(50, 2))
    margin = decision_margin(at, points, codes, arml.Metric.identity(2), 1, 2)
    squared = ((at[:, None] - points[None]) ** 2).sum(axis=2)
    expected = squared[:, codes == 1].min(axis=1) - squared[:, codes == 0].min(axis=1)
    np.testing.assert_allclose(margin[:, 0], expected, atol=1e-12)
    np.testing.assert_allclose(margin[:, 1], -expected, atol=1e-12)


def test_a_left_out_point_is_left_out_of_the_boundary() -> None:
    seven = arml.load_dataset("seven_points")
    x, y = seven.X_train, seven.y_train
    plane = make_plane(x, y, seven.class_names, arml.Metric.identity(2), 1, left_out=2)
    without = make_plane(np.delete(x, 2, 0), np.delete(y, 2), seven.class_names, plane.metric, 1, plane.window)
    np.testing.assert_allclose(plane.margin, without.margin, atol=1e-12)
    assert plane.left_out == 2


def test_a_class_with_fewer_points_than_it_needs_never_wins() -> None:
    points, codes = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.1]]), np.array([0, 0, 0, 1])
    margin = decision_margin(points, points, codes, arml.Metric.identity(2), 3, 2)
    assert (margin[:, 1] < 0).all()
    assert np.isfinite(margin).all()
