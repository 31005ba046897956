"""One curve of the paper's Figure 2: a network is trained and the radii of some points are certified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import BoolArray, FloatArray
from ..progress import Callback
from ..vocabulary import METHOD_WORDS
from .crown import crown_radius
from .network import ReLUNetwork
from .smoothing import ALPHA, N0, N, SmoothedClassifier

HIDDEN = (256, 256)
EPOCHS = 10


@dataclass(frozen=True)
class NetworkCurve:
    """What is trained and certified: an ordinary network with CROWN, or with `sigma` a smoothed one."""

    sigma: float | None = None
    hidden: tuple[int, ...] = HIDDEN
    epochs: int = EPOCHS
    samples: int = N
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sigma is not None and not 0.0 < self.sigma < np.inf:
            raise ValueError(f"sigma must be a positive number, or None for CROWN; got {self.sigma!r}")
        if self.epochs < 1 or self.samples < 1 or not self.hidden or min(self.hidden) < 1:
            raise ValueError("a network needs at least one epoch, one sample and one unit in every hidden layer")

    @property
    def method(self) -> str:
        return "crown" if self.sigma is None else "smoothing"

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the training."""
        return {"hidden": list(self.hidden), "epochs": self.epochs, "noise": self.sigma or 0.0}

    @property
    def options(self) -> dict[str, Any]:
        """Of the certificate."""
        if self.sigma is None:
            return {}
        return {"sigma": self.sigma, "n0": N0, "n": self.samples, "alpha": ALPHA}

    @property
    def title(self) -> str:
        name = METHOD_WORDS[self.method].inline
        return name if self.sigma is None else f"{name}, σ = {self.sigma:g}"

    def train(self, X: ArrayLike, y: ArrayLike, callback: Callback | None = None) -> ReLUNetwork:
        """The network; `callback` counts epochs."""
        noise = self.sigma or 0.0
        return ReLUNetwork.train(
            X, y, hidden=self.hidden, epochs=self.epochs, noise=noise, seed=self.seed, callback=callback
        )

    def certify(
        self, network: ReLUNetwork, X: ArrayLike, y: ArrayLike, callback: Callback | None = None
    ) -> tuple[FloatArray, BoolArray, NDArray[np.intp]]:
        """Radii (0 where the answer is wrong), whether the answer is `y`, and the answers; `callback` counts points."""
        if self.sigma is None:
            lower, margin = crown_radius(network, X, y, callback)
            return lower, np.asarray(margin > 0), network.predict(X)
        answers, radii = SmoothedClassifier.of(network, self.sigma, n=self.samples).certify(X, callback)
        correct: BoolArray = np.asarray(answers == np.asarray(y))
        return np.where(correct, radii, 0.0), correct, answers
