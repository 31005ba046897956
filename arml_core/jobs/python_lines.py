"""Scripts that repeat work without jobs: what the specs write as Python, the data and the metric, and the imports.

All lines use the same names: `data` with its `X_train` and `y_train`, `metric` or `references`, `knn`, `threat`, and
`X`, `y` and `exclude` of the rows that are evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..results import FOLDER

TRAINING_ROWS = "X_train, y_train = data.X_train, data.y_train"
MODULES = {
    "arml_core.comparison": ("alone", "join"),
    "arml_core.cross_fitting": ("cross_fit",),
    "arml_core.curves": ("front_point",),
    "arml_core.datasets": ("read_dataset",),
    "arml_core.datasets.table": ("apply_layout", "layout_of", "read_table", "select"),
    "arml_core.figures": ("RobustLine", "curves_figure", "hand_made_components", "style_for", "verdicts_table"),
    "arml_core.figures.front": ("front_figure", "front_table"),
    "arml_core.figures.metric": ("anatomy", "ignored_words", "matrix_figure"),
    "arml_core.jobs": ("Client",),
    "arml_core.learners.registry": ("get_learner",),
    "arml_core.learners.storage": ("load_metric",),
    "arml_core.references": ("KMeansPrototypes", "RobustPrototypes"),
    "arml_core.references.registry": ("get_reference_learner",),
    "arml_core.report": ("reference_cells",),
    "arml_core.results": ("shipped",),
    "operator": ("attrgetter",),
}
"""Where the names come from that a script may use, beside `np` and `arml`."""


def script(lines: Iterable[str]) -> str:
    """The lines below the imports of the names they use."""
    body = "\n".join(lines)
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    imports = ["import numpy as np", ""] if "np" in used else []
    imports += ["import arml_core as arml"] if "arml" in used else []
    for module, offered in MODULES.items():
        names = [name for name in offered if name in used]
        imports += [f"from {module} import {', '.join(names)}"] if names else []
    return "\n".join([*imports, "", body])


def keywords(options: Mapping[str, Any]) -> str:
    """The options as keyword arguments behind a first argument."""
    return "".join(f", {name}={value!r}" for name, value in options.items())


def dataset_lines(name: str, fingerprint: str = "", **options: Any) -> list[str]:
    """The lines that load a dataset: by its name or, where that is empty, from the job store."""
    source = f"arml.load_dataset({name!r}{keywords(options)})" if name else f"Client().dataset({fingerprint!r})"
    return [f"data = {source}", TRAINING_ROWS]


def metric_of_file(path: Path) -> str:
    """The call that loads a metric; a file of the project is named as it is seen from the project's folder."""
    root = FOLDER.parents[1]
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return f"load_metric({shown.as_posix()!r}, data.n_features)"
