"""The Python lines that repeat a training or an evaluation."""

from __future__ import annotations

from pathlib import Path

from arml_core.jobs import EvaluationSpec, RunSpec
from arml_core.jobs.python_lines import TRAINING_ROWS, dataset_lines, metric_of_file, script
from arml_core.jobs.spec import GIVEN

from .dataset_options import DatasetOption


def training_lines(spec: RunSpec, dataset: DatasetOption | None) -> str:
    """A script that learns the same metric and prints M; of a metric from elsewhere, one that loads it."""
    return script([*_metric_lines(spec, dataset), "print(metric.get_mahalanobis_matrix())"])


def evaluation_lines(run: RunSpec, evaluations: list[EvaluationSpec], dataset: DatasetOption | None) -> str | None:
    """A script that prints the robust errors of these evaluations, which share K, threat model and points.

    None for rows of a private file, which no script can name.
    """
    first = evaluations[0]
    if first.points.part == "given":
        return None
    lines = [*_metric_lines(run, dataset), *first.python_lines(), *first.points.python_lines()]
    for spec in evaluations:
        lines.append(f"{spec.side} = {spec.python()}.{spec.side}")
        lines.append(f"print({spec.method!r}, arml.robust_error({spec.side}, [0, 0.1, 0.2]))")
    return script(lines)


def _metric_lines(spec: RunSpec, dataset: DatasetOption | None) -> list[str]:
    if dataset is None or dataset.group == "file":
        read = 'read_dataset("your-file.csv", label="your label column")  # your upload, read the same way'
        data = [f"data = {read}", TRAINING_ROWS]
    else:
        data = dataset_lines(dataset.key)
    if spec.learner == GIVEN:
        return [*data, f'metric = {metric_of_file(Path("metric.npz"))}  # the file from "Download the metric"']
    return [*data, f"metric = {spec.python()}"]
