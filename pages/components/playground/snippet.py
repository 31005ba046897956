"""The Python lines that reproduce a playground view."""

from __future__ import annotations

from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.python_lines import dataset_lines, script
from arml_core.threat import ThreatModel

from ..plane_panel import SEARCH_SECONDS, SEED, TITLES, best_method, points_of
from .edits import as_tuples
from .view import PlaygroundView


def python_lines(view: PlaygroundView) -> str:
    """A script that runs as it stands and prints the radius of the chosen point for every picture."""
    threat = ThreatModel(view.norm)
    method = best_method(view.k, view.norm)
    points = PointsSpec("test" if view.row is None else "train")  # a free place, too, leaves no voter out
    spec = EvaluationSpec("certify", "", view.k, method, threat, points, SEARCH_SECONDS).normalised()
    place = f"X, y = np.array([{view.at}]), None"
    return script(
        [
            *_data_lines(view),
            "metrics = {",
            *(f"    {TITLES[learner]!r}: {_metric(learner, view)}," for learner in dict.fromkeys(view.methods)),
            "}",
            *([place] if view.row is None else points.python_lines(view.row)),
            "for name, metric in metrics.items():",
            *(f"    {line}" for line in spec.python_lines()),
            f"    found = {spec.python()}",
            "    print(name, found.predicted[0], found.lower[0], found.upper[0], found.exact[0])",
        ]
    )


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
