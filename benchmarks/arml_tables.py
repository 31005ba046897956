"""Reproduce ARML's rows of the paper's Table 1 (exact 1-NN) and Table 2 (certified K-NN, K = 11).

    ARML_DATA=FOLDER python -m benchmarks.arml_tables [DATASET ...] [--seed N] [--output FILE]

Trains with the defaults, certifies the paper's 1,000 test points and writes each value beside the paper's.
Without names: splice, pendigits, satimage, usps.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import arml_core as arml
from arml_core.learners.arml import ARML
from benchmarks.paper import SMALL, TITLES, table_1, table_2
from benchmarks.paper import radii as paper_radii

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("dataset", "seed", "table", "radius", "paper", "ours", "difference", "train_seconds", "certify_seconds")


def reproduce(name: str, seed: int) -> list[dict[str, object]]:
    """Train on one dataset and compare both rows with the paper's."""
    data = arml.load_dataset(name)
    X, y = data.evaluation(1000)
    started = time.perf_counter()
    learner = ARML(random_state=seed).fit(data.X_train, data.y_train)
    trained = time.perf_counter() - started
    radii, rows = paper_radii(name), (table_1(name, "ARML"), table_2(name, "ARML"))
    lines = []
    for table, k, method, paper in ((1, 1, "exact", rows[0]), (2, 11, "theorem1", rows[1])):
        started = time.perf_counter()
        knn = arml.MahalanobisKNN(n_neighbors=k, metric=learner).fit(data.X_train, data.y_train)
        lower = knn.certify(X, y, method=method).lower
        certified = time.perf_counter() - started
        for radius, published in zip(radii, paper, strict=True):
            ours = float((lower <= radius).mean())
            values = (name, seed, table, radius, published, f"{ours:.3f}", f"{ours - published:+.3f}")
            lines.append(dict(zip(COLUMNS, (*values, f"{trained:.1f}", f"{certified:.1f}"), strict=True)))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=SMALL, choices=[*TITLES, SMALL], metavar="DATASET")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--output", type=Path, default=RESULTS / "arml_tables.csv")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in arguments.datasets:
            lines = reproduce(name, arguments.seed)
            writer.writerows(lines)
            stream.flush()
            for table in (1, 2):
                ours = [line for line in lines if line["table"] == table]
                worst = max(abs(float(str(line["difference"]))) for line in ours)
                print(
                    f"{name:14} table {table}  ours {' '.join(str(line['ours']) for line in ours)}"
                    f"  paper {' '.join(format(float(str(line['paper'])), '.3f') for line in ours)}"
                    f"  worst {worst:.3f}  trained {ours[0]['train_seconds']} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
