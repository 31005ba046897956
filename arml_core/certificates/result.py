"""What certification returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray
from ..threat import ThreatModel


@dataclass(frozen=True)
class Certificates:
    """For each point an interval ``lower ≤ ε* ≤ upper`` around its robust radius ε*.

    ε* is the size of the smallest perturbation that changes the answer (0 where the answer is already wrong).

    Attributes
    ----------
    lower : no perturbation smaller than this changes the answer. Rounded down.
    upper : the size of a perturbation that was seen to change it; +inf where none is known.
    exact : where both sides meet: to 1e-6 of `upper`, or to what rounding blurs at that point (1e-9 of the distance
        of its K-th neighbour; the grid of float32 features; neither more than 1e-4 of `upper` or, where `lower` is 0,
        1e-7 of the narrowest column that can move). False where both are +inf: that nothing can flip the answer is
        proved there, but there is no radius.
    predicted : the classifier's labels for the unperturbed points.
    correct : where the prediction is the label that was certified. Not the same as ``lower > 0``.
    adversarial : the perturbed points behind `upper`, NaN rows where there is none.
    method, threat : how the lower side was obtained, and against what.
    """

    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    predicted: NDArray[np.generic]
    correct: BoolArray
    adversarial: NDArray[np.floating]
    method: str
    threat: ThreatModel

    def verdict(self, radius: float) -> NDArray[np.str_]:
        """At a radius ε: "certified" (lower > ε), "attackable" (upper ≤ ε) or "undecided"."""
        if not radius >= 0:
            raise ValueError(f"a radius must be at least 0; got {radius}")
        words = np.where(self.lower > radius, "certified", "undecided")
        return np.where(self.upper <= radius, "attackable", words)
