"""At K = 1 the white-box attack should reach the exact radius: on how many points it does, per dataset.

    python -m benchmarks.whitebox_exact [--datasets splice …] [--points 1000] [--metrics DIR]

Metrics are ARML's, trained with the paper's settings and kept in `--metrics` for the next run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from arml_core import MahalanobisKNN, load_dataset
from arml_core.reproduce.published import SMALL, TITLES
from benchmarks.gap import arml_metric

EQUAL = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=SMALL, default=list(SMALL))
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--metrics", type=Path, default=Path(".scratch"))
    options = parser.parse_args()
    options.metrics.mkdir(exist_ok=True)
    for name in options.datasets:
        data = load_dataset(name)
        x, y = data.evaluation(options.points)
        knn = MahalanobisKNN(1, metric=arml_metric(name, options.metrics)).fit(data.X_train, data.y_train)
        exact = knn.certify(x, y, method="exact")
        started = time.perf_counter()
        found = knn.attack(x, y)
        seconds = time.perf_counter() - started
        with np.errstate(invalid="ignore"):
            apart = np.where(found.upper == exact.upper, 0.0, np.abs(found.upper - exact.upper))
        below = int(np.sum(found.upper < exact.lower))
        print(
            f"{TITLES[name]}: {np.sum(apart <= EQUAL)} of {len(x)} within {EQUAL:g} of the exact radius, largest "
            f"difference {apart.max():.2g}, {below} below the proved radius; {1e3 * seconds / len(x):.0f} ms a point",
            flush=True,
        )


if __name__ == "__main__":
    main()
