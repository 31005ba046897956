"""Results of jobs as the pages and notebooks use them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .. import __version__
from ..numerics.arrays import FloatArray, IntArray
from ..radii import Radii
from ..results import Evaluation
from .files import Arrays
from .model import LearnedModel, model_fields
from .spec import EvaluationSpec, NetworkSpec, PointsSpec, RunSpec, spec_from
from .store.database import Row
from .titles import metric_title
from .training import HISTORY_PREFIX

NETWORK = "network"
"""The learner of a result that no metric made."""


@dataclass(frozen=True, kw_only=True)
class RunResult(LearnedModel):
    """A learned model. It is accepted wherever a fitted learner is: ``MahalanobisKNN(metric=result)``, or
    ``references=result`` where it has `references_`.

    `history_` has an array per quantity, an entry per iteration. `eigenvalues` are the largest of M as they were
    after each of `eigenvalue_steps`.
    """

    history_: dict[str, FloatArray]
    n_iter_: int
    eigenvalue_steps: IntArray
    eigenvalues: FloatArray


def run_result(arrays: Arrays) -> RunResult:
    """From the arrays of a result file."""
    return RunResult(
        **model_fields(arrays),
        history_={
            name.removeprefix(HISTORY_PREFIX): a for name, a in arrays.items() if name.startswith(HISTORY_PREFIX)
        },
        n_iter_=int(arrays["n_iter"]),
        eigenvalue_steps=arrays.get("eigenvalue_steps", np.empty(0, dtype=np.int64)).astype(np.intp),
        eigenvalues=arrays.get("eigenvalues", np.empty((0, 0))),
    )


@dataclass(frozen=True)
class History:
    """What a training has reported so far: for each quantity the steps and the values.

    ``last`` is the newest step; give it as `after` to get only what is new. Eigenvalues are rows of a matrix.
    """

    steps: dict[str, IntArray]
    values: dict[str, FloatArray]
    last: int


def history_from(rows: Sequence[Row], after: int) -> History:
    """The history of a training under way, from the rows of the store."""
    steps: dict[str, list[int]] = {}
    values: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in json.loads(row["numbers"]).items():
            steps.setdefault(name, []).append(row["step"])
            values.setdefault(name, []).append(value)
    return History(
        {name: np.array(found, dtype=np.intp) for name, found in steps.items()},
        {name: np.array(found, dtype=np.float64) for name, found in values.items()},
        rows[-1]["step"] if rows else after,
    )


def history_of(run: RunResult, after: int) -> History:
    """The history of a finished training; an entry of `history_` belongs to the step of its place."""
    steps = {name: np.arange(1, len(values) + 1) for name, values in run.history_.items()}
    values = dict(run.history_)
    if len(run.eigenvalue_steps):
        steps["eigenvalues"], values["eigenvalues"] = run.eigenvalue_steps, run.eigenvalues
    fresh = {name: at > after for name, at in steps.items()}
    last = max((int(at[-1]) for at in steps.values() if len(at)), default=after)
    return History(
        {name: at[fresh[name]] for name, at in steps.items()},
        {name: found[fresh[name]] for name, found in values.items()},
        last,
    )


def with_question(radii: Radii, job: Row) -> Radii:
    """Radii with the question they answer; results of older versions lack it, the job's spec has it."""
    if radii.method:
        return radii
    spec = spec_from(json.loads(job["spec"]))
    if isinstance(spec, NetworkSpec):
        return replace(radii, method=spec.curve().method)
    if not isinstance(spec, EvaluationSpec):
        return radii
    settings = {**spec.options, "seed": spec.seed} if spec.options else {}
    return replace(radii, method=spec.method, threat=spec.threat, settings=settings)


def evaluation_of(job: Row, run: Row, dataset: tuple[str, str], radii: Radii, planned: int) -> Evaluation:
    """An evaluation's radii with what they were computed from; `dataset` is its name and title."""
    spec, training = EvaluationSpec.from_content(json.loads(job["spec"])), RunSpec.from_content(json.loads(run["spec"]))
    name, title = dataset
    learner_title = metric_title(training.learner, run["title"], title)
    return Evaluation(radii, spec, training, name, title, learner_title, planned, _made(job, run))


def network_evaluation(job: Row, dataset: tuple[str, str], radii: Radii) -> Evaluation:
    """The radii of a network in the form of every other result; it has no neighbours."""
    asked = NetworkSpec.from_content(json.loads(job["spec"]))
    curve = asked.curve()
    made = {name: value for name, value in _made(job, job).items() if name not in ("run", "train_seconds")}
    points = PointsSpec("evaluation", asked.n)
    spec = EvaluationSpec("certify", "", 0, curve.method, points=points, options=curve.options)
    run = RunSpec(asked.dataset, NETWORK, curve.parameters, asked.seed)
    return Evaluation(radii, spec, run, *dataset, "ReLU network", len(radii), made)


def _made(job: Row, run: Row) -> dict[str, Any]:
    made: dict[str, Any] = {"job": job["id"], "run": run["id"], "version": __version__}
    for name, row in (("train_seconds", run), ("seconds", job)):
        if row["finished"] is not None and row["started"] is not None:
            made[name] = round(row["finished"] - row["started"], 3)
    if job["finished"] is not None:
        made["date"] = datetime.fromtimestamp(job["finished"], UTC).date().isoformat()
    return made
