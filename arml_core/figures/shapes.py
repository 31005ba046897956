"""Outlines in the plane: what a radius means in each norm, and what a metric calls equally far."""

from __future__ import annotations

import numpy as np

from ..metric import Metric
from ..numerics.arrays import FloatArray

_CIRCLE = np.linspace(0.0, 2.0 * np.pi, 121)
THINNEST = 1e-3  # an ellipse of a singular metric is endless: its long axis is cut at 1/THINNEST times the short one


def ball_outline(centre: FloatArray, radius: float, norm: float) -> FloatArray:
    """The closed outline (n, 2) of all places at distance `radius`: a diamond (ℓ1), a circle (ℓ2), a square (ℓ∞)."""
    if norm == 1.0:
        unit = np.array([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)], dtype=np.float64)
    elif norm == 2.0:
        unit = np.column_stack([np.cos(_CIRCLE), np.sin(_CIRCLE)])
    elif norm == np.inf:
        unit = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)], dtype=np.float64)
    else:
        raise ValueError(f"norm must be 1, 2 or inf; got {norm}")
    return np.asarray(centre) + radius * unit


def metric_ellipse(metric: Metric, centre: FloatArray, distance: float = 1.0) -> FloatArray:
    """The closed outline (n, 2) of all places x with √d(x, centre) = `distance`."""
    values, axes = np.linalg.eigh(metric.matrix())
    scales = np.sqrt(np.maximum(values, 0.0))
    scales = np.maximum(scales, THINNEST * max(float(scales.max()), np.finfo(np.float64).tiny))
    unit = np.column_stack([np.cos(_CIRCLE), np.sin(_CIRCLE)])
    outline: FloatArray = np.asarray(centre) + distance * (unit / scales) @ axes.T
    return outline


def metric_glyph(metric: Metric, centre: FloatArray, size: float) -> FloatArray:
    """The metric's unit ellipse at `centre`, scaled so that its longer half-axis is `size`: its shape only."""
    outline = metric_ellipse(metric, np.zeros(2))
    longest = float(np.linalg.norm(outline, axis=1).max())
    return np.asarray(centre) + outline * (size / longest)


def hand_made_components(scale1: float, scale2: float, angle: float) -> FloatArray:
    """G of a metric made by hand: distances count `scale1` along the direction `angle` (degrees), `scale2` across."""
    turn = np.deg2rad(angle)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    g: FloatArray = np.diag([float(scale1), float(scale2)]) @ rotation
    return g
