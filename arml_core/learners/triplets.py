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


def triplet_radius(g: Tensor, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """ε̃(x_i, x_j, x; M) for M = GᵀG, row by row: the smallest ℓ2 step that brings x as close to x_j as to x_i.

    The numerator d(x, x_j) - d(x, x_i) is computed as (x_i - x_j)ᵀ M (2x - x_i - x_j), which does not cancel.
    Where x_i and x_j coincide in M the radius is 0/0: it counts as 0 and has no gradient.
    """
    u = positive - negative  # (n, D)
    v = (x - positive) + (x - negative)  # (n, D)
    mu = apply_metric(g, u)  # (n, D)
    squared = (mu * mu).sum(dim=1)
    usable = squared > torch.finfo(squared.dtype).tiny
    norm = torch.sqrt(torch.where(usable, squared, torch.ones_like(squared)))
    radius = (mu * v).sum(dim=1) / (2.0 * norm)
    return torch.where(usable, radius, torch.zeros_like(radius))


def apply_metric(g: Tensor, u: Tensor) -> Tensor:
    """M u for each row, through whichever of M and G costs less."""
    n, (rank, d) = len(u), g.shape
    if 2 * n * rank < n * d + rank * d:
        return (u @ g.T) @ g
    return u @ (g.T @ g)
