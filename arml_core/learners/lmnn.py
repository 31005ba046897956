"""LMNN, large margin nearest neighbour (Weinberger, Blitzer, Saul, NIPS 2005)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..progress import Callback
from .base import Codes, Features, Learned
from .checks import check_choice, check_int, check_rank, check_real, initial_components
from .metric_learn_backend import BACKENDS, fit_metric_learn
from .neighbours import SortedByClass, rank_own_class
from .pair_learner import PairLearner
from .solvers import gradient_descent

SOLVERS = ("auto", "descent", "stochastic")


class LMNN(PairLearner):
    """Pull each point's targets near, push impostors out of their margin.

    The targets t of point i are its `n_neighbors` nearest points of its class in the Euclidean metric. Minimised is

        regularization · Σ_it d_it + (1 - regularization) · Σ_itl [1 + d_it - d_il]₊     (l of another class).

    Up to 10,000 points the method is metric-learn's (gradient descent with a growing step from the identity),
    without its lists of impostors and with steps that grow faster: metric-learn's 1 % spends most iterations on
    leaving the first step of 1e-7. With 10 % the objective ends 0.06 % (Splice) and 0.5 % (digits) above that, after
    a quarter of the iterations, and no value of the robust-error curves moves by more than 0.006. Beyond 10,000
    points: Adam on random anchors, each against all points. A class with fewer points has fewer targets; a class of
    one has none. Which of several equally far points become targets is arbitrary: on Splice, whose features are
    integers, that alone moves the robust-error curve by up to 0.019 from metric-learn's; on digits it is 0.002.

    Parameters
    ----------
    n_neighbors : the number of targets.
    regularization : the weight of the pull.
    learning_rate : the first step of the descent.
    growth : what a step that worked is multiplied by; 1.01 gives metric-learn's own path.
    min_iter, max_iter, tol : the descent ends when the objective falls by less than `tol`.
    solver : "descent", "stochastic", or "auto" for the first up to 10,000 points and the second beyond.
    n_steps, batch_size, step_size : of the stochastic solver.
    n_components, init, device, random_state : as for :class:`ARML`.
    backend : "native", or "metric-learn" for the reference itself.
    """

    _solvers = SOLVERS
    _stochastic_rate = "step_size"

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        regularization: float = 0.5,
        learning_rate: float = 1e-7,
        growth: float = 1.1,
        min_iter: int = 50,
        max_iter: int = 1000,
        tol: float = 1e-3,
        solver: str = "auto",
        n_steps: int = 300,
        batch_size: int = 1000,
        step_size: float = 0.01,
        n_components: int | None = None,
        init: Any = None,
        device: str = "auto",
        random_state: Any = None,
        backend: str = "native",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.regularization = regularization
        self.learning_rate = learning_rate
        self.growth = growth
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.step_size = step_size
        self.n_components = n_components
        self.init = init
        self.device = device
        self.random_state = random_state
        self.backend = backend

    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        start = initial_components(self.init, X, check_rank(self.n_components, X.shape[1]))
        learning_rate = check_real("learning_rate", self.learning_rate, 0.0, open_low=True)
        growth = check_real("growth", self.growth, 1.0)
        min_iter, max_iter = check_int("min_iter", self.min_iter, 0), check_int("max_iter", self.max_iter, 1)
        tol = check_real("tol", self.tol, 0.0)
        k = check_int("n_neighbors", self.n_neighbors, 1)
        reg = check_real("regularization", self.regularization, 0.0, 1.0)
        if check_choice("backend", self.backend, BACKENDS) == "metric-learn":
            return fit_metric_learn(
                "LMNN",
                X,
                codes,
                init=start,
                n_components=len(start),
                n_neighbors=k,
                regularization=reg,
                learn_rate=learning_rate,
                convergence_tol=tol,
                min_iter=min_iter,
                max_iter=max_iter,
            )
        solve = partial(
            gradient_descent,
            learning_rate=learning_rate,
            growth=growth,
            min_iter=min_iter,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
        )
        return self._minimise(X, codes, start, lambda points: LMNNTerm(points, k, reg), solve, callback)


class LMNNTerm:
    """The pull of a block's anchors to their targets and the push on their impostors."""

    def __init__(self, points: SortedByClass, k: int, regularization: float) -> None:
        self._targets, self._n_targets = rank_own_class(points, k)
        self._regularization = regularization

    def weigh(self, distances: Tensor, anchors: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
        reg = self._regularization
        n_targets = int(self._n_targets[anchors[0]])  # the same for a whole class
        targets = self._targets[anchors, :n_targets]
        if n_targets == 0:
            return distances.new_zeros(()), torch.zeros_like(distances)
        to_target = distances.gather(1, targets)  # (height, n_targets)
        margin = 1.0 + to_target
        distances[:, first:last] = torch.inf
        # few of the pairs are impostors: only these are looked at target by target
        i, j = torch.nonzero(distances < margin.amax(dim=1, keepdim=True), as_tuple=True)
        slack = margin[i] - distances[i, j][:, None]  # (n_impostors, n_targets)
        active = (slack > 0).to(distances.dtype)
        value = reg * to_target.sum() + (1.0 - reg) * torch.relu(slack).sum()
        w = torch.zeros_like(distances)
        w[i, j] = (reg - 1.0) * active.sum(dim=1)
        at_target = torch.full_like(to_target, reg).index_add_(0, i, active, alpha=1.0 - reg)
        return value, w.scatter_add_(1, targets, at_target)
