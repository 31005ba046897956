"""Points whose answers are to be kept: what certificates and attacks work on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..threat import Ranges
from .prepared import PreparedReferences
from .vote import TRAINING_ORDER, FlipRule, possible_winners


@dataclass(frozen=True, eq=False)
class PointSet:
    """Points that K-NN answers with `labels`, each with the reference rows that are left out of its vote.

    Attributes
    ----------
    points : (n, D) in the dtype in which perturbed versions are given to :meth:`predict`.
    labels : (n,) class codes: the classifier's own answers, and those that must not change.
    exclude : (n, e) indices of reference rows to leave out per point, padded with -1, or None.
    threads : how many points may be worked on at once.
    rule : what counts as another answer.
    ranges : between which values the movable features of each point may move, or None where nothing limits them.
    """

    references: PreparedReferences
    n_neighbors: int
    points: NDArray[np.floating]
    labels: IntArray
    exclude: IntArray | None = None
    threads: int = 1
    rule: FlipRule = TRAINING_ORDER
    ranges: Ranges | None = None

    def __len__(self) -> int:
        return len(self.points)

    def take(self, members: IntArray) -> PointSet:
        """Some of the points, in the order of `members`."""
        left_out = None if self.exclude is None else self.exclude[members]
        points, labels, ranges = self.points[members], self.labels[members], self.ranges_of(members)
        return replace(self, points=points, labels=labels, exclude=left_out, ranges=ranges)

    def ranges_of(self, members: IntArray | int) -> Ranges | None:
        """The ranges of some of the points, or of one."""
        return None if self.ranges is None else self.ranges.of(members)

    def predict(self, points: NDArray[np.floating], members: IntArray) -> IntArray:
        """Class codes of perturbed versions of `members`, each with its own rows left out.

        Where every order of equal distances counts, one that is another answer, if there is one.
        """
        left_out = None if self.exclude is None else self.exclude[members]
        if not self.rule.any_order:
            return self.references.predict(points, self.n_neighbors, left_out)
        votes = self.references.tied_votes(points, self.n_neighbors, left_out)
        return self.rule.adverse(possible_winners(*votes, self.n_neighbors), self.labels[members])

    def flips(self, points: NDArray[np.floating], members: IntArray) -> BoolArray:
        """Which of the perturbed versions of `members` get another answer."""
        return self.rule.changed(self.predict(points, members), self.labels[members])

    def flips_one(self, points: NDArray[np.floating], member: int) -> BoolArray:
        """The same for several perturbed versions of one point."""
        return self.flips(points, np.full(len(points), member))

    def exact_points(self) -> FloatArray:
        """The points in float64, which holds them exactly."""
        return self.points.astype(np.float64)

    def left_out(self, member: int) -> IntArray:
        """The reference rows that are left out of one point's vote."""
        return np.empty(0, dtype=np.intp) if self.exclude is None else self.exclude[member][self.exclude[member] >= 0]

    def places_left_out(self) -> IntArray | None:
        """`exclude` as places in the references' class order, padded with -1."""
        if self.exclude is None:
            return None
        return np.where(self.exclude >= 0, self.references.rank[self.exclude], -1)
