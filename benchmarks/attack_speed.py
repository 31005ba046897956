"""How much faster the white-box attack is than the boundary attack, per point of USPS, in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.attack_speed [--points 40] [--steps 25000] [--metrics DIR]

K = 11, an ARML metric. With one thread both have the same machine; with more the boundary attack has more of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from arml_core import MahalanobisKNN, load_dataset
from benchmarks.gap import arml_metric, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--steps", type=int, default=25_000)
    parser.add_argument("--metrics", type=Path, default=Path(".scratch"))
    options = parser.parse_args()
    data = load_dataset("usps")
    x, y = data.evaluation(options.points)
    knn = MahalanobisKNN(11, metric=arml_metric("usps", options.metrics)).fit(data.X_train, data.y_train)
    knn.attack(x[:2], y[:2])
    first, first_seconds = timed(lambda: knn.attack(x, y))
    boundary, boundary_seconds = timed(lambda: knn.attack(x, y, method="boundary", steps=options.steps, random_state=0))
    _, again_seconds = timed(lambda: knn.attack(x, y))
    seconds = (first_seconds + again_seconds) / 2
    known = np.isfinite(first.upper) & first.correct
    print(f"{options.points} points, {torch.get_num_threads()} threads")
    print(f"white-box {1000 * seconds / len(x):8.1f} ms a point (before and after the other)")
    print(f"boundary  {1000 * boundary_seconds / len(x):8.1f} ms a point, {options.steps:,} steps")
    print(f"white-box is {boundary_seconds / seconds:.1f} x faster")
    print(f"and its radius at most the other's on {np.mean(first.upper[known] <= boundary.upper[known]):.1%}")


if __name__ == "__main__":
    main()
