"""The paper's datasets: no attack beats a certificate on 1,000 evaluation points of each.

Certificates are compared with every attack's points, without any tolerance. Metrics are the Euclidean one and, where it
ships, ARML's. Both attacks take all points; searching, which takes time, fewer of them. Each line says how many.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arml_core import ContradictionError, MahalanobisKNN, load_dataset, load_metric
from arml_core.datasets import DownloadError
from arml_core.reproduce.published import SMALL, TITLES

METRICS = Path(__file__).parents[2] / "data" / "results" / "metrics"
NEIGHBOURS = (1, 11)


@dataclass(frozen=True)
class CampaignEffort:
    """On how many of the points each method runs; certificates in one pass run on all of them."""

    whitebox: int
    search: int
    boundary: int
    steps: int

    def on(self, points: int) -> CampaignEffort:
        """The same where there are only so many points."""
        return CampaignEffort(
            min(points, self.whitebox), min(points, self.search), min(points, self.boundary), self.steps
        )

    def __str__(self) -> str:
        return f"white-box {self.whitebox}, search {self.search}, boundary {self.boundary} x {self.steps} steps"


EFFORTS = {  # small sets or not, K
    (True, 1): CampaignEffort(1000, 1000, 1000, 100),  # at K = 1 search is the exact solver, and fast
    (True, 11): CampaignEffort(1000, 20, 1000, 100),
    (False, 1): CampaignEffort(1000, 60, 1000, 50),
    (False, 11): CampaignEffort(1000, 3, 1000, 50),
}
SEARCH_SECONDS = 0.5


def run_paper(points: int, deadline: float) -> int:
    """Certify and attack set after set; returns the number of violations."""
    print("set, metric, K: points (right); of these attacked; least attack / certificate - 1; violations; seconds")
    total = 0
    for name, metric in _metrics():
        try:
            data = load_dataset(name)
        except DownloadError as missing:
            print(f"{TITLES[name]}: left out. {missing}")
            continue
        x, y = data.evaluation(points)
        for k in NEIGHBOURS:
            title = f"{TITLES[name]}, {'Euclidean' if metric is None else 'ARML'}, K = {k}"
            if time.monotonic() > deadline:
                print(f"{title}: left out, the time is up")
                continue
            started = time.monotonic()
            knn = MahalanobisKNN(k, None if metric is None else load_metric(metric, data.n_features)).fit(
                data.X_train, data.y_train
            )
            faults, line = beaten(knn, x, y, EFFORTS[name in SMALL, k].on(len(x)))
            total += len(faults)
            print(f"{title}: {line}; {len(faults)}; {time.monotonic() - started:.0f}", flush=True)
            for fault in faults:
                print(f"  VIOLATION {fault}", flush=True)
    return total


def _metrics() -> Iterator[tuple[str, Path | None]]:
    for name in TITLES:
        yield name, None
        shipped = METRICS / f"{name}-arml.npz"
        if shipped.exists():
            yield name, shipped


def beaten(knn: MahalanobisKNN, x: np.ndarray, y: np.ndarray, effort: CampaignEffort) -> tuple[list[str], str]:
    """Certificates that an attack beats, points that prove nothing, and a line on what was compared."""
    theorem1, votes = (knn.certify(x, y, method=method) for method in ("theorem1", "votes"))
    lowers = {"theorem1": theorem1.lower, "votes": votes.lower}
    white = knn.attack(x[: effort.whitebox], y[: effort.whitebox])
    boundary = knn.attack(x[: effort.boundary], y[: effort.boundary], method="boundary", steps=effort.steps)
    attacks = {"white-box": white, "boundary": boundary}
    faults = [f"row {b}: theorem1 exceeds votes" for b in np.flatnonzero(theorem1.lower > votes.lower * (1 + 1e-12))]
    try:
        search = knn.certify(x[: effort.search], y[: effort.search], method="search", budget=SEARCH_SECONDS)
        lowers["search"], attacks["search"] = search.lower, search
    except ContradictionError as error:
        faults.append(f"search, {error}")
    closest = np.inf
    for attack, found in attacks.items():
        faults += [f"{attack}, {fault}" for fault in _unproved(knn, x, y, found.upper, found.adversarial)]
        for method, lower in lowers.items():
            n = min(len(lower), len(found.upper))
            below = np.flatnonzero(lower[:n] > found.upper[:n])
            faults += [f"{attack} beats {method} on row {b}: {found.upper[b]!r} < {lower[b]!r}" for b in below]
            real = found.correct[:n] & (lower[:n] > 0)
            closest = min(closest, (found.upper[:n][real] / lower[:n][real]).min(initial=np.inf))
    line = f"{len(x)} ({int(theorem1.correct.sum())}); {effort}; {closest - 1:.1e}"
    return faults, line


def _unproved(knn: MahalanobisKNN, x: np.ndarray, y: np.ndarray, upper: np.ndarray, moved: np.ndarray) -> list[str]:
    """Finite uppers whose points are answered rightly or are larger than stated."""
    rows = np.flatnonzero(np.isfinite(upper))
    right = rows[knn.predict(moved[rows]) == y[rows]]
    size = np.linalg.norm(moved[rows].astype(float) - x[rows].astype(float), axis=1)
    wrong = rows[np.abs(size - upper[rows]) > 1e-12 * np.maximum(size, 1.0)]
    return [f"row {b} is answered rightly" for b in right] + [f"row {b} has another size" for b in wrong]
