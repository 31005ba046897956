"""What NCA and LMNN share: an objective over pairs, minimised on all points or on random batches of anchors."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ..device import resolve_device
from ..numerics.arrays import FloatArray
from ..progress import Callback
from .base import Codes, Features, Learned, MahalanobisLearner
from .checks import check_choice, check_int, check_real, draw_seed
from .neighbours import SortedByClass
from .pairwise import PairObjective, PairTerm
from .precision import choose_dtype
from .solvers import FULL_SOLVER_LIMIT, stochastic


class PairLearner(MahalanobisLearner):
    """A learner with the arguments `solver`, `n_steps`, `batch_size`, `device` and `random_state`."""

    _solvers: ClassVar[tuple[str, ...]]
    _stochastic_rate: ClassVar[str]
    """The argument that is the learning rate of the stochastic solver."""

    def _minimise(
        self,
        X: Features,
        codes: Codes,
        start: FloatArray,
        term: Callable[[SortedByClass], PairTerm],
        on_all_points: Callable[[PairObjective, FloatArray], Learned],
        callback: Callback | None,
    ) -> Learned:
        """Minimise the sum of `term` from `start`, with `on_all_points` unless `solver` says otherwise."""
        solver = check_choice("solver", self.solver, self._solvers)
        rate = check_real(self._stochastic_rate, getattr(self, self._stochastic_rate), 0.0, open_low=True)
        n_steps, batch_size = check_int("n_steps", self.n_steps, 1), check_int("batch_size", self.batch_size, 1)
        device = resolve_device(self.device)
        points = SortedByClass(X, codes, device, choose_dtype(device, X.size))
        objective = PairObjective(points, term(points))
        if solver == "stochastic" or (solver == "auto" and len(X) > FULL_SOLVER_LIMIT):
            return stochastic(objective, start, rate, n_steps, batch_size, draw_seed(self.random_state), callback)
        return on_all_points(objective, start)
