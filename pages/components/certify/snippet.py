"""The Python lines that compute the verdicts on the page."""

from __future__ import annotations

from arml_core.jobs import EvaluationSpec
from arml_core.jobs.python_lines import dataset_lines, keywords, script

from .choices import CertifyView
from .files import Loaded
from .prepare import known_options
from .results import CertifyJobs
from .samples import SAMPLES
from .sources import Sources


def python_lines(view: CertifyView, sources: Sources, work: CertifyJobs) -> str:
    """A script that runs as it stands in a folder with the files and prints each row's line, answer and interval."""
    spec, more = work.spec, []
    if work.attack is not None:
        assert isinstance(work.attack.spec, EvaluationSpec)
        more.append(f"found = found.join({work.attack.spec.python()})")
    more += [f"found = found.narrow({search.python()})" for search in work.search_specs]
    return script(
        [
            *_table_lines(view, sources, work),
            _model_line(view, work),
            *spec.python_lines(work.model.role),
            *spec.points.python_lines(),
            f"found = {spec.python()}",
            *more,
            "for line, answer, *interval in zip(rows.lines, found.predicted, found.lower, found.upper):",
            "    print(line, layout.class_names[answer], *interval)",
            *_training_lines(work),
        ]
    )


def _table_lines(view: CertifyView, sources: Sources, work: CertifyJobs) -> list[str]:
    """The rows that vote with their layout, and those that are certified as `rows`."""
    if view.mode == "run":
        lines = [*dataset_lines("", work.run.dataset), "layout = layout_of(data)"]
    else:
        reference = sources.reference
        assert reference is not None
        assert reference.table is not None
        use = {name: value for name, value in known_options(reference.table, view.use).items() if name != "labelled"}
        lines = [
            f"table, _ = read_table({_path(view.file, reference)!r}{keywords(view.read)})",
            f"data, _ = select(table, scaling={view.scaling!r}{keywords(use)})",
            "X_train, y_train, layout = data.X, data.y, data.layout",
        ]
    if view.mode == "one":
        return [*lines, "rows = data"]
    assert sources.query is not None
    return [
        *lines,
        f"query, _ = read_table({_path(view.query, sources.query)!r}{keywords(view.qread)})",
        f"rows, _ = apply_layout(layout, query{keywords(view.quse)})",
    ]


def _path(file: str, loaded: Loaded) -> str:
    return f"data/samples/{loaded.title}" if file in SAMPLES else loaded.title


def _model_line(view: CertifyView, work: CertifyJobs) -> str:
    if view.mode == "run" or view.metric == "run":
        return f"{work.model.role} = Client().run({work.run.id!r})"
    return work.model.python_line(work.spec.points)


def _training_lines(work: CertifyJobs) -> list[str]:
    """Wrong training rows, where the page counts them."""
    if work.model.gives != "metric":
        return []
    left_out = ", exclude=exclude" if work.spec.points.part == "train" else ""
    return [f"wrong = knn.certify_training(X, y{left_out}).to_frame()  # so many wrong training rows could change each"]
