"""A two-dimensional training set, its decision regions and one certificate: what a figure of them needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..metric import Metric
from ..numerics.arrays import FloatArray, IntArray
from ..radii import Radii
from .margin import decision_margin

ROOM = 0.22  # empty space on each side of the points, as a share of their larger spread
NARROWEST, WIDEST = 0.65, 2.5  # the shapes (width / height) of pictures for which enough is computed
GRID = (97, 75)
LabelledPlaces = tuple[FloatArray, IntArray]
"""Places in the plane and their class codes."""


@dataclass(frozen=True)
class Window:
    """A part of the plane: its centre and half its width and height.

    A picture shows it at equal scale on both axes, so one of them may show more, up to the part that `axes` covers.
    """

    centre: tuple[float, float]
    half: tuple[float, float]

    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """What every picture shows at least."""
        (x, y), (w, h) = self.centre, self.half
        return (x - w, x + w), (y - h, y + h)

    def axes(self, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """Evenly spaced x1 and x2 over all that a picture of any usual shape may show."""
        (x, y), (w, h) = self.centre, self.half
        wide, high = max(w, WIDEST * h), max(h, w / NARROWEST)
        return np.linspace(x - wide, x + wide, shape[0]), np.linspace(y - high, y + high, shape[1])


def window_for(points: FloatArray) -> Window:
    """The window that shows all points with some room."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * (float((high - low).max()) or 1.0)
    middle, half = (low + high) / 2, (high - low) / 2 + room
    return Window((float(middle[0]), float(middle[1])), (float(half[0]), float(half[1])))


@dataclass(frozen=True, eq=False)
class Plane:
    """The regions of a nearest-neighbour classifier in two dimensions.

    `margin` has the shape (n_classes, len(x2), len(x1)): positive where the class wins. `left_out` is the training
    row that was left out when the regions were computed, or None. `prototypes` are the places and class codes that
    were compared with instead of the training points, or None.
    """

    x1: FloatArray
    x2: FloatArray
    margin: FloatArray
    points: FloatArray
    codes: IntArray
    class_names: tuple[str, ...]
    metric: Metric
    window: Window
    left_out: int | None = None
    prototypes: LabelledPlaces | None = None

    @property
    def voters(self) -> LabelledPlaces:
        """What a place is compared with: a probe's neighbours are numbered as these are."""
        return (self.points, self.codes) if self.prototypes is None else self.prototypes


def make_plane(
    points: FloatArray,
    codes: IntArray,
    class_names: tuple[str, ...],
    metric: Metric,
    n_neighbors: int,
    window: Window | None = None,
    left_out: int | None = None,
    prototypes: LabelledPlaces | None = None,
    shape: tuple[int, int] = GRID,
) -> Plane:
    """Evaluate the decision margin on a grid, without row `left_out` if given.

    With `prototypes` these are compared with, and no row can be left out.
    """
    if prototypes is not None and left_out is not None:
        raise ValueError("prototypes were learned from all rows: none can be left out")
    window = window_for(points) if window is None else window
    x1, x2 = window.axes(shape)
    places = np.column_stack([a.ravel() for a in np.meshgrid(x1, x2)])
    voters, voter_codes = (points, codes) if prototypes is None else prototypes
    kept = np.ones(len(voters), dtype=bool)
    if left_out is not None:
        kept[left_out] = False
    flat = decision_margin(places, voters[kept], voter_codes[kept], metric, n_neighbors, len(class_names))
    margin = flat.T.reshape(len(class_names), len(x2), len(x1))
    return Plane(x1, x2, margin, points, codes, class_names, metric, window, left_out, prototypes)


@dataclass(frozen=True, eq=False)
class Probe:
    """One point and what was proved about it. `row` is its index if it is a training point.

    It is left out then, unless the plane has prototypes. `neighbours` are numbered as the plane's `voters`.
    """

    point: FloatArray
    answer: int
    lower: float
    upper: float
    exact: bool
    adversarial: FloatArray | None
    neighbours: tuple[int, ...]
    norm: float
    method: str
    reach: float  # √d to the K-th neighbour
    row: int | None = None
    label: int | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the true label is known and the answer is another one."""
        return self.label is not None and self.label != self.answer


def make_probe(
    certificates: Radii,
    point: FloatArray,
    answer: int,
    neighbours: IntArray,
    squared: FloatArray,
    row: int | None = None,
    label: int | None = None,
) -> Probe:
    """The first row of `certificates`, with its neighbours and their squared distances, as drawn and worded."""
    adversarial = np.asarray(certificates.adversarial[0], dtype=np.float64)
    upper = float(certificates.upper[0])
    shown = None if np.isnan(adversarial).any() or not 0 < upper < np.inf else adversarial
    return Probe(
        point=np.asarray(point, dtype=np.float64),
        answer=answer,
        lower=float(certificates.lower[0]),
        upper=upper,
        exact=bool(certificates.exact[0]),
        adversarial=shown,
        neighbours=tuple(int(i) for i in neighbours),
        norm=certificates.threat.norm,
        method=certificates.method,
        reach=float(np.sqrt(squared[-1])),
        row=row,
        label=label,
    )
