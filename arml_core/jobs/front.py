"""The price of robustness: one learner trained for several target radii, as ordinary jobs.

Every piece is a training or an evaluation like any other: it is cached, resumable and seen on every page. Multiples of
the automatic radius are known once the training with that radius is done, so :func:`ask_front` is called again until
:attr:`FrontJobs.all_asked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..curves import FrontPoint, front_point
from ..learners.registry import AUTO
from ..threat import ThreatModel
from .client import Client
from .learners import entries, entry_of
from .spec import EvaluationSpec, PointsSpec, RunSpec
from .states import DONE
from .status import JobStatus
from .titles import metric_title

MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.5)
"""Of the automatic target radius."""
RADIUS = "radius"


@dataclass(frozen=True)
class FrontModel:
    """A training and the certificates of its model."""

    run: JobStatus
    evaluation: JobStatus

    @property
    def done(self) -> bool:
        return self.run.state == self.evaluation.state == DONE


@dataclass(frozen=True)
class FrontJobs:
    """What was asked for; `all_asked` is False while some radii wait for the automatic one."""

    models: tuple[FrontModel, ...]
    all_asked: bool

    @property
    def done(self) -> bool:
        return self.all_asked and all(model.done for model in self.models)

    @property
    def at_rest(self) -> bool:
        """Whether nothing more will happen by itself."""
        rests = all(model.run.is_at_rest and model.evaluation.is_at_rest for model in self.models)
        return rests and (self.all_asked or self.models[0].run.state != DONE)


def front_learners() -> list[str]:
    """The learners that are trained for a target radius which they can choose themselves."""
    return [
        name for name, entry in entries().items() if any(p.name == RADIUS and p.automatic for p in entry.parameters)
    ]


def front_runs(base: RunSpec, radii: Sequence[float | str]) -> list[RunSpec]:
    """The training `base` for each target radius; "auto" is one of them where it says so."""
    parameter = entry_of(base.learner).parameter(RADIUS)
    return [replace(base, parameters={**base.parameters, RADIUS: parameter.check(radius)}) for radius in radii]


def multiples_of(automatic: float, multiples: Sequence[float] = MULTIPLES) -> list[float | str]:
    """These multiples of the automatic radius, to four digits; that radius itself stays "auto"."""
    return [AUTO if multiple == 1 else float(f"{multiple * automatic:.4g}") for multiple in multiples]


def front_points(n_test: int, n: int | None = None) -> PointsSpec:
    """The rows on which models are compared: test rows, or without any, training rows that are cross-fitted."""
    return PointsSpec("evaluation", n) if n_test else PointsSpec("cross", n)


def ask_front(
    client: Client,
    base: RunSpec,
    points: PointsSpec,
    threat: ThreatModel | None = None,
    radii: Sequence[float | str] | None = None,
    multiples: Sequence[float] = MULTIPLES,
    beside: Sequence[RunSpec] = (),
) -> FrontJobs:
    """Ask for every training and its exact certificates at K = 1, as far as their radii are known.

    Without `radii` they are `multiples` of the automatic one. `beside` are other models that are certified in the same
    way. Asking again costs nothing: what was asked before is found.
    """
    attacker = ThreatModel() if threat is None else threat
    found: list[FrontModel] = []

    def ask(run: RunSpec) -> FrontModel:
        training = client.submit(run)
        spec = EvaluationSpec("certify", training.id, 1, "exact", attacker, points)
        model = FrontModel(training, client.submit(spec))
        found.append(model)
        return model

    all_asked = True
    if radii is None:
        first = ask(*front_runs(base, [AUTO])).run
        all_asked = first.state == DONE
        automatic = client.run(first.id).radius_ if all_asked else None
        radii = [] if automatic is None else [r for r in multiples_of(automatic, multiples) if r != AUTO]
    for run in [*front_runs(base, radii), *beside]:
        ask(run)
    return FrontJobs(tuple(found), all_asked)


def front(client: Client, jobs: FrontJobs, epsilon: float) -> tuple[FrontPoint, ...]:
    """The models that are done, by target radius; those without one come last."""
    points = [_point(client, model, epsilon) for model in jobs.models if model.done]
    return tuple(sorted(points, key=lambda p: (p.target_radius is None, p.label, p.target_radius or 0.0)))


def _point(client: Client, model: FrontModel, epsilon: float) -> FrontPoint:
    spec = model.run.spec
    assert isinstance(spec, RunSpec)
    data, learned = client.dataset(spec.dataset), client.run(model.run.id)
    radii = client.radii(model.evaluation.id)
    assert radii is not None
    title = metric_title(spec.learner, model.run.title, data.title)
    return front_point(radii, epsilon, title, learned.size(len(data.X_train)), learned.radius_)
