"""Metrics that several tests look at, learned once in a process."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

_LEARNED: dict[Any, Any] = {}


def fitted(learner: Any, X: Any, y: Any) -> Any:
    """A learner with these parameters, fitted to these points: a copy, which a test may change."""
    X, y = np.asarray(X), np.asarray(y)
    key = (type(learner), repr(learner.get_params()), X.dtype, X.shape, X.tobytes(), y.dtype, y.tobytes())
    if key not in _LEARNED:
        _LEARNED[key] = clone(learner).fit(X, y)
    return deepcopy(_LEARNED[key])
