"""What an attack returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray
from ..threat import ThreatModel


@dataclass(frozen=True)
class AttackResult:
    """For each point the smallest perturbation that was seen to change the answer.

    Attributes
    ----------
    upper : its size in the threat model's norm; 0 where the answer is already wrong, +inf where none was found.
    adversarial : the perturbed points, each of which ``predict`` gets wrong; NaN rows where none was found.
    predicted, correct : the classifier's answers for the unperturbed points, and where they are right.
    method, threat, settings : how it was obtained; `settings` holds steps and seed, for captions.
    """

    upper: FloatArray
    adversarial: NDArray[np.floating]
    predicted: NDArray[np.generic]
    correct: BoolArray
    method: str
    threat: ThreatModel
    settings: dict[str, int | float]

    def describe(self) -> str:
        """The attack with its settings in one line, to stand beside a curve."""
        settings = ", ".join(f"{name} {value:,}" for name, value in self.settings.items())
        return f"{self.method} attack" + (f" ({settings})" if settings else "")
