"""The Python lines that reproduce a playground view."""

from __future__ import annotations

from .certificates import SEARCH_SECONDS, best_method
from .compute import NORMS, SEED, TITLES, points_of
from .edits import as_tuples
from .view import EPOCHS, PlaygroundView


def python_lines(view: PlaygroundView) -> str:
    """A script that runs as it stands and prints the radius of the chosen point for every picture."""
    return "\n".join(
        [
            "import numpy as np",
            "",
            "import arml_core as arml",
            *(["from arml_core.figures import hand_made_components"] if "hand" in view.methods else []),
            "from arml_core.learners.registry import get_learner",
            "",
            *_data_lines(view),
            "metrics = {",
            *(f"    {TITLES[method]!r}: {_metric(method, view)}," for method in dict.fromkeys(view.methods)),
            "}",
            *_point_lines(view),
            "for name, metric in metrics.items():",
            f"    knn = arml.MahalanobisKNN(n_neighbors={view.k}, metric=metric).fit(X, y)",
            f"    found = knn.certify(x, {'None' if view.row is None else 'y[[row]]'}, {_options(view)})",
            "    print(name, found.predicted[0], found.lower[0], found.upper[0], found.exact[0])",
        ]
    )


def _data_lines(view: PlaygroundView) -> list[str]:
    if view.points is not None:
        rows = [f"    ({x!r}, {y!r}, {c})," for x, y, c in as_tuples(points_of(view))]
        return ["points = np.array([", *rows, "])", "X, y = points[:, :2], points[:, 2].astype(int)"]
    options = "" if view.data == "seven_points" else f", n={view.n}, noise={view.noise}, seed={view.seed}"
    return [f"data = arml.load_dataset({view.data!r}{options})", "X, y = data.X_train, data.y_train"]


def _metric(method: str, view: PlaygroundView) -> str:
    if method == "hand":
        return f"arml.Metric.from_components(hand_made_components{view.hand})"
    if method == "arml" and view.epoch == 0:
        return "None"
    options = f"{{'n_epochs': {view.epoch}}}, " if method == "arml" and view.epoch != EPOCHS else ""
    return f"get_learner({method!r}).build({options}random_state={SEED}, device='cpu').fit(X, y)"


def _point_lines(view: PlaygroundView) -> list[str]:
    if view.row is None:
        return [f"x = np.array([{view.at}])"]
    return [f"row = {view.row}  # a training point, certified without itself", "x = X[[row]]"]


def _options(view: PlaygroundView) -> str:
    method = best_method(view.k, NORMS[view.norm])
    parts = [f"method={method!r}", f"threat=arml.ThreatModel(norm={view.norm!r})"]
    if view.row is not None:
        parts.append("exclude=[row]")
    if method == "search":
        parts.append(f"budget={SEARCH_SECONDS}")
    return ", ".join(parts)
