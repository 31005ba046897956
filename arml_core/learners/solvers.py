"""Three ways to minimise a pair objective: L-BFGS, an adaptive gradient descent, and Adam on random anchors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from .base import Learned
from .pairwise import PairObjective
from .precision import to_numpy

FULL_SOLVER_LIMIT = 10_000
"""Up to this many points every step looks at all of them; beyond, at a random batch."""


def lbfgs(
    objective: PairObjective, start: FloatArray, max_iter: int, tol: float | None, callback: Callback | None
) -> Learned:
    """scipy's L-BFGS-B, as metric-learn uses it for NCA."""
    x = objective.points.x
    values: list[float] = []

    def function(flat: FloatArray) -> tuple[float, FloatArray]:
        g = torch.as_tensor(flat.reshape(start.shape), dtype=x.dtype, device=x.device)
        value, gradient = objective.value_and_gradient(g)
        require_finite(float(value), len(values))
        return float(value), np.asarray(gradient.cpu().numpy(), dtype=np.float64).ravel()

    def after_each(intermediate_result: Any) -> None:
        values.append(float(intermediate_result.fun))
        current = np.array(intermediate_result.x).reshape(start.shape)
        report(callback, len(values), max_iter, objective=values[-1], metric=lambda: Metric.from_components(current))

    result = minimize(
        function,
        start.ravel(),
        method="L-BFGS-B",
        jac=True,
        callback=after_each,
        tol=tol,
        options={"maxiter": max_iter},
    )
    return result.x.reshape(start.shape), {"objective": np.array(values)}


def gradient_descent(
    objective: PairObjective,
    start: FloatArray,
    learning_rate: float,
    growth: float,
    min_iter: int,
    max_iter: int,
    tol: float,
    callback: Callback | None,
) -> Learned:
    """metric-learn's rule for LMNN: halve the step until the objective falls, else multiply it by `growth`.

    Ends after `max_iter` iterations, or when the objective falls by less than `tol` after `min_iter` of them.
    """
    x = objective.points.x
    g = torch.as_tensor(start, dtype=x.dtype, device=x.device)
    value, gradient = objective.value_and_gradient(g)
    values = [float(value)]
    for iteration in range(2, max_iter):
        while True:
            trial = g - learning_rate * gradient
            trial_value, trial_gradient = objective.value_and_gradient(trial)
            change = float(trial_value) - values[-1]
            require_finite(values[-1], iteration)
            if change <= 0 or learning_rate < 1e-300:
                break
            learning_rate /= 2
        g, gradient = trial, trial_gradient
        values.append(float(trial_value))
        learning_rate *= growth
        report(callback, len(values), max_iter, objective=values[-1], metric=_metric_of(g))
        if iteration > min_iter and abs(change) < tol:
            break
    return to_numpy(g), {"objective": np.array(values)}


def stochastic(
    objective: PairObjective,
    start: FloatArray,
    learning_rate: float,
    n_steps: int,
    batch_size: int,
    seed: int,
    callback: Callback | None,
) -> Learned:
    """Adam on the mean over random anchors, each against all points; the step falls to 0 along half a cosine.

    The history holds the batch's objective scaled up to all points, so it compares with the full solvers.
    """
    x = objective.points.x
    n = len(x)
    generator = torch.Generator(device=x.device).manual_seed(seed)
    g = torch.tensor(start, dtype=x.dtype, device=x.device, requires_grad=True)
    optimizer = torch.optim.Adam([g], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    values = x.new_zeros(n_steps)
    for step in range(n_steps):
        anchors = torch.randperm(n, generator=generator, device=x.device)[:batch_size].sort().values
        value, gradient = objective.value_and_gradient(g.detach(), anchors)
        values[step] = value * (n / len(anchors))
        g.grad = gradient / len(anchors)
        optimizer.step()
        schedule.step()
        if callback is not None:
            report(callback, step + 1, n_steps, objective=float(values[step]), metric=_metric_of(g))
    history = to_numpy(values)
    require_finite(float(history.sum()), n_steps)
    return to_numpy(g), {"objective": history}


def require_finite(value: float, iteration: int) -> None:
    if not np.isfinite(value):
        raise FloatingPointError(
            f"the objective became {value:g} by iteration {iteration}. Scale the features to a common range"
        )


def _metric_of(g: Tensor) -> Any:
    return lambda: Metric.from_components(to_numpy(g))
