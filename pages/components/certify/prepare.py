"""From tables and choices to rows that can be certified; everything is computed once per choice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

import arml_core as arml
from arml_core.cross_fitting import assign_folds
from arml_core.datasets import Dataset
from arml_core.datasets.scaling import ScalingKind
from arml_core.datasets.table import (
    Layout,
    Problems,
    SelectResult,
    Table,
    TableData,
    apply_layout,
    check_neighbors,
    layout_of,
    select,
)
from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.uploads import points_content
from arml_core.learners.registry import Gives

from ..visitor import read_client
from .choices import CertifyView, parameters_of
from .files import KEPT_FILES, KEPT_SECONDS, load
from .models import MODELS, neighbours_refused, prototype_counts
from .sources import Sources, usable

SEARCHED_ROWS = 300
"""Up to so many rows the search looks at each one for a while. Beyond, and in the other norms where it takes seconds
a row, all rows are bounded first and attacked then: the proven side is there soon."""
LOWER_ONLY = ("votes", "theorem1")


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """Reference rows (a dataset) and the rows to certify: the dataset's own or a query file's.

    The dataset's own rows are left out of their own vote (`leave_one_out`) or, where the model `gives` references,
    answered by models learned without them (`cross_fitted`). What is None waits for the `problems` to be settled;
    `query_problems` are those of the query file.
    """

    dataset: Dataset | None
    layout: Layout | None
    rows: TableData | None
    leave_one_out: bool
    problems: Problems
    query_problems: Problems
    gives: Gives = "metric"
    cross_fitted: bool = False

    @property
    def ready(self) -> bool:
        return self.dataset is not None and self.rows is not None


def prepare(view: CertifyView, sources: Sources) -> PreparedTable:
    """Choose columns of the files as asked; call it when `sources` are ready."""
    owner = read_client().visitor.tag
    none, gives = Problems(), gives_of(view, sources)
    dataset: Dataset | None = None
    layout: Layout | None = None
    if view.mode == "run":
        assert sources.dataset is not None
        dataset, layout, found = sources.dataset, layout_of(sources.dataset), none
    else:
        data, found = _select(view.file, owner, _key(view.read), _key(view.use), view.scaling)
        if data is not None:
            assert sources.reference is not None
            dataset = _dataset(view.file, owner, sources.reference.title, _key(view.read), _key(view.use), view.scaling)
            layout = data.layout
        if view.mode == "one":
            crossed = gives != "metric"
            return PreparedTable(dataset, layout, data, not crossed, found, none, gives, crossed)
    if layout is None or dataset is None or not usable(sources.query):
        return PreparedTable(dataset, layout, None, False, found, none, gives)
    rows, more = _query(view.query, owner, _key(view.qread), _key(view.quse), layout.to_json())
    return PreparedTable(dataset, layout, rows, False, found, more, gives)


def gives_of(view: CertifyView, sources: Sources) -> Gives:
    """Whether the chosen model is a metric, learned references, or rows that are kept."""
    if view.mode == "run":
        spec = None if sources.run is None else sources.run.spec
        return spec.gives if isinstance(spec, RunSpec) else "metric"
    return "metric" if view.metric == "run" else MODELS[view.metric].gives


def _key(options: Mapping[str, Any]) -> str:
    return json.dumps(options, sort_keys=True)


def known_options(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` without columns that this table does not have (it may be read differently now)."""
    kept = dict(options)
    if kept.get("label") not in table.names:
        kept.pop("label", None)
    for name in ("drop", "one_hot"):
        if name in kept:
            kept[name] = tuple(column for column in kept[name] if column in table.names)
    return kept


@st.cache_resource(max_entries=KEPT_FILES, ttl=KEPT_SECONDS, show_spinner=False)
def _select(file: str, owner: str, read: str, use: str, scaling: ScalingKind) -> SelectResult:
    table = load(file, json.loads(read)).table
    assert table is not None
    options = known_options(table, json.loads(use))
    options.pop("labelled", None)  # rows that vote need labels
    return select(table, scaling=scaling, **options)


@st.cache_resource(max_entries=KEPT_FILES, ttl=KEPT_SECONDS, show_spinner=False)
def _dataset(file: str, owner: str, title: str, read: str, use: str, scaling: ScalingKind) -> Dataset:
    """One object per choice: its fingerprint is then computed once."""
    data = _select(file, owner, read, use, scaling).data
    assert data is not None
    return data.dataset(title=title)


@st.cache_resource(max_entries=KEPT_FILES, ttl=KEPT_SECONDS, show_spinner=False)
def _query(file: str, owner: str, read: str, use: str, layout: str) -> SelectResult:
    table = load(file, json.loads(read)).table
    assert table is not None
    options = known_options(table, json.loads(use))
    wanted = {name: options[name] for name in ("label", "labelled", "drop_incomplete") if name in options}
    return apply_layout(Layout.from_json(layout), table, **wanted)


