"""Small data for the learners' tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arml_core.learners.arml import ARML
from arml_core.learners.base import MahalanobisLearner
from arml_core.learners.euclidean import Euclidean
from arml_core.learners.itml import ITML
from arml_core.learners.lfda import LFDA
from arml_core.learners.lmnn import LMNN
from arml_core.learners.nca import NCA

Array = NDArray[np.float64]

SEVEN_X = np.array(
    [[0.35, -0.45], [-0.41, -0.07], [0.29, 1.45], [-0.63, 0.73], [1.70, 0.39], [0.77, 0.95], [1.18, 0.60]]
)
SEVEN_Y = np.array([0, 0, 0, 0, 1, 1, 1])


def every_learner() -> list[MahalanobisLearner]:
    """One of each, with few iterations: what the shared tests run on."""
    return [
        Euclidean(),
        NCA(max_iter=5),
        NCA(solver="stochastic", n_steps=5, batch_size=20, random_state=0),
        LMNN(max_iter=10),
        LMNN(solver="stochastic", n_steps=5, batch_size=20, random_state=0),
        ITML(max_iter=5, random_state=0),
        LFDA(),
        ARML(n_epochs=5, random_state=0),
        ARML(n_epochs=3, objective="unsampled", random_state=0),
    ]


def name_of(learner: MahalanobisLearner) -> str:
    variant = getattr(learner, "solver", None) or getattr(learner, "objective", None)
    return type(learner).__name__ + ("" if variant in (None, "auto", "sampled") else f"-{variant}")


def blobs(seed: int = 0, sizes: tuple[int, ...] = (15, 15, 15), n_features: int = 5) -> tuple[Array, NDArray[np.intp]]:
    """Gaussian clouds around random centres, in random order."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 0.6 * rng.standard_normal((len(y), n_features)) + rng.standard_normal((len(sizes), n_features))[y]
    order = rng.permutation(len(y))
    return X[order], y[order]


def noisy(seed: int = 0, n: int = 80, n_features: int = 8) -> tuple[Array, NDArray[np.intp]]:
    """Two classes that one feature parts and the others hide: there is much to learn."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    X = 0.5 * rng.standard_normal((n, n_features))
    X[:, 0] = y + 0.2 * rng.standard_normal(n)
    return X, y
