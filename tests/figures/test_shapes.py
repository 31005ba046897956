"""Outlines have the length they claim."""

from __future__ import annotations

import numpy as np
import pytest

import arml_core as arml
from arml_core.figures import hand_made_components
from arml_core.figures.shapes import ball_outline, metric_ellipse, metric_glyph


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_every_point_of_the_outline_has_the_radius(norm: float) -> None:
    outline = ball_outline(np.array([3.0, -1.0]), 0.7, norm) - [3.0, -1.0]
    np.testing.assert_allclose(np.linalg.norm(outline, ord=norm, axis=1), 0.7)
    np.testing.assert_allclose(outline[0], outline[-1], atol=1e-12)


def test_an_unknown_norm_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="norm must be 1, 2 or inf; got 3"):
        ball_outline(np.zeros(2), 1.0, 3.0)


def test_the_ellipse_joins_places_that_are_equally_far() -> None:
    metric = arml.Metric.from_components([[2.0, 1.0], [0.3, 0.5]])
    centre = np.array([1.0, 2.0])
    distances = metric.squared_distances(metric_ellipse(metric, centre, 1.5), centre)
    np.testing.assert_allclose(np.sqrt(distances), 1.5)


def test_the_ellipse_of_a_singular_metric_is_finite() -> None:
    outline = metric_ellipse(arml.Metric.from_components([[1.0, 0.0]]), np.zeros(2))
    assert np.isfinite(outline).all()
    assert np.abs(outline[:, 1]).max() > 100 * np.abs(outline[:, 0]).max()


def test_the_glyph_shows_the_shape_at_a_fixed_size() -> None:
    small = metric_glyph(arml.Metric.from_components(np.diag([2.0, 1.0])), np.zeros(2), 0.4)
    large = metric_glyph(arml.Metric.from_components(np.diag([200.0, 100.0])), np.zeros(2), 0.4)
    np.testing.assert_allclose(small, large)
    np.testing.assert_allclose(np.abs(small).max(axis=0), [0.2, 0.4], rtol=1e-3)


def test_a_hand_made_metric_counts_its_scale_along_its_angle() -> None:
    g = hand_made_components(3.0, 0.5, 30.0)
    along = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    across = np.array([-along[1], along[0]])
    assert np.linalg.norm(g @ along) == pytest.approx(3.0)
    assert np.linalg.norm(g @ across) == pytest.approx(0.5)
