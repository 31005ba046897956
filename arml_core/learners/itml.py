"""ITML, information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon, ICML 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv, dsyr
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from ..metric import Metric
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..progress import Callback, report
from .base import Codes, Features, Learned, MahalanobisLearner
from .checks import check_choice, check_int, check_real
from .metric_learn_backend import BACKENDS, fit_metric_learn

SMALLEST_BOUND = 1e-9
MAX_DRAWS = 10
"""How often pairs that were drawn twice are replaced by new ones, as in metric-learn."""


class ITML(MahalanobisLearner):
    """The metric nearest to the identity, in LogDet divergence, with similar pairs near and dissimilar pairs far.

    Random pairs of one class should have ``d ≤ bounds_[0]``, pairs of two classes ``d ≥ bounds_[1]``, up to slack.
    This is metric-learn's method, pair by pair in the same order and with the same pairs, but it reports
    progress, and pairs of coinciding points, which no metric can part and on which metric-learn divides by 0,
    are left out. As there, the bounds are percentiles of √d although they bound d.

    Parameters
    ----------
    gamma : the price of slack.
    max_iter : the most passes over all pairs.
    tol : stop when the multipliers change by less than this, relative to their norm.
    n_constraints : pairs of each kind; None for 20 · n_classes².
    random_state : draws the pairs.
    backend : "native", or "metric-learn" for the reference itself.
    """

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_constraints: int | None = None,
        random_state: Any = None,
        backend: str = "native",
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.n_constraints = n_constraints
        self.random_state = random_state
        self.backend = backend

    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        gamma = check_real("gamma", self.gamma, 0.0, open_low=True)
        max_iter = check_int("max_iter", self.max_iter, 1)
        tol = check_real("tol", self.tol, 0.0)
        n_classes = int(codes.max()) + 1
        default = 20 * n_classes**2
        count = default if self.n_constraints is None else check_int("n_constraints", self.n_constraints, 1)
        if check_choice("backend", self.backend, BACKENDS) == "metric-learn":
            return fit_metric_learn(
                "ITML_Supervised",
                X,
                codes,
                gamma=gamma,
                max_iter=max_iter,
                tol=tol,
                n_constraints=count,
                random_state=self.random_state,
            )
        differences, is_similar, bounds = _draw_pairs(X, codes, count, self.random_state)
        return _project(differences, is_similar, bounds, gamma, max_iter, tol, callback)


def _draw_pairs(
    X: Features, codes: Codes, count: int, random_state: Any
) -> tuple[FloatArray, BoolArray, tuple[float, float]]:
    """x - x' of the similar, then of the dissimilar pairs; which are similar; the 5th and 95th percentile of √d."""
    generator = check_random_state(random_state)
    similar = random_pairs(codes, count, True, generator)
    pairs = np.concatenate([similar, random_pairs(codes, count, False, generator)])
    is_similar = np.arange(len(pairs)) < len(similar)
    used = np.unique(np.asarray(X[np.unique(pairs)], dtype=np.float64), axis=0)
    low, high = np.percentile(pairwise_distances(used), (5, 95))
    left, right = np.asarray(X[pairs.T], dtype=np.float64)
    differences = left - right
    apart = differences.any(axis=1)
    bounds = (float(low) or SMALLEST_BOUND, float(high) or SMALLEST_BOUND)
    return differences[apart], is_similar[apart], bounds


def random_pairs(codes: Codes, count: int, similar: bool, generator: np.random.RandomState) -> IntArray:
    """`count` different pairs of rows (fewer if there are fewer) of one class or of two classes, of shape (n, 2).

    Random numbers are drawn, and pairs ordered, as metric-learn's ``Constraints`` does it: a seed gives its pairs.
    """
    pairs: set[tuple[int, int]] = set()
    for _ in range(MAX_DRAWS):
        for row in generator.randint(len(codes), size=count - len(pairs)).tolist():
            partners = np.flatnonzero((codes == codes[row]) == similar)
            partners = partners[partners != row]
            if partners.size:
                pairs.add((row, int(generator.choice(partners))))
        if len(pairs) == count:
            break
    return np.array(list(pairs), dtype=np.intp).reshape(-1, 2)


def _project(
    differences: FloatArray,
    is_similar: BoolArray,
    bounds: tuple[float, float],
    gamma: float,
    max_iter: int,
    tol: float,
    callback: Callback | None,
) -> Learned:
    """Algorithm 1 of the ITML paper: Bregman projections onto one constraint after the other.

    A is symmetric, so BLAS touches one triangle of it only; a projection that moves nothing is skipped.
    """
    a = np.asfortranarray(np.eye(differences.shape[1]))
    sign = np.where(is_similar, 1.0, -1.0)
    target = np.where(is_similar, *bounds)
    multiplier = np.zeros(len(differences))
    keep = gamma / (gamma + 1.0)
    changes: list[float] = []
    for iteration in range(max_iter):
        before = multiplier.copy()
        for i, v in enumerate(differences):
            av = dsymv(1.0, a, v)
            d = float(v @ av)
            alpha = min(multiplier[i], keep * sign[i] * (1.0 / d - 1.0 / target[i]))
            if alpha == 0.0:
                continue
            multiplier[i] -= alpha
            target[i] = 1.0 / (1.0 / target[i] + sign[i] * alpha / gamma)
            beta = sign[i] * alpha / (1.0 - sign[i] * alpha * d)
            a = dsyr(beta, av, a=a, overwrite_a=1)
        norm = float(np.linalg.norm(multiplier) + np.linalg.norm(before))
        changes.append(float(np.abs(before - multiplier).sum()) / norm if norm else 0.0)
        if not np.isfinite(changes[-1]):
            raise FloatingPointError("ITML's metric is no longer finite. Scale the features to a common range")
        current = _components(a)
        report(
            callback, iteration + 1, max_iter, change=changes[-1], metric=lambda g=current: Metric.from_components(g)
        )
        if changes[-1] < tol:
            break
    return _components(a), {"change": np.array(changes)}


def _components(upper: FloatArray) -> FloatArray:
    """A square root of the symmetric matrix whose upper triangle is given."""
    matrix = np.triu(upper) + np.triu(upper, 1).T
    values, vectors = np.linalg.eigh(matrix)
    g: FloatArray = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return g
