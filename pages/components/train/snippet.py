"""The Python lines that repeat a training or an evaluation."""

from __future__ import annotations

from pathlib import Path

from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.python_lines import TRAINING_ROWS, dataset_lines, metric_of_file, script
from arml_core.jobs.spec import GIVEN

from ..dataset_options import DatasetOption


def training_lines(spec: RunSpec, dataset: DatasetOption | None) -> str:
    """A script that learns the same metric and prints M, or the same references; what came from elsewhere is loaded."""
    shown = "metric.get_mahalanobis_matrix()"
    if spec.gives != "metric":
        shown = "references.reference_labels_, references.references_"
    return script([*_model_lines(spec, dataset), f"print({shown})"])


def evaluation_lines(run: RunSpec, evaluations: list[EvaluationSpec], dataset: DatasetOption | None) -> str | None:
    """A script that prints the robust errors of these evaluations, which share K, threat model and points.

    None for rows of a private file, which no script can name.
    """
    first = evaluations[0]
    if first.points.part == "given":
        return None
    lines = [*_model_lines(run, dataset, first.points), *first.python_lines(run.role), *first.points.python_lines()]
    for spec in evaluations:
        lines.append(f"{spec.side} = {spec.python()}.{spec.side}")
        lines.append(f"print({spec.method!r}, arml.robust_error({spec.side}, [0, 0.1, 0.2]))")
    return script(lines)


def _model_lines(spec: RunSpec, dataset: DatasetOption | None, points: PointsSpec | None = None) -> list[str]:
    if dataset is None or dataset.group == "file":
        read = 'read_dataset("your-file.csv", label="your label column")  # your upload, read the same way'
        data = [f"data = {read}", TRAINING_ROWS]
    else:
        data = dataset_lines(dataset.key)
    if spec.learner == GIVEN:
        load = metric_of_file(Path(f"{spec.role}.npz"))
        return [*data, f'{spec.role} = {load}  # the file from "Download the {spec.role}"']
    return [*data, spec.python_line(points)]
