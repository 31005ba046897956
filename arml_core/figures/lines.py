"""One classifier on a chart of robust errors: its radii, where they come from, its colour and marker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..curves import robust_error_curve
from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.directed_rounding import round_up_to
from .palette import LIGHT, Style

CERTIFIED, EMPIRICAL = "certified", "empirical"
AXIS_ENDS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)  # times a power of ten
MOST_STEPS = 1200  # of a drawn staircase: one per pixel; as many points are drawn one by one
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "star", "pentagon", "hexagon")
_LIGHT = ("#1B1F24", "#D55E00", "#009E73", "#B0558A", "#7A7500", "#0072B2", "#A87400", "#2A86B8")
_DARK = ("#F2F4F7", "#FF8F45", "#2CC298", "#CC79A7", "#F0E442", "#56B4E9", "#E69F00", "#9DB7FF")
MOST_LINES = len(SYMBOLS)


@dataclass(frozen=True, eq=False)
class RobustLine:
    """One classifier on a chart of robust-error curves.

    `certified` and `empirical` are radii of the same points: lower bounds, and upper bounds from an attack; one of
    them may be missing. `exact` says that both are the same number for every point: one line is drawn. `certificate`
    and `attack` say in words where they come from (an attack's name, steps and seed). `place` chooses colour and
    marker. `wrong` tells which points are answered wrongly. The paper's values are errors at `paper_radii`.
    """

    label: str
    certified: FloatArray | None = None
    empirical: FloatArray | None = None
    exact: bool = False
    certificate: str = ""
    attack: str = ""
    place: int = 0
    partial: bool = False
    wrong: BoolArray | None = None
    paper_radii: FloatArray | None = None
    paper_certified: FloatArray | None = None
    paper_empirical: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.certified is None and self.empirical is None:
            raise ValueError(f"{self.label} has neither certified nor empirical radii; it needs one of them")
        if self.certified is not None and self.empirical is not None and len(self.certified) != len(self.empirical):
            raise ValueError(
                f"{self.label} has {len(self.certified)} certified and {len(self.empirical)} empirical radii; "
                "they must belong to the same points"
            )

    @property
    def n_points(self) -> int:
        radii = self.certified if self.certified is not None else self.empirical
        assert radii is not None
        return len(radii)

    @property
    def name(self) -> str:
        return f"{self.label} (partial)" if self.partial else self.label

    def sides(self) -> Iterable[tuple[str, FloatArray, str]]:
        """What is drawn: kind, radii and where they come from; an exact line once."""
        if self.certified is not None:
            yield CERTIFIED, self.certified, self.certificate
        if self.empirical is not None and not (self.exact and self.certified is not None):
            yield EMPIRICAL, self.empirical, self.attack

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper radii for verdicts: nothing proved is 0, nothing found is ∞ unless the answer is wrong."""
        lower = np.zeros(self.n_points) if self.certified is None else self.certified
        if self.empirical is not None:
            return lower, self.empirical
        if self.exact:
            return lower, lower
        return lower, np.full(self.n_points, np.inf) if self.wrong is None else np.where(self.wrong, 0.0, np.inf)


def largest_radius(lines: Sequence[RobustLine]) -> float:
    """Where the horizontal axis ends: at the paper's last radius, or where 98 % of the certified points have fallen."""
    last = [float(line.paper_radii[-1]) for line in lines if line.paper_radii is not None]
    if last:
        return max(last)
    reaches = []
    for line in lines:
        radii = line.certified if line.certified is not None else line.empirical
        assert radii is not None
        finite = radii[np.isfinite(radii) & (radii > 0)]
        if finite.size:
            reaches.append(float(np.quantile(finite, 0.98)))
    return round_up_to(max(reaches), AXIS_ENDS) if reaches else 1.0


def corners(radii: FloatArray, upto: float) -> tuple[FloatArray, FloatArray]:
    """The curve's corners up to a radius, that radius included."""
    curve = robust_error_curve(radii)
    shown = curve.radius <= upto
    radius, error = curve.radius[shown], curve.error[shown]
    if radius[-1] < upto:
        radius, error = np.append(radius, upto), np.append(error, error[-1])
    return radius, error


def staircase(radii: FloatArray, upto: float, kind: str, most: int = MOST_STEPS) -> tuple[FloatArray, FloatArray]:
    """The corners as they are drawn: of very many, one in each narrow column, on the side where nothing is overstated.

    A certified error rises to the column's last value at its first radius, an empirical one at its last.
    """
    radius, error = corners(radii, upto)
    if len(radius) <= most:
        return radius, error
    column = np.floor(radius / upto * (most - 2)).astype(np.int64)
    column[0] = -1  # the error at 0 is as it is
    last = np.append(column[1:] != column[:-1], True)
    first = np.append(True, last[:-1])
    return radius[first if kind == CERTIFIED else last], error[last]


def colour_of(style: Style, place: int) -> str:
    """The colour of a line: Okabe–Ito, some darkened on white."""
    return (_LIGHT if style is LIGHT else _DARK)[place % MOST_LINES]


def symbol_of(place: int) -> str:
    """The marker of a line; the ninth line gets the first colour with another marker."""
    return SYMBOLS[(place + place // MOST_LINES) % MOST_LINES]


def mark_radii(lines: Sequence[RobustLine], upto: float) -> FloatArray:
    """Where markers sit on the curves: the paper's radii, or six even steps."""
    for line in lines:
        if line.paper_radii is not None:
            return line.paper_radii[line.paper_radii <= upto]
    return np.linspace(0.0, upto, 6)
