"""Robust prototypes against all rows, on tables of a few hundred rows, by cross-validation.

    python -m benchmarks.reference_tables FILE.csv:LABEL[:COLUMN,COLUMN…] … [--folds 5] [--repeats 5]

Columns default to all that hold numbers only; they are standardised, rows with empty cells are left out. Each fold asks
for the robust error at half of the median radius that the Euclidean metric with all rows has there: exact radii, one
neighbour, ℓ2. The difference is paired by fold. The table goes to benchmarks/results/reference-tables.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from arml_core import MahalanobisKNN, RobustPrototypes

FILE = Path(__file__).parent / "results" / "reference-tables.csv"
ALLOWED = 0.02
"""By how much the robust error may be larger before robust prototypes count as no help."""


def read(argument: str) -> tuple[str, np.ndarray, np.ndarray]:
    name, label, *columns = argument.split(":")
    table = pd.read_csv(name)
    chosen = columns[0].split(",") if columns else [c for c in table.select_dtypes("number").columns if c != label]
    table = table[[*chosen, label]].dropna()
    x = StandardScaler().fit_transform(table[chosen].to_numpy(dtype=float))
    return Path(name).stem, x, table[label].astype(str).to_numpy(dtype=str)


def errors(radii, eps: float) -> tuple[float, float]:
    """The clean and the robust error."""
    return 1 - radii.correct.mean(), (radii.lower <= eps).mean()


def measure(argument: str, folds: int, repeats: int) -> dict:
    name, x, y = read(argument)
    found = []
    for train, test in RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=0).split(x, y):
        plain = MahalanobisKNN(1).fit(x[train], y[train]).certify(x[test], y[test], method="exact")
        eps = float(np.median(plain.lower)) / 2
        knn = MahalanobisKNN(1, references=RobustPrototypes(random_state=0)).fit(x[train], y[train])
        found.append([*errors(plain, eps), *errors(knn.certify(x[test], y[test], method="exact"), eps)])
    means = np.mean(found, axis=0)
    difference = np.diff(np.array(found)[:, [1, 3]], axis=1)[:, 0]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return {
        "table": name,
        "rows": len(x),
        "columns": x.shape[1],
        "classes": len(np.unique(y)),
        "folds": len(found),
        "clean error, all rows": round(means[0], 4),
        "clean error, prototypes": round(means[2], 4),
        "robust error, all rows": round(means[1], 4),
        "robust error, prototypes": round(means[3], 4),
        "difference": round(difference.mean(), 4),
        "standard error": round(error, 4),
        "no worse": bool(difference.mean() <= ALLOWED + error),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="FILE.csv:LABEL[:COLUMN,…]")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for argument in options.tables:
        rows.append(measure(argument, options.folds, options.repeats))
        print(", ".join(f"{name}: {value}" for name, value in rows[-1].items()), flush=True)
    pd.DataFrame(rows).to_csv(FILE, index=False)


if __name__ == "__main__":
    main()
