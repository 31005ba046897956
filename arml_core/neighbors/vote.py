"""The vote: how the labels of the K nearest rows become an answer.

The class with the most votes wins; the smallest class code wins a tie. Predictions, certificates and attacks all rest
on this one rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import IntArray


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
