"""What the playground asks of the engine, remembered by content so that a change of view costs little."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import arml_core as arml
from arml_core.figures import SHAPE_WORDS, Plane, Probe, Window, hand_made_components, make_plane, window_for
from arml_core.learners.registry import LEARNERS, get_learner
from arml_core.vocabulary import NORMS

from ..content_cache import cached_by_content
from .certificates import SEARCH_SECONDS, mean_of_all, probe_point
from .view import EPOCH_STEP, EPOCHS, MOST_CLASSES, PlaygroundView

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
SEED = 0
TITLES = {**{name: entry.title for name, entry in LEARNERS.items()}, "hand": "Hand-made"}


@dataclass(frozen=True, eq=False)
class Points:
    """The training set of the playground."""

    X: Floats
    y: Codes
    class_names: tuple[str, ...]

    @property
    def window(self) -> Window:
        return window_for(self.X)


@dataclass(frozen=True, eq=False)
class RecordedTraining:
    """ARML's training, kept every EPOCH_STEP epochs: G after each, and the two curves."""

    components: Floats
    loss: Floats
    radius: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """One method on the points: its regions, the certificate of the chosen point, and the mean over all points.

    The mean is computed when it is asked for: a page draws the pictures first.
    """

    title: str
    components: Floats
    plane: Plane
    probe: Probe
    points: Points
    n_neighbors: int

    @property
    def mean_radius(self) -> float:
        return _mean(self.components, self.points.X, self.points.y, self.n_neighbors, self.probe.norm)


@cached_by_content(64)
def preset_points(name: str, n: int, noise: float | None, seed: int) -> tuple[Floats, Codes, tuple[str, ...]]:
    """A toy's training part."""
    options = {} if name == "seven_points" else {"n": n, "noise": noise, "seed": seed}
    toy = arml.load_dataset(name, **options)
    return toy.X_train, toy.y_train, toy.class_names


def points_of(view: PlaygroundView) -> Points:
    """The points of a view: edited ones if there are any, else the preset's."""
    x, y, names = preset_points(view.data, view.n, view.noise, view.seed)
    if view.points is not None:
        x = np.array([(a, b) for a, b, _ in view.points])
        y = np.array([c for _, _, c in view.points], dtype=np.int64)
    spare = SHAPE_WORDS if view.data == "seven_points" else [f"class {c + 1}" for c in range(MOST_CLASSES)]
    every = (*names, *spare[len(names) :])
    return Points(x, y, tuple(every[: int(y.max()) + 1]))


@cached_by_content(256)
def learned_components(method: str, X: Floats, y: Codes) -> Floats:
    """G of a learner fitted with its defaults."""
    learner = get_learner(method).build(random_state=SEED, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a playground is where people make doubtful data on purpose
        return learner.fit(X, y).components_


@cached_by_content(64)
def arml_training(X: Floats, y: Codes) -> RecordedTraining:
    """ARML's whole training, from the Euclidean metric at epoch 0."""
    kept = [np.eye(2)]

    def keep(done: int, total: int, info: dict[str, object]) -> None:
        if done % EPOCH_STEP == 0:
            kept.append(info["metric"]().components)  # type: ignore[operator]

    learner = get_learner("arml").build({"n_epochs": EPOCHS}, random_state=SEED, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(X, y, callback=keep)
    return RecordedTraining(np.array(kept), learner.history_["loss"], learner.history_["radius"])


def components_of(method: str, view: PlaygroundView, points: Points) -> Floats:
    """G of a panel's method."""
    if method == "hand":
        return hand_made_components(*view.hand)
    if method == "arml":
        return arml_training(points.X, points.y).components[view.epoch // EPOCH_STEP]
    return learned_components(method, points.X, points.y)


@cached_by_content(512)
def _plane(g: Floats, X: Floats, y: Codes, names: tuple[str, ...], k: int, left_out: int | None) -> Plane:
    return make_plane(X, y, names, arml.Metric.from_components(g), k, window_for(X), left_out)


@cached_by_content(512)
def _mean(g: Floats, X: Floats, y: Codes, k: int, norm: float) -> float:
    return mean_of_all(_classifier(g, X, y, k), X, y, norm)


@cached_by_content(2048)
def _probe(
    g: Floats, X: Floats, y: Codes, k: int, norm: float, place: tuple[float, float], row: int | None, seconds: float
) -> Probe:
    label = None if row is None else int(y[row])
    return probe_point(_classifier(g, X, y, k), place, norm, row, label, seconds)


def _classifier(g: Floats, X: Floats, y: Codes, k: int) -> arml.MahalanobisKNN:
    return arml.MahalanobisKNN(k, metric=arml.Metric.from_components(g), device="cpu").fit(X, y)


def panel_of(method: str, view: PlaygroundView, points: Points, seconds: float = SEARCH_SECONDS) -> Panel:
    """Everything one picture shows; `seconds` bound the search for the chosen point's radius."""
    g = components_of(method, view, points)
    norm = NORMS[view.norm].p
    place = view.at if view.row is None else (float(points.X[view.row, 0]), float(points.X[view.row, 1]))
    assert place is not None
    plane = _plane(g, points.X, points.y, points.class_names, view.k, view.row)
    probe = _probe(g, points.X, points.y, view.k, norm, place, view.row, seconds)
    return Panel(TITLES[method], g, plane, probe, points, view.k)
