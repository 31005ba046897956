"""What the Compare page shows, as one value that travels in the address."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arml_core.attacks import METHODS as ATTACKS
from arml_core.comparison import BEST, CERTIFICATES, NONE
from arml_core.vocabulary import NORMS

from ..address import Choices, flag, one_of, real, several_of, whole
from ..bound_widgets import BoundWidgets
from .catalogue import LISTED

LIMITS = ("free", "box", "special")
VIEWS = {"curves": "Every radius", "front": "The price of robustness"}
HIDEABLE = (
    "view",
    "data",
    "methods",
    "runs",
    "k",
    "norm",
    "limits",
    "certificate",
    "attack",
    "band",
    "paper",
    "radius",
    "bars",
    "table",
    "export",
    "python",
    "front",
)
MOST_NAMES = LISTED  # all that the page can offer: whatever it writes into the address can be read again
_NAME = re.compile(r"[a-z0-9_.]{1,40}")


@dataclass(frozen=True)
class CompareView:
    """Everything that decides the charts; None is the page's own choice.

    `view` is "curves", or "front": every run by its clean and its robust error.
    `data` are datasets, `methods` the shipped runs, `runs` those of the job store (by the start of their id).
    """

    view: str = "curves"
    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    k: int | None = None
    norm: str | None = None
    limits: str | None = None
    certificate: str = BEST
    attack: str = BEST
    eps: float | None = None
    band: bool = False
    paper: bool = True
    hide: tuple[str, ...] = ()


def names(text: str) -> tuple[str, ...]:
    """A reader of names joined by "~"; "none" for no name."""
    if text == NONE:
        return ()
    found = tuple(dict.fromkeys(text.split("~")))
    if len(found) > MOST_NAMES or not all(_NAME.fullmatch(part) for part in found):
        raise ValueError(f"it takes up to {MOST_NAMES} names of letters, digits and _, joined by ~")
    return found


def write_names(chosen: tuple[str, ...]) -> str:
    return "~".join(chosen) or NONE


CHOICES = Choices(
    "compare",
    CompareView(),
    {
        "view": one_of(tuple(VIEWS)),
        "data": names,
        "methods": names,
        "runs": names,
        "k": whole(1, 999),
        "norm": one_of(tuple(NORMS)),
        "limits": one_of(LIMITS),
        "certificate": one_of((BEST, *CERTIFICATES)),
        "attack": one_of((BEST, *ATTACKS, NONE)),
        "eps": real(0.0, 1e6),
        "band": flag,
        "paper": flag,
        "hide": several_of(HIDEABLE),
    },
    {"data": write_names, "methods": write_names, "runs": write_names},
)
WIDGETS = BoundWidgets("cmp", CHOICES.update)
