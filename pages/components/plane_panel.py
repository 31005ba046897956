"""One picture of the plane: points, a metric's regions, and the certificate of a chosen point.

What it takes is remembered by content, so that a change of the view costs little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

from .content_cache import cached_by_content
from .csv_out import csv_button
from .plane_models import (
    EPOCHS,
    ROBUST,
    TITLES,
    Codes,
    Floats,
    PlaneModel,
    RecordedTraining,
    arml_training,
    learned_components,
    prototype_training,
)

Point = tuple[float, float, int]
LAYERS = ("ellipse", "neighbours")
PLAYED = {"arml": "epoch", ROBUST: "prototype_epoch"}
"""Methods whose training can be played, with the field of the view that says which epoch is shown."""
AUTO, END = "auto", "end"
MOST_CLASSES = 4
SEARCH_SECONDS = 0.06  # per point; whatever is still open then is shown as an interval


@dataclass(frozen=True)
class PlaneView:
    """The points, the metrics that are drawn, and the point that is certified.

    `row` is a chosen training row, `at` a chosen place; one of them at most. `prototypes` is their number in each class
    and `target` the radius they are learned for.
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
    prototypes: int | str = AUTO
    target: float | str = AUTO
    prototype_epoch: int | str = END
    layers: tuple[str, ...] = LAYERS


SEVEN_POINTS = PlaneView(row=1)  # where the three metrics differ most: 0.71, 0.11 and 1.11


@dataclass(frozen=True, eq=False)
class Points:
    """A training set in the plane."""

    X: Floats
    y: Codes
    class_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Panel:
    """One method on the points: its regions, the certificate of the chosen point, and the mean over all points.

    The mean is computed when it is asked for: a page draws the pictures first.
    """

    title: str
    model: PlaneModel
    plane: Plane
    probe: Probe
    points: Points
    n_neighbors: int
    norm: str

    @property
    def components(self) -> Floats:
        return self.model.components

    @property
    def mean_radius(self) -> float:
        return self._everyone[0]

    @property
    def wrong(self) -> int:
        """How many training points are answered wrongly, each left out as for the mean."""
        return self._everyone[1]

    @property
    def _everyone(self) -> tuple[float, int]:
        return _mean_and_wrong(*_parts(self.model), self.points.X, self.points.y, self.n_neighbors, self.norm)


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


def recorded_training(method: str, view: PlaneView, points: Points) -> RecordedTraining:
    """The training of a method that can be played."""
    if method == ROBUST:
        return prototype_training(points.X, points.y, view.prototypes, view.target)
    return arml_training(points.X, points.y)


def _model(method: str, view: PlaneView, points: Points) -> PlaneModel:
    """What a panel's method compares with."""
    if method in PLAYED:
        return recorded_training(method, view, points).at(getattr(view, PLAYED[method]))
    hand = method == "hand"
    return PlaneModel(hand_made_components(*view.hand) if hand else learned_components(method, points.X, points.y))


def best_method(n_neighbors: int, norm: str) -> str:
    """The certificate with the tightest answer for this K and norm."""
    is_exact = n_neighbors == 1 and arml.ThreatModel(norm).norm in CERTIFICATES["exact"].norms
    return "exact" if is_exact else "search"


def _parts(model: PlaneModel) -> tuple[Floats, Floats | None, Codes | None]:
    """G, and places and codes of the prototypes: what is remembered by content takes arrays."""
    return model.components, *(model.prototypes or (None, None))


@cached_by_content(512)
def _plane(
    g: Floats,
    places: Floats | None,
    codes: Codes | None,
    X: Floats,
    y: Codes,
    names: tuple[str, ...],
    k: int,
    left_out: int | None,
) -> Plane:
    prototypes = None if places is None or codes is None else (places, codes)
    return make_plane(X, y, names, arml.Metric.from_components(g), k, window_for(X), left_out, prototypes)


@cached_by_content(512)
def _mean_and_wrong(
    g: Floats, places: Floats | None, codes: Codes | None, X: Floats, y: Codes, k: int, norm: str
) -> tuple[float, int]:
    """The mean certified radius over the training points, each left out in turn unless prototypes answer.

    And how many of them are answered wrongly.

    Exact where that is quick for all points at once, else the `votes` lower bound.
    """
    method = "exact" if best_method(k, norm) == "exact" else "votes"
    knn = _classifier(g, places, codes, X, y, k)
    exclude = np.arange(len(X)) if places is None else None
    found = knn.certify(X, y, method=method, threat=arml.ThreatModel(norm), exclude=exclude)
    return mean_radius(found.lower), int((~found.correct).sum())


@cached_by_content(2048)
def _probe(
    g: Floats,
    places: Floats | None,
    codes: Codes | None,
    X: Floats,
    y: Codes,
    k: int,
    norm: str,
    place: tuple[float, float],
    row: int | None,
    seconds: float,
) -> Probe:
    """Certify one place, or training row `row` with its own label, without itself unless prototypes answer."""
    knn, x = _classifier(g, places, codes, X, y, k), np.array([place], dtype=np.float64)
    label = None if row is None else int(y[row])
    exclude = None if row is None or places is not None else [row]
    method = best_method(k, norm)
    labels = None if label is None else [label]
    found = knn.certify(x, labels, method=method, threat=arml.ThreatModel(norm), exclude=exclude, budget=seconds)
    squared, neighbours = knn.kneighbors(x, exclude=exclude)
    return make_probe(found, x[0], int(found.predicted[0]), neighbours[0], squared[0], row, label)


def _classifier(
    g: Floats, places: Floats | None, codes: Codes | None, X: Floats, y: Codes, k: int
) -> arml.MahalanobisKNN:
    references = None if places is None else (places, codes)
    metric = arml.Metric.from_components(g)
    return arml.MahalanobisKNN(k, metric=metric, device="cpu", references=references).fit(X, y)


def voters_of(method: str, view: PlaneView) -> int:
    """K of a panel: prototypes are learned for one neighbour, and answer with one."""
    return 1 if method == ROBUST else view.k


def panel_of(method: str, view: PlaneView, points: Points, seconds: float = SEARCH_SECONDS) -> Panel:
    """Everything one picture shows; `seconds` bound the search for the chosen point's radius."""
    model = _model(method, view, points)
    parts, k = _parts(model), voters_of(method, view)
    left_out = view.row if model.prototypes is None else None
    plane = _plane(*parts, points.X, points.y, points.class_names, k, left_out)
    probe = _probe(*parts, points.X, points.y, k, view.norm, chosen_place(view, points), view.row, seconds)
    return Panel(TITLES[method], model, plane, probe, points, k, view.norm)


def panel_csv_button(panel: Panel, key: str) -> None:
    """A button for the numbers of one picture."""
    csv_button(
        panel.title,
        lambda: plane_table(panel.plane, panel.probe),
        file_name=f"playground-{panel.title.lower().replace(' ', '-')}.csv",
        key=key,
    )
