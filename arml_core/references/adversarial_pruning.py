"""Adversarial pruning (Yang et al. 2020): keep the rows that leave room between the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..learners.checks import check_real
from ..metric import Metric
from ..numerics.arrays import IntArray
from ..progress import Callback, report
from ..threat import ThreatModel
from .base import Codes, Features, LearnedReferences, ReferenceLearner
from .close_pairs import OtherClassDistances
from .smallest_cover import smallest_cover

JUDGED_ROWS = 5_000  # rows that the automatic radius looks at
MOST_PAIRS = 20_000_000  # conflicts that are kept in memory, some 700 MB while the rows to drop are chosen


class AdversarialPruning(ReferenceLearner):
    """Drop the fewest rows so that rows of different classes are at least 2r apart in the norm of the threat.

    Distances are measured in the features themselves, whatever metric the rows will be compared under. For two classes
    no choice drops fewer rows (a minimum vertex cover, from a maximum matching by König's theorem). For more, the row
    with the most conflicts goes first, and rows that turn out to stand in no one's way come back. A class may lose
    every row: its label stays known, and its points have radius 0.

    The separation is no certificate. Under the Euclidean metric and one neighbour it gives every row that is kept a
    radius of r, and says nothing about other points; under another metric it does not even say that.

    Parameters
    ----------
    radius : r, in the norm of the threat; "auto" for half of the median, over the training rows, of the distance to
        the nearest row of another class that does not coincide with the row. Of more than 10,000 rows, some 5,000 are
        looked at.
    norm : of the threat: 2, 1 or inf.

    Attributes
    ----------
    radius_ : the r in use.
    reference_rows_ : the rows that are kept, ascending, so that leave-one-out works.

    References
    ----------
    Yang, Rashtchian, Wang, Chaudhuri: Robustness for non-parametric classification: a generic attack and defense.
    AISTATS 2020.
    """

    def __init__(self, radius: Any = "auto", *, norm: float | str = 2) -> None:
        self.radius = radius
        self.norm = norm

    def _learn(self, X: Features, codes: Codes, metric: Metric, callback: Callback | None) -> LearnedReferences:
        distances = OtherClassDistances(X, codes, ThreatModel(norm=self.norm).norm)
        blocks = distances.block_pairs()
        in_conflict = np.zeros(len(X), dtype=bool)

        def current() -> tuple[Features, Codes, Metric]:
            return X[~in_conflict], codes[~in_conflict], metric

        def still_none(done: int, total: int, info: Mapping[str, Any]) -> None:
            report(callback, 0, len(blocks), references=current)

        radius = self._separation(distances, len(X), still_none)
        found: list[IntArray] = []
        count = 0
        for done, (a, b) in enumerate(blocks):
            pairs = np.stack(distances.closer_than(2 * radius, a, b))
            count += pairs.shape[1]
            if count > MOST_PAIRS:
                raise ValueError(
                    f"more than {MOST_PAIRS:,} pairs of rows of different classes are less than 2 × {radius:g} apart: "
                    "choose a smaller radius"
                )
            in_conflict[pairs.ravel()] = True
            found.append(pairs.astype(np.int32))
            report(callback, done, len(blocks), references=current)
        i, j = np.concatenate(found, axis=1)
        rows = np.flatnonzero(~smallest_cover(i, j, codes))
        self.radius_ = radius
        kept = np.asarray(X[rows], dtype=np.float64), codes[rows]
        report(callback, len(blocks), len(blocks), references=lambda: (*kept, metric))
        return LearnedReferences(*kept, None, {}, rows)

    def _separation(self, distances: OtherClassDistances, n_rows: int, callback: Callback) -> float:
        if self.radius != "auto":
            return check_real("radius", self.radius, 0.0, open_low=True)
        nearest = distances.nearest(max(1, n_rows // JUDGED_ROWS), callback)
        if not np.isfinite(nearest).any():
            raise ValueError("every row coincides with all rows of the other classes: give the radius as a number")
        return float(np.median(nearest[np.isfinite(nearest)])) / 2
