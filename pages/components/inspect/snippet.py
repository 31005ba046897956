"""The Python lines that compute the view."""

from __future__ import annotations

from dataclasses import replace

from arml_core.jobs import EvaluationSpec, PointsSpec
from arml_core.jobs.python_lines import dataset_lines, metric_of_file, script
from arml_core.threat import ThreatModel

from .sources import Source
from .study import PointQuestion


def metric_lines(source: Source) -> str:
    """A script that prints the eigenvalues and the rank of the metric and writes its heatmap."""
    return script(
        [
            *_source_lines(source),
            "found = anatomy(arml.MahalanobisKNN(metric=metric).fit(X_train, y_train).metric_)",
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
    return script(
        [
            *_source_lines(source),
            *votes.python_lines(),
            *points.python_lines(ask.row),
            f"distances, neighbours = knn.kneighbors(X{left_out})",
            "print(neighbours[0], y_train[neighbours[0]], distances[0] ** 0.5)",
            *(f"print({spec.method!r}, {spec.python()}.{spec.side}[0])" for spec in bounds),
            f"found = {last.python()}",
            "print(found.predicted[0], found.lower[0], found.upper[0], found.exact[0])",
            f"print('the twin is answered', knn.predict(found.adversarial{left_out})[0])",
            f"print(knn.certify_training(X, y{left_out}).to_frame())  # how many wrong training rows could change it",
        ]
    )


def _source_lines(source: Source) -> list[str]:
    if source.job is not None:
        metric = f"Client().run({source.job.id!r})"
    else:
        metric = "None  # Euclidean" if source.path is None else metric_of_file(source.path)
    return [*dataset_lines("" if source.stored else source.name, source.fingerprint), f"metric = {metric}"]
