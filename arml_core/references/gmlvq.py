"""GMLVQ (Schneider, Biehl and Hammer 2009): prototypes and a metric, both learned for accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..device import resolve_device
from ..learners.checks import check_int, check_rank, draw_seed, initial_components
from ..learners.precision import choose_dtype
from ..metric import Metric
from .base import Codes, Features
from .kmeans import class_centres
from .training import PrototypeLearner, PrototypeTraining


class GMLVQ(PrototypeLearner):
    """Prototypes W and a metric M = GᵀG that minimise the mean over the training rows of (d⁺ - d⁻) / (d⁺ + d⁻).

    d⁺ is a row's squared distance to the nearest prototype of its class, d⁻ to the nearest of the other classes: the
    term is below 0 where the row is answered rightly. Nothing in it asks for a radius, which makes GMLVQ the baseline
    for :class:`RobustPrototypes`. The start is k-means in each class; the steps are Adam's, sized by the spread of the
    data.

    Parameters
    ----------
    n_prototypes : how many in each class, at most; "auto" for one in 50 rows, 3 to 100. A class with fewer different
        rows has one for each.
    n_components : the number of rows of G; None for all.
    n_epochs : passes over the training rows; small data has as many more as make 600 steps.
    device : "auto", "cpu", "cuda", "mps", …
    random_state : the same int gives the same result on the same device.

    Attributes
    ----------
    components_ : G, scaled after each step so that the trace of M is the number of features, as the identity's is.
    history_ : "loss", the mean of the term over the rows of each epoch, from -1 to 1.

    References
    ----------
    Schneider, Biehl, Hammer: Adaptive relevance matrices in learning vector quantization. Neural Computation 21, 2009.
    """

    learns_metric = True

    def __init__(
        self,
        n_prototypes: Any = "auto",
        *,
        n_components: int | None = None,
        n_epochs: int = 30,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.n_epochs = n_epochs
        self.device = device
        self.random_state = random_state

    def _training(self, X: Features, codes: Codes, metric: Metric) -> _Descent:
        seed = draw_seed(self.random_state)
        start = initial_components(None, X, check_rank(self.n_components, X.shape[1]))
        points, point_codes = class_centres(X, codes, self.n_prototypes, Metric.from_components(start), seed)
        device = resolve_device(self.device)
        on_device: dict[str, Any] = {"dtype": choose_dtype(device, X.size), "device": device}
        return _Descent(
            w=torch.tensor(points, **on_device),
            w_codes=point_codes,
            g=torch.tensor(start, **on_device),
            learns_metric=True,
            x=torch.tensor(np.ascontiguousarray(X), **on_device),
            labels=torch.as_tensor(codes, device=device),
            n_epochs=check_int("n_epochs", self.n_epochs, 1),
            seed=seed,
        )


def relative_distances(x: Tensor, own: Tensor, other: Tensor, g: Tensor) -> Tensor:
    """μ = (d⁺ - d⁻) / (d⁺ + d⁻) of each row, for the prototypes nearest to it; 0 where both coincide with the row."""
    to_own = (((x - own) @ g.T) ** 2).sum(1)
    to_other = (((x - other) @ g.T) ** 2).sum(1)
    total = to_own + to_other
    return (to_own - to_other) / torch.where(total > 0, total, torch.ones_like(total))


@dataclass
class _Descent(PrototypeTraining):
    """One training; what it keeps is in :class:`PrototypeTraining`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._normalise()

    def _normalise(self) -> None:
        """Scale G so that the trace of M, the sum of its squares, is the number of features."""
        assert self.g is not None
        self.g.mul_((self.g.shape[1] / (self.g**2).sum()).sqrt())

    def _terms(self, x: Tensor, labels: Tensor, step: int) -> dict[str, Tensor]:
        """One step of Adam; the rows' terms before it."""
        own, other = self._nearest(x, labels)
        w, g = leaves = self.adam.leaves(("w", "g"))
        terms = relative_distances(x, w[own], w[other], g)
        by_w, by_g = torch.autograd.grad(terms.mean(), leaves)
        self.adam.step({"w": by_w, "g": by_g})
        self._normalise()
        return {"loss": terms.detach()}

    @torch.no_grad()
    def _nearest(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest prototypes of each row's own class and of the others."""
        assert self.g is not None
        embedded = self.w @ self.g.T
        d = (embedded**2).sum(1) - 2 * (x @ self.g.T) @ embedded.T  # up to ‖Gx‖², the same for all prototypes
        own = labels[:, None] == self.prototype_labels
        return d.masked_fill(~own, torch.inf).argmin(1), d.masked_fill(own, torch.inf).argmin(1)
