"""The numbers behind a picture, as one tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..numerics.arrays import FloatArray
from .decision_plane import Plane, Probe
from .shapes import ball_outline, metric_ellipse


def plane_table(plane: Plane, probe: Probe | None = None) -> pd.DataFrame:
    """One row per drawn thing: `kind`, its place (x1, x2), its class and a value whose meaning `kind` gives.

    Kinds: "training point" (value: its row), "prototype" (value: its number), "chosen point" (value: the certified
    radius), "adversarial point" (value: its distance), "neighbour" (value: its row or the prototype's number),
    "certified outline", "equally far outline", and "margin" (value: positive where the class is the answer).
    """
    frames = [_frame("training point", plane.points, plane.codes, np.arange(len(plane.points)))]
    if plane.prototypes is not None:
        frames.append(_frame("prototype", *plane.prototypes, np.arange(len(plane.prototypes[0]))))
    if probe is not None:
        frames.append(_frame("chosen point", probe.point[None], [probe.answer], [probe.lower]))
        if probe.adversarial is not None:
            frames.append(_frame("adversarial point", probe.adversarial[None], [-1], [probe.upper]))
        (places, codes), rows = plane.voters, list(probe.neighbours)
        frames.append(_frame("neighbour", places[rows], codes[rows], rows))
        if 0 < probe.lower < np.inf:
            outline = ball_outline(probe.point, probe.lower, probe.norm)
            frames.append(_frame("certified outline", outline, -1, probe.lower))
        outline = metric_ellipse(plane.metric, probe.point, probe.reach)
        frames.append(_frame("equally far outline", outline, -1, probe.reach))
    places = np.column_stack([a.ravel() for a in np.meshgrid(plane.x1, plane.x2)])
    frames += [_frame("margin", places, code, margin.ravel()) for code, margin in enumerate(plane.margin)]
    table = pd.concat(frames, ignore_index=True)
    names = dict(enumerate(plane.class_names))
    table["class"] = table["class"].map(names).fillna("")
    return table


def _frame(kind: str, places: FloatArray, code: object, value: object) -> pd.DataFrame:
    return pd.DataFrame({"kind": kind, "x1": places[:, 0], "x2": places[:, 1], "class": code, "value": value})
