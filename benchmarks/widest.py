"""Which side is wrong where the two sides of a radius lie furthest apart, K = 11.

    python -m benchmarks.widest [--datasets satimage …] [--metric euclidean] [--points 200] [--budget 1] [--long 60]

First all points are searched for verdicts at the paper's radii, `--budget` seconds each; the largest difference between
certified and empirical error is printed. Then the five points whose sides are furthest apart, among those whose verdict
is open or, if there are fewer, among all, are searched for `--long` seconds each. The share of the gap that each side
has made up since says which one was wrong; what neither made up is still open.

Results go to benchmarks/results/widest-DATASET-METRIC.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from arml_core import MahalanobisKNN, Radii, load_dataset, load_metric, robust_error
from arml_core.datasets.table import write_csv
from arml_core.reproduce.published import TITLES, radii

RESULTS = Path(__file__).parent / "results"
METRICS = Path(__file__).parents[1] / "data" / "results" / "metrics"
WIDEST = 5
COLUMNS = ("point", "lower", "upper", "later_lower", "later_upper", "by_lower", "by_upper", "open")


def classifier(name: str, metric: str) -> MahalanobisKNN:
    data = load_dataset(name)
    learned = None if metric == "euclidean" else load_metric(METRICS / f"{name}-{metric}.npz", data.n_features)
    return MahalanobisKNN(11, learned).fit(data.X_train, data.y_train)


def widest(found: Radii, at: list[float]) -> np.ndarray:
    """The points with the largest upper / lower, those with an open verdict first."""
    inside = np.array([any(low <= r < up for r in at) for low, up in zip(found.lower, found.upper, strict=True)])
    known = found.correct & np.isfinite(found.upper) & ~found.exact
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(known, found.upper / found.lower, 0.0)
    order = np.lexsort([-apart, ~inside])
    return order[apart[order] > 1][:WIDEST]


def measure(name: str, options: argparse.Namespace) -> None:
    knn, at = classifier(name, options.metric), radii(name)
    x, y = load_dataset(name).evaluation(options.points)
    found = knn.certify(x, y, method="search", budget=options.budget, at=at)
    certified, empirical = robust_error(found.lower, at), robust_error(found.upper, at)
    print(
        f"{TITLES[name]}, {options.metric}, {len(x)} points, {options.budget:g} s each: certified minus empirical error"
    )
    print("  " + " ".join(f"{high - low:.3f} at {r:g}" for high, low, r in zip(certified, empirical, at, strict=True)))
    lines = []
    for point in widest(found, list(at)):
        later = knn.certify(x[[point]], y[[point]], method="search", budget=options.long)
        lower, upper = float(found.lower[point]), float(found.upper[point])
        new_lower, new_upper = float(later.lower[0]), float(min(later.upper[0], upper))
        gap = upper - lower
        shares = (new_lower - lower) / gap, (upper - new_upper) / gap, (new_upper - new_lower) / gap
        lines.append((int(point), lower, upper, new_lower, new_upper, *shares))
        print(
            f"  point {point}: {lower:.4f} to {upper:.4f}, later {new_lower:.4f} to {new_upper:.4f}; of the gap "
            f"the lower side made up {shares[0]:.0%}, the upper {shares[1]:.0%}, {shares[2]:.0%} is open",
            flush=True,
        )
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"widest-{name}-{options.metric}.csv"
    file.write_text(write_csv(list(COLUMNS), lines), encoding="utf-8", newline="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--metric", default="euclidean", help="euclidean, or arml where one ships")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--long", type=float, default=60.0, help="seconds for each of the widest points")
    options = parser.parse_args()
    for name in options.datasets:
        measure(name, options)


if __name__ == "__main__":
    main()
