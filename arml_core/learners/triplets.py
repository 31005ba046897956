"""The triplet radius ε̃ of the paper as a differentiable function of G, and the losses ℓ on it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "negative": lambda radius: -radius,
    "hinge": lambda radius: torch.relu(1.0 - radius),
    "exponential": lambda radius: torch.exp(-radius),
    "logistic": lambda radius: torch.nn.functional.softplus(-radius),
}
"""ℓ(ε̃), each falling in the radius; the paper's results are for the negative loss."""
SLOPES: dict[str, Callable[[Tensor], Tensor]] = {
    "negative": lambda radius: torch.full_like(radius, -1.0),
    "hinge": lambda radius: -(radius < 1.0).to(radius.dtype),
    "exponential": lambda radius: -torch.exp(-radius),
    "logistic": lambda radius: -torch.sigmoid(-radius),
}
"""The derivative of each loss in the radius."""


def triplet_radius(g: Tensor, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """ε̃(x_i, x_j, x; M) for M = GᵀG, row by row: the smallest ℓ2 step that brings x as close to x_j as to x_i.

    The numerator d(x, x_j) - d(x, x_i) is computed as (x_i - x_j)ᵀ M (2x - x_i - x_j), which does not cancel.
    Where x_i and x_j coincide in M the radius is 0/0: it counts as 0 and has no gradient.
    """
    radius, *_ = _radius_parts(g, *differences(x, positive, negative))
    return radius


def differences(x: Tensor, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """u = x_i - x_j and v = 2x - x_i - x_j: all that the radius of a triplet needs of it."""
    return positive - negative, (x - positive) + (x - negative)


@torch.no_grad()
def loss_and_gradient(g: Tensor, u: Tensor, v: Tensor, loss: str) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of ℓ(ε̃) over the rows of :func:`differences`, its gradient in G, and the radii ε̃.

    With s = 2‖Mu‖ the radius is (Mu)ᵀv / s, and its derivative in M is w uᵀ with w = (v - 4 ε̃ Mu / s) / s, made
    symmetric. So with P = mean ℓ'(ε̃) w uᵀ the gradient is G(P + Pᵀ). Written out it costs a third of what
    automatic differentiation does.
    """
    radius, mu, doubled = _radius_parts(g, u, v)
    weight = SLOPES[loss](radius) / (len(u) * doubled)
    w = torch.addcmul(v, mu, (radius / doubled)[:, None], value=-4.0).mul_(weight[:, None])
    n, (rank, d) = len(u), g.shape
    if 4 * n * rank < n * d + rank * d:
        gradient = (w @ g.T).T @ u + (u @ g.T).T @ w
    else:
        p = w.T @ u
        gradient = g @ (p + p.T)
    return LOSSES[loss](radius).mean(), gradient, radius


def _radius_parts(g: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """ε̃, Mu and 2‖Mu‖, infinite where that is no number to divide by: the radius and its derivative are 0 there."""
    mu = apply_metric(g, u)
    norm = torch.linalg.vector_norm(mu, dim=1)
    doubled = (2.0 * norm).masked_fill(norm <= torch.finfo(norm.dtype).tiny ** 0.5, torch.inf)
    return (mu * v).sum(dim=1) / doubled, mu, doubled


def apply_metric(g: Tensor, u: Tensor) -> Tensor:
    """M u for each row, through whichever of M and G costs less."""
    n, (rank, d) = len(u), g.shape
    if 2 * n * rank < n * d + rank * d:
        return (u @ g.T) @ g
    return u @ (g.T @ g)
