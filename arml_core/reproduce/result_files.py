"""Keeping results: one file of evaluations per dataset and learner, and the metric they belong to."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from ..datasets.base import content_hash
from ..jobs.spec import RunSpec
from ..learners.storage import load_metric, save_metric
from ..metric import Metric
from ..numerics.threads import cores
from ..results import Evaluation, read_results, write_results

METRICS = "metrics"
LOCK = ".lock"
LARGEST_METRIC = 256
"""Metrics of more features are megabytes: they are trained again instead of kept."""
HASH = 16
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


def machine() -> str:
    """The class of this machine, not its name."""
    return f"{cores()}-core {platform.machine().replace('_', '-')} CPU"


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def with_provenance(evaluation: Evaluation, deviations: Iterable[str], metric: Metric | None = None) -> Evaluation:
    """The evaluation with the machine, the versions, the metric's hash and its deviations in `made`."""
    made: dict[str, Any] = {**evaluation.made, "machine": machine(), "versions": versions()}
    if metric is not None:
        made["metric"] = content_hash([metric.components])[:HASH]
    text = "; ".join(deviations)
    if text:
        made["deviation"] = text
    return replace(evaluation, made=made)


def result_path(folder: Path, dataset: str, learner: str) -> Path:
    return folder / f"{dataset}-{learner}.npz"


def add_result(folder: Path, evaluation: Evaluation, several: bool = False) -> bool:
    """Put an evaluation into its file; False if the file has the same with more points, steps or seconds already.

    Of two searches alike, the one that was for all radii is kept, not the one that was to decide some of them.

    A file is about one metric: evaluations of an earlier training leave it. With `several` it keeps a metric for each
    setting of the learner.
    """
    path, key = result_path(folder, evaluation.dataset, evaluation.run.learner), _entry_key(evaluation)
    with _alone(folder):
        kept = read_results(path) if path.exists() else ()
        present = {_entry_key(old): old for old in kept if several or _same_metric(old, evaluation)}
        if key in present and _extent(present[key]) > _extent(evaluation):
            return False
        present[key] = evaluation
        write_results(path, [present[key] for key in sorted(present)])
    return True


def add_metric(folder: Path, evaluation: Evaluation, metric: Metric) -> None:
    """Keep the metric an evaluation was made with, if it is small and was learned and is not the one kept already."""
    if evaluation.run.learner == "euclidean" or metric.components.shape[1] > LARGEST_METRIC:
        return
    path = result_path(folder / METRICS, evaluation.dataset, evaluation.run.learner)
    if path.exists() and np.array_equal(load_metric(path).metric.components, metric.components):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    save_metric(
        path,
        metric,
        learner=evaluation.run.learner,
        parameters=evaluation.run.parameters,
        dataset=evaluation.dataset,
        fingerprint=evaluation.run.dataset,
        seed=evaluation.run.seed,
    )


def kept_metric(folder: Path, dataset: str, trained: RunSpec) -> Metric | None:
    """The metric of a training that is kept in the folder; None if there is none, or only that of another training."""
    path = result_path(folder / METRICS, dataset, trained.learner)
    if not path.exists():
        return None
    saved = load_metric(path)
    known = [saved.info.get(name) for name in ("fingerprint", "parameters", "seed")]
    return saved.metric if known == [trained.dataset, trained.parameters, trained.seed] else None


def metric_file(folder: Path, evaluation: Evaluation) -> Path | None:
    """The file with the very metric an evaluation was made with; None if it is not kept."""
    path = result_path(folder / METRICS, evaluation.dataset, evaluation.run.learner)
    if not path.exists():
        return None
    kept = content_hash([load_metric(path).metric.components])[:HASH]
    return path if kept == evaluation.made.get("metric") else None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two commands that add to the same file take turns."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
        yield


def _entry_key(evaluation: Evaluation) -> tuple[str, ...]:
    """What a file holds only once."""
    return (
        f"{evaluation.spec.n_neighbors:04d}",
        evaluation.spec.kind,
        evaluation.spec.method,
        str(evaluation.spec.threat.arguments()),
        str(sorted((name, str(value)) for name, value in evaluation.run.parameters.items())),
        str(sorted((name, str(value)) for name, value in evaluation.spec.options.items() if name != "steps")),
        *map(str, evaluation.spec.rule().items()),
    )


def _same_metric(one: Evaluation, other: Evaluation) -> bool:
    return one.made.get("metric") == other.made.get("metric")


def _extent(evaluation: Evaluation) -> tuple[int, int, float, bool]:
    spec = evaluation.spec
    return len(evaluation), int(spec.options.get("steps", 0)), spec.budget or 0.0, spec.at is None
