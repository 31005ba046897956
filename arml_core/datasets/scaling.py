"""An affine map per feature that is remembered, so that results can be given back in the file's own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import FloatArray

ScalingKind = Literal["none", "minmax", "standard"]
SCALING_KINDS: tuple[ScalingKind, ...] = ("none", "minmax", "standard")


@dataclass(frozen=True, eq=False)
class Scaling:
    """``scaled = (raw - offset) / scale``, one offset and one positive scale per feature.

    A radius r in scaled units means ``r * scale[k]`` for feature k alone, in the file's own units.
    """

    kind: ScalingKind
    offset: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        if self.offset.shape != self.scale.shape or self.offset.ndim != 1:
            raise ValueError(f"offset {self.offset.shape} and scale {self.scale.shape} must be one number per feature")
        if not (np.isfinite(self.offset).all() and np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise ValueError("offset and scale must be finite, and scale positive")

    @property
    def n_features(self) -> int:
        return len(self.scale)

    def transform(self, raw: ArrayLike) -> FloatArray:
        """From the file's units to scaled units, row by row."""
        scaled: FloatArray = (self._checked(raw) - self.offset) / self.scale
        return scaled

    def inverse(self, scaled: ArrayLike) -> FloatArray:
        """From scaled units back to the file's units, row by row."""
        raw: FloatArray = self._checked(scaled) * self.scale + self.offset
        return raw

    def step_in_units(self, radius: ArrayLike) -> FloatArray:
        """What a scaled radius means for each feature alone, in the file's units: shape (..., n_features)."""
        steps: FloatArray = np.asarray(radius, dtype=np.float64)[..., None] * self.scale
        return steps

    def _checked(self, values: ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.n_features:
            raise ValueError(f"the scaling is for {self.n_features} features; got an array of shape {array.shape}")
        return array


def fit_scaling(raw: ArrayLike, kind: ScalingKind = "minmax") -> Scaling:
    """The scaling of the rows `raw`: none, minmax (to [0, 1]) or standard (mean 0, deviation 1).

    A constant feature keeps its scale: it is only moved to 0 (none leaves it alone).
    """
    if kind not in SCALING_KINDS:
        raise ValueError(f"scaling must be one of {', '.join(SCALING_KINDS)}; got {kind!r}")
    rows = np.asarray(raw, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"a scaling needs rows and columns; got shape {rows.shape}")
    if kind == "minmax":
        offset = rows.min(axis=0)
        scale = rows.max(axis=0) - offset
    elif kind == "standard":
        offset = rows.mean(axis=0)
        scale = rows.std(axis=0)
    else:
        return Scaling(kind, np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
    constant = rows.min(axis=0) == rows.max(axis=0)
    return Scaling(kind, np.where(constant, rows[0], offset), np.where(constant | (scale == 0), 1.0, scale))
