"""Columns to protect, as ordinary jobs: one evaluation of the rows as they are, and one for each column that is frozen.

Every piece is an evaluation like any other: it is cached, resumable, can be cancelled, and is computed wherever jobs
are. :func:`protection` reads what is done so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..questions.protection import (
    Columns,
    Protection,
    checked_epsilon,
    in_question,
    protected_column,
    protected_features,
)
from ..threat import ThreatModel
from .client import Client
from .spec import EvaluationSpec, RunSpec
from .states import DONE
from .status import JobStatus


@dataclass(frozen=True)
class ColumnJob:
    """A column, its features, and the evaluation with these frozen; None where nothing is left that could change."""

    name: str
    features: tuple[int, ...]
    evaluation: JobStatus | None

    @property
    def done(self) -> bool:
        return self.evaluation is None or self.evaluation.state == DONE


@dataclass(frozen=True)
class ProtectionJobs:
    """What was asked for: the evaluation of the rows as they are, and one for each column."""

    epsilon: float
    base: JobStatus
    columns: tuple[ColumnJob, ...]

    @property
    def evaluations(self) -> tuple[JobStatus, ...]:
        """All of them, to be watched or cancelled."""
        return self.base, *(column.evaluation for column in self.columns if column.evaluation is not None)

    @property
    def done(self) -> bool:
        return self.base.state == DONE and all(column.done for column in self.columns)

    @property
    def at_rest(self) -> bool:
        """Whether nothing more will happen by itself."""
        return all(evaluation.is_at_rest for evaluation in self.evaluations)


def ask_protection(
    client: Client, spec: EvaluationSpec, epsilon: float, columns: Columns | None = None
) -> ProtectionJobs:
    """Ask for the certificates of `spec` at ε, as they are and with each column frozen.

    `columns` are names with the features of each, by place or name; default: every feature that can change, and every
    group that switches as one. Asking again costs nothing: what was asked before is found.
    """
    if spec.kind != "certify":
        raise ValueError("columns to protect are found by certificates; an attack proves no row safe")
    epsilon = checked_epsilon(epsilon)
    names = _feature_names(client, spec.run)
    spec = replace(spec, threat=spec.threat.for_features(names), at=(epsilon,) if spec.method == "search" else None)
    threats = _frozen_threats(spec.threat, names, columns)
    base = client.submit(spec)
    found = [
        ColumnJob(name, features, None if threat is None else client.submit(replace(spec, threat=threat)))
        for (name, features), threat in threats.items()
    ]
    return ProtectionJobs(epsilon, base, tuple(found))


def protection(client: Client, jobs: ProtectionJobs) -> Protection | None:
    """What freezing each column does, for the columns whose evaluation is done; None before the first one is."""
    if client.status(jobs.base.id).state != DONE:
        return None
    base = client.radii(jobs.base.id)
    assert base is not None
    asked = in_question(base, jobs.epsilon)
    found = []
    for column in jobs.columns:
        radii = None
        if column.evaluation is not None:
            if client.status(column.evaluation.id).state != DONE:
                continue
            whole = client.radii(column.evaluation.id)
            assert whole is not None
            radii = whole.take(asked)
        found.append(protected_column(column.name, column.features, radii, len(asked), jobs.epsilon))
    return Protection.of(base, jobs.epsilon, base.index, found)


def _frozen_threats(
    threat: ThreatModel, names: tuple[str, ...], columns: Columns | None
) -> Mapping[tuple[str, tuple[int, ...]], ThreatModel | None]:
    """The threat for each column; all are known before the first one is asked for."""
    named = protected_features(threat, names, columns)
    return {(name, features): threat.with_frozen(features, len(names)) for name, features in named.items()}


def _feature_names(client: Client, run: str) -> tuple[str, ...]:
    spec = client.status(run).spec
    if not isinstance(spec, RunSpec):
        raise ValueError(f"job {run} is not a training; certificates need one")
    return client.dataset(spec.dataset).feature_names
