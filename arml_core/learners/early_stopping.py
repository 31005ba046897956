"""Stop ARML when the loss on points it was not trained on no longer falls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..numerics.arrays import FloatArray
from .neighbours import SortedByClass, rank_neighbours_of
from .triplets import triplet_radius


def held_out_mask(codes: NDArray[np.intp], fraction: float, seed: int) -> NDArray[np.bool_]:
    """True for the points to hold out: `fraction` of each class, rounded down, and at least two of it stay."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(codes), dtype=bool)
    for c in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == c)
        take = max(0, min(int(fraction * len(members)), len(members) - 2))
        held[rng.permutation(members)[:take]] = True
    if not held.any():
        raise ValueError(
            f"validation_fraction={fraction:g} holds out no point: the largest class has "
            f"{np.bincount(codes).max()} points. Raise it, or use 0"
        )
    return held


class EarlyStopping:
    """The loss of the held-out points: the mean of ℓ(ε̃) over their r-th nearest positive and negative, r = 1 … k.

    Their neighbours are training points; nothing is drawn, so two evaluations of the same G are equal.
    """

    def __init__(
        self,
        points: SortedByClass,
        X: NDArray[np.floating],
        codes: NDArray[np.intp],
        k: int,
        loss: Callable[[Tensor], Tensor],
        patience: int,
    ) -> None:
        order = np.argsort(codes, kind="stable")
        self._points, self._k, self._loss, self._patience = points, k, loss, patience
        self._rows = points.place(X[order], points.x.device, points.x.dtype)
        self._codes = torch.as_tensor(codes[order], device=points.x.device)
        self._best, self._best_epoch = np.inf, 0
        self._best_g: Tensor | None = None
        self._losses: list[float] = []

    def should_stop(self, g: Tensor, epoch: int) -> bool:
        """Evaluate G; true when no evaluation of the last `patience` epochs was the best."""
        value = self._evaluate(g)
        self._losses.append(value)
        if value < self._best:
            self._best, self._best_epoch, self._best_g = value, epoch, g.clone()
        return epoch - self._best_epoch >= self._patience

    def finish(self, g: Tensor) -> tuple[Tensor, FloatArray]:
        """The best G, the last one included, and the history of the held-out loss."""
        last = self._evaluate(g)
        best = g if self._best_g is None or last < self._best else self._best_g
        return best, np.array([*self._losses, last])

    def state(self) -> dict[str, Tensor]:
        """What :meth:`restore` needs to go on as if nothing had happened."""
        kept = {
            "held_out_losses": torch.tensor(self._losses, dtype=torch.float64),
            "best_epoch": torch.tensor(self._best_epoch),
        }
        return kept if self._best_g is None else kept | {"best_g": self._best_g}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self._losses = state["held_out_losses"].double().tolist()
        self._best, self._best_epoch = min(self._losses, default=np.inf), int(state["best_epoch"])
        self._best_g = state["best_g"].to(self._rows) if "best_g" in state else None

    @torch.no_grad()
    def _evaluate(self, g: Tensor) -> float:
        lists = rank_neighbours_of(g, self._points, self._k, self._rows, self._codes)
        total, count = g.new_zeros(()), g.new_zeros(())
        x = self._points.x
        for r in range(self._k):
            usable = (lists.n_positive > r) & (lists.n_negative > r)
            radius = triplet_radius(g, self._rows, x[lists.positive[:, r]], x[lists.negative[:, r]])
            total += torch.where(usable, self._loss(radius), torch.zeros_like(radius)).sum()
            count += usable.sum()
        return float(total / count)
