"""A difference as people read it: a sign, a shape and a colour, each of which says the same."""

from __future__ import annotations

import math

from arml_core.reproduce import published
from arml_core.reproduce.attack_differences import difference_reason
from arml_core.reproduce.tables import PAPER_COLUMN, Tables

LEGEND = (
    ":orange[▲ +] our error is larger than the paper's, :blue[▼ −] smaller, :gray[=] the same to three digits. "
    "✓ as close as it has to be, ✗ not; where nothing stands, our own learner decides and nothing is demanded."
)
MISSING = "–"
WHY = {"steps": ", fewer steps", "points": ", fewer points"}
NARROW = "\u00a0"
"""A space that keeps a shape and its number on one line."""


def signed_difference(difference: float, digits: int = 3) -> str:
    """+0.012, −0.012 or 0.000."""
    text = f"{abs(difference):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if difference > 0 else '−'}{text}"


def marked_difference(difference: float, digits: int = 3) -> str:
    """The difference with its shape, in its colour (Markdown); empty if there is none."""
    if math.isnan(difference):
        return ""
    text = signed_difference(difference, digits)
    if text[0] == "+":
        return f":orange[▲{NARROW}{text}]"
    return f":blue[▼{NARROW}{text}]" if text[0] == "−" else ":gray[=]"


def with_difference(value: float, difference: float | None) -> str:
    """A number of ours and how far it is from the paper's, which has three digits: both as they are printed."""
    if math.isnan(value):
        return MISSING
    text = f"{value:.3f}"
    mark = "" if difference is None else marked_difference(float(text) - (value - difference))
    return f"{text} {mark}".rstrip()


def verdict(tables: Tables, dataset: str, learner: str, column: str) -> str:
    """Whether a series of ours is as close as it has to be, and how close that is; empty if nothing is demanded."""
    within = tables.within(dataset, learner, column)
    if within is None:
        return ""
    allowed = published.tolerance(dataset, learner, PAPER_COLUMN[column])
    assert allowed is not None
    first = "" if math.isfinite(allowed[0]) else " above ε = 0"
    why = WHY.get(difference_reason(tables, dataset, learner, column) or "", "") if not within else ""
    return f"{'✓' if within else '✗'} ±{allowed[-1]:g}{first}{why}"
