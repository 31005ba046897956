"""The Python lines that compute the view."""

from __future__ import annotations

from dataclasses import replace

from arml_core.jobs import EvaluationSpec, PointsSpec
from arml_core.jobs.python_lines import dataset_lines, metric_of_file, script
from arml_core.jobs.spec import Role
from arml_core.threat import ThreatModel

from .sources import Source
from .study import PointQuestion


def metric_lines(source: Source) -> str:
    """A script that prints the eigenvalues and the rank of the metric and writes its heatmap."""
    return script(
        [
            *_source_lines(source),
            f"found = anatomy(arml.MahalanobisKNN({_role(source)}={_role(source)}).fit(X_train, y_train).metric_)",
            "print(found.rank, found.eigenvalues)",
            "print(*ignored_words(found, data.feature_names))",
            'matrix_figure(found.matrix, data.feature_names, style_for(dark=False)).write_html("matrix.html")',
        ]
    )


def point_lines(source: Source, ask: PointQuestion, seconds: float) -> str:
    """A script that prints the neighbours, the interval and the twin's answer."""
    points = PointsSpec(ask.part, labels=not ask.own)
    votes = EvaluationSpec("certify", "", ask.k, "votes", ThreatModel(ask.norm), points)
    exact = ask.k == 1 and ask.norm == "l2"
    last = replace(votes, method="exact") if exact else replace(votes, method="search", budget=seconds)
    bounds = [*([replace(votes, method="theorem1")] if ask.k % 2 else []), votes]
    bounds += [] if exact else [replace(votes, kind="attack", method="whitebox")]
    left_out = ", exclude=exclude" if ask.part == "train" else ""
    voters = "y_train" if source.gives == "metric" else "knn.reference_labels_"
    training = [
        f"print(knn.certify_training(X, y{left_out}).to_frame())  # how many wrong training rows could change it"
    ]
    training = [] if source.gives == "references" else training
    return script(
        [
            *_source_lines(source),
            *votes.python_lines(_role(source)),
            *points.python_lines(ask.row),
            f"distances, neighbours = knn.kneighbors(X{left_out})",
            f"print(neighbours[0], {voters}[neighbours[0]], distances[0] ** 0.5)",
            *(f"print({spec.method!r}, {spec.python()}.{spec.side}[0])" for spec in bounds),
            f"found = {last.python()}",
            "print(found.predicted[0], found.lower[0], found.upper[0], found.exact[0])",
            f"print('the twin is answered', knn.predict(found.adversarial{left_out})[0])",
            *training,
        ]
    )


def _source_lines(source: Source) -> list[str]:
    if source.job is not None:
        metric = f"Client().run({source.job.id!r})"
    else:
        metric = "None  # Euclidean" if source.path is None else metric_of_file(source.path)
    return [*dataset_lines("" if source.stored else source.name, source.fingerprint), f"{_role(source)} = {metric}"]


def reference_lines(source: Source) -> str:
    """A script that prints for each reference its label, the rows it answers for, the right ones, and the nearest."""
    return script(
        [
            *_source_lines(source),
            "knn = arml.MahalanobisKNN(references=references).fit(X_train, y_train)",
            "cells = reference_cells(knn, X_train, y_train)",
            "for found in zip(knn.reference_labels_, cells.rows, cells.right, cells.nearest):",
            "    print(*found)",
        ]
    )


def _role(source: Source) -> Role:
    return "metric" if source.gives == "metric" else "references"
