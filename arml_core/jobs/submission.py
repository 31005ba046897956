"""From a spec to a row of the queue: title, scope and executor follow from the spec and from what the store has."""

from __future__ import annotations

import json
import os
from dataclasses import replace

from .learners import entry_of
from .open_store import Store
from .owners import PUBLIC, Visitor
from .spec import GIVEN, EvaluationSpec, NetworkSpec, PointsSpec, RunSpec, Spec
from .store.requests import Request


def dask_address() -> str:
    """The scheduler that new jobs are computed on: ``ARML_DASK``, empty for this machine."""
    return os.environ.get("ARML_DASK", "").strip()


def request_for(spec: Spec, priority: int, store: Store, visitor: Visitor) -> Request:
    """What is queued for a spec; a ValueError if it cannot work or if the visitor may not see what it refers to.

    Work on a visitor's upload, or on rows they brought, is private to them; all else is public. Features that a threat
    model names are replaced by their places: the same question is the same work, however it is asked.
    """
    spec = spec.normalised()
    if isinstance(spec, EvaluationSpec):
        return _evaluation(spec, priority, store, visitor)
    scope = store.uploads.find_scope(spec.dataset, visitor)
    data = store.uploads.dataset_title(spec.dataset, scope)
    if isinstance(spec, NetworkSpec):
        title = f"ReLU network ({spec.curve().title}) on {data}"
        return Request(spec, scope, title, spec.dataset, scope, priority=priority)
    return _training(spec, priority, scope, data)


def _training(spec: RunSpec, priority: int, scope: str, data: str) -> Request:
    return Request(
        spec,
        scope,
        f"{entry_of(spec.learner).title} on {data}",
        spec.dataset,
        scope,
        executor=dask_address(),
        accelerated=spec.device != "cpu",
        priority=priority,
    )


def _evaluation(spec: EvaluationSpec, priority: int, store: Store, visitor: Visitor) -> Request:
    run = store.job(spec.run, visitor)
    if run["kind"] != "train":
        raise ValueError(f"job {spec.run} is not a training; certify and attack need one")
    _check_points(spec.points, RunSpec.from_content(json.loads(run["spec"])))
    if spec.threat.has_names:
        names = store.uploads.get_dataset(run["dataset"], run["dataset_scope"]).feature_names
        spec = replace(spec, threat=spec.threat.for_features(names))
    scope = run["scope"]
    if spec.points.digest is not None:
        found = store.uploads.find_scope(spec.points.digest, visitor)
        scope = found if found != PUBLIC else scope
    executor = dask_address()
    crossed = ", cross-fitted" if spec.points.part == "cross" else ""
    return Request(
        spec,
        scope,
        f"{spec.kind.capitalize()} ({spec.method}, K = {spec.n_neighbors}{crossed}): {run['title']}",
        run["dataset"],
        run["dataset_scope"],
        points=spec.points.digest,
        needs=spec.run,
        executor=executor,
        accelerated=not executor,
        priority=priority,
    )


def _check_points(points: PointsSpec, run: RunSpec) -> None:
    """Refuse rows that the model was learned from, and what cannot be learned again without some rows."""
    if points.part == "train" and run.gives == "references":
        raise ValueError(
            "these references were learned from the training rows, and a row cannot be left out of them. Ask for "
            "cross-fitted rows (each answered by references learned without it), or for test rows"
        )
    if points.part == "cross" and run.learner == GIVEN:
        raise ValueError("a model from elsewhere cannot be learned again without some of the rows: no cross-fitting")
