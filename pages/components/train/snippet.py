"""The Python lines that repeat a training or an evaluation."""

from __future__ import annotations

from arml_core.jobs import EvaluationSpec, RunSpec
from arml_core.jobs.learners import offered
from arml_core.jobs.spec import GIVEN

from .catalog import Offer


def training_lines(spec: RunSpec, offer: Offer | None) -> str:
    """A script that learns the same metric and prints M; of a metric from elsewhere, one that loads it."""
    return "\n".join([*_imports(spec), *_data(offer), *_metric(spec), "print(metric.get_mahalanobis_matrix())"])


def evaluation_lines(run: RunSpec, evaluations: list[EvaluationSpec], offer: Offer | None) -> str | None:
    """A script that prints the robust errors of these evaluations, which share K, threat model and points.

    None for rows of a private file, which no script can name.
    """
    first = evaluations[0]
    if first.points.part == "given":
        return None
    lines = [
        *_imports(run),
        *_data(offer),
        *_metric(run),
        *_points(first),
        f"knn = arml.MahalanobisKNN(n_neighbors={first.n_neighbors}, metric=metric).fit(data.X_train, data.y_train)",
        f"threat = {_threat(first)}",
    ]
    exclude = ", exclude=range(len(X))" if first.points.part == "train" else ""
    labels = "y" if first.points.labels else "None"
    for spec in evaluations:
        options = f"method={spec.method!r}, threat=threat{exclude}"
        if spec.budget is not None:
            options += f", budget={spec.budget:g}"
        if spec.method == "boundary":
            options += f", steps={spec.options['steps']}, random_state={spec.seed}"
        side = "lower" if spec.kind == "certify" else "upper"
        name = "certified" if spec.kind == "certify" else "attacked"
        lines.append(f"{name} = knn.{spec.kind}(X, {labels}, {options})")
        lines.append(f"print({spec.method!r}, arml.robust_error({name}.{side}, [0, 0.1, 0.2]))")
    return "\n".join(lines)


def _imports(spec: RunSpec) -> list[str]:
    lines = ["import arml_core as arml"]
    if spec.learner == GIVEN:
        lines.append("from arml_core.learners.storage import load_metric")
    else:
        lines.append("from arml_core.learners.registry import get_learner")
    return lines


def _data(offer: Offer | None) -> list[str]:
    if offer is None or offer.group == "file":
        return [
            "from arml_core.datasets import read_dataset",
            "",
            'data = read_dataset("your-file.csv", label="your label column")  # your upload, read the same way',
        ]
    return ["", f"data = arml.load_dataset({offer.key!r})"]


def _metric(spec: RunSpec) -> list[str]:
    if spec.learner == GIVEN:
        return ['metric = load_metric("metric.npz", data.n_features)  # the file from "Download the metric"']
    entry = offered(spec.learner)
    defaults = {} if entry is None else {parameter.name: parameter.default for parameter in entry.parameters}
    changed = {
        name: value for name, value in spec.parameters.items() if name not in defaults or defaults[name] != value
    }
    options = f"{changed!r}, " if changed else ""
    build = f"get_learner({spec.learner!r}).build({options}random_state={spec.seed}, device={spec.device!r})"
    return [f"metric = {build}.fit(data.X_train, data.y_train)"]


def _points(spec: EvaluationSpec) -> list[str]:
    n = spec.points.n
    some = "" if n is None else f"[:{n}]"
    if spec.points.part == "evaluation":
        return [f"X, y = data.evaluation({n or 1000})"]
    part = "train" if spec.points.part == "train" else "test"
    return [f"X, y = data.X_{part}{some}, data.y_{part}{some}"]


def _threat(spec: EvaluationSpec) -> str:
    arguments = {name: value for name, value in spec.threat.arguments().items() if value is not None}
    return f"arml.ThreatModel({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
