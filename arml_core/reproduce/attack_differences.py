"""Why a boundary attack of ours lies further from the paper's than it may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from . import published
from .published import ATTACK_TOLERANCE
from .tables import Tables

Reason = Literal["steps", "metric", "points", "open"]


def far_attacks(tables: Tables) -> Iterator[tuple[Reason, tuple[str, str, str]]]:
    """Each attack that is too far away at some radius, as (dataset, learner, column), with the reason."""
    for dataset, learner, column in tables.evaluations:
        reason = difference_reason(tables, dataset, learner, column)
        if reason is not None:
            yield reason, (dataset, learner, column)


def difference_reason(tables: Tables, dataset: str, learner: str, column: str) -> Reason | None:
    """None for an attack that is close enough, and for what is no attack of the paper's.

    "steps": it was stopped early; "metric": it attacks another metric, as the certified errors show; "points": it is on
    fewer points, and two standard deviations of what drawing so few adds leave less than that; "open": not known.
    """
    difference, evaluation = tables.difference(dataset, learner, column), tables.get(dataset, learner, column)
    if not column.startswith("boundary") or difference is None or evaluation is None:
        return None
    at = int(np.argmax(np.abs(difference)))
    if abs(difference[at]) <= ATTACK_TOLERANCE + 1e-9:
        return None
    if tables.cut_short(dataset, learner, column) and difference[at] < 0:
        return "steps"
    certified = tables.difference(dataset, learner, "theorem1")
    if certified is not None and np.abs(certified).max() > ATTACK_TOLERANCE / 2:
        return "metric"
    share = float(published.errors(dataset, learner, "empirical")[at])
    spread = (share * (1 - share) * (1 / len(evaluation) - 1 / published.POINTS)) ** 0.5
    return "points" if abs(difference[at]) <= ATTACK_TOLERANCE + 2 * spread else "open"
