"""The Python lines that reproduce a playground view."""

from __future__ import annotations

from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.python_lines import dataset_lines, script
from arml_core.threat import ThreatModel

from ..plane_models import ROBUST, SEED, TITLES
from ..plane_panel import END, SEARCH_SECONDS, best_method, points_of, recorded_training
from .edits import as_tuples
from .view import PlaygroundView

PRINTED = "found.predicted[0], found.lower[0], found.upper[0], found.exact[0]"


def python_lines(view: PlaygroundView) -> str:
    """A script that runs as it stands and prints the radius of the chosen point for every picture."""
    place = f"X, y = np.array([{view.at}]), None"
    rows = PointsSpec("train").python_lines(view.row)
    return script(
        [
            *_data_lines(view),
            *([place] if view.row is None else rows),
            *_metric_lines(view, [method for method in dict.fromkeys(view.methods) if method != ROBUST]),
            *(_prototype_lines(view) if ROBUST in view.methods else []),
        ]
    )


def _spec(view: PlaygroundView, k: int, leaves_out: bool) -> EvaluationSpec:
    points = PointsSpec("train" if leaves_out else "test")
    threat, method = ThreatModel(view.norm), best_method(k, view.norm)
    return EvaluationSpec("certify", "", k, method, threat, points, SEARCH_SECONDS).normalised()


def _metric_lines(view: PlaygroundView, methods: list[str]) -> list[str]:
    """The radius of the chosen point under each metric."""
    if not methods:
        return []
    spec = _spec(view, view.k, leaves_out=view.row is not None)
    return [
        "metrics = {",
        *(f"    {TITLES[learner]!r}: {_metric(learner, view)}," for learner in methods),
        "}",
        "for name, metric in metrics.items():",
        *(f"    {line}" for line in spec.python_lines()),
        f"    found = {spec.python()}",
        f"    print(name, {PRINTED})",
    ]


def _prototype_lines(view: PlaygroundView) -> list[str]:
    """The radius of the chosen point when the prototypes answer, at the epoch that is shown."""
    spec = _spec(view, 1, leaves_out=False)
    threat = ThreatModel(view.norm).python()
    learner = f"RobustPrototypes({view.prototypes!r}, {view.target!r}, device='cpu', random_state={SEED})"
    lines = [f"learner = {learner}"]
    given = "references=learner"
    if view.prototype_epoch == 0:
        lines = [f"learner = KMeansPrototypes({view.prototypes!r}, random_state={SEED})  # where the training starts"]
    elif view.prototype_epoch != END:
        epoch = recorded_training(ROBUST, view, points_of(view)).epoch(view.prototype_epoch)
        lines += [
            "kept = []",
            "",
            "def keep(done, total, info):",
            f"    if done == {epoch}:",
            '        kept.extend(info["references"]())',
            "",
            "learner.fit(X_train, y_train, callback=keep)",
            "prototypes, codes, metric = kept",
        ]
        given = "metric=metric, references=(prototypes, learner.classes_[codes])"
    return [
        *lines,
        f"knn = arml.MahalanobisKNN({given}).fit(X_train, y_train)",
        f"threat = {threat}",
        f"found = {spec.python()}  # learned from all points: none is left out",
        f"print({TITLES[ROBUST]!r}, {PRINTED})",
    ]


def _data_lines(view: PlaygroundView) -> list[str]:
    if view.points is not None:
        rows = [f"    ({x!r}, {y!r}, {c})," for x, y, c in as_tuples(points_of(view))]
        return ["points = np.array([", *rows, "])", "X_train, y_train = points[:, :2], points[:, 2].astype(int)"]
    if view.data == "seven_points":
        return dataset_lines(view.data)
    return dataset_lines(view.data, n=view.n, noise=view.noise, seed=view.seed)


def _metric(learner: str, view: PlaygroundView) -> str:
    if learner == "hand":
        return f"arml.Metric.from_components(hand_made_components{view.hand})"
    if learner == "arml" and view.epoch == 0:
        return "None"
    return RunSpec("", learner, {"n_epochs": view.epoch} if learner == "arml" else {}, SEED, "cpu").python()
