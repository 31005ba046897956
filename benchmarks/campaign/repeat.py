"""Whether the same question has the same answer: twice in one process, in another process, and with more threads.

    python -m benchmarks.campaign.repeat SEED

prints the radii of fixed questions to the last bit, as JSON; :func:`run_repeats` runs that with 1 and with 3 threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from arml_core import MahalanobisKNN

ROOT = Path(__file__).parents[2]
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
N_ROWS, N_FEATURES, N_POINTS = 2000, 64, 16  # large enough for matrix products to be split among threads
SEARCHED = 2  # points of the white-box attack
Radii = dict[str, list[str]]


def radii(seed: int, n_points: int = N_POINTS) -> Radii:
    """Both sides for a fixed problem, by every method in which no clock has a say, as hexadecimal numbers."""
    rng = np.random.default_rng([seed, 2])
    X, y = rng.normal(size=(N_ROWS, N_FEATURES)), rng.integers(4, size=N_ROWS)
    X += 0.5 * rng.normal(size=(4, N_FEATURES))[y]
    points, G = rng.normal(size=(n_points, N_FEATURES)), rng.normal(size=(N_FEATURES, N_FEATURES)) / 8
    found = {}
    for k in (1, 7):
        knn = MahalanobisKNN(k, G.T @ G).fit(X, y)
        for method in ("theorem1", "votes", *(["exact"] if k == 1 else [])):
            found[f"{method}, K = {k}, lower"] = knn.certify(points, method=method).lower
        found[f"whitebox, K = {k}, upper"] = knn.attack(points[:SEARCHED]).upper
        found[f"boundary, K = {k}, upper"] = knn.attack(points, method="boundary", steps=20).upper
    return {name: [float(value).hex() for value in values] for name, values in found.items()}


def run_repeats(seed: int) -> tuple[list[str], str]:
    """What is wrong, and a summary."""
    one, again, three = _elsewhere(seed, 1), _elsewhere(seed, 1), _elsewhere(seed, 3)
    wrong = [f"{name} differs between two processes" for name in one if one[name] != again[name]]
    if radii(seed) != radii(seed):
        wrong.append("radii differ between two runs in one process")
    repeated = "different" if wrong else "the same to the last bit"
    unsound, apart = compare(one, three)
    return wrong + unsound, f"two runs and two processes: {repeated}; 1 and 3 threads: {apart}"


def compare(one: Radii, other: Radii) -> tuple[list[str], str]:
    """Where different numbers of threads contradict each other, and how far apart their radii are."""
    apart = [name for name in one if one[name] != other[name]]
    wrong = [f"{name}: {text}" for name in apart if (text := _unsound(name, one, other))]
    largest = max((_difference(one[name], other[name]) for name in apart), default=0.0)
    return wrong, f"{len(one) - len(apart)} of {len(one)} lists the same to the last bit, the rest to {largest:.1e}"


def _unsound(name: str, one: Radii, three: Radii) -> str | None:
    """A lower side may depend on the threads, but with no number of them may it exceed what was seen to flip."""
    k = name.split(", ")[1]
    for lowers in (one, three):
        for uppers in (one, three):
            for attack in ("whitebox", "boundary"):
                upper = _numbers(uppers[f"{attack}, {k}, upper"])
                if name.endswith("lower") and np.any(_numbers(lowers[name])[: len(upper)] > upper):
                    return f"above a point that {attack} found with another number of threads"
    return None


def _difference(one: list[str], three: list[str]) -> float:
    a, b = _numbers(one), _numbers(three)
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), np.finfo(float).tiny)))


def _numbers(written: list[str]) -> np.ndarray:
    return np.array([float.fromhex(value) for value in written])


def _elsewhere(seed: int, threads: int) -> Radii:
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    command = [sys.executable, "-m", "benchmarks.campaign.repeat", str(seed)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    print(json.dumps(radii(int(sys.argv[1]))))
