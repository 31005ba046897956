"""Randomized smoothing (Cohen, Rosenfeld and Kolter, ICML 2019).

The smoothed classifier answers with the class that a base classifier gives most often to ``x + N(0, σ²I)``. If that
class has probability at least p > 1/2, no perturbation below ``σ Φ⁻¹(p)`` in ℓ2 changes the answer (Theorem 1).
p is bounded below from samples, so a certificate is wrong with probability at most α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, norm

from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from .network import ReLUNetwork

ABSTAIN = -1
N0, N, ALPHA = 100, 10_000, 0.001
BATCH = 2_500
FINEST = 1e-6  # of σ, how far apart features may be in floating point

Classify = Callable[[torch.Tensor], torch.Tensor]
"""Class codes for rows in float64: in float32 the noise could vanish beside the features."""


@dataclass(frozen=True)
class SmoothedClassifier:
    """A base classifier under Gaussian noise of standard deviation `sigma`.

    `certify` is the paper's CERTIFY: `n0` samples choose the class, `n` other ones bound its probability. Each row has
    random numbers of its own, seeded by `seed` and its index.
    """

    classify: Classify
    n_classes: int
    sigma: float
    n0: int = N0
    n: int = N
    alpha: float = ALPHA
    seed: int = 0

    @classmethod
    def of(cls, network: ReLUNetwork, sigma: float, **settings: float) -> SmoothedClassifier:
        layers = [(torch.as_tensor(w.T).double(), torch.as_tensor(b).double()) for w, b in network.layers]

        def classify(rows: torch.Tensor) -> torch.Tensor:
            for w, b in layers[:-1]:
                rows = torch.addmm(b, rows, w).relu_()
            return torch.addmm(layers[-1][1], rows, layers[-1][0]).argmax(dim=1)

        return cls(classify, network.n_classes, sigma, **settings)  # type: ignore[arg-type]

    def certify(self, X: ArrayLike, callback: Callback | None = None) -> tuple[NDArray[np.intp], FloatArray]:
        """The answer for each row, or ABSTAIN, and the ℓ2 radius within which it stays; 0 with ABSTAIN."""
        rows = np.asarray(X, dtype=np.float64)
        answers, radii = np.full(len(rows), ABSTAIN, dtype=np.intp), np.zeros(len(rows))
        grain = float(np.spacing(np.abs(rows).max(initial=0.0)))
        if not grain <= FINEST * self.sigma:  # or not a number
            raise ValueError(f"features are exact to {grain:.3g}: too coarse for noise of σ = {self.sigma:g}")
        for index, row in enumerate(rows):
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
            point = torch.as_tensor(row)
            chosen = int(self._counts(point, self.n0, generator).argmax())
            hits = int(self._counts(point, self.n, generator)[chosen])
            radius = smoothed_radius(hits, self.n, self.sigma, self.alpha)
            if radius is not None:
                answers[index], radii[index] = chosen, radius
            report(callback, index + 1, len(rows))
        return answers, radii

    def _counts(self, point: torch.Tensor, n: int, generator: torch.Generator) -> NDArray[np.int64]:
        counts = np.zeros(self.n_classes, dtype=np.int64)
        for start in range(0, n, BATCH):
            noise = torch.randn((min(BATCH, n - start), len(point)), generator=generator)
            found = self.classify(noise.double().mul_(self.sigma).add_(point))
            counts += np.bincount(found.numpy(), minlength=self.n_classes)
        return counts


def smoothed_radius(hits: int, n: int, sigma: float, alpha: float = ALPHA) -> float | None:
    """σ Φ⁻¹(p) with p the Clopper–Pearson lower bound on `hits` of `n` at level 1 - α; None (abstain) if p < 1/2."""
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"hits must be between 0 and n; got {hits} of {n}")
    p = float(beta.ppf(alpha, hits, n - hits + 1)) if hits else 0.0
    return None if p < 0.5 else float(sigma * norm.ppf(p))
