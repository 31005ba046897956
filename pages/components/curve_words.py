"""What is said beside robust-error curves and mean radii, the same on every page."""

from __future__ import annotations

from collections.abc import Sequence

from arml_core.figures import RobustLine
from arml_core.figures.lines import CERTIFIED, EMPIRICAL

BOTH_CAPTION = (
    "Lower is safer. Solid is proved: no step of length ε makes more points wrong. Dashed was reached by an attack. "
    "The truth lies in the shaded part between."
)
EXACT_CAPTION = "Lower is safer. Every radius is known exactly here: one line for each metric, nothing undecided."
PROVED_CAPTION = "Lower is safer. Solid is proved: no step of length ε makes more points wrong."
REACHED_CAPTION = (
    "Lower is safer. Dashed was reached by an attack; a stronger one may reach more. Nothing is proved here."
)
MEAN_RULE = "A wrong answer counts as 0, a point nothing can flip with the largest radius of the others."
"""As :func:`arml_core.curves.mean_radius` has it."""
NOTHING_FOUND = "A point at which the attack found nothing is left out: that says nothing of its radius."
NO_SCRIPT = "The rows come from a private file, so they cannot be computed again from a script."


def curves_caption(lines: Sequence[RobustLine]) -> str:
    """What to look for, by what is drawn."""
    if all(line.exact for line in lines):
        return EXACT_CAPTION
    drawn = {kind for line in lines for kind, _, _ in line.sides()}
    if CERTIFIED not in drawn:
        return REACHED_CAPTION
    return BOTH_CAPTION if EMPIRICAL in drawn else PROVED_CAPTION
