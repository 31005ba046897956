"""The one door to background work, for pages, the command line and notebooks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ..cross_fitting import CrossFitted
from ..datasets import Dataset, DatasetInfo, dataset_info, load_dataset
from ..learners.storage import SavedMetric
from ..radii import Radii
from ..results import Evaluation
from .cross_evaluation import cross_fitted_from
from .errors import DamagedFile, NotReady, NotYours, UnknownJob
from .files import Arrays, read_arrays, set_aside, write_arrays
from .garbage_collection import Garbage, collect_garbage
from .model import LearnedModel
from .open_store import Store
from .owners import Visitor
from .results import (
    History,
    RunResult,
    evaluation_of,
    history_from,
    history_of,
    network_evaluation,
    run_result,
    with_question,
)
from .spec import GIVEN, EvaluationSpec, PointsSpec, RunSpec, Spec, spec_from
from .states import DONE, QUEUED, STATES
from .status import JobStatus, status_from
from .store.database import Row
from .store.requests import Request
from .store.worker_row import WorkerRow
from .submission import dask_address, request_for
from .titles import given_title
from .training import run_arrays
from .uploads import Upload
from .worker_process import WorkerStatus, start_worker, stop_worker, worker_pid, worker_status
from .workspace import LiveReferences, read_parts, read_references

POLL_SECONDS = 0.05
LOG_TAIL = 64 * 1024


class Client:
    """Background work for one visitor.

    Parameters
    ----------
    store : the open store; by default that of ``ARML_HOME``.
    owner : the visitor's key in shared mode (:func:`~arml_core.jobs.new_key`); ignored on localhost.
    start : whether a worker is started when there is work and none lives.
    shared : whether this is one visitor of many, by default as ``ARML_SHARED`` says; False for whoever runs the app.
    """

    def __init__(
        self, store: Store | None = None, owner: str | None = None, start: bool = True, shared: bool | None = None
    ) -> None:
        self.store = Store() if store is None else store
        self.visitor = Visitor.of(owner, shared)
        self._start = start

    # asking for work ------------------------------------------------------------------------------------------

    def add_dataset(self, dataset: Dataset | str) -> str:
        """Enter a dataset into the store; returns the fingerprint by which a :class:`RunSpec` names it.

        `dataset` is a name or a loaded dataset; one from a file is private to this visitor. One of the paper's sets
        need not be on this machine: the job downloads it.
        """
        data = self._known(dataset)
        self._keep(data)
        return data.fingerprint

    def submit(self, spec: Spec, priority: int = 0) -> JobStatus:
        """Ask for a training, an evaluation or a network; if it was done before, the status says so at once.

        The run an evaluation names may still be training. A higher `priority` goes first.
        """
        request = request_for(spec, priority, self.store, self.visitor)
        row = self.store.requests.get(request.id)
        if row is not None and row["state"] == DONE and not self.store.paths.result(request.id).exists():
            self.store.requests.recompute(request.id, f"the file {request.id}.npz is missing; it is computed again")
        job = self.store.requests.add(request, self.visitor)
        after = self.store.requests.get(job)
        if after is not None and after["state"] != DONE:
            self._wake(ask=True)
        return self.status(job)

    def find(self, spec: Spec) -> JobStatus | None:
        """The job that :meth:`submit` would ask for, where somebody has asked for it already."""
        try:
            return self.status(request_for(spec, 0, self.store, self.visitor).id)
        except UnknownJob:
            return None

    def add_metric(self, dataset: Dataset | str, metric: Any, title: str = "A given metric") -> JobStatus:
        """Enter a model from elsewhere (a PSD matrix, a Metric, a fitted learner, a saved file) as a finished run.

        What has ``references_`` is entered with them; their labels must be those of the dataset.
        """
        data = self._known(dataset)
        if isinstance(metric, SavedMetric) and isinstance(data, Dataset):
            metric.check_classes(data.class_names)
        model = LearnedModel.of(metric, data.n_features, data.n_classes)
        dataset_scope = self._keep(data)
        digest, scope = self.store.uploads.put_model(model, self.visitor, title)
        more = {} if model.gives == "metric" else {"gives": model.gives}
        spec = RunSpec(data.fingerprint, GIVEN, {"sha256": digest, **more}, 0, "cpu")
        request = Request(spec, scope, given_title(title, data.title), data.fingerprint, dataset_scope, points=digest)
        sha256 = write_arrays(self.store.paths.result(request.id), run_arrays(model, {}, 0))
        return self.status(self.store.requests.add_done(request, self.visitor, sha256))

    def add_points(self, X: ArrayLike, y: ArrayLike | None = None, title: str = "Query rows") -> PointsSpec:
        """Keep the rows of a query file, private to this visitor, to be certified or attacked."""
        digest, _ = self.store.uploads.put_points(X, y, self.visitor, title)
        return PointsSpec("given", None, digest, labels=y is not None)

    def add_file(self, content: bytes, title: str = "A file") -> str:
        """Keep an uploaded file, private to this visitor, so that :meth:`file` finds it after a reload."""
        return self.store.uploads.put_file(content, self.visitor, title)

    # looking ----------------------------------------------------------------------------------------------------

    def status(self, job: str) -> JobStatus:
        """Where a job stands; :class:`UnknownJob` if there is none that this visitor may see."""
        row = self.store.job(job, self.visitor)
        alive = self._watch(row)
        position = self.store.requests.position(row) if row["state"] == QUEUED else None
        return status_from(row, position, self.store.requests.owned(job, self.visitor), alive)

    def list(self, states: Sequence[str] = STATES, limit: int = 200, kind: str | None = None) -> list[JobStatus]:
        """Jobs this visitor may see: running, queued in their order, then the others, newest first.

        `kind` is "train", "certify", "attack" or "network"; by default all are listed.
        """
        self.store.tidy()
        rows = self.store.requests.listed(self.visitor, tuple(states), limit, kind)
        alive = worker_pid(self.store.paths) is not None
        if not alive and any(row["state"] in ("queued", "running", "cancelling") for row in rows):
            self._wake()
        places = self.store.requests.positions()
        return [status_from(row, places.get(row["id"]), self.visitor.owns(bool(row["asked"])), alive) for row in rows]

    def wait(self, job: str, timeout: float | None = None) -> JobStatus:
        """Wait until the job is at rest; TimeoutError after `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            status = self.status(job)
            at_rest = status.is_at_rest and self.store.job(job, self.visitor)["state"] == status.state
            if at_rest:
                return status
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"job {job} is {status.state} after {timeout:g} s")
            time.sleep(POLL_SECONDS)

    def history(self, job: str, after: int = 0) -> History:
        """What a training has reported after step `after`: loss, radius, eigenvalues, …"""
        row = self.store.job(job, self.visitor)
        if row["state"] == DONE and row["kind"] == "train":
            return history_of(self.result(job), after)
        return history_from(self.store.requests.history(job, after), after)

    def live_references(self, job: str) -> LiveReferences | None:
        """The points of a training as they are now, a few seconds old at most; None if it has none.

        Once it is done they are those of the result.
        """
        row = self.store.job(job, self.visitor)
        if row["state"] != DONE:
            return read_references(self.store.paths.unfinished_of(job))
        run = self.run(job)
        if run.references_ is None or run.reference_labels_ is None:
            return None
        return LiveReferences(run.n_iter_, run.references_, run.reference_labels_)

    def cross_fitted(self, job: str) -> CrossFitted:
        """The classifiers of a finished evaluation whose points are cross-fitted, each with the rows it answers for."""
        row, arrays = self._arrays(job)
        spec = spec_from(json.loads(row["spec"]))
        if not isinstance(spec, EvaluationSpec) or spec.points.part != "cross":
            raise ValueError(f"job {job} is not cross-fitted")
        return cross_fitted_from(arrays, spec, self.dataset(row["dataset"]))

    def result(self, job: str) -> Any:
        """A :class:`RunResult` for a training, :class:`Radii` for an evaluation.

        A file that is missing or damaged is named, set aside and computed again: :class:`DamagedFile`.
        """
        row, arrays = self._arrays(job)
        return run_result(arrays) if row["kind"] == "train" else Radii.from_arrays(arrays)

    def run(self, job: str) -> RunResult:
        """The result of a training."""
        found = self.result(job)
        if not isinstance(found, RunResult):
            raise ValueError(f"job {job} is not a training")
        return found

    def radii(self, job: str) -> Radii | None:
        """The rows of an evaluation that are finished so far, all of them once it is done; None if there are none."""
        row = self.store.job(job, self.visitor)
        if row["kind"] == "train":
            raise ValueError(f"job {job} is a training; it has no radii")
        if row["state"] == DONE:
            whole = self.result(job)
            found = whole if isinstance(whole, Radii) else None
        else:
            found = Radii.concatenate(radii for _, radii in read_parts(self.store.paths.unfinished_of(job)))
        return None if found is None else with_question(found, row)

    def evaluation(self, job: str) -> Evaluation | None:
        """The radii of an evaluation, also one under way, with what they were computed from; None if there are none."""
        radii = self.radii(job)
        if radii is None:
            return None
        row = self.store.job(job, self.visitor)
        label = self.store.uploads.label(row["dataset"], row["dataset_scope"])
        planned = len(radii) if row["state"] == DONE else max(row["total"], len(radii))
        if row["kind"] == "network":
            return network_evaluation(row, label, radii)
        return evaluation_of(row, self.store.job(row["needs"], self.visitor), label, radii, planned)

    def log(self, job: str) -> str:
        """The end of the job's log."""
        self.store.job(job, self.visitor)
        try:
            with self.store.paths.log(job).open("rb") as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - LOG_TAIL))
                return stream.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def dataset(self, digest: str) -> Dataset:
        """The dataset a job refers to, for whoever may see it."""
        return self.store.uploads.get_dataset(digest, self.store.uploads.find_scope(digest, self.visitor))

    def dataset_label(self, digest: str) -> tuple[str, str]:
        """The name for `load_dataset`, empty for a file, and the title of a dataset, without reading it."""
        return self.store.uploads.label(digest, self.store.uploads.find_scope(digest, self.visitor))

    def file(self, digest: str) -> tuple[str, bytes]:
        """The title and the content of an uploaded file, for its owner."""
        return self.store.uploads.get_file(digest, self.store.uploads.find_scope(digest, self.visitor))

    def file_title(self, digest: str) -> str:
        """The title of an uploaded file, without reading it."""
        return self.store.uploads.file_title(digest, self.store.uploads.find_scope(digest, self.visitor))

    def uploads(self) -> Sequence[Upload]:
        """This visitor's uploads, newest first, with the time they expire."""
        return self.store.uploads.uploads(self.visitor)

    # changing ---------------------------------------------------------------------------------------------------

    def cancel(self, job: str) -> JobStatus:
        """Stop a job. In shared mode others may wait for the same work: then it goes on for them."""
        self._mine(job)
        self.store.requests.cancel(job, self.visitor)
        return self.status(job)

    def retry(self, job: str) -> JobStatus:
        """Queue a job again that was cancelled, failed or was lost; it continues from its last checkpoint."""
        self._mine(job)
        self.store.requests.retry(job, dask_address())
        self._wake(ask=True)
        return self.status(job)

    def gc(self, dry_run: bool = True, older_than_days: float | None = None) -> Sequence[Garbage]:
        """Throw away expired uploads, leftovers and, if asked, old results; `dry_run` only lists them."""
        if self.visitor.shared:
            raise NotYours("only whoever runs the app can clean up")
        older_than = None if older_than_days is None else older_than_days * 86_400
        return collect_garbage(self.store.paths, self.store.database, dry_run, older_than)

    # the worker -------------------------------------------------------------------------------------------------

    def worker(self) -> WorkerStatus:
        return worker_status(self.store.paths, self.store.database)

    def start_worker(self) -> None:
        """Start the worker ahead of the first job, so that the first job begins at once."""
        self._wake(ask=True)

    def stop_worker(self) -> bool:
        return stop_worker(self.store.paths, self.store.database)

    # inside -----------------------------------------------------------------------------------------------------

    def _known(self, dataset: Dataset | str) -> Dataset | DatasetInfo:
        """A dataset, or what is known about it where that is enough to name it: MNIST is not loaded to be asked for."""
        if not isinstance(dataset, str):
            return dataset
        about = dataset_info(dataset)
        return about if about.fingerprint else load_dataset(dataset)

    def _keep(self, data: Dataset | DatasetInfo) -> str:
        """Enter a dataset into the store; returns its scope."""
        if isinstance(data, DatasetInfo):
            return self.store.uploads.put_named(data, self.visitor)
        return self.store.uploads.put_dataset(data, self.visitor)

    def _arrays(self, job: str) -> tuple[Row, Arrays]:
        """A finished job and the arrays of its result."""
        row = self.store.job(job, self.visitor)
        if row["state"] != DONE:
            raise NotReady(f"job {job} is {row['state']}; its result is not there yet")
        try:
            return row, read_arrays(self.store.paths.result(job), row["sha256"])
        except DamagedFile as error:
            raise self._damaged(row, error) from error

    def _mine(self, job: str) -> Row:
        row = self.store.job(job, self.visitor)
        if not self.store.requests.owned(job, self.visitor):
            raise NotYours("somebody else asked for this job; only they can change it")
        return row

    def _damaged(self, row: Row, error: DamagedFile) -> DamagedFile:
        note = f"{error}; it was set aside and is computed again"
        set_aside(self.store.paths.result(row["id"]), self.store.paths.damaged)
        self.store.requests.recompute(row["id"], note)
        self._wake(ask=True)
        return DamagedFile(note)

    def _watch(self, row: Row) -> bool:
        """Whether a worker lives; if there is work for it and it does not, start one."""
        alive = worker_pid(self.store.paths) is not None
        if not alive and row["state"] in ("queued", "running", "cancelling"):
            self._wake()
        return alive

    def _wake(self, ask: bool = False) -> None:
        """Start a worker if none lives. Looking does not restart one that was stopped on purpose; asking does."""
        if not self._start or self.store.database.read_only:
            return
        if self.worker().held:
            if not ask:
                return
            WorkerRow(self.store.database).release()
        start_worker(self.store.paths)
