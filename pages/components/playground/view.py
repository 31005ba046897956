"""What the playground shows, as one value that travels in the address: a link reproduces the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from arml_core.vocabulary import NORMS

from ..address import number, one_of, read_changes, real, several_of, whole, write_choices
from ..plane_models import EPOCH_STEP, EPOCHS, ROBUST
from ..plane_panel import AUTO, END, LAYERS, MOST_CLASSES, SEVEN_POINTS, PlaneView, Point

PRESETS = ("seven_points", "moons", "circles", "blobs", "xor", "stretched", "imbalanced")
METHODS = ("euclidean", "nca", "lmnn", "itml", "lfda", "arml", ROBUST, "hand")
HIDEABLE = (
    "lesson",
    "data",
    "points",
    "methods",
    "k",
    "norm",
    "layers",
    "hand",
    "prototypes",
    "epoch",
    "tools",
    "python",
    "data-out",
)
FEWEST_PANELS, MOST_PANELS = 2, 4
MOST_POINTS, MOST_NEIGHBOURS = 200, 15
MOST_PROTOTYPES = 20
MOST_EPOCHS = 100_000
DECIMALS = 3
FARTHEST, SMALLEST_TARGET = 1000.0, 0.001


@dataclass(frozen=True)
class PlaygroundView(PlaneView):
    """Everything that decides the page: the pictures, the lesson they belong to, and what is hidden."""

    lesson: str = ""
    step: int = 1
    hide: tuple[str, ...] = ()


DEFAULT = PlaygroundView(row=SEVEN_POINTS.row)


def to_query(view: PlaygroundView, base: PlaygroundView = DEFAULT) -> dict[str, str]:
    """The address parameters that turn `base` into `view`."""
    query = write_choices(view, base, _WRITE)
    if view.lesson:  # it names the base view itself
        query |= {"lesson": view.lesson, "step": str(view.step)}
    return query


def from_query(query: Mapping[str, str], base: PlaygroundView = DEFAULT) -> tuple[PlaygroundView, list[str]]:
    """The view of an address, and a sentence for each parameter that made no sense and was left at its default."""
    changes, notices = read_changes(query, _READ)
    view = replace(base, **changes)
    if "at" in changes and "row" not in changes:
        view = replace(view, row=None)
    elif view.row is not None:
        view = replace(view, at=None)
    return view, notices


def write_points(points: tuple[Point, ...]) -> str:
    """Points as "x1_x2_class" joined by "~": characters an address keeps as they are."""
    return "~".join(f"{_plain(x)}_{_plain(y)}_{c}" for x, y, c in points)


def rounded(value: float) -> float:
    """A coordinate as the address keeps it, so that a copied link draws exactly the same picture."""
    return round(float(value), DECIMALS) + 0.0


def _plain(value: float) -> str:
    return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".") or "0"


def _read_points(text: str) -> tuple[Point, ...]:
    points = []
    for part in text.split("~"):
        pieces = part.split("_")
        if len(pieces) != 3 or pieces[2] not in tuple(str(c) for c in range(MOST_CLASSES)):
            raise ValueError("each point takes the form x1_x2_class, joined by ~")
        x, y = (rounded(number(piece, -FARTHEST, FARTHEST)) for piece in pieces[:2])
        points.append((x, y, int(pieces[2])))
    if not 3 <= len(points) <= MOST_POINTS or len({c for _, _, c in points}) < 2:
        raise ValueError(f"it takes 3 to {MOST_POINTS} points of at least two classes")
    return tuple(points)


def _read_place(text: str) -> tuple[float, float]:
    pieces = text.split("_")
    if len(pieces) != 2:
        raise ValueError("it takes two numbers such as 0.5_1.2")
    x, y = (rounded(number(piece, -FARTHEST, FARTHEST)) for piece in pieces)
    return x, y


def _read_hand(text: str) -> tuple[float, float, float]:
    pieces = text.split("_")
    if len(pieces) != 3:
        raise ValueError("it takes two scales and an angle such as 2_1_30")
    return number(pieces[0], 0.1, 5.0), number(pieces[1], 0.1, 5.0), number(pieces[2], -90.0, 90.0)


def _read_epoch(text: str) -> int:
    return whole(0, EPOCHS)(text) // EPOCH_STEP * EPOCH_STEP


def _word_or(word: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader of a word that stands for a rule, and of what `read` reads."""
    return lambda text: word if text == word else read(text)


_WRITE: dict[str, Callable[[Any], str]] = {
    "points": write_points,
    "at": lambda place: "_".join(map(_plain, place)),
    "hand": lambda hand: "_".join(map(_plain, hand)),
    "noise": _plain,
    "target": lambda target: target if isinstance(target, str) else _plain(target),
}
_READ: dict[str, Callable[[str], Any]] = {
    "data": one_of(PRESETS),
    "n": whole(6, MOST_POINTS),
    "noise": real(0.0, 1.0),
    "seed": whole(0, 9999),
    "points": _read_points,
    "methods": several_of(METHODS, FEWEST_PANELS, MOST_PANELS),
    "k": whole(1, MOST_NEIGHBOURS),
    "norm": one_of(tuple(NORMS)),
    "row": whole(0, MOST_POINTS - 1),
    "at": _read_place,
    "hand": _read_hand,
    "epoch": _read_epoch,
    "prototypes": _word_or(AUTO, whole(1, MOST_PROTOTYPES)),
    "target": _word_or(AUTO, lambda text: rounded(number(text, SMALLEST_TARGET, FARTHEST))),
    "prototype_epoch": _word_or(END, whole(0, MOST_EPOCHS)),
    "layers": several_of(LAYERS),
    "lesson": str,
    "step": whole(1, 5),
    "hide": several_of(HIDEABLE),
}
