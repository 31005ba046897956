"""Compile the inner loops ahead of their first use: ``python -m arml_core.warm_up``.

It takes up to a minute the first time; what was compiled is kept beside the code or, where that cannot be written, in a
folder of the user.
"""

from __future__ import annotations

import numpy as np

from .certificates.box import least_distance_in_box
from .knn import MahalanobisKNN
from .threat import ThreatModel


def compile_loops() -> None:
    """Compile what certificates need, or load what was compiled before, by a search in each kind of norm.

    Points far out are screened in another precision, and so by other loops.
    """
    x = np.random.default_rng(0).random((40, 4))
    knn = MahalanobisKNN(5, n_jobs=1).fit(x, np.arange(40) % 3)
    for norm in ("l2", "linf"):
        knn.certify(x[:2], method="search", threat=ThreatModel(norm), exclude=np.arange(2), budget=1.0)
        knn.certify(x[:2] * 1e8, method="votes", threat=ThreatModel(norm))
        knn.certify(x[:2], method="search", threat=ThreatModel(norm, box=(0, 1)), exclude=np.arange(2), budget=1.0)
    for scale in (1.0, 1e8):
        knn.certify_training(x[:2] * scale)
    least_distance_in_box(np.eye(2), np.ones(2), np.ones(2), np.ones(2), np.zeros(2), np.zeros(2))


if __name__ == "__main__":
    compile_loops()
