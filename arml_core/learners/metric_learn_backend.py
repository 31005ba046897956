"""The same learners as metric-learn fits them, for comparison: no progress, no cancel, N×N memory.

metric-learn is imported when one of them is asked for and nowhere else: it does not run with every version of
scikit-learn that the rest of the package runs with.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .base import Codes, Features, Learned

BACKENDS = ("native", "metric-learn")


def fit_metric_learn(name: str, X: Features, codes: Codes, **parameters: Any) -> Learned:
    """G of metric-learn's learner `name`; it reports nothing on the way."""
    try:
        import metric_learn
    except ImportError as error:
        raise ValueError(
            f"backend='metric-learn' needs the package metric-learn, which cannot be imported ({error}): "
            "pip install metric-learn, or use backend='native'"
        ) from error
    learner = getattr(metric_learn, name)(**parameters)
    with warnings.catch_warnings():
        # it passes an argument that scikit-learn renamed in 1.6
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*force_all_finite.*")
        learner.fit(np.asarray(X, dtype=np.float64), codes)
    components = np.asarray(learner.components_)
    if np.iscomplexobj(components) or not np.isfinite(components).all():
        raise FloatingPointError(
            f"metric-learn's {name} returned components that are not finite real numbers, as it does for constant "
            "features. Use backend='native'"
        )
    return components, {}
