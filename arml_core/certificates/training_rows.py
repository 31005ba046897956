"""How many training rows must be wrong before an answer can change: removed, added or relabelled, each counted exactly.

Sort the rows that vote for x by distance, and let A_c be how many of class c are among the m nearest. Class p wins the
vote of the K nearest; c beats it with t = 1 vote more if p is the smaller label, else with as many (t = 0).

- Removing r rows leaves K of the K + r nearest, if each of them lies there (others change nothing). Class c gains most
  when as many as possible are of class p, so it can win if and only if A_c - (A_p - r) ≥ t for m = K + r.
- Adding r rows, wherever and of whatever class, leaves the K - r nearest in the vote at best: c gains most when all
  lie at x and are of class c. It wins if and only if A_c + r - A_p ≥ t for m = K - r.
- Relabelling a row of p among the K nearest as c closes the gap by two, any other change by one at most.

In both of the first the gap closes monotonically with r, so there is one row of the order at which it turns. It is
found among bounds on all distances; only rows whose bounds overlap with its own are put in order without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..neighbors.point_set import PointSet
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.distance_bounds import BoundedRows
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from .training_row_kernels import bracket, first_turned

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("removed", "added", "relabelled")
"""What may be wrong with training rows."""
ROWS_AT_ONCE = 128


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrainingChanges:
    """For each point the smallest number of training rows whose change can change its answer, by kind of change.

    With fewer the answer stands, whichever rows they are; with as many, some choice of them changes it. 0 where the
    answer is wrong already.

    Attributes
    ----------
    predicted : the classifier's labels.
    correct : where they are the label in question.
    removed : rows taken away; +inf where no removal that leaves K rows changes the answer.
    added : rows of known classes put anywhere, before others at the same distance. At most K.
    relabelled : rows given another known label.
    """

    predicted: NDArray[Any]
    correct: BoolArray
    removed: FloatArray
    added: FloatArray
    relabelled: FloatArray

    def __len__(self) -> int:
        return len(self.predicted)

    def __repr__(self) -> str:
        right = int(self.correct.sum())
        least = ", ".join(f"{kind} {np.median(getattr(self, kind)):g}" for kind in KINDS if len(self))
        return f"TrainingChanges({len(self)} points, {right} correct" + (f"; medians: {least})" if least else ")")

    def take(self, positions: IntArray | BoolArray) -> TrainingChanges:
        """Some of the points, by position or mask, in that order."""
        return TrainingChanges(**{name: column[positions] for name, column in vars(self).items()})

    def to_frame(self) -> pd.DataFrame:
        """A row for each point: predicted, correct, removed, added, relabelled."""
        import pandas as pd  # a second of import for those who want a table

        return pd.DataFrame({name: getattr(self, name) for name in ("predicted", "correct", *KINDS)})


def rows_to_relabel(votes: IntArray, labels: IntArray) -> FloatArray:
    """How many of the rows that vote must be relabelled before the answers `labels` change; `votes` are by class."""
    everyone = np.arange(len(labels))
    rivals = votes - (np.arange(votes.shape[1]) > labels[:, None])
    rivals[everyone, labels] = -votes.sum(axis=1) - 2
    missing = votes[everyone, labels] - rivals.max(axis=1)
    return np.asarray(np.ceil(missing / 2))


def rows_to_remove_or_add(points: PointSet, callback: Callback | None = None) -> tuple[FloatArray, FloatArray]:
    """How many training rows must be removed, and how many added, before each answer can change."""
    n, k = len(points), points.n_neighbors
    removed, added = np.full(n, np.inf), np.full(n, np.inf)
    step = min(ROWS_AT_ONCE, points.references.distance_bounds.chunk_rows())

    def count(start: int) -> None:
        part = np.arange(start, min(start + step, n))
        few = points.take(part)
        rows = few.references.distance_bounds.query(*few.references.embed(few.exact_points()))
        removed[part] = _turning_sizes(few, rows, adding=False) - k
        added[part] = k + 1 - _turning_sizes(few, rows, adding=True)

    for start, _ in in_parallel(count, range(0, n, step), points.threads):
        report(callback, min(start + step, n), n)
    return removed, added


def _turning_sizes(points: PointSet, rows: BoundedRows, adding: bool) -> FloatArray:
    """How many of the nearest rows there are once they turn the vote (``is_turned``); +inf where all do not."""
    references, k = points.references, points.n_neighbors
    lower, own, slack = (t.cpu().numpy() for t in (rows.lower, rows.magnitude, rows.side.magnitude))
    left_out = points.places_left_out()
    if left_out is not None:
        at, column = np.nonzero(left_out >= 0)
        lower[at, left_out[at, column]] = np.inf
    class_of = references.label[references.order]
    inside = np.zeros((len(points), references.n_classes), dtype=np.intp)
    doubtful = np.zeros(lower.shape, dtype=bool)
    twice = lower.dtype.type(2 * rows.side.gamma)
    found = bracket(lower, own, slack, twice, class_of, k, points.labels, adding, inside, doubtful)
    sizes = np.full(len(points), np.inf)
    for b in np.flatnonzero(found).tolist():
        indices = np.sort(references.order[np.flatnonzero(doubtful[b])])
        ordered = references.in_order(points.points[b].astype(np.float64), indices)
        sizes[b] = first_turned(inside[b], references.label[ordered], k, int(points.labels[b]), adding)
    return sizes
