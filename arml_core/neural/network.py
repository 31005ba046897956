"""A fully connected ReLU network: trained with torch, read as plain matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import FloatArray
from ..progress import Callback, report

Layers = tuple[tuple[FloatArray, FloatArray], ...]
"""(W, b) of each layer: z = W a + b, with a ReLU after all but the last."""
BLOCK = 8192


@dataclass(frozen=True)
class ReLUNetwork:
    """logits(x) = W_L σ(… σ(W_1 x + b_1) …) + b_L with σ(z) = max(z, 0); the answer is the first largest logit."""

    layers: Layers

    @classmethod
    def train(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        hidden: Sequence[int] = (256, 256),
        epochs: int = 10,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        noise: float = 0.0,
        seed: int = 0,
        callback: Callback | None = None,
    ) -> Self:
        """Adam on the cross-entropy; `noise` is the σ of Gaussian noise added to every batch, as smoothing needs it.

        Labels must be 0 … C - 1. The same seed gives the same network on the same machine.
        """
        x, labels = torch.as_tensor(np.asarray(X, dtype=np.float32)), torch.as_tensor(np.asarray(y, dtype=np.int64))
        if x.ndim != 2 or len(x) != len(labels) or len(x) == 0:
            raise ValueError(f"X must be a table with a label per row; got {tuple(x.shape)} and {len(labels)} labels")
        generator = torch.Generator().manual_seed(seed)
        model = _model([x.shape[1], *hidden, int(labels.max()) + 1], generator)
        optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        for epoch in range(epochs):
            total = 0.0
            for batch in torch.split(torch.randperm(len(x), generator=generator), batch_size):
                inputs = x[batch]
                if noise:
                    inputs = inputs + noise * torch.randn(inputs.shape, generator=generator)
                loss = torch.nn.functional.cross_entropy(model(inputs), labels[batch])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(loss.detach()) * len(batch)
            report(callback, epoch + 1, epochs, loss=total / len(x))
        linear = [part for part in model if isinstance(part, torch.nn.Linear)]
        return cls(tuple((_plain(part.weight), _plain(part.bias)) for part in linear))

    @property
    def n_features(self) -> int:
        return int(self.layers[0][0].shape[1])

    @property
    def n_classes(self) -> int:
        return len(self.layers[-1][1])

    def logits(self, X: ArrayLike) -> FloatArray:
        """One row of logits per row of X, in float64."""
        a = np.asarray(X, dtype=np.float64)
        for number, (w, b) in enumerate(self.layers):
            a = a @ w.T + b
            if number < len(self.layers) - 1:
                np.maximum(a, 0.0, out=a)
        return a

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        rows = np.asarray(X)
        blocks = [self.logits(rows[start : start + BLOCK]).argmax(axis=1) for start in range(0, len(rows), BLOCK)]
        return np.concatenate([np.empty(0, dtype=np.intp), *blocks])


def _model(widths: Sequence[int], generator: torch.Generator) -> torch.nn.Sequential:
    """Layers with torch's own initial range, drawn from `generator` alone."""
    parts: list[torch.nn.Module] = []
    for number, (before, after) in enumerate(pairwise(widths)):
        layer = torch.nn.Linear(before, after)
        for parameter in layer.parameters():
            torch.nn.init.uniform_(parameter, -(before**-0.5), before**-0.5, generator=generator)
        parts.append(layer)
        if number < len(widths) - 2:
            parts.append(torch.nn.ReLU())
    return torch.nn.Sequential(*parts)


def _plain(parameter: torch.Tensor) -> FloatArray:
    values: FloatArray = parameter.detach().numpy().astype(np.float64)
    return values
