"""Share of rows that are decided, and seconds a row, where a category may be switched: data like a census.

    python -m benchmarks.switches [--rows 300] [--file german.csv --label credit --sensitive sex]

K = 7, ε = 0.01 in the maximum norm, numbers scaled to [0, 1], categories as 0/1 columns; ``search`` with verdicts at ε
and a second a row. First one sensitive category switches, then all three at once. Without a file the data is made here.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import pandas as pd

from arml_core import MahalanobisKNN, Radii, ThreatModel

RADIUS, K, N_TRAIN = 0.01, 7, 10_000


def made(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Eight columns, three of them categories of 2, 5 and 7 values, and labels from a noisy rule."""
    rng = np.random.default_rng(seed)
    age, hours = rng.gamma(9, 4.3, n).round().clip(17, 90), rng.normal(40, 12, n).round().clip(1, 99)
    years, gain = rng.integers(1, 17, n), np.where(rng.random(n) < 0.1, rng.lognormal(8.5, 1, n), 0).clip(0, 99999)
    weight = rng.lognormal(12, 0.5, n).round()
    sex, status, work = rng.integers(0, 2, n), rng.integers(0, 5, n), rng.integers(0, 7, n)
    score = 0.04 * (age - 38) + 0.3 * (years - 9) + 0.03 * (hours - 40) + gain / 5000 + 0.5 * sex + 0.8 * (status == 0)
    labels = (score + rng.logistic(0, 0.8, n) > 1.2).astype(int)
    numbers = {"age": age, "years": years, "hours": hours, "gain": gain, "weight": weight}
    words = {"sex": sex.astype(str), "status": status.astype(str), "work": work.astype(str)}
    return pd.DataFrame({**numbers, **words}), labels


def prepared(table: pd.DataFrame) -> tuple[np.ndarray, dict[str, list[int]]]:
    """Numbers scaled to [0, 1], categories as 0/1 columns, and the columns of each category."""
    blocks, groups, start = [], {}, 0
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column):
            block = ((column - column.min()) / max(np.ptp(column), 1e-12)).to_numpy(dtype=float)[:, None]
        else:
            block = pd.get_dummies(column).to_numpy(dtype=float)
            groups[str(name)] = list(range(start, start + block.shape[1]))
        blocks.append(block)
        start += block.shape[1]
    return np.hstack(blocks), groups


def decided(knn: MahalanobisKNN, x: np.ndarray, switches: list[list[int]]) -> tuple[Radii, float]:
    threat = ThreatModel("linf", switches=switches)
    begun = time.perf_counter()
    found = knn.certify(x, method="search", threat=threat, at=[RADIUS], budget=1.0)
    return found, (time.perf_counter() - begun) / len(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300, help="how many are certified")
    parser.add_argument("--file", help="a table with a header instead of the made one")
    parser.add_argument("--label", default="label", help="its column of answers")
    parser.add_argument("--sensitive", default="sex", help="the category that switches alone")
    parser.add_argument("--columns", nargs="*", help="which of its columns are used; all by default")
    parser.add_argument("--together", nargs="*", help="the categories that switch at once; three by default")
    options = parser.parse_args()
    if options.file:
        table = pd.read_csv(options.file).sample(frac=1, random_state=0)
        table = table[[*options.columns, options.label]].dropna() if options.columns else table.dropna(axis=1)
        labels = table.pop(options.label).to_numpy()
    else:
        table, labels = made(N_TRAIN + options.rows)
    X, groups = prepared(table)
    train = min(N_TRAIN, len(X) - options.rows)
    knn = MahalanobisKNN(K).fit(X[:train], labels[:train])
    x = X[train : train + options.rows]
    knn.certify(x[:2], method="search", threat=ThreatModel("linf", switches=[groups[options.sensitive]]))  # compiled
    print(f"{train:,} training rows, {X.shape[1]} features, {len(x)} rows; load {os.getloadavg()[0]:.1f}")
    together = options.together or [options.sensitive, *(name for name in groups if name != options.sensitive)][:3]
    for names in ([options.sensitive], together):
        switches = [groups[name] for name in names]
        count = knn.count_combinations(x, ThreatModel(switches=switches)).max()
        found, seconds = decided(knn, x, switches)
        shares = [f"{word} {(found.verdict(RADIUS) == word).mean():.3f}" for word in ("certified", "attackable")]
        alone = (found.upper == 0) & (found.switched >= 0).any(axis=1)
        print(
            f"{', '.join(names)}: up to {count} combinations, {', '.join(shares)} "
            f"(switching alone flips {alone.mean():.3f}), {seconds:.3f} s a row; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
