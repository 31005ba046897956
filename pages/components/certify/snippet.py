"""The Python lines that compute the verdicts on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .choices import Asked, parameters_of
from .prepare import PreparedTable, known_options, threat_of
from .results import CertifyJobs
from .samples import SAMPLES
from .sources import Sources


def python_lines(asked: Asked, sources: Sources, prepared: PreparedTable, work: CertifyJobs) -> str:
    """A script that runs as it stands in a folder with the files and prints each row's line, answer and interval."""
    spec = work.spec
    table_names = ["read_table", "select"] if asked.mode == "one" else ["apply_layout", "read_table", "select"]
    own_metric = "run" in (asked.mode, asked.metric)
    imports = ["import arml_core as arml"]
    if asked.mode == "run":
        imports.append("from arml_core.datasets.table import apply_layout, layout_of, read_table")
    else:
        imports.append(f"from arml_core.datasets.table import {', '.join(table_names)}")
    imports.append(
        "from arml_core.jobs import Client" if own_metric else "from arml_core.learners.registry import get_learner"
    )
    return "\n".join(
        [
            *imports,
            "",
            *_rows(asked, sources, work),
            *_metric(asked, work),
            f"knn = arml.MahalanobisKNN({spec.n_neighbors}, metric=metric).fit(X, y)",
            f"threat = {_threat(asked, prepared)}",
            *_certify(prepared, work),
            "names = data.class_names" if asked.mode == "run" else "names = data.layout.class_names",
            "for row in zip(rows.lines, found.predicted, found.lower, upper):",
            "    print(row[0], names[row[1]], row[2], row[3])",
        ]
    )


def _call(options: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in options.items())


def _rows(asked: Asked, sources: Sources, work: CertifyJobs) -> list[str]:
    lines = []
    if asked.mode == "run":
        lines += ["client = Client()", f"data = client.dataset({work.run.dataset!r})", "layout = layout_of(data)"]
        lines += ["X, y = data.X_train, data.y_train"]
    else:
        assert sources.reference is not None
        assert sources.reference.table is not None
        use = known_options(sources.reference.table, asked.use)
        use.pop("labelled", None)
        lines += [
            f"table, _ = read_table({_path(asked.file, sources.reference.title)!r}{_call(asked.read)})",
            f"data, _ = select(table, scaling={asked.scaling!r}{_call(use)})",
            "X, y = data.X, data.y",
        ]
        if asked.mode == "one":
            return [*lines, "rows = data"]
    assert sources.query is not None
    layout = "layout" if asked.mode == "run" else "data.layout"
    return [
        *lines,
        f"query, _ = read_table({_path(asked.query, sources.query.title)!r}{_call(asked.qread)})",
        f"rows, _ = apply_layout({layout}, query{_call(asked.quse)})",
    ]


def _path(file: str, title: str) -> str:
    return f"data/samples/{title}" if file in SAMPLES else title


def _metric(asked: Asked, work: CertifyJobs) -> list[str]:
    if asked.mode == "run":
        return [f"metric = client.run({work.run.id!r})"]
    if asked.metric == "run":
        return [f"metric = Client().run({work.run.id!r})"]
    params = parameters_of(asked)
    return [f"metric = get_learner({asked.metric!r}).build({params!r}, random_state={asked.seed}).fit(X, y)"]


def _threat(asked: Asked, prepared: PreparedTable) -> str:
    assert prepared.layout is not None
    given = threat_of(asked, prepared.layout).arguments()
    options = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    return f"arml.ThreatModel({options})"


def _certify(prepared: PreparedTable, work: CertifyJobs) -> list[str]:
    spec = work.spec
    labels = "rows.y" if spec.points.labels else "None"
    common = f"rows.X, {labels}, threat=threat" + (", exclude=range(len(X))" if prepared.leave_one_out else "")
    budget = f", budget={spec.budget!r}" if spec.budget is not None else ""
    lines = [f"found = knn.certify({common}, method={spec.method!r}{budget})"]
    return [*lines, f"upper = knn.attack({common}).upper" if work.attack is not None else "upper = found.upper"]