def method_of(view: CertifyView, n_rows: int) -> str:
    """The certificate that is computed; "auto" is the tightest one that takes a bearable time, and always allowed."""
    if view.method != "auto":
        return view.method
    if view.k == 1 and view.norm == "l2":
        return "exact"
    return "search" if view.norm == "l2" and n_rows <= SEARCHED_ROWS else "votes"


def frozen_columns(view: CertifyView, layout: Layout) -> list[str]:
    """The frozen columns that are used; one that was left out since is not."""
    used = {column.name for column in layout.columns}
    return [name for name in view.frozen if name in used]


def threat_of(view: CertifyView, layout: Layout) -> arml.ThreatModel:
    """The norm, the frozen columns and the costs. ValueError if nothing may move."""
    columns = [column.name for column in layout.columns for _ in column.feature_names]
    numeric = np.array([column.categories is None for column in layout.columns for _ in column.feature_names])
    frozen = [k for k, name in enumerate(columns) if name in view.frozen]
    costs = None
    if view.size == "file":
        costs = np.where(numeric, layout.scaling.scale, 1.0)
    elif view.size == "own" and any(name in view.costs for name in columns):
        costs = np.array([view.costs.get(name, 1.0) for name in columns])
    threat = arml.ThreatModel(view.norm, costs=costs, frozen=frozen or None)
    threat.resolve(len(columns))
    return threat


def neighbour_problems(view: CertifyView, prepared: PreparedTable) -> Problems:
    """What stands against K neighbours on these reference rows."""
    dataset, rows = prepared.dataset, prepared.rows
    assert dataset is not None
    assert rows is not None
    method = method_of(view, len(rows.X))
    if prepared.gives == "references":
        return Problems()
    found = check_neighbors(dataset.class_names, dataset.y_train, view.k, method, prepared.leave_one_out)
    return Problems(found)


def references_refused(view: CertifyView, prepared: PreparedTable) -> str:
    """A sentence on why learned references cannot be had or cannot vote as chosen; empty if they can."""
    dataset, rows = prepared.dataset, prepared.rows
    if prepared.gives == "metric":
        return ""
    assert dataset is not None
    assert rows is not None
    if prepared.cross_fitted:
        try:
            assign_folds(dataset.y_train, view.folds, view.seed)
        except ValueError as reason:
            return f"{str(reason)[:1].upper()}{str(reason)[1:]}."
    if prepared.gives == "rows":
        return ""
    if view.mode == "run":
        labels = read_client().run(view.run).reference_labels_
        counts = np.bincount([] if labels is None else labels, minlength=dataset.n_classes)
    else:
        sizes = np.bincount(dataset.y_train, minlength=dataset.n_classes)
        counts = prototype_counts(parameters_of(view), sizes, view.folds if prepared.cross_fitted else None)
    return neighbours_refused(counts, view.k, method_of(view, len(rows.X)))


@st.cache_resource(max_entries=8, ttl=KEPT_SECONDS, show_spinner=False)
def _query_digest(file: str, owner: str, read: str, use: str, layout: str, labels: bool) -> str:
    rows = _query(file, owner, read, use, layout).data
    assert rows is not None
    return points_content(rows.X, rows.y if labels else None)[0]


def points_of(view: CertifyView, prepared: PreparedTable) -> PointsSpec:
    """The rows to certify as a job names them; those of a query file by their content."""
    assert prepared.layout is not None
    assert prepared.rows is not None
    labels = view.labels and prepared.rows.y is not None
    if prepared.cross_fitted:
        return PointsSpec("cross", None, labels=labels, folds=view.folds, seed=view.seed)
    if prepared.leave_one_out:
        return PointsSpec("train", None, labels=labels)
    owner, layout = read_client().visitor.tag, prepared.layout.to_json()
    digest = _query_digest(view.query, owner, _key(view.qread), _key(view.quse), layout, labels)
    return PointsSpec("given", None, digest, labels=labels)


def certificate_of(view: CertifyView, prepared: PreparedTable, run: str) -> EvaluationSpec:
    """The certificate that these choices ask for. ValueError if there is no such certificate."""
    assert prepared.layout is not None
    assert prepared.rows is not None
    method = method_of(view, len(prepared.rows.X))
    threat, points = threat_of(view, prepared.layout), points_of(view, prepared)
    at = None if view.at is None else (view.at,)
    return EvaluationSpec("certify", run, view.k, method, threat, points, view.budget, at=at).normalised()


def decision_of(certificate: EvaluationSpec, budget: float, radius: float) -> EvaluationSpec:
    """A search about the same rows that spends its time on those whose verdict at `radius` is open."""
    return replace(certificate, method="search", budget=budget, at=(radius,)).normalised()


def attack_of(view: CertifyView, prepared: PreparedTable, run: str) -> EvaluationSpec | None:
    """The attack that goes with the certificate; None where that has an upper side of its own."""
    certificate = certificate_of(view, prepared, run)
    if certificate.method not in LOWER_ONLY:
        return None
    return replace(certificate, kind="attack", method="whitebox").normalised()
