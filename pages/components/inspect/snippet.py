"""The Python lines that compute the view."""

from __future__ import annotations

from arml_core.results import FOLDER

from .sources import Source
from .study import PointQuestion


def metric_lines(source: Source) -> str:
    """A script that prints the eigenvalues and the rank of the metric and writes its heatmap."""
    return "\n".join(
        [
            *_imports(source, "anatomy, ignored_words, matrix_figure"),
            *_source(source),
            "found = anatomy(arml.MahalanobisKNN(metric=metric).fit(data.X_train, data.y_train).metric_)",
            "print(found.rank, found.eigenvalues)",
            "print(*ignored_words(found, data.feature_names))",
            'matrix_figure(found.matrix, data.feature_names, style_for(dark=False)).write_html("matrix.html")',
        ]
    )


def point_lines(source: Source, ask: PointQuestion, seconds: float) -> str:
    """A script that prints the neighbours, the interval and the twin's answer."""
    train = ask.part == "train"
    labels = "None" if ask.own else f"data.y_{ask.part}[[row]]"
    common = ["threat=threat", *(["exclude=[row]"] if train else [])]
    left_out = ", exclude=[row]" if train else ""
    exact = ask.k == 1 and ask.norm == "l2"
    methods = [*(["theorem1"] if ask.k % 2 else []), "votes"]
    return "\n".join(
        [
            *_imports(source, None),
            *_source(source),
            f"row = {ask.row}" + ("  # certified without itself" if train else ""),
            f"x, y = data.X_{ask.part}[[row]], {labels}",
            f"knn = arml.MahalanobisKNN(n_neighbors={ask.k}, metric=metric).fit(data.X_train, data.y_train)",
            f"threat = arml.ThreatModel(norm={ask.norm!r})",
            f"distances, neighbours = knn.kneighbors(x{left_out})",
            "print(neighbours[0], data.y_train[neighbours[0]], distances[0] ** 0.5)",
            f"for method in {methods!r}:",
            f"    print(method, knn.certify(x, y, method=method, {', '.join(common)}).lower[0])",
            f"found = knn.certify(x, y, method={'exact' if exact else 'search'!r}, {', '.join(common)}"
            + ("" if exact else f", budget={seconds:g}")
            + ")",
            "print(found.predicted[0], found.lower[0], found.upper[0], found.exact[0])",
            *([] if exact else [f"print('whitebox', knn.attack(x, y, {', '.join(common)}).upper[0])"]),
            f"print('the twin is answered', knn.predict(found.adversarial{left_out})[0])",
        ]
    )


def _imports(source: Source, figures: str | None) -> list[str]:
    lines = ["import arml_core as arml"]
    if figures is not None:
        lines += ["from arml_core.figures import style_for", f"from arml_core.figures.metric import {figures}"]
    if source.job is not None or not source.name:
        lines.append("from arml_core.jobs import Client")
    elif source.path is not None:
        lines.append("from arml_core.learners.storage import load_metric")
    return [*lines, ""]


def _source(source: Source) -> list[str]:
    if source.job is not None or not source.name:
        data = f"data = Client().dataset({source.fingerprint!r})"
    else:
        data = f"data = arml.load_dataset({source.name!r})"
    if source.job is not None:
        return [data, f"metric = Client().run({source.job.id!r})"]
    if source.path is None:
        return [data, "metric = None  # Euclidean"]
    path = source.path.relative_to(FOLDER.parents[1]) if source.path.is_relative_to(FOLDER.parents[1]) else source.path
    return [data, f"metric = load_metric({path.as_posix()!r}, data.n_features)"]
