"""What the jobs have found so far, as rows of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

import arml_core as arml
from arml_core.cross_fitting import CrossFitted
from arml_core.datasets import Dataset
from arml_core.jobs import Client, EvaluationSpec, JobStatus, RunSpec
from arml_core.jobs.uploads import model_digest
from arml_core.neighbors.chosen import classifier_arguments
from arml_core.radii import Radii
from arml_core.report import CertifiedTable, Flips, counterfactuals, with_possible_changes
from arml_core.report.certified_table import Predict

from ..job_words import under_way
from ..task_pool import Task
from ..visitor import read_client
from .choices import MOST_SEARCHES, CertifyView, parameters_of
from .files import KEPT_FILES, KEPT_SECONDS
from .possible_changes import look_for_possible, possible
from .prepare import PreparedTable, attack_of, certificate_of, decision_of
from .training_rows import MOST_SECONDS, count_training_rows, counted


@dataclass(frozen=True, eq=False)
class CertifyJobs:
    """The jobs behind the verdicts: the run, the certificate and, where that has one side only, the attack.

    `searches` came later, each for the verdicts at one radius.
    """

    run: JobStatus
    certificate: JobStatus
    attack: JobStatus | None
    searches: tuple[JobStatus, ...] = ()

    @property
    def jobs(self) -> tuple[JobStatus, ...]:
        return (self.run, self.certificate, *(() if self.attack is None else (self.attack,)), *self.searches)

    @property
    def is_active(self) -> bool:
        return any(under_way(job) for job in self.jobs)

    @property
    def model(self) -> RunSpec:
        """What was trained."""
        assert isinstance(self.run.spec, RunSpec)
        return self.run.spec

    @property
    def spec(self) -> EvaluationSpec:
        return _evaluation(self.certificate)

    @property
    def search_specs(self) -> tuple[EvaluationSpec, ...]:
        return tuple(map(_evaluation, self.searches))

    @property
    def decided_radii(self) -> tuple[float, ...]:
        """The radii at which verdicts were asked for; none where every row had its time, whatever ε is."""
        if self.spec.at is None:
            return ()
        return tuple(sorted({radius for spec in (self.spec, *self.search_specs) for radius in spec.at or ()}))

    def seconds_spent(self, radius: float) -> float:
        """The longest that a search which is done could take for a row whose verdict at `radius` was open."""
        specs = [self.spec, *(_evaluation(job) for job in self.searches if job.state == "done")]
        return max((spec.budget or 0.0 for spec in specs if spec.at is None or radius in spec.at), default=0.0)


def _evaluation(job: JobStatus) -> EvaluationSpec:
    assert isinstance(job.spec, EvaluationSpec)
    return job.spec


def certify_jobs(view: CertifyView, prepared: PreparedTable) -> CertifyJobs | None:
    """The jobs in the address; None if they are not here or are not what the rest of the address asks for."""
    client = read_client()
    try:
        found = [client.status(job) for job in view.jobs]
        if not found or not _is_run_of(found[0], client, view, prepared):
            return None
        certificate, attack = certificate_of(view, prepared, found[0].id), attack_of(view, prepared, found[0].id)
    except ValueError:  # a job that is not here, or choices that no job can have
        return None
    wanted = [certificate] if attack is None else [certificate, attack]
    first, searches = found[1 : 1 + len(wanted)], found[1 + len(wanted) :]
    if [job.spec for job in first] != wanted or not all(_decides(job, certificate) for job in searches):
        return None
    return CertifyJobs(found[0], first[0], None if attack is None else first[1], tuple(searches))


def _decides(job: JobStatus, certificate: EvaluationSpec) -> bool:
    """Whether a job is a search about the rows of a certificate, for the verdicts at one radius."""
    spec = job.spec
    if not isinstance(spec, EvaluationSpec) or spec.budget is None or spec.at is None:
        return False
    return spec == decision_of(certificate, spec.budget, spec.at[0])


def _is_run_of(job: JobStatus, client: Client, view: CertifyView, prepared: PreparedTable) -> bool:
    """Whether a job is the training that the choices name, on the rows that vote."""
    assert prepared.dataset is not None
    fingerprint, spec = prepared.dataset.fingerprint, job.spec
    if not isinstance(spec, RunSpec) or spec.dataset != fingerprint:
        return False
    if "run" in (view.mode, view.metric):
        if job.id == view.run or view.mode == "run":
            return job.id == view.run
        return spec.parameters.get("sha256") == _metric_digest(view.run, client.visitor.tag)  # put to these rows
    return spec == RunSpec(fingerprint, view.metric, parameters_of(view), view.seed).normalised()


@st.cache_resource(max_entries=8, show_spinner=False)
def _metric_digest(run: str, owner: str) -> str:
    """Cached for each owner, as files are."""
    return model_digest(read_client().run(run))


@dataclass(frozen=True, eq=False)
class Results:
    """The finished rows, how many there will be, and the way to check a change of theirs.

    Wrong training rows are not counted where references were learned from them. `possible` looks for changes that could
    exist; None while rows are still to come, and where every feature may take any value.
    """

    rows: CertifiedTable
    planned: int
    attacked: int
    predict: Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.intp]]
    counting: Task | None
    possible: Task | None = None

    @property
    def judged(self) -> CertifiedTable:
        """The rows for verdicts: attackable only by changes that could exist, as far as these are looked for."""
        flips = possible(self.possible)
        return self.rows if flips is None else with_possible_changes(self.rows, flips)

    def with_training_rows(self) -> Results:
        """The same once wrong training rows are counted, for what is taken away: it waits for the numbers."""
        training = None if self.counting is None else counted(self.counting, MOST_SECONDS)
        if self.rows.training is not None or training is None:
            return self
        return replace(self, rows=replace(self.rows, training=training.take(self.rows.radii.index)))

    def flips(self, positions: list[int] | None = None) -> tuple[CertifiedTable, Flips]:
        """Some rows (default: all) with the changes that flip them."""
        if positions is None:
            found = possible(self.possible)
            return self.rows, counterfactuals(self.rows, self.predict) if found is None else found
        index = np.array(positions, dtype=np.intp)
        chosen = self.rows.take(index)
        return chosen, counterfactuals(chosen, lambda points, moved: self.predict(points, index[moved]))


def results_of(prepared: PreparedTable, work: CertifyJobs) -> Results | None:
    """The rows that are finished, also while the work goes on; None if there are none or they do not fit the file.

    Cross-fitted rows come all at once: the models that check a change of theirs are there when the certificate is done.
    """
    client, rows = read_client(), prepared.rows
    assert rows is not None
    assert prepared.layout is not None
    assert prepared.dataset is not None
    if prepared.cross_fitted and work.certificate.state != "done":
        return None
    found = _radii(client, work.certificate)
    if found is None or len(found) == 0 or int(found.index[-1]) >= len(rows.X):
        return None
    attacked = len(found)
    if work.attack is not None:
        attack = _radii(client, work.attack)
        attacked = 0 if attack is None else len(attack)
        if attack is not None:
            found = found.join(attack)  # either may be finished in any order
    for search in work.searches:
        more = _radii(client, search)
        if more is not None:
            found = found.narrow(more)
    at = found.index
    labels = rows.y[at] if work.spec.points.labels and rows.y is not None else None
    radii = replace(
        found,
        predicted=found.predicted.astype(np.intp),
        adversarial=np.asarray(found.adversarial, dtype=np.float64),
        threat=work.spec.threat,
    )
    if prepared.cross_fitted:
        fitted = _cross_fitted(work.certificate.id, client.visitor.tag)
        certified = CertifiedTable(prepared.layout, rows.X[at], rows.raw[at], rows.lines[at], labels, radii)

        def ask(points: NDArray[np.float64], moved: NDArray[np.intp]) -> NDArray[np.intp]:
            return _codes(fitted.predict(points, at[moved]))

        return Results(certified, len(rows.X), attacked, ask, None, _possible(work, certified, ask))
    knn = _classifier(work.run.id, work.spec.n_neighbors, client.visitor.tag, prepared.dataset)
    counting = training = None
    if prepared.gives == "metric":
        key = (work.run.id, str(work.spec.n_neighbors), str(work.spec.points), client.visitor.tag)
        counting = count_training_rows(knn, prepared, work.spec.points.labels, key)
        training = counted(counting)
        training = None if training is None else training.take(at)
    certified = CertifiedTable(prepared.layout, rows.X[at], rows.raw[at], rows.lines[at], labels, radii, training)

    def predict(points: NDArray[np.float64], moved: NDArray[np.intp]) -> NDArray[np.intp]:
        return _codes(knn.predict(points, exclude=at[moved] if prepared.leave_one_out else None))

    return Results(certified, len(rows.X), attacked, predict, counting, _possible(work, certified, predict))


def _possible(work: CertifyJobs, rows: CertifiedTable, predict: Predict) -> Task | None:
    """The task that looks for changes that could exist, once all jobs have ended."""
    if work.is_active:
        return None
    return look_for_possible(rows, predict, (*(job.id for job in work.jobs), str(len(rows)), read_client().visitor.tag))


def _codes(answers: NDArray[Any]) -> NDArray[np.intp]:
    return np.asarray(answers, dtype=np.intp)


def _radii(client: Client, job: JobStatus) -> Radii | None:
    return _done(job.id, client.visitor.tag) if job.state == "done" else client.radii(job.id)


@st.cache_resource(max_entries=KEPT_FILES * (2 + MOST_SEARCHES), ttl=KEPT_SECONDS, show_spinner=False)
def _done(job: str, owner: str) -> Radii | None:
    """Cached for each owner, as files are; a certificate, an attack and a search hold as many numbers as their file."""
    return read_client().radii(job)


@st.cache_resource(
    max_entries=KEPT_FILES,
    ttl=KEPT_SECONDS,
    show_spinner=False,
    hash_funcs={Dataset: lambda dataset: dataset.fingerprint},
)
def _classifier(run: str, k: int, owner: str, dataset: Dataset) -> arml.MahalanobisKNN:
    model = read_client().run(run)
    return arml.MahalanobisKNN(k, **classifier_arguments(model)).fit(dataset.X_train, dataset.y_train)


@st.cache_resource(max_entries=KEPT_FILES, ttl=KEPT_SECONDS, show_spinner=False)
def _cross_fitted(job: str, owner: str) -> CrossFitted:
    """The models of a finished certificate, one for each fold; cached for each owner, as files are."""
    return read_client().cross_fitted(job)
