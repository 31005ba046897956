"""What a picture shows, in words: captions, sentences beside it, and alternative text."""

from __future__ import annotations

import numpy as np

from ..numerics.directed_rounding import digits_down, digits_up, places_down, places_up
from ..threat import NORM_NAMES
from .decision_plane import Plane, Probe
from .palette import SHAPE_WORDS

BALL_WORDS = {1.0: "diamond", 2.0: "disc", np.inf: "square"}
SHARE_PLACES = 9  # of a share: more are rounding, with fewer than a thousand million points
SMALLEST_WRITTEN_OUT, LARGEST_WRITTEN_OUT = 1e-4, 1e9


def number(value: float) -> str:
    """Three significant digits, as students write them: 0.438, 1.20, 12.0; very small or large as 3.20e-05."""
    if not np.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    if not SMALLEST_WRITTEN_OUT <= abs(value) < LARGEST_WRITTEN_OUT:
        return f"{value:.2e}"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{digits}f}"


def radius_down(value: float) -> str:
    """A certified radius cut, not rounded, to three significant digits: what is shown is still proved."""
    return number(digits_down(value, 3))


def radius_up(value: float) -> str:
    """The length of a step that was found, rounded up: one so long is really enough."""
    return number(digits_up(value, 3))


def radius_near(value: float) -> str:
    """A radius that is known exactly, to the nearest number of three digits: never to be called safe or enough."""
    return number(float(f"{value:.2e}"))


def percent(share: float) -> str:
    """A share in whole percents; 0% and 100% are written for none and all only."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return ">99%"
    return "<1%" if text == "0%" and share > 0 else text


def share_down(share: float) -> str:
    """A share that is proved, with three digits: never more than it is, nor 1 where something is missing."""
    return f"{places_down(round(share, SHARE_PLACES), 3):.3f}"


def share_up(share: float) -> str:
    """The share of errors, with three digits: never less than it is, nor 0 where there are some."""
    return f"{places_up(round(share, SHARE_PLACES), 3):.3f}"


def radius_interval(found: Probe | float) -> str:
    """A radius in few characters: "0.527", "≥ 0.310" or "0.310 – 0.350"."""
    if not isinstance(found, Probe):
        return radius_down(found)
    if found.exact or found.is_wrong or found.lower == np.inf:
        return radius_near(found.lower)
    lower = radius_down(found.lower)
    return f"{lower} – {radius_up(found.upper)}" if np.isfinite(found.upper) else f"≥ {lower}"


def probe_words(plane: Plane, probe: Probe) -> str:
    """One or two sentences (Markdown) on what was proved about the point."""
    norm, ball = NORM_NAMES[probe.norm], BALL_WORDS[probe.norm]
    answer = plane.class_names[probe.answer]
    if probe.label is not None and probe.is_wrong:
        return (
            f"The answer here is **{answer}**, but the true class is **{plane.class_names[probe.label]}**: "
            "already wrong, so the radius is 0."
        )
    if probe.lower == np.inf:
        return f"The answer is **{answer}**, and no step of any length can change it."
    if probe.exact:
        return (
            f"The answer is **{answer}**. The smallest step that changes it has {norm} length "
            f"**{radius_near(probe.lower)}** (exact, to three digits): nothing inside the {ball} can."
        )
    proved = f"The answer is **{answer}**. No step of {norm} length below **{radius_down(probe.lower)}** changes it"
    if np.isfinite(probe.upper):
        return f"{proved}; one of length **{radius_up(probe.upper)}** does. Between the two it is open."
    return f"{proved} (a proven lower bound)."


def plane_alt(plane: Plane, probe: Probe | None, title: str) -> str:
    """Alternative text: what a reader who cannot see the chart needs to follow the page."""
    counts = [int((plane.codes == code).sum()) for code in range(len(plane.class_names))]
    kinds = ", ".join(
        f"{n} {name} ({SHAPE_WORDS[code]} markers)"
        for code, (n, name) in enumerate(zip(counts, plane.class_names, strict=True))
    )
    parts = [f"{title}: the plane coloured by the class that nearest neighbours answer, with {kinds}."]
    if probe is not None:
        x1, x2 = (number(float(v)) for v in probe.point)
        parts.append(f"The chosen point is at x1 = {x1}, x2 = {x2}. {probe_words(plane, probe).replace('**', '')}")
    return " ".join(parts)
