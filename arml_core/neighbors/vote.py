"""The vote: how the labels of the K nearest rows become an answer.

The class with the most votes wins; the smallest class code wins a tie. Predictions, certificates and attacks all rest
on this one rule, and on :class:`FlipRule`, which says what counts as another answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import BoolArray, IntArray


def count_votes(labels: IntArray, n_classes: int) -> IntArray:
    """Votes per class, (n, n_classes), for each row of `labels`, the class codes of its neighbours."""
    cells = np.arange(len(labels))[:, None] * n_classes + labels
    return np.bincount(cells.ravel(), minlength=len(labels) * n_classes).reshape(len(labels), n_classes)


def winner(votes: NDArray[np.integer[Any]]) -> IntArray:
    """The class that wins, along the last axis: the first maximum, so the smallest code of a tie."""
    return np.asarray(votes.argmax(axis=-1))


def elect(labels: IntArray, n_classes: int) -> IntArray:
    """The class code that each row of neighbours elects."""
    return winner(count_votes(labels, n_classes))


def votes_to_beat(against: int, rival: int, label: int) -> int:
    """How many votes class `rival` needs to win over `label`, which has `against` of them."""
    return against + int(rival > label)


def possible_winners(certain: IntArray, tied: IntArray, n_neighbors: int) -> BoolArray:
    """Which classes, (n, n_classes), some order of equal distances and some way of breaking equal votes lets win.

    `certain` are the votes of the rows nearer than the K-th distance, `tied` the rows per class at that very distance,
    of which as many as are needed complete the K. Class c does best with all the places that its tied rows can take;
    the others must then be able to fill the rest without any of them getting more votes than c.
    """
    slots = n_neighbors - certain.sum(axis=1)
    found = np.zeros(certain.shape, dtype=bool)
    for c in range(certain.shape[1]):
        taken = np.minimum(tied[:, c], slots)
        most = certain[:, c] + taken
        room = most[:, None] - certain
        room[:, c] = 0
        filled = np.minimum(room, tied).sum(axis=1)
        found[:, c] = (room >= 0).all(axis=1) & (filled >= slots - taken)
    return found


@dataclass(frozen=True)
class FlipRule:
    """What counts as another answer than the label to keep.

    Attributes
    ----------
    any_order : the label is kept only if no order of equal distances and no way of breaking equal votes elects another
        class. Otherwise training order decides between equal distances, and the smallest class wins equal votes.
    target : the class that the answer must become; None for any but the label.
    """

    any_order: bool = False
    target: int | None = None

    def rivals(self, n_classes: int, label: int) -> IntArray:
        """The classes whose win is another answer."""
        codes = np.arange(n_classes)
        return np.asarray(codes[codes != label] if self.target is None else codes[codes == self.target])

    def votes_to_beat(self, against: int, rival: int, label: int) -> int:
        """How many votes class `rival` needs where `label` has `against` of them."""
        return against if self.any_order else votes_to_beat(against, rival, label)

    def flips(self, votes: NDArray[np.integer[Any]], label: int) -> BoolArray:
        """Whether these votes, classes along the last axis, can give another answer than `label`."""
        if not self.any_order:
            return self.changed(winner(votes), label)
        against = votes[..., label] if self.target is None else votes.max(axis=-1)
        return np.asarray(votes[..., self.rivals(votes.shape[-1], label)].max(axis=-1) >= against)

    def changed(self, answers: IntArray, labels: IntArray | int) -> BoolArray:
        """Which of the `answers` are other ones."""
        return np.asarray(answers != labels if self.target is None else answers == self.target)

    def adverse(self, winners: BoolArray, labels: IntArray) -> IntArray:
        """For each row one of its possible winners, (n, n_classes), that is another answer; the label if none is."""
        if self.target is not None:
            return np.asarray(np.where(winners[:, self.target], self.target, labels))
        others = winners.copy()
        others[np.arange(len(labels)), labels] = False
        return np.asarray(np.where(others.any(axis=1), others.argmax(axis=1), labels))


TRAINING_ORDER = FlipRule()
"""The rule of ``predict``: any other answer counts, and it decides every tie."""
