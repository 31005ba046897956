"""The triplet that decides a row's radius among prototypes: Theorem 1 at K = 1, min over j of max over i."""

from __future__ import annotations

import torch
from torch import Tensor

OWN = 24  # nearest prototypes of a row's own class that are looked at
OTHERS = 48  # and of the others


def triplet_radii(x: Tensor, w_i: Tensor, w_j: Tensor, m: Tensor | None, dual: float) -> Tensor:
    """ε̃(i, j) of each row of `x`: (d(x, w_j) - d(x, w_i)) / (2 ‖M(w_i - w_j)‖), in the form that does not cancel.

    M is None for the Euclidean metric. `dual` is the dual of the threat's norm. Where w_i and w_j are one place to the
    metric the radius is 0.
    """
    apart = w_i - w_j
    moved = apart if m is None else apart @ m
    numerator = (moved * (2 * x - w_i - w_j)).sum(1)
    length = torch.linalg.vector_norm(moved, ord=dual, dim=1)
    radii: Tensor = numerator / (2 * length).clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
    return radii


class DecidingTriplets:
    """Finds, without a gradient, the pair (i, j) of prototypes that decides each row's radius.

    Among the 24 nearest own and the 48 nearest other prototypes: with fewer of either, all of them.
    """

    def __init__(self, codes: Tensor, dual: float) -> None:
        self.codes, self.dual = codes, dual

    @torch.no_grad()
    def prepare(self, w: Tensor, m: Tensor | None, measure_between: bool = True) -> None:
        """Prototypes or metric have moved.

        How far the prototypes are from each other changes little in a step; without `measure_between` it stays as it
        was measured last.
        """
        self.moved = w if m is None else w @ m
        self.lengths = (self.moved * w).sum(1)
        if not measure_between:
            return
        if self.dual == 2:
            mode = "use_mm_for_euclid_dist" if len(w) > 256 else "donot_use_mm_for_euclid_dist"
            self.between = torch.cdist(self.moved, self.moved, compute_mode=mode)
        else:
            self.between = torch.cdist(self.moved, self.moved, p=self.dual)

    @torch.no_grad()
    def find(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """i and j of each row."""
        d = self.lengths - 2 * x @ self.moved.T  # up to xᵀMx, the same for all prototypes
        own = labels[:, None] == self.codes
        n = d.shape[1]
        i = d.masked_fill(~own, torch.inf).topk(min(OWN, n), largest=False)
        j = d.masked_fill(own, torch.inf).topk(min(OTHERS, n), largest=False)
        ahead = j.values[:, None, :] - i.values[:, :, None]  # (rows, own, others)
        radii = ahead / (2 * self.between[i.indices[:, :, None], j.indices[:, None, :]])
        radii = torch.nan_to_num(radii, nan=0.0, posinf=torch.inf, neginf=-torch.inf)
        radii = radii.masked_fill(i.values.isinf()[:, :, None], -torch.inf)
        best = radii.max(dim=1)
        held_back = best.values.masked_fill(j.values.isinf(), torch.inf)
        chosen = held_back.min(dim=1).indices[:, None]
        first = best.indices.gather(1, chosen)
        return i.indices.gather(1, first).squeeze(1), j.indices.gather(1, chosen).squeeze(1)
