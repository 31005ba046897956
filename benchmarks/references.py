"""How robust learned references are against the paper's ARML, with defaults and with one setting per dataset.

    python -m benchmarks.references [--datasets splice …] [--points 1000] [--seed 0] [--speed]

Radii are exact (one neighbour, ℓ2), robust errors stand at the paper's six radii. "default" is RobustPrototypes as it
comes, the same for every dataset; "careful" aims at a clean error close to ARML's. The table goes to
benchmarks/results/references.csv, a line at a time: datasets that are asked for again replace their lines.

`--speed` certifies against the prototypes, and predicts with scikit-learn against all training rows, in turn in one
run, one thread each, and prints the ratio.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from arml_core import MahalanobisKNN, RobustPrototypes, load_dataset, robust_error
from arml_core.reproduce.published import TITLES, errors, radii

FILE = Path(__file__).parent / "results" / "references.csv"
CAREFUL = {
    "splice": {},
    "pendigits": {"n_prototypes": 100, "radius": 0.3},
    "satimage": {"n_prototypes": 100, "radius": 0.25},
    "usps": {},
    "mnist": {},
    "fashion_mnist": {"radius": 2.0},
}
"""What departs from the defaults so that the clean error stays within .03 of ARML's."""


def measure(name: str, setting: str, parameters: dict, options: argparse.Namespace) -> dict:
    data = load_dataset(name)
    started = time.perf_counter()
    learner = RobustPrototypes(**parameters, random_state=options.seed).fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    knn = MahalanobisKNN(1, references=learner).fit(data.X_train, data.y_train)
    x, y = data.evaluation(options.points)
    found = knn.certify(x, y, method="exact")
    robust = robust_error(found.lower, radii(name))
    robust[0] = 1 - found.correct.mean()  # a right answer with radius 0 is no clean error
    row = {
        "dataset": name,
        "setting": setting,
        "parameters": " ".join(f"{key}={value}" for key, value in parameters.items()),
        "seed": options.seed,
        "points": len(found),
        "target radius": round(learner.radius_, 4),
        "references": len(learner.references_),
        "training seconds": round(seconds, 1),
        "exact share": round(float(found.exact.mean()), 3),
    }
    return row | {f"error {place}": round(float(value), 4) for place, value in enumerate(robust)}


def keep(rows: list[dict]) -> None:
    table = pd.DataFrame(rows)
    if FILE.exists():
        old = pd.read_csv(FILE, keep_default_na=False)
        again = old.set_index(["dataset", "setting"]).index.isin(table.set_index(["dataset", "setting"]).index)
        table = pd.concat([old[~again], table])
    FILE.parent.mkdir(exist_ok=True)
    table.to_csv(FILE, index=False)


def speed(name: str, options: argparse.Namespace) -> None:
    data = load_dataset(name)
    x, y = data.evaluation(options.points)
    learner = RobustPrototypes(100, metric="euclidean", n_epochs=1, random_state=options.seed)
    knn = MahalanobisKNN(1, references=learner.fit(data.X_train, data.y_train), n_jobs=1).fit(
        data.X_train, data.y_train
    )
    plain = KNeighborsClassifier(1, algorithm="brute").fit(data.X_train, data.y_train)
    ways = {
        "scikit-learn predict, all rows": lambda: plain.predict(x),
        "votes, prototypes": lambda: knn.certify(x, y, method="votes"),
        "exact, prototypes": lambda: knn.certify(x, y, method="exact"),
    }
    torch.set_num_threads(1)
    taken: dict[str, list[float]] = {way: [] for way in ways}
    with threadpool_limits(1):
        for _ in range(4):  # the first is for warming up
            for way, run in ways.items():
                started = time.process_time()
                run()
                taken[way].append(time.process_time() - started)
    base = np.median(taken["scikit-learn predict, all rows"][1:])
    print(f"{TITLES[name]}: {len(x)} points, {len(knn.references_)} prototypes, {len(data.X_train)} rows")
    for way, times in taken.items():
        print(f"  {way:32} {np.median(times[1:]):7.2f} s of processor time, {np.median(times[1:]) / base:5.2f} ×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(CAREFUL), choices=list(CAREFUL))
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    for name in options.datasets:
        if options.speed:
            speed(name, options)
            continue
        arml = errors(name, "arml", "exact")
        print(f"{TITLES[name]:14} {'paper, ARML':12}", *(f"{value:.3f}" for value in arml))
        for setting, parameters in (("default", {}), ("careful", CAREFUL[name])):
            if setting == "careful" and not parameters:
                continue
            row = measure(name, setting, parameters, options)
            keep([row])
            ours = [row[f"error {place}"] for place in range(6)]
            print(f"{'':14} {setting:12}", *(f"{value:.3f}" for value in ours), f"  {row['training seconds']} s")


if __name__ == "__main__":
    main()
