"""Robust prototypes: learn the points that are compared with, and the metric, for the largest certified radii."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.optim.adam import adam

from ..device import resolve_device
from ..learners.arml import ADAM
from ..learners.checks import check_choice, check_int, check_rank, check_real, draw_seed, initial_components
from ..learners.precision import choose_dtype, to_numpy
from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from ..threat import ThreatModel, dual_norm
from .base import Codes, Features, LearnedReferences, ReferenceLearner
from .deciding_triplets import DecidingTriplets, triplet_radii
from .image_shifts import shifted
from .kmeans import class_centres

METRICS = ("learned", "euclidean")
BATCH = 500
START_CENTRES = 20  # a class, for the automatic radius
RADIUS_QUANTILE = 0.9
JUDGED_ROWS = 5_000  # rows that the automatic radius looks at
FEWEST_STEPS = 600
POINT_RATE = 0.05  # of the typical spread of a feature within a class, for one step of Adam
METRIC_RATE = 0.01


class RobustPrototypes(ReferenceLearner):
    """Prototypes W, and a metric M = GᵀG, that minimise the mean over the training rows of [ρ - r(x)]₊.

    r(x) = min_j max_i ε̃(w_i, w_j, x) is the radius that Theorem 1 certifies for one neighbour: w_i are the prototypes
    of the row's class, w_j all others. ρ, the target radius, trades clean against robust error: radii beyond it earn
    nothing. The start is k-means in each class; the steps are Adam's, sized by the spread of the data, so that there is
    no learning rate to choose. A prototype that decides no row's radius stays where it is.

    Parameters
    ----------
    n_prototypes : how many in each class, at most; "auto" for one in 50 rows, 3 to 100. A class with fewer different
        rows has one for each.
    radius : ρ, in the norm of the threat; "auto" for the 90 % quantile of the training rows' radii against 20 k-means
        centres a class.
    metric : "learned" with the points, or "euclidean": then the points are learned under the metric that `fit` is
        given, Euclidean if none.
    n_components : the number of rows of a learned G; None for all.
    norm : of the threat: 2, 1 or inf.
    n_epochs : passes over the training rows; small data has as many more as make 600 steps.
    shifts, image_shape : for images of (height, width): each row is moved by up to so many pixels in each pass.
    device : "auto", "cpu", "cuda", "mps", …
    random_state : the same int gives the same result on the same device.

    Attributes
    ----------
    radius_ : the target radius in use.
    history_ : "loss" and "radius" (the mean of [r(x)]₊ over the rows), an entry per epoch.
    """

    def __init__(
        self,
        n_prototypes: Any = "auto",
        radius: Any = "auto",
        metric: str = "learned",
        *,
        n_components: int | None = None,
        norm: float | str = 2,
        n_epochs: int = 30,
        shifts: int = 0,
        image_shape: tuple[int, int] | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.radius = radius
        self.metric = metric
        self.n_components = n_components
        self.norm = norm
        self.n_epochs = n_epochs
        self.shifts = shifts
        self.image_shape = image_shape
        self.device = device
        self.random_state = random_state

    @property
    def learns_its_metric(self) -> bool:
        return check_choice("metric", self.metric, METRICS) == "learned"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        callback: Callback | None = None,
        metric: Any = None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Self:
        """Learn points and metric; see :meth:`ReferenceLearner.fit`.

        ``info["state"]()`` gives the callback plain arrays with which a later call goes on: `resume` takes them, and
        with the same data, parameters and device the result is the same to the last bit as without the break.
        """
        return self._fit(X, y, metric, lambda data, codes, given: self._learn(data, codes, given, callback, resume))

    def _learn(
        self,
        X: Features,
        codes: Codes,
        metric: Metric,
        callback: Callback | None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> LearnedReferences:
        run = self._training(X, codes, metric)
        if resume is not None:
            run.restore(resume)
        history = run.train(callback)
        self.radius_ = run.radius
        components = to_numpy(run.g) if run.learns_metric and run.g is not None else None
        return LearnedReferences(to_numpy(run.w), run.w_codes, components, history)

    def _training(self, X: Features, codes: Codes, metric: Metric) -> _Training:
        seed = draw_seed(self.random_state)
        learned = self.learns_its_metric
        dual = dual_norm(ThreatModel(norm=self.norm).norm)
        device = resolve_device(self.device)
        dtype = choose_dtype(device, X.size)
        g: Tensor | None = None
        if learned:
            start = initial_components(None, X, check_rank(self.n_components, X.shape[1]))
            g = torch.tensor(start, dtype=dtype, device=device)
            metric = Metric.from_components(start)
        elif not metric.is_identity:
            g = torch.tensor(metric.components, dtype=dtype, device=device)
        x = torch.as_tensor(np.ascontiguousarray(X), dtype=dtype, device=device)
        labels = torch.as_tensor(codes, device=device)
        points, point_codes = class_centres(X, codes, self.n_prototypes, metric, seed)
        shape = self._image_shape(X.shape[1])
        run = _Training(
            w=torch.tensor(points, dtype=dtype, device=device),
            w_codes=point_codes,
            g=g,
            learns_metric=learned,
            x=x,
            labels=labels,
            dual=dual,
            radius=0.0,
            n_epochs=check_int("n_epochs", self.n_epochs, 1),
            shifts=0 if shape is None else check_int("shifts", self.shifts, 0),
            image_shape=shape,
            seed=seed,
        )
        run.radius = self._target_radius(run, *class_centres(X, codes, START_CENTRES, metric, seed))
        return run

    def _image_shape(self, n_features: int) -> tuple[int, int] | None:
        if not self.shifts:
            return None
        if self.image_shape is None or int(np.prod(self.image_shape)) != n_features:
            raise ValueError(
                f"shifts need image_shape=(height, width) with {n_features} pixels; got {self.image_shape!r}"
            )
        height, width = self.image_shape
        return int(height), int(width)

    def _target_radius(self, run: _Training, centres: FloatArray, centre_codes: Codes) -> float:
        if self.radius != "auto":
            return check_real("radius", self.radius, 0.0, open_low=True)
        w = torch.tensor(centres, dtype=run.x.dtype, device=run.x.device)
        triplets = DecidingTriplets(torch.as_tensor(centre_codes, device=run.x.device), run.dual)
        triplets.prepare(w, run.g)
        some = slice(None, None, max(1, len(run.x) // JUDGED_ROWS))
        i, j = triplets.find(run.x[some], run.labels[some], run.g)
        radii = triplet_radii(run.x[some], w[i], w[j], run.g, run.dual)
        found = float(torch.quantile(radii.to(torch.float64), RADIUS_QUANTILE))
        if not found > 0:
            raise ValueError("nearly every row lies nearer to another class: give the target radius as a number")
        return found


@dataclass
class _Training:
    """One training: everything lives on the device."""

    w: Tensor
    w_codes: Codes
    g: Tensor | None
    learns_metric: bool
    x: Tensor
    labels: Tensor
    dual: float
    radius: float
    n_epochs: int
    shifts: int
    image_shape: tuple[int, int] | None
    seed: int
    losses: list[float] = field(default_factory=list)
    radii: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        steps = math.ceil(len(self.x) / BATCH)
        self.n_epochs = max(self.n_epochs, math.ceil(FEWEST_STEPS / steps))
        self.total_steps = self.n_epochs * steps
        self.triplets = DecidingTriplets(torch.as_tensor(self.w_codes, device=self.w.device), self.dual)
        self.parameters = [self.w] + ([self.g] if self.learns_metric and self.g is not None else [])
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self.counts = [torch.zeros((), device="cpu") for _ in self.parameters]  # torch's adam wants them there
        self.rates = [POINT_RATE * self._spread(), METRIC_RATE]

    def _spread(self) -> float:
        """The typical standard deviation of a feature within a class; of features that vary at all."""
        variances = []
        for code in torch.unique(self.labels):
            rows = self.x[self.labels == code]
            variances.append(len(rows) * rows.var(dim=0, correction=0))
        within = (torch.stack(variances).sum(0) / len(self.x)).to(torch.float64)
        moving = within[within > 0]
        return float(moving.mean().sqrt()) if len(moving) else float(self.x.abs().max()) or 1.0

    def train(self, callback: Callback | None) -> dict[str, FloatArray]:
        for epoch in range(len(self.losses), self.n_epochs):
            self._epoch(epoch)
            numbers = {"loss": self.losses[-1], "radius": self.radii[-1]}
            views = {"references": self._references, "metric": self._metric, "state": self.state}
            report(callback, epoch + 1, self.n_epochs, **views, **numbers)
        return {"loss": np.array(self.losses), "radius": np.array(self.radii)}

    def _epoch(self, epoch: int) -> None:
        """One pass over the rows in an order that depends on the seed and the epoch alone."""
        generator = torch.Generator().manual_seed(self.seed + epoch)
        order = torch.randperm(len(self.x), generator=generator)
        loss, radius = 0.0, 0.0
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH].to(self.x.device)
            x = self.x[rows]
            if self.shifts and self.image_shape is not None:
                x = shifted(x, self.image_shape, self.shifts, generator)
            radii = self._step(x, self.labels[rows])
            loss += float((self.radius - radii).clamp_min(0).sum())
            radius += float(radii.clamp_min(0).sum())
        self.losses.append(loss / len(order))
        self.radii.append(radius / len(order))
        if not (math.isfinite(loss) and bool(torch.isfinite(self.w).all())):
            raise FloatingPointError(
                f"RobustPrototypes stopped: the loss became {loss:g} in epoch {epoch + 1}. "
                "Scale the features to a common range"
            )

    def _step(self, x: Tensor, labels: Tensor) -> Tensor:
        """One step of Adam; the rows' radii before it."""
        self.triplets.prepare(self.w, self.g)
        i, j = self.triplets.find(x, labels, self.g)
        leaves = [p.detach().requires_grad_() for p in self.parameters]
        g = leaves[1] if len(leaves) > 1 else self.g
        radii = triplet_radii(x, leaves[0][i], leaves[0][j], g, self.dual)
        loss = (self.radius - radii).clamp_min(0).mean()
        gradients = torch.autograd.grad(loss, leaves)
        left = 1 - float(self.counts[0]) / self.total_steps
        for parameter, gradient, first, second, count, rate in zip(
            self.parameters, gradients, self.first, self.second, self.counts, self.rates, strict=False
        ):
            adam([parameter], [gradient], [first], [second], [], [count], foreach=False, lr=rate * left, **ADAM)
        return radii.detach()

    def _metric(self) -> Metric:
        return Metric.identity(self.x.shape[1]) if self.g is None else Metric.from_components(to_numpy(self.g))

    def _references(self) -> tuple[FloatArray, Codes, Metric]:
        """The current points, their class codes and the metric, copied from the device when somebody asks."""
        return to_numpy(self.w), self.w_codes, self._metric()

    def _kept(self) -> dict[str, Tensor]:
        kept: dict[str, Tensor] = {}
        names = zip("wg", self.parameters, self.first, self.second, self.counts, strict=False)
        for name, parameter, first, second, count in names:
            kept |= {name: parameter, f"{name}_first": first, f"{name}_second": second, f"{name}_count": count}
        return kept

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the rest of the training depends on, as plain arrays."""
        found = {name: value.cpu().numpy().copy() for name, value in self._kept().items()}
        return {**found, "losses": np.array(self.losses), "radii": np.array(self.radii)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; a ValueError if it is not of this training."""
        try:
            for name, value in self._kept().items():
                if tuple(np.shape(state[name])) != tuple(value.shape):
                    raise ValueError(f"{name} has shape {np.shape(state[name])}, not {tuple(value.shape)}")
                value.copy_(torch.as_tensor(np.array(state[name])))
            self.losses, self.radii = np.array(state["losses"]).tolist(), np.array(state["radii"]).tolist()
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"the saved state is not one of this training: {error}") from error
