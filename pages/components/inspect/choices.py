"""What the Inspect page shows, as one value that travels in the address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from arml_core.vocabulary import NORMS

from ..address import Choices, flag, one_of, several_of, whole

SHOWS = {"point": "One point", "metric": "The metric", "references": "The prototypes"}
Part = Literal["test", "train"]
PARTS = {"test": "Test row", "train": "Training row"}
WANTS = {"any": "any row", "right": "answered right", "wrong": "answered wrong"}
SECONDS = (0.5, 4.0, 30.0)
MOST_NEIGHBOURS = 99
HIDEABLE = ("data", "metric", "show", "k", "norm", "own", "row", "neighbours", "trail", "training", "csv", "python")
MOST_CLASSES = 10_000
_KEY = re.compile(r"[a-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class InspectView:
    """Everything that decides the page.

    `data` is a dataset's name or the start of an upload's fingerprint; `metric` is "euclidean", the name of a metric
    that ships for this dataset, or the start of a run's id, which may have learned references, too. `of` is the class
    whose references are shown and `ref` the one that is looked at. `own` certifies the classifier's own answer instead
    of the true class, `seconds` is what the search may take.
    """

    data: str = "digits"
    metric: str = "euclidean"
    show: str = "point"
    part: Part = "test"
    row: int = 0
    k: int = 5
    norm: str = "l2"
    own: bool = False
    want: str = "any"
    of: int = 0
    ref: int | None = None
    seconds: float = SECONDS[0]
    hide: tuple[str, ...] = ()


def key(text: str) -> str:
    """A reader of dataset and metric keys."""
    if not _KEY.fullmatch(text):
        raise ValueError("it takes a name or the start of an id")
    return text


def seconds(text: str) -> float:
    """A reader of the search's time."""
    known = {f"{value:g}": value for value in SECONDS}
    if text not in known:
        raise ValueError(f"it takes one of {', '.join(known)}")
    return known[text]


CHOICES = Choices(
    "inspect",
    InspectView(),
    {
        "data": key,
        "metric": key,
        "show": one_of(tuple(SHOWS)),
        "part": one_of(tuple(PARTS)),
        "row": whole(0, 9_999_999),
        "k": whole(1, MOST_NEIGHBOURS),
        "norm": one_of(tuple(NORMS)),
        "own": flag,
        "want": one_of(tuple(WANTS)),
        "of": whole(0, MOST_CLASSES),
        "ref": whole(0, 9_999_999),
        "seconds": seconds,
        "hide": several_of(HIDEABLE),
    },
)
