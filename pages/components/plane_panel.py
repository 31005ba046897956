"""One picture of the plane: points, a metric's regions, and the certificate of a chosen point.

What it takes is remembered by content, so that a change of the view costs little.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arml_core as arml
from arml_core.certificates import METHODS as CERTIFICATES
from arml_core.curves import mean_radius
from arml_core.figures import (
    SHAPE_WORDS,
    Plane,
    Probe,
    hand_made_components,
    make_plane,
    make_probe,
    plane_table,
    window_for,
)
from arml_core.learners.registry import LEARNERS, get_learner

from .content_cache import cached_by_content
from .csv_out import csv_button

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Point = tuple[float, float, int]
SEED = 0
TITLES = {**{name: entry.title for name, entry in LEARNERS.items()}, "hand": "Hand-made"}
LAYERS = ("ellipse", "neighbours")
EPOCHS, EPOCH_STEP = 1000, 10
MOST_CLASSES = 4
SEARCH_SECONDS = 0.06  # per point; whatever is still open then is shown as an interval


@dataclass(frozen=True)
class PlaneView:
    """The points, the metrics that are drawn, and the point that is certified.

    `row` is a chosen training row, `at` a chosen place; one of them at most.
    """

    data: str = "seven_points"
    n: int = 40
    noise: float | None = None
    seed: int = 0
    points: tuple[Point, ...] | None = None
    methods: tuple[str, ...] = ("euclidean", "nca", "arml")
    k: int = 1
    norm: str = "l2"
    row: int | None = None
    at: tuple[float, float] | None = None
    hand: tuple[float, float, float] = (2.0, 1.0, 30.0)
    epoch: int = EPOCHS
    layers: tuple[str, ...] = LAYERS


SEVEN_POINTS = PlaneView(row=1)  # where the three metrics differ most: 0.71, 0.11 and 1.11


@dataclass(frozen=True, eq=False)
class Points:
    """A training set in the plane."""

    X: Floats
    y: Codes
    class_names: tuple[str, ...]


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
    norm: str

    @property
    def mean_radius(self) -> float:
        return _mean(self.components, self.points.X, self.points.y, self.n_neighbors, self.norm)


@cached_by_content(64)
def _preset(name: str, n: int, noise: float | None, seed: int) -> tuple[Floats, Codes, tuple[str, ...]]:
    """A toy's training part."""
    options = {} if name == "seven_points" else {"n": n, "noise": noise, "seed": seed}
    toy = arml.load_dataset(name, **options)
    return toy.X_train, toy.y_train, toy.class_names


def points_of(view: PlaneView) -> Points:
    """The points of a view: edited ones if there are any, else the preset's."""
    x, y, names = _preset(view.data, view.n, view.noise, view.seed)
    if view.points is not None:
        x = np.array([(a, b) for a, b, _ in view.points])
        y = np.array([c for _, _, c in view.points], dtype=np.int64)
    spare = SHAPE_WORDS if view.data == "seven_points" else [f"class {c + 1}" for c in range(MOST_CLASSES)]
    every = (*names, *spare[len(names) :])
    return Points(x, y, tuple(every[: int(y.max()) + 1]))


def chosen_place(view: PlaneView, points: Points) -> tuple[float, float]:
    """Where the point is that is certified; a view has a row or a place when it is drawn."""
    if view.row is not None:
        return float(points.X[view.row, 0]), float(points.X[view.row, 1])
    assert view.at is not None
    return view.at


@cached_by_content(256)
def _learned_components(method: str, X: Floats, y: Codes) -> Floats:
    """G of a learner fitted with its defaults."""
    learner = get_learner(method).build(random_state=SEED, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # doubtful data is made on purpose here, and nobody reads the log
        components: Floats = learner.fit(X, y).components_
        return components


@cached_by_content(64)
def arml_training(X: Floats, y: Codes) -> RecordedTraining:
    """ARML's whole training, from the Euclidean metric at epoch 0."""
    kept = [np.eye(2)]

    def record(done: int, total: int, info: Mapping[str, Any]) -> None:
        if done % EPOCH_STEP == 0:
            kept.append(info["metric"]().components)

    learner = get_learner("arml").build({"n_epochs": EPOCHS}, random_state=SEED, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(X, y, callback=record)
    return RecordedTraining(np.array(kept), learner.history_["loss"], learner.history_["radius"])


def _components(method: str, view: PlaneView, points: Points) -> Floats:
    """G of a panel's method."""
    if method == "hand":
        return hand_made_components(*view.hand)
    if method == "arml":
        recorded: Floats = arml_training(points.X, points.y).components[view.epoch // EPOCH_STEP]
        return recorded
    return _learned_components(method, points.X, points.y)


def best_method(n_neighbors: int, norm: str) -> str:
    """The certificate with the tightest answer for this K and norm."""
    is_exact = n_neighbors == 1 and arml.ThreatModel(norm).norm in CERTIFICATES["exact"].norms
    return "exact" if is_exact else "search"


@cached_by_content(512)
def _plane(g: Floats, X: Floats, y: Codes, names: tuple[str, ...], k: int, left_out: int | None) -> Plane:
    return make_plane(X, y, names, arml.Metric.from_components(g), k, window_for(X), left_out)


@cached_by_content(512)
def _mean(g: Floats, X: Floats, y: Codes, k: int, norm: str) -> float:
    """The mean certified radius over the training points, each left out in turn.

    Exact where that is quick for all points at once, else the `votes` lower bound.
    """
    method = "exact" if best_method(k, norm) == "exact" else "votes"
    knn = _classifier(g, X, y, k)
    return mean_radius(knn.certify(X, y, method=method, threat=arml.ThreatModel(norm), exclude=np.arange(len(X))).lower)


@cached_by_content(2048)
def _probe(
    g: Floats, X: Floats, y: Codes, k: int, norm: str, place: tuple[float, float], row: int | None, seconds: float
) -> Probe:
    """Certify one place, or training row `row` with its own label and without itself (leave-one-out)."""
    knn, x = _classifier(g, X, y, k), np.array([place], dtype=np.float64)
    label, exclude = (None, None) if row is None else (int(y[row]), [row])
    method = best_method(k, norm)
    labels = None if label is None else [label]
    found = knn.certify(x, labels, method=method, threat=arml.ThreatModel(norm), exclude=exclude, budget=seconds)
    squared, neighbours = knn.kneighbors(x, exclude=exclude)
    return make_probe(found, x[0], int(found.predicted[0]), neighbours[0], squared[0], row, label)


def _classifier(g: Floats, X: Floats, y: Codes, k: int) -> arml.MahalanobisKNN:
    return arml.MahalanobisKNN(k, metric=arml.Metric.from_components(g), device="cpu").fit(X, y)


def panel_of(method: str, view: PlaneView, points: Points, seconds: float = SEARCH_SECONDS) -> Panel:
    """Everything one picture shows; `seconds` bound the search for the chosen point's radius."""
    g = _components(method, view, points)
    plane = _plane(g, points.X, points.y, points.class_names, view.k, view.row)
    probe = _probe(g, points.X, points.y, view.k, view.norm, chosen_place(view, points), view.row, seconds)
    return Panel(TITLES[method], g, plane, probe, points, view.k, view.norm)


def panel_csv_button(panel: Panel, key: str) -> None:
    """A button for the numbers of one picture."""
    csv_button(
        panel.title,
        lambda: plane_table(panel.plane, panel.probe),
        file_name=f"playground-{panel.title.lower()}.csv",
        key=key,
    )
