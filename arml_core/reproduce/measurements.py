"""Two small tables of the paper: the datasets with their Euclidean errors, and how long 100 iterations take."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..atomic_write import atomic_write
from ..datasets import load_dataset
from ..jobs.capacity import Limits
from ..jobs.client import Client
from ..jobs.spec import PointsSpec, RunSpec
from ..jobs.status import JobStatus
from ..knn import MahalanobisKNN
from ..progress import Callback
from ..vocabulary import duration
from .plan import SEED, PlanStep
from .published import METHODS, TITLES, K
from .result_files import machine, versions
from .run import Display, Progress, TrackedJob, failure_of, fingerprint_of, seconds_of, track

DATASETS_FILE = "datasets.json"
RUNTIME_FILE = "runtime.json"
RUNTIME_SET = "usps"
ITERATIONS = 100
RUNTIME_PARAMETERS: dict[str, dict[str, Any]] = {
    "lmnn": {"max_iter": ITERATIONS, "min_iter": ITERATIONS},
    "itml": {"max_iter": ITERATIONS},
    "nca": {"max_iter": ITERATIONS},
    "arml": {"n_epochs": ITERATIONS},
}


def read_measurements(folder: Path, name: str) -> dict[str, Any]:
    """What one of these files holds; empty if it is not there."""
    path = folder / name
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def measure_datasets(folder: Path, names: Iterable[str], display: Display) -> None:
    """Sizes of the datasets, and the errors of the Euclidean 1-NN and 11-NN on all of their test points."""
    content = read_measurements(folder, DATASETS_FILE)
    for name in names:
        data = load_dataset(name)
        wrong = {}
        for k in (1, K):
            knn = MahalanobisKNN(k).fit(data.X_train, data.y_train)
            predicted = knn.predict(data.X_test, callback=_points_callback(display, f"{TITLES[name]}, K = {k}"))
            wrong[k] = float((predicted != data.y_test).mean())
        content[name] = {
            "features": data.n_features,
            "classes": data.n_classes,
            "train": len(data.X_train),
            "test": len(data.X_test),
            "error_1nn": wrong[1],
            "error_11nn": wrong[K],
            "fingerprint": data.fingerprint,
            **_provenance(),
        }
        _write(folder / DATASETS_FILE, content)
        display.print_line(f"{TITLES[name]}: 1-NN {wrong[1]:.4f}, {K}-NN {wrong[K]:.4f}")


def error_step(dataset: str, n_neighbors: int) -> PlanStep:
    """One of these errors as a job: the certificates of all test points, which come with the answers."""
    return PlanStep(dataset, "euclidean", "exact" if n_neighbors == 1 else "votes", PointsSpec("test"))


def submit_runtime(client: Client, learner: str) -> JobStatus:
    """The training whose time is measured."""
    return client.submit(_timed(learner, client.add_dataset(RUNTIME_SET)))


def find_runtime(client: Client, learner: str) -> tuple[JobStatus] | None:
    """The same job where somebody has asked for it already."""
    found = client.find(_timed(learner, fingerprint_of(RUNTIME_SET)))
    return None if found is None else (found,)


def _timed(learner: str, fingerprint: str) -> RunSpec:
    return RunSpec(fingerprint, learner, RUNTIME_PARAMETERS[learner], SEED)


def measure_runtime(client: Client, folder: Path, methods: Iterable[str], display: Display) -> list[str]:
    """Seconds for 100 iterations on USPS, one learner after the other; failures are returned."""
    content = read_measurements(folder, RUNTIME_FILE)
    failures = []
    for learner in methods:
        status = submit_runtime(client, learner)
        progress = Progress({status.id: TrackedJob(f"100 iterations of {METHODS[learner]}", 1.0)})
        track(client, progress, display, lambda ended: None)
        status = client.status(status.id)
        failure = failure_of(status)
        if failure:
            failures.append(f"{METHODS[learner]}: {failure}")
            display.print_line(failures[-1])
            continue
        content[learner] = {
            "seconds": round(seconds_of(status), 1),
            "iterations": client.run(status.id).n_iter_,
            "threads": Limits.default().threads,
            "parameters": RUNTIME_PARAMETERS[learner],
            **_provenance(),
        }
        _write(folder / RUNTIME_FILE, content)
        display.print_line(
            f"{METHODS[learner]}: {content[learner]['iterations']} iterations, {duration(content[learner]['seconds'])}"
        )
    return failures


def _points_callback(display: Display, what: str) -> Callback:
    return lambda done, total, info: display.print_status(f"{what}: {done} of {total} points")


def _provenance() -> dict[str, Any]:
    return {"machine": machine(), "versions": versions(), "date": datetime.now(UTC).date().isoformat()}


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    atomic_write(path, text.encode())
