"""Figure 2: the certified robust error of ARML's 1-NN beside neural networks, on MNIST and Fashion-MNIST.

An ordinary ReLU network is certified with CROWN, networks trained under Gaussian noise by randomized smoothing. The
paper does not describe its networks; ours are small and fully connected. They are no metrics, so they are computed
here and not by the job store; what is finished is kept and not computed again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..datasets import Dataset, load_dataset
from ..neural import ReLUNetwork, Smoothed, crown_radius
from ..neural.smoothing import ALPHA, N0, N
from ..progress import Callback
from ..results import Evaluation, read_results
from ..rounding import BoolArray, FloatArray
from ..threat import ThreatModel
from .keep import add_result, described, file_of
from .plan import SEED
from .published import POINTS
from .run import Say

DATASETS = ("mnist", "fashion_mnist")
HIDDEN = (256, 256)
EPOCHS = 10
SIGMAS = (0.2, 1.0)
"""The paper's."""
SMOOTHING_POINTS = 500
"""Each takes thousands of evaluations of the network."""
LEARNER = "network"


@dataclass(frozen=True)
class Curve:
    """One curve of the figure that a network makes: `sigma` is None for CROWN."""

    sigma: float | None
    points: int
    samples: int = N

    @property
    def method(self) -> str:
        return "crown" if self.sigma is None else "smoothing"

    @property
    def options(self) -> dict[str, Any]:
        if self.sigma is None:
            return {}
        return {"sigma": self.sigma, "n0": N0, "n": self.samples, "alpha": ALPHA}

    @property
    def title(self) -> str:
        return "CROWN" if self.sigma is None else f"randomized smoothing, σ = {self.sigma:g}"


def curves(points: int | None, quick: bool) -> list[Curve]:
    few = 10 if quick else None
    samples = 200 if quick else N
    smoothed = [Curve(sigma, few or points or SMOOTHING_POINTS, samples) for sigma in SIGMAS]
    return [Curve(None, few or points or POINTS), *smoothed]


def compute(folder: Path, datasets: Iterable[str], wanted: Iterable[Curve], quick: bool, say: Say, show: Say) -> None:
    """Train and certify what is not in `folder` yet."""
    chosen = list(wanted)
    for name in [name for name in datasets if name in DATASETS]:
        data = load_dataset(name)
        for curve in chosen:
            if _is_kept(folder, name, curve):
                say(f"{data.title}, {curve.title}: kept already")
                continue
            evaluation = _evaluate(data, curve, 1 if quick else EPOCHS, show)
            add_result(folder, evaluation)
            say(
                f"{data.title}, {curve.title}: {len(evaluation)} points, "
                f"clean error {1 - evaluation.correct.mean():.3f}, mean radius {evaluation.lower.mean():.3f}"
            )


def _is_kept(folder: Path, dataset: str, curve: Curve) -> bool:
    path = file_of(folder, dataset, LEARNER)
    return path.exists() and any(
        (found.method, dict(found.options)) == (curve.method, curve.options) and len(found) >= curve.points
        for found in read_results(path)
    )


def _evaluate(data: Dataset, curve: Curve, epochs: int, show: Say) -> Evaluation:
    x, y = data.evaluation(curve.points)
    parameters = {"hidden": list(HIDDEN), "epochs": epochs, "noise": curve.sigma or 0.0}
    what = f"{data.title}, {curve.title}"
    started = time.monotonic()
    network = ReLUNetwork.train(
        data.X_train,
        data.y_train,
        hidden=HIDDEN,
        epochs=epochs,
        noise=curve.sigma or 0.0,
        seed=SEED,
        callback=_shown(show, f"{what}: epoch"),
    )
    trained = time.monotonic()
    if curve.sigma is None:
        lower, margin = crown_radius(network, x, y, _shown(show, f"{what}: point"))
        correct: BoolArray = margin > 0
    else:
        smoothed = Smoothed.of(network, curve.sigma, n=curve.samples)
        answers, radii = smoothed.certify(x, _shown(show, f"{what}: point"))
        correct = np.asarray(answers == y)
        lower = np.where(correct, radii, 0.0)
    made = {
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "train_seconds": round(trained - started, 3),
        "seconds": round(time.monotonic() - trained, 3),
    }
    evaluation = _evaluation(data, curve, parameters, lower, correct, made)
    short = [f"{len(x)} points instead of {POINTS:,}"] if len(x) < POINTS else []
    return described(evaluation, ["the paper does not describe its networks", *short])


def _evaluation(
    data: Dataset,
    curve: Curve,
    parameters: Mapping[str, Any],
    lower: FloatArray,
    correct: BoolArray,
    made: Mapping[str, Any],
) -> Evaluation:
    """A network in the form of every other result; it has no neighbours."""
    return Evaluation(
        dataset=data.name,
        dataset_title=data.title,
        fingerprint=data.fingerprint,
        learner=LEARNER,
        learner_title="ReLU network",
        parameters=parameters,
        seed=SEED,
        kind="certify",
        method=curve.method,
        n_neighbors=0,
        threat=ThreatModel(),
        options=curve.options,
        budget=None,
        attack_seed=0,
        points={"part": "evaluation", "n": len(lower), "digest": None, "labels": True},
        planned=len(lower),
        lower=lower,
        upper=np.where(correct, np.inf, 0.0),
        exact=~correct,
        correct=correct,
        made=made,
    )


def _shown(show: Say, what: str) -> Callback:
    return lambda done, total, info: show(f"{what} {done} of {total}")
