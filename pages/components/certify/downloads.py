"""What can be taken away: verdicts and changed rows as CSV, the report as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import streamlit as st

from arml_core import __version__
from arml_core.jobs import EvaluationSpec
from arml_core.jobs.learners import offered
from arml_core.report import changed_csv, html_report, verdict_csv
from arml_core.vocabulary import verdicts_at

from ..address import link_to
from ..formula import show_formula
from ..on_demand import on_demand
from .choices import CHOICES, CertifyView
from .models import MODELS, NOT_COUNTED, cross_words
from .prepare import PreparedTable, frozen_columns, known_options
from .results import CertifyJobs, Results
from .snippet import python_lines
from .sources import Sources

FORMULA = r"""
A row $x$ with answer $y$ has the robust radius $\epsilon^* = \min\{\|c\circ\delta\| : \text{the answer at } x+\delta
\text{ is not } y\}$ over changes $\delta$ of the scaled features ($c$: costs, 1 unless chosen; frozen features have
$\delta_k = 0$). For $K = 1$ and ℓ2 it is computed exactly; otherwise it lies between *proved* (`lower`) and *found*
(`upper`). At a radius $\epsilon$ a row is *certified* if `lower` $> \epsilon$, *attackable* if `upper`
$\le \epsilon$, else *undecided*. A change of feature $k$ alone by $r$ means $r\,s_k/c_k$ in the file's units, where
$s_k$ is the feature's scale.
"""


def show_downloads(
    view: CertifyView, sources: Sources, prepared: PreparedTable, work: CertifyJobs, results: Results, radius: float
) -> None:
    """Buttons; a file is made when it is asked for."""
    title = title_of(sources)
    name = title.rsplit(".", 1)[0] or "file"
    wrong = "how many wrong training rows could change it, " if prepared.gives == "metric" else ""
    with st.container(horizontal=True, key="cf_downloads"):
        _file_button(
            "All verdicts (CSV)",
            lambda: verdict_csv(results.with_training_rows().rows, radius, results.flips()[1]).encode("utf-8-sig"),
            f"{name}-verdicts.csv",
            f"Every row with its interval, its verdict at ε, {wrong}and the change that flips it. Safe in a "
            "spreadsheet.",
            key="cf_verdicts_csv",
        )
        _file_button(
            "Changed rows (CSV)",
            lambda: changed_csv(results.rows, results.flips()[1]).encode("utf-8-sig"),
            f"{name}-changed.csv",
            "The changed rows under the file's own column names: load them as a query file and each gets another "
            "answer.",
            key="cf_changed_csv",
        )
        _file_button(
            "Report (HTML)",
            lambda: report_text(view, sources, prepared, work, results, radius).encode(),
            f"{name}-report.html",
            "One file that opens without a network.",
            key="cf_report",
        )


def _file_button(label: str, data: Callable[[], bytes], name: str, meaning: str, key: str) -> None:
    mime = "text/html" if name.endswith(".html") else "text/csv"
    st.download_button(label, data=data, file_name=name, mime=mime, key=key, on_click="ignore", help=meaning)


def report_text(
    view: CertifyView, sources: Sources, prepared: PreparedTable, work: CertifyJobs, results: Results, radius: float
) -> str:
    """The report with everything it takes to repeat it."""
    rows, flips = results.with_training_rows().flips()
    problems = [*prepared.problems.notes, *prepared.query_problems.notes]
    for loaded in (sources.reference, sources.query):
        problems += [] if loaded is None else loaded.problems.notes
    notes = [problem.message for problem in problems]
    if work.model.gives != "metric":
        notes.append(NOT_COUNTED[work.model.gives])
    if len(rows) < results.planned:
        notes.append(f"Only {len(rows):,} of {results.planned:,} rows were finished when this report was made.")
    return html_report(title_of(sources), rows, radius, flips, settings_of(view, sources, prepared, work), notes)


def settings_of(
    view: CertifyView, sources: Sources, prepared: PreparedTable, work: CertifyJobs
) -> list[tuple[str, str]]:
    """How the verdicts came about, name and value."""
    assert prepared.dataset is not None
    assert prepared.layout is not None
    title = work.run.title if "run" in (view.mode, view.metric) else MODELS[view.metric].title
    spec = work.spec
    frozen = frozen_columns(view, prepared.layout)
    encoded = [column.name for column in prepared.layout.columns if column.categories is not None]
    return [
        *_files(view, sources),
        _judged(prepared, work),
        *_roles(view, sources),
        ("Features", ", ".join(prepared.dataset.feature_names)),
        *([("Encoded as categories", ", ".join(encoded))] if encoded else []),
        ("Scaling", prepared.dataset.scaling.kind),
        ("Metric" if prepared.gives == "metric" else "References", title),
        *_training(work),
        ("Neighbours", f"K = {spec.n_neighbors}"),
        ("Change", spec.threat.describe() + (f", frozen: {', '.join(frozen)}" if frozen else "")),
        *_costs(prepared, work),
        ("Certificate", _method(spec)),
        ("Attack", "white-box attack, deterministic" if work.attack is not None else "by the certificate itself"),
        *(("Further search", _method(search)) for search in work.search_specs),
        ("Certified", "the label" if spec.points.labels else "the classifier's own answer"),
        ("Made", f"{date.today().isoformat()}, ARML Explorer {__version__}"),
    ]


def _judged(prepared: PreparedTable, work: CertifyJobs) -> tuple[str, str]:
    """Who votes, and how the rows are kept apart from what taught the model."""
    assert prepared.dataset is not None
    n = f"{len(prepared.dataset.y_train):,}"
    if prepared.cross_fitted:
        return ("Rows that teach", f"{n}. {cross_words(work.spec.points, work.model)}")
    if prepared.gives != "metric":
        return ("Rows that teach", f"{n}; the query rows are only asked")
    how = "each row against all the others (leave-one-out)" if prepared.leave_one_out else "query rows against these"
    return ("Rows that vote", f"{n}, {how}")


def _method(spec: EvaluationSpec) -> str:
    """The certificate, the seconds a search had for a row, and for which verdicts."""
    seconds = [] if spec.budget is None else [f"{spec.budget:g} s a row"]
    return ", ".join([spec.method, *seconds, *([] if spec.at is None else [verdicts_at(spec.at)])])


def _files(view: CertifyView, sources: Sources) -> list[tuple[str, str]]:
    """The files, and how each was read where that was chosen."""
    found = []
    for name, loaded, read in (("File", sources.reference, view.read), ("Query file", sources.query, view.qread)):
        if loaded is not None:
            found.append((name, loaded.title + _written(read)))
    return found


def _roles(view: CertifyView, sources: Sources) -> list[tuple[str, str]]:
    """Which column is the label and which were left out, of each file."""
    found = []
    for name, loaded, use in (("", sources.reference, view.use), ("Query ", sources.query, view.quse)):
        if loaded is None or loaded.table is None:
            continue
        known = known_options(loaded.table, use)
        rest = {option: value for option, value in known.items() if option not in ("label", "drop", "one_hot")}
        if known.get("label"):
            found.append((f"{name}label column".capitalize(), known["label"] + _written(rest)))
        elif rest:
            found.append((f"{name}rows".capitalize(), _written(rest).removeprefix("; ")))
        if known.get("drop"):
            found.append((f"{name}columns left out".capitalize(), ", ".join(known["drop"])))
    return found


def _written(options: Mapping[str, Any]) -> str:
    return "".join(f"; {name} = {value!r}" for name, value in options.items())


def _training(work: CertifyJobs) -> list[tuple[str, str]]:
    """The parameters of the learner, defaults too, and its seed; a model from elsewhere has its hash."""
    spec = work.model
    found = [(name, str(value)) for name, value in spec.parameters.items()]
    entry = offered(spec.learner)
    if entry is not None and entry.seeded:
        found.append(("seed", str(spec.seed)))
    return [("Parameters", ", ".join(f"{name} = {value}" for name, value in found))] if found else []


def _costs(prepared: PreparedTable, work: CertifyJobs) -> list[tuple[str, str]]:
    """What a change of each feature costs, where that was chosen."""
    costs = work.spec.threat.costs
    if costs is None:
        return []
    assert prepared.dataset is not None
    pairs = zip(prepared.dataset.feature_names, costs, strict=True)
    return [("Costs", ", ".join(f"{name}: {cost!r}" for name, cost in pairs))]


def title_of(sources: Sources) -> str:
    """The name of the file whose rows are certified."""
    loaded = sources.query or sources.reference
    return "file" if loaded is None else loaded.title


def show_details(view: CertifyView, sources: Sources, work: CertifyJobs) -> None:
    """Formula, link and Python, behind expanders."""
    if "formula" not in view.hide:
        show_formula(FORMULA)
    if "python" not in view.hide:
        on_demand("Copy link and Python", "cf_open_copy", lambda: _show_copy(view, sources, work))


def _show_copy(view: CertifyView, sources: Sources, work: CertifyJobs) -> None:
    st.markdown("This link opens the same view; a file that is not a sample opens for its owner only:")
    st.code(link_to(CHOICES.query()), language=None, wrap_lines=True)
    st.markdown("These lines compute the verdicts with `arml_core`:")
    st.code(python_lines(view, sources, work), language="python", wrap_lines=True)
