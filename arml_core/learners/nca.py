"""NCA, neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov, NIPS 2005)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..progress import Callback
from .base import Codes, Features, Learned
from .checks import check_choice, check_int, check_rank, check_real, initial_components
from .metric_learn_backend import BACKENDS, fit_metric_learn
from .pair_learner import PairLearner
from .solvers import lbfgs

SOLVERS = ("auto", "lbfgs", "stochastic")


class NCA(PairLearner):
    """Maximise Σ_i p_i, the expected number of points that a random neighbour classifies correctly.

    Point i chooses j ≠ i as its neighbour with probability p_ij ∝ exp(-d(x_i, x_j)), and p_i is the probability
    that j is of i's class. Up to 10,000 points this is metric-learn's method (L-BFGS from the identity) without
    its N×N matrix; beyond, Adam on random anchors, each against all points.

    Parameters
    ----------
    max_iter : the most iterations of L-BFGS.
    tol : L-BFGS's tolerance; None for scipy's.
    solver : "lbfgs", "stochastic", or "auto" for the first up to 10,000 points and the second beyond.
    n_steps, batch_size, learning_rate : of the stochastic solver.
    n_components, init, device, random_state : as for :class:`ARML`.
    backend : "native", or "metric-learn" for the reference itself.
    """

    _solvers = SOLVERS
    _stochastic_rate = "learning_rate"

    def __init__(
        self,
        *,
        max_iter: int = 100,
        tol: float | None = None,
        solver: str = "auto",
        n_steps: int = 300,
        batch_size: int = 1000,
        learning_rate: float = 0.01,
        n_components: int | None = None,
        init: Any = None,
        device: str = "auto",
        random_state: Any = None,
        backend: str = "native",
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_components = n_components
        self.init = init
        self.device = device
        self.random_state = random_state
        self.backend = backend

    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        start = initial_components(self.init, X, check_rank(self.n_components, X.shape[1]))
        max_iter = check_int("max_iter", self.max_iter, 1)
        tol = None if self.tol is None else check_real("tol", self.tol, 0.0)
        if check_choice("backend", self.backend, BACKENDS) == "metric-learn":
            return fit_metric_learn("NCA", X, codes, init=start, n_components=len(start), max_iter=max_iter, tol=tol)
        solve = partial(lbfgs, max_iter=max_iter, tol=tol, callback=callback)
        return self._minimise(X, codes, start, lambda points: NCATerm(), solve, callback)


class NCATerm:
    """-Σ_i p_i over a block of anchors i."""

    def weigh(self, distances: Tensor, anchors: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
        distances.scatter_(1, anchors[:, None], torch.inf)
        p = torch.softmax(distances.neg_(), dim=1)  # p_ij, (height, N)
        # numbers too small for the normal format would make the products below six times slower
        torch.nn.functional.threshold(p, torch.finfo(p.dtype).tiny * 2.0**30, 0.0, inplace=True)
        p_i = p[:, first:last].sum(dim=1, keepdim=True)
        # ∂(-p_i)/∂d_ij = p_ij ([j is of i's class] - p_i)
        own = p[:, first:last].clone()
        w = p.mul_(-p_i)
        w[:, first:last] += own
        return -p_i.sum(), w
