"""Objectives that are sums over pairs of points, with their gradient in G, in blocks of anchors against everything.

NCA and LMNN are of this kind: f depends on G through the squared distances d_ij = ‖G(x_i - x_j)‖². With the
weights w_ij = ∂f/∂d_ij the gradient is 2 G Σ_ij w_ij (x_i - x_j)(x_i - x_j)ᵀ. A block holds the distances of a
few anchors to all points, so no N×N matrix ever exists.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from .neighbours import BLOCK_BYTES, SortedByClass, blocks_by_class


class PairTerm(Protocol):
    """What is summed: the part of the objective that belongs to one block of anchors of one class."""

    def weigh(self, distances: Tensor, anchors: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
        """The block's value and its weights ∂f/∂d_ij, for the anchors' `distances` (height, N) to all points.

        Rows first:last are the anchors' class. `distances` may be overwritten.
        """


class PairObjective:
    """f(G), to be minimised, as the sum of a :class:`PairTerm` over the anchors."""

    def __init__(self, points: SortedByClass, term: PairTerm) -> None:
        self.points, self.term = points, term
        self.everyone = torch.arange(len(points), device=points.x.device)

    @torch.no_grad()
    def value_and_gradient(self, g: Tensor, anchors: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """f and ∂f/∂G over the given rows (ascending), or over all points."""
        rows = self.everyone if anchors is None else anchors
        x = self.points.x
        e = x @ g.T  # (N, rank)
        squared = (e * e).sum(dim=1)
        value, gradient = g.new_zeros(()), torch.zeros_like(g)
        column_sums = torch.zeros_like(squared)
        height = max(1, min(len(rows), BLOCK_BYTES // (len(x) * x.element_size())))
        buffer = x.new_empty(height, len(x))
        for part, first, last in blocks_by_class(self.points, self.points.codes[rows], height):
            a = rows[part]
            distances = torch.addmm(squared, e[a], e.T, alpha=-2.0, out=buffer[: len(a)])
            distances.add_(squared[a, None]).clamp_(min=0.0)
            distances.scatter_(1, a[:, None], 0.0)  # which the sum above leaves at rounding errors
            block_value, w = self.term.weigh(distances, a, first, last)
            value += block_value
            column_sums += w.sum(dim=0)
            wx = w @ x  # (height, D)
            spread = w.sum(dim=1, keepdim=True) * x[a] - wx
            gradient += e[a].T @ spread - (wx @ g.T).T @ x[a]
        gradient += (e * column_sums[:, None]).T @ x
        return value, 2.0 * gradient
