"""What ranking ARML's neighbour lists less often costs and saves, against `refresh=1` in the same run.

    ARML_DATA=FOLDER python -m benchmarks.learners_refresh [--dataset usps] [--epochs 1000] [--refresh 10]

Prints both training times (of the clock and of the processor), the ratio of the latter, and the exact 1-NN robust
errors with both at the paper's radii.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import arml_core as arml
from arml_core.learners.arml import ARML
from arml_core.reproduce.published import TITLES
from arml_core.reproduce.published import radii as paper_radii

RESULTS = Path(__file__).parent / "results" / "learners_refresh.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="usps", choices=TITLES)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--refresh", type=int, default=ARML().refresh)
    arguments = parser.parse_args()
    data = arml.load_dataset(arguments.dataset)
    X, y = data.evaluation(1000)
    radii = paper_radii(arguments.dataset)
    lines, seconds, curves = [f"{arguments.dataset}, {arguments.epochs} epochs, seed 42"], [], []
    for refresh in (arguments.refresh, 1):
        started, worked = time.perf_counter(), time.process_time()
        learner = ARML(arguments.epochs, refresh=refresh, random_state=42).fit(data.X_train, data.y_train)
        waited = time.perf_counter() - started
        seconds.append(time.process_time() - worked)  # what a busy machine does not change
        knn = arml.MahalanobisKNN(n_neighbors=1, metric=learner).fit(data.X_train, data.y_train)
        curves.append((knn.certify(X, y, method="exact").lower[:, None] <= radii).mean(axis=0))
        errors = " ".join(f"{error:.3f}" for error in curves[-1])
        lines.append(f"refresh={refresh:<3} {waited:8.1f} s, processor {seconds[-1]:8.1f} s   {errors}")
        print(lines[-1], flush=True)
    lines.append(
        f"{seconds[1] / seconds[0]:.1f} times faster; the curves differ by {np.abs(curves[0] - curves[1]).max():.3f}"
    )
    print(lines[-1])
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
