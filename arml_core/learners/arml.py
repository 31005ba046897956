"""ARML, adversarially robust metric learning: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.optim.adam import adam

from ..device import resolve_device
from ..metric import Metric
from ..progress import Callback, report
from .base import Codes, Features, Learned, MahalanobisLearner
from .checks import check_choice, check_int, check_rank, check_real, draw_seed, initial_components
from .early_stopping import EarlyStopping, held_out_mask
from .neighbours import SortedByClass
from .precision import choose_dtype, to_numpy
from .triplet_sampling import DecidingTriplets, TripletSampler
from .triplets import LOSSES, loss_and_gradient

OBJECTIVES = ("sampled", "unsampled")
FULL_BATCH = 10_000
LARGE_BATCH = 6_000
LARGE_REFRESH = 25
EXPLODED = 1e6
ADAM: dict[str, Any] = {
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "weight_decay": 0.0,
    "amsgrad": False,
    "maximize": False,
}
"""The defaults of torch.optim.Adam. Its function is called as it is: on small data the class takes longer."""


class ARML(MahalanobisLearner):
    """Adversarially robust metric learning: minimise the mean of ℓ(ε̃) over G, with M = GᵀG.

    ε̃ is the smallest ℓ2 step that brings a training point as close to a point of another class as to one of its
    own. The defaults are the paper's: the negative loss, one of the 10 nearest points of each kind drawn for every
    point in every epoch, Adam with learning rate 0.001, G = I, 1000 epochs, all points in each update.

    Parameters
    ----------
    n_epochs : the number of updates of G (T in Algorithm 1).
    loss : ℓ, one of "negative" -ε̃, "hinge" [1 - ε̃]₊, "exponential" exp(-ε̃), "logistic" log(1 + exp(-ε̃)).
    n_neighbors : the size of the neighbourhood from which a positive and a negative are drawn.
    n_components : the number of rows of G; None for all, fewer for a low-rank metric.
    learning_rate : Adam's.
    batch_size : the number of points in one update; None for all up to 10,000 points. Beyond, it is 6,000 that stay for
        25 epochs at least: ranking takes as long as dozens of updates there. On MNIST no exact 1-NN robust error at the
        paper's radii moves by more than 0.010 against 10 epochs.
    refresh : neighbour lists are ranked in the current metric every so many epochs, which is nearly all the work;
        positives and negatives are drawn from the lists in every epoch. A batch is drawn with its lists. On USPS 10
        takes a fifth of the time of 1, and no exact 1-NN robust error at the paper's radii moves by more than 0.003.
    objective : "sampled" as above; "unsampled" takes for each point the very triplet that decides the
        leave-one-out radius of Theorem 1 for `objective_k` neighbours (all N³ triplets in every epoch).
    objective_k : the odd K of the unsampled objective.
    validation_fraction : the part of each class held out to stop early; 0 trains on everything to the end.
    patience : stop when the held-out loss has not fallen for so many epochs, and return the best G.
    init : a matrix G of shape (n_components, n_features) to start from; None for the identity, or principal axes
        if `n_components` is smaller than the number of features.
    device : "auto", "cpu", "cuda", "mps", …
    random_state : the same int gives the same M on the same device.

    Attributes
    ----------
    history_ : arrays "loss" and "radius" (the mean of [ε̃]₊ over the drawn triplets), an entry per epoch; with
        early stopping also "held_out_loss", an entry per refresh.
    """

    def __init__(
        self,
        n_epochs: int = 1000,
        *,
        loss: str = "negative",
        n_neighbors: int = 10,
        n_components: int | None = None,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        refresh: int = 10,
        objective: str = "sampled",
        objective_k: int = 1,
        validation_fraction: float = 0.0,
        patience: int = 50,
        init: Any = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.loss = loss
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.refresh = refresh
        self.objective = objective
        self.objective_k = objective_k
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.init = init
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        callback: Callback | None = None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Self:
        """Learn the metric; see :meth:`MahalanobisLearner.fit`.

        ``info["state"]()`` gives the callback plain arrays with which a later call goes on: `resume` takes them, and
        with the same data, parameters and device the result is the same to the last bit as without the break.
        """
        return self._fit(X, y, lambda data, codes: self._learn(data, codes, callback, resume))

    def _learn(
        self,
        X: Features,
        codes: Codes,
        callback: Callback | None,
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Learned:
        start = initial_components(self.init, X, check_rank(self.n_components, X.shape[1]))
        device = resolve_device(self.device)
        dtype = choose_dtype(device, X.size)
        seed = draw_seed(self.random_state)
        patience = check_int("patience", self.patience, 1)
        held_fraction = check_real("validation_fraction", self.validation_fraction, 0.0, 0.5)
        held = held_out_mask(codes, held_fraction, seed) if held_fraction else np.zeros(len(codes), dtype=bool)
        kept = slice(None) if not held.any() else ~held  # a slice does not copy the data
        points = SortedByClass(X[kept], codes[kept], device, dtype)
        run = _Training(
            g=torch.tensor(start, dtype=dtype, device=device),
            points=points,
            triplets=self._triplets(points, seed),
            loss=check_choice("loss", self.loss, tuple(LOSSES)),
            n_epochs=check_int("n_epochs", self.n_epochs, 1),
            refresh=epochs_between_rankings(len(points), self.batch_size, check_int("refresh", self.refresh, 1)),
            learning_rate=check_real("learning_rate", self.learning_rate, 0.0, open_low=True),
        )
        if held.any():
            k = check_int("n_neighbors", self.n_neighbors, 1)
            run.early_stopping = EarlyStopping(points, X[held], codes[held], k, LOSSES[run.loss], patience)
        if resume is not None:
            run.restore(resume)
        return run.train(callback)

    def _triplets(self, points: SortedByClass, seed: int) -> TripletSampler | DecidingTriplets:
        k = check_int("n_neighbors", self.n_neighbors, 1)
        if check_int("objective_k", self.objective_k, 1) % 2 == 0:
            raise ValueError(f"objective_k must be odd, as Theorem 1 is; got {self.objective_k}")
        if check_choice("objective", self.objective, OBJECTIVES) == "unsampled":
            return DecidingTriplets(points, (self.objective_k + 1) // 2)
        default = len(points) if len(points) <= FULL_BATCH else LARGE_BATCH
        batch = default if self.batch_size is None else check_int("batch_size", self.batch_size, 1)
        generator = torch.Generator(device=points.x.device).manual_seed(seed)
        every = epochs_between_rankings(len(points), self.batch_size, check_int("refresh", self.refresh, 1))
        return TripletSampler(points, k, batch, generator, every)


def epochs_between_rankings(n_points: int, batch_size: int | None, refresh: int) -> int:
    """`refresh`, or more where the batches of large data are left to us."""
    return refresh if batch_size is not None or n_points <= FULL_BATCH else max(refresh, LARGE_REFRESH)


@dataclass
class _Training:
    """One training: everything lives on the device, and without a callback nothing is copied per epoch."""

    g: Tensor
    points: SortedByClass
    triplets: TripletSampler | DecidingTriplets
    loss: str
    n_epochs: int
    refresh: int
    learning_rate: float
    early_stopping: EarlyStopping | None = None

    def __post_init__(self) -> None:
        self.moments = {"exp_avg": torch.zeros_like(self.g), "exp_avg_sq": torch.zeros_like(self.g)}
        self.moments["step"] = torch.zeros((), device="cpu")  # torch's adam wants its counter there
        self.losses, self.radii = self.g.new_zeros(self.n_epochs), self.g.new_zeros(self.n_epochs)
        self.done = 0

    def train(self, callback: Callback | None) -> Learned:
        g, losses, radii = self.g, self.losses, self.radii
        for epoch in range(self.done, self.n_epochs):
            if epoch % self.refresh == 0:
                self._stop_if_broken(losses[:epoch])
                if self.early_stopping is not None and self.early_stopping.should_stop(g, epoch):
                    break
                self.triplets.refresh(g)
            u, v = self.triplets.draw(g)
            losses[epoch], gradient, radius = loss_and_gradient(g, u, v, self.loss)
            self.update(gradient)
            radii[epoch] = radius.clamp_(min=0).mean()
            self.done = epoch + 1
            if callback is not None:
                numbers = {"loss": float(losses[epoch]), "radius": float(radii[epoch])}
                report(callback, self.done, self.n_epochs, metric=self._metric, state=self.state, **numbers)
        self._stop_if_broken(losses[: self.done])
        history = {"loss": to_numpy(losses[: self.done]), "radius": to_numpy(radii[: self.done])}
        if self.early_stopping is None:
            return to_numpy(g), history
        best, history["held_out_loss"] = self.early_stopping.finish(g)
        return to_numpy(best), history

    def update(self, gradient: Tensor) -> None:
        """One step of Adam."""
        first, second, step = self.moments.values()
        adam([self.g], [gradient], [first], [second], [], [step], foreach=False, lr=self.learning_rate, **ADAM)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the rest of the training depends on, as plain arrays."""
        kept = {"g": self.g, "losses": self.losses[: self.done], "radii": self.radii[: self.done], **self.moments}
        kept |= self.triplets.state() | ({} if self.early_stopping is None else self.early_stopping.state())
        return {name: value.cpu().numpy().copy() for name, value in kept.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; a ValueError if it is not of this training."""
        try:
            kept = {name: torch.as_tensor(np.array(value)) for name, value in state.items()}
            self.done = len(kept["losses"])
            self.losses[: self.done], self.radii[: self.done] = kept["losses"], kept["radii"]
            for name, value in {"g": self.g, **self.moments}.items():
                value.copy_(kept[name])
            self.triplets.restore(kept)
            if self.early_stopping is not None:
                self.early_stopping.restore(kept)
        except (KeyError, IndexError, RuntimeError, TypeError) as error:
            raise ValueError(f"the saved state is not one of this training: {error}") from error

    def _metric(self) -> Metric:
        """The current metric, copied from the device when somebody asks."""
        return Metric.from_components(to_numpy(self.g))

    def _stop_if_broken(self, losses: Tensor) -> None:
        """End the training with the reason when the loss or G is no longer a number, or has exploded."""
        scale = torch.nan_to_num(losses[:1].abs(), nan=1.0, posinf=1.0).clamp(min=1.0)
        broken = ~(losses.abs() <= EXPLODED * scale)  # true for NaN as well
        if bool(torch.isfinite(self.g).all()) and not bool(broken.any()):
            return
        bad = torch.nonzero(broken).flatten().tolist()
        where = f"the loss became {float(losses[bad[0]]):g} in epoch {bad[0] + 1}" if bad else "G is no longer finite"
        raise FloatingPointError(
            f"ARML stopped: {where}. Scale the features to a common range, or lower the learning rate "
            f"(it was {self.learning_rate:g})"
        )
