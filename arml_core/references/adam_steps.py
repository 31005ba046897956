"""Adam for points and a metric that move together, with a state that a later run goes on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.adam import adam

from ..learners.arml import ADAM


class AdamSteps:
    """`total` steps of Adam on named tensors, which change in place; each rate falls to 0 in a straight line."""

    def __init__(self, parameters: Mapping[str, Tensor], rates: Sequence[float], total: int) -> None:
        self.parameters, self.rates, self.total = dict(parameters), rates, total
        self._first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self._second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self._counts = {name: torch.zeros((), device="cpu") for name in parameters}  # torch's adam wants them there
        self._done = torch.zeros((), device="cpu")

    def leaves(self, names: Sequence[str]) -> list[Tensor]:
        """Tensors as they are, for a loss whose gradient is wanted."""
        return [self.parameters[name].detach().requires_grad_() for name in names]

    def step(self, gradients: Mapping[str, Tensor]) -> None:
        """Move the tensors that a gradient is given for; the others stay."""
        left = 1 - float(self._done) / self.total
        for (name, p), rate in zip(self.parameters.items(), self.rates, strict=True):
            if name in gradients:
                moments = [self._first[name]], [self._second[name]]
                count = self._counts[name]
                adam([p], [gradients[name]], *moments, [], [count], foreach=False, lr=rate * left, **ADAM)
        self._done += 1

    def _kept(self) -> dict[str, Tensor]:
        kept: dict[str, Tensor] = {**self.parameters, "done": self._done}
        for ending, tensors in (("first", self._first), ("second", self._second), ("count", self._counts)):
            kept |= {f"{name}_{ending}": value for name, value in tensors.items()}
        return kept

    def state(self) -> dict[str, NDArray[Any]]:
        """The tensors and what Adam remembers of them, as plain arrays."""
        return {name: value.cpu().numpy().copy() for name, value in self._kept().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; a ValueError or KeyError if it does not fit."""
        for name, value in self._kept().items():
            if tuple(np.shape(state[name])) != tuple(value.shape):
                raise ValueError(f"{name} has shape {np.shape(state[name])}, not {tuple(value.shape)}")
            value.copy_(torch.as_tensor(np.array(state[name])))


def spread_within_classes(x: Tensor, labels: Tensor) -> float:
    """The typical standard deviation of a feature within a class; of features that vary at all."""
    variances = []
    for code in torch.unique(labels):
        rows = x[labels == code]
        variances.append(len(rows) * rows.var(dim=0, correction=0))
    within = (torch.stack(variances).sum(0) / len(x)).to(torch.float64)
    moving = within[within > 0]
    return float(moving.mean().sqrt()) if len(moving) else float(x.abs().max()) or 1.0
