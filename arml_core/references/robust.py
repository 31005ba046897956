"""Robust prototypes: learn the points that are compared with, and the metric, for the largest certified radii."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..device import resolve_device
from ..learners.checks import check_choice, check_int, check_rank, check_real, draw_seed, initial_components
from ..learners.precision import choose_dtype
from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..threat import ThreatModel, dual_norm
from .base import Codes, Features
from .deciding_triplets import DecidingTriplets, triplet_radii
from .image_shifts import shifted
from .kmeans import class_centres
from .training import PrototypeLearner, PrototypeTraining

METRICS = ("learned", "euclidean")
METRIC_EVERY = 5  # steps
START_CENTRES = 20  # a class, for the automatic radius
RADIUS_QUANTILE = 0.9
JUDGED_ROWS = 5_000  # rows that the automatic radius looks at


class RobustPrototypes(PrototypeLearner):
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
        x = torch.tensor(np.ascontiguousarray(X), dtype=dtype, device=device)
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

    def _trained(self, run: _Training) -> None:
        self.radius_ = run.radius

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
        m = None if run.g is None else run.g.T @ run.g
        triplets = DecidingTriplets(torch.as_tensor(centre_codes, device=run.x.device), run.dual)
        triplets.prepare(w, m)
        some = slice(None, None, max(1, len(run.x) // JUDGED_ROWS))
        i, j = triplets.find(run.x[some], run.labels[some])
        radii = triplet_radii(run.x[some], w[i], w[j], m, run.dual)
        found = float(torch.quantile(radii.to(torch.float64), RADIUS_QUANTILE))
        if not found > 0:
            raise ValueError("nearly every row lies nearer to another class: give the target radius as a number")
        return found


@dataclass
class _Training(PrototypeTraining):
    """One training towards the target radius; what it keeps is in :class:`PrototypeTraining`."""

    dual: float = 2.0
    radius: float = 0.0
    shifts: int = 0
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.triplets = DecidingTriplets(self.prototype_labels, self.dual)

    def _augmented(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if not self.shifts or self.image_shape is None:
            return x
        return shifted(x, self.image_shape, self.shifts, generator)

    def _terms(self, x: Tensor, labels: Tensor, step: int) -> dict[str, Tensor]:
        """One step of Adam; each row's loss and radius before it.

        The metric moves, and the prototypes are measured against each other, in every fifth step of an epoch.
        """
        seldom = step % METRIC_EVERY == 0
        if seldom:
            self.m = None if self.g is None else self.g.T @ self.g
        self.triplets.prepare(self.w, self.m, measure_between=seldom)
        i, j = self.triplets.find(x, labels)
        names = [name for name in self.adam.parameters if name == "w" or seldom]
        w, *others = leaves = self.adam.leaves(names)
        m = others[0].T @ others[0] if others else self.m
        radii = triplet_radii(x, w[i], w[j], m, self.dual)
        losses = (self.radius - radii).clamp_min(0)
        gradients = torch.autograd.grad(losses.mean(), leaves)
        self.adam.step(dict(zip(names, gradients, strict=True)))
        return {"loss": losses.detach(), "radius": radii.detach().clamp_min(0)}
