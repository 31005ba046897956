"""From a row of the queue to a result file: what a child does for one job."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..datasets import Dataset
from ..progress import Callback
from ..radii import Radii
from .cross_evaluation import learn_folds
from .errors import DamagedFile, StoreError
from .evaluation import PendingEvaluation, ReferenceData, rows_of
from .executors import Executor
from .executors.dask import DaskExecutor
from .executors.local import LocalExecutor
from .files import Arrays, read_arrays, set_aside
from .model import LearnedModel
from .paths import Paths
from .reporter import Reporter
from .shards import shards
from .spec import GIVEN, EvaluationSpec, NetworkSpec, RunSpec, spec_from
from .store.database import Database, Row
from .store.queue import Queue
from .store.requests import Requests
from .training import run_arrays, train
from .uploads import Uploads
from .workspace import Workspace

CACHED_BYTES = 500 * 2**20


class RunDamaged(Exception):
    """The result of the run that an evaluation needs cannot be read."""

    def __init__(self, run: str, note: str) -> None:
        super().__init__(note)
        self.run, self.note = run, note


@dataclass
class JobContext:
    """What a child keeps between jobs: the store, the last dataset, the last classifier."""

    paths: Paths
    database: Database
    local: LocalExecutor = field(default_factory=LocalExecutor)
    _last: tuple[tuple[str, str], Dataset] | None = None

    @property
    def uploads(self) -> Uploads:
        return Uploads(self.paths, self.database)

    def dataset(self, digest: str, scope: str, callback: Callback | None = None) -> Dataset:
        key = (digest, scope)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        dataset = self.uploads.get_dataset(digest, scope, callback)
        small = dataset.X_train.nbytes + dataset.X_test.nbytes <= CACHED_BYTES
        self._last = (key, dataset) if small else None
        return dataset


def run_job(context: JobContext, row: Row, lease: str, device: str, reporter: Reporter) -> Arrays:
    """The arrays of the job's result."""
    spec = spec_from(json.loads(row["spec"]))
    dataset = context.dataset(row["dataset"], row["dataset_scope"], reporter.download)
    reporter.check()
    workspace = Workspace(context.paths.unfinished_of(row["id"]))
    if isinstance(spec, NetworkSpec):
        return _network(spec, dataset, reporter)
    if isinstance(spec, EvaluationSpec):
        return _evaluate(context, row, spec, dataset, device, workspace, reporter)
    if spec.learner == GIVEN:
        return run_arrays(context.uploads.get_model(spec.parameters["sha256"], row["scope"]), {}, 0)
    queue = Queue(context.database)
    where = spec.device if spec.device != "auto" else device
    arrays = train(
        spec,
        dataset,
        where,
        row["executor"],
        workspace,
        reporter,
        lambda step: _forget_history(queue, row["id"], lease, step),
    )
    reporter.flush()
    arrays.update(_spectrum(context, row["id"]))
    return arrays


def _evaluate(
    context: JobContext,
    row: Row,
    spec: EvaluationSpec,
    dataset: Dataset,
    device: str,
    workspace: Workspace,
    reporter: Reporter,
) -> Arrays:
    given = None
    if spec.points.digest is not None:
        given = context.uploads.get_points(spec.points.digest, row["scope"])
    rows = rows_of(dataset, spec.points, given)
    if spec.threat.switches:  # values of all training rows, so that a code means the same in every fold
        spec = replace(spec, threat=spec.threat.with_values(dataset.X_train))
    phase = "certifying" if spec.kind == "certify" else "attacking"
    key = f"{row['scope']}-{spec.run}"
    if spec.points.part == "cross":
        crossed = learn_folds(spec.points, _run_spec(context, spec.run), dataset, device, workspace, reporter)
        parts, more = crossed.parts(key, len(rows)), crossed.arrays()
        reporter.part(phase)
    else:
        reference = ReferenceData(key, dataset.X_train, dataset.y_train, _model(context, spec.run))
        parts, more = [(reference, np.arange(len(rows)))], {}
        reporter.phase(phase)
    context.local.device = device if device.startswith("cuda") else "cpu"  # certificates need float64
    executor: Executor = DaskExecutor(row["executor"]) if row["executor"] else context.local
    finished = workspace.load_parts()
    ready = np.zeros(len(rows), dtype=bool)
    if finished is not None:
        ready[finished.index] = True
    for reference, members in parts:
        cut = (members[block] for block in shards(len(members), spec.method))
        missing = (index[~ready[index]] for index in cut)  # an earlier version may have cut other blocks
        blocks = [index for index in missing if len(index)]
        pending = PendingEvaluation(reference, spec, rows, blocks, int(ready.sum()))
        executor.evaluate(pending, workspace.add, reporter.callback)
        ready[members] = True
    reporter.phase("saving")
    workspace.flush()
    whole = workspace.load_parts()
    if whole is None or not np.array_equal(whole.index, np.arange(len(rows))):
        raise DamagedFile("some finished rows could not be read back; try again")
    return {**whole.arrays(), **more}


def _network(spec: NetworkSpec, dataset: Dataset, reporter: Reporter) -> Arrays:
    curve = spec.curve()
    x, y = dataset.evaluation(spec.n)
    reporter.part("training")
    network = curve.train(dataset.X_train, dataset.y_train, reporter.callback)
    reporter.part("certifying")
    lower, correct, answers = curve.certify(network, x, y, reporter.callback)
    return Radii(
        index=np.arange(len(x)),
        lower=lower,
        upper=np.where(correct, np.inf, 0.0),
        exact=~correct,
        correct=correct,
        predicted=answers,
        adversarial=np.empty((len(x), 0)),
    ).arrays()


def _run_spec(context: JobContext, run: str) -> RunSpec:
    row = Requests(context.database).get(run)
    if row is None:
        raise RunDamaged(run, "the training it needs is not there any more")
    return RunSpec.from_content(json.loads(row["spec"]))


def _model(context: JobContext, run: str) -> LearnedModel:
    sha256 = Queue(context.database).result_sha256(run)
    if sha256 is None:
        raise RunDamaged(run, "the training it needs is computed again")
    path = context.paths.result(run)
    try:
        return LearnedModel.from_arrays(read_arrays(path, sha256))
    except DamagedFile as error:
        set_aside(path, context.paths.damaged)
        raise RunDamaged(run, f"{error}; it was set aside and is computed again") from error


def _forget_history(queue: Queue, job: str, lease: str, after: int) -> None:
    """What a lost attempt recorded is only overwritten, step by step, where the store cannot be written now."""
    with suppress(StoreError):
        queue.forget_history(job, lease, after)


def _spectrum(context: JobContext, job: str) -> Arrays:
    """The eigenvalues recorded during the training, an entry per recorded step."""
    steps, values = [], []
    for row in Requests(context.database).history(job):
        numbers = json.loads(row["numbers"])
        if "eigenvalues" in numbers:
            steps.append(row["step"])
            values.append(numbers["eigenvalues"])
    return {"eigenvalue_steps": np.array(steps, dtype=np.int64), "eigenvalues": np.array(values, dtype=np.float64)}
