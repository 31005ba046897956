"""What a picture of the plane shows, in words: the sentences beside it and its alternative text."""

from __future__ import annotations

import numpy as np

from ..vocabulary import OPEN_BETWEEN, exact_words, norm_of, number, proved_words, radius_down, radius_near, radius_up
from .decision_plane import Plane, Probe
from .palette import SHAPE_WORDS


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
    norm = norm_of(probe.norm)
    answer = plane.class_names[probe.answer]
    if probe.label is not None and probe.is_wrong:
        return (
            f"The answer here is **{answer}**, but the true class is **{plane.class_names[probe.label]}**: "
            "already wrong, so the radius is 0."
        )
    if probe.lower == np.inf:
        return f"The answer is **{answer}**, and no step of any length can change it."
    start = f"The answer is **{answer}**. "
    if probe.exact:
        return f"{start}{exact_words(probe.lower, norm.name)}: nothing inside the {norm.ball} can."
    proved = start + proved_words(probe.lower, norm.name)
    if np.isfinite(probe.upper):
        return f"{proved}; one of length **{radius_up(probe.upper)}** does. {OPEN_BETWEEN}"
    return f"{proved} (a proven lower bound)."


def prototype_words(plane: Plane, probe: Probe | None = None) -> str:
    """What has to be known about a picture with prototypes: who answers, and that no point is left out."""
    assert plane.prototypes is not None
    places = plane.prototypes[0]
    count = len(places)
    among = ", this one too" if probe is not None and probe.row is not None else ""
    parts = [
        f"{count} prototypes (the large marks) answer instead of the {len(plane.points)} points. "
        f"They were learned from all points{among}, so none is left out here."
    ]
    ranges = np.array(plane.window.ranges())
    hidden = int(((places < ranges[:, 0]) | (places > ranges[:, 1])).any(axis=1).sum())
    if hidden:
        parts.append(f"{hidden} of the prototypes {'lies' if hidden == 1 else 'lie'} outside the picture.")
    return " ".join(parts)


def plane_alt(plane: Plane, probe: Probe | None, title: str) -> str:
    """Alternative text: what a reader who cannot see the chart needs to follow the page."""
    counts = [int((plane.codes == code).sum()) for code in range(len(plane.class_names))]
    kinds = ", ".join(
        f"{n} {name} ({SHAPE_WORDS[code]} markers)"
        for code, (n, name) in enumerate(zip(counts, plane.class_names, strict=True))
    )
    parts = [f"{title}: the plane coloured by the class that nearest neighbours answer, with {kinds}."]
    if plane.prototypes is not None:
        parts.append(prototype_words(plane, probe))
    if probe is not None:
        x1, x2 = (number(float(v)) for v in probe.point)
        parts.append(f"The chosen point is at x1 = {x1}, x2 = {x2}. {probe_words(plane, probe).replace('**', '')}")
    return " ".join(parts)
