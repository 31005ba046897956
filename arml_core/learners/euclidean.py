"""The Euclidean metric as a learner that learns nothing: M = I."""

from __future__ import annotations

import numpy as np

from ..progress import Callback
from .base import Codes, Features, Learned, MahalanobisLearner


class Euclidean(MahalanobisLearner):
    """M = I, the paper's baseline."""

    _compares_classes = False

    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        return np.eye(X.shape[1]), {}
