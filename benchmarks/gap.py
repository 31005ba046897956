"""How close the two sides of the radius come, per dataset and method, with an ARML metric.

    python -m benchmarks.gap [--datasets splice …] [--points 200] [--budget 1] [--boundary-steps 25000] [--metrics DIR]

At K = 11 that is how much room the certificates and the attacks leave; at K = 1, where the radius is known, on how many
points the white-box attack reaches it. The times of all methods are from the same run: with OMP_NUM_THREADS=1 they have
the same machine, with more threads the boundary attack has more of it.

Per-point radii go to benchmarks/results/gap-DATASET.csv; the table is printed. The boundary attack takes nearly all of
the time: `--boundary-steps 0` leaves it out, `--keep-boundary` takes its radii from the last results file. Metrics are
trained with the paper's settings and kept in `--metrics` for the next run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from arml_core import ARML, MahalanobisKNN, load_dataset, load_metric, robust_error, save_metric
from arml_core.datasets.table import write_csv
from arml_core.reproduce.published import SMALL, TITLES, radii

RESULTS = Path(__file__).parent / "results"
EQUAL = 1e-4


def arml_metric(name: str, folder: Path):
    file = folder / f"{name}-arml.npz"
    data = load_dataset(name)
    if not file.exists():
        learner = ARML(random_state=42).fit(data.X_train, data.y_train)
        save_metric(file, learner, dataset=name, fingerprint=data.fingerprint, seed=42)
    return load_metric(file, data.n_features).metric


def timed(work):
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def measure(name: str, options: argparse.Namespace) -> None:
    data = load_dataset(name)
    x, y = data.evaluation(options.points)
    metric = arml_metric(name, options.metrics)
    knn = MahalanobisKNN(11, metric=metric).fit(data.X_train, data.y_train)
    theorem1, t_theorem1 = timed(lambda: knn.certify(x, y, method="theorem1"))
    votes, t_votes = timed(lambda: knn.certify(x, y, method="votes"))
    whitebox, t_whitebox = timed(lambda: knn.attack(x, y))
    search, t_search = timed(lambda: knn.certify(x, y, method="search", budget=options.budget))
    columns = {
        "theorem1": theorem1.lower,
        "votes": votes.lower,
        "search_lower": search.lower,
        "search_upper": search.upper,
        "whitebox": whitebox.upper,
    }
    seconds = {"theorem1": t_theorem1, "votes": t_votes, "whitebox": t_whitebox, "search": t_search}
    file = RESULTS / f"gap-{name}.csv"
    if options.keep_boundary:
        columns["boundary"] = pd.read_csv(file)["boundary"].to_numpy()
    elif options.boundary_steps:
        boundary, seconds["boundary"] = timed(lambda: knn.attack(x, y, method="boundary", steps=options.boundary_steps))
        columns["boundary"] = boundary.upper
    RESULTS.mkdir(exist_ok=True)
    table = write_csv(list(columns), zip(*(values.tolist() for values in columns.values()), strict=True))
    file.write_text(table, encoding="utf-8", newline="")
    report(name, columns, seconds, theorem1.correct, search.exact)
    report_exact(MahalanobisKNN(1, metric=metric).fit(data.X_train, data.y_train), x, y)


def report(name, columns, seconds, correct, exact) -> None:
    upper = columns["search_upper"][correct]
    print(f"\n{TITLES[name]}: {len(correct)} points, {int(correct.sum())} classified correctly")
    for key in ("theorem1", "votes", "search_lower"):
        with np.errstate(divide="ignore"):
            ratio = np.median(upper / columns[key][correct])
        print(f"  median upper / {key:13s} {ratio:.4f}")
    print(f"  both sides meet on {np.mean(exact[correct]):.0%} of them")
    if "boundary" in columns:
        wins = np.mean(columns["whitebox"][correct] <= columns["boundary"][correct])
        factor = np.median(columns["boundary"][correct] / columns["whitebox"][correct])
        print(f"  white-box at most the boundary attack on {wins:.1%}; median boundary / white-box {factor:.3f}")
    if "boundary" in seconds:
        print(f"  boundary attack takes {seconds['boundary'] / seconds['whitebox']:.0f} x the white-box attack's time")
    print("  ms a point: " + ", ".join(f"{key} {1e3 * s / len(correct):.1f}" for key, s in seconds.items()))
    print("  radius          " + " ".join(f"{r:6.2f}" for r in radii(name)))
    for key, values in columns.items():
        print(f"  error {key:12s}" + " ".join(f"{e:6.3f}" for e in robust_error(values, radii(name))))


def report_exact(knn: MahalanobisKNN, x: np.ndarray, y: np.ndarray) -> None:
    """How near the white-box attack comes to the exact radius of 1-NN."""
    exact, found = knn.certify(x, y, method="exact"), knn.attack(x, y)
    with np.errstate(invalid="ignore"):
        apart = np.where(found.upper == exact.upper, 0.0, np.abs(found.upper - exact.upper))
    print(
        f"  K = 1: white-box within {EQUAL:g} of the exact radius on {np.sum(apart <= EQUAL)} of {len(x)}, largest "
        f"difference {apart.max():.2g}, {np.sum(found.upper < exact.lower)} below the proved radius"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=SMALL, default=list(SMALL))
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--boundary-steps", type=int, default=25_000)
    parser.add_argument("--keep-boundary", action="store_true")
    parser.add_argument("--metrics", type=Path, default=Path(".scratch"))
    options = parser.parse_args()
    options.metrics.mkdir(exist_ok=True)
    for name in options.datasets:
        measure(name, options)


if __name__ == "__main__":
    main()
