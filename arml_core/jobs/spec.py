"""What a job computes, as plain values with one canonical form: equal work has an equal key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..attacks import METHODS as ATTACKS
from ..attacks.boundary import STEPS
from ..certificates import check_support
from ..checks import check_whole, checked_radii, checked_ties
from ..cross_fitting import DEFAULT_FOLDS
from ..learners.registry import Gives
from ..threat import ThreatModel
from ..vocabulary import question_words, verdicts_at
from .learners import entry_of, offered

if TYPE_CHECKING:
    from ..neural import NetworkCurve

SPEC_VERSIONS = {"train": 1, "certify": 2, "attack": 2, "network": 1}
"""Part of every key, by kind: raise one when the same spec would no longer give the same numbers."""
GIVEN = "given"
"""The learner of a metric that came from elsewhere."""

EvaluationKind = Literal["certify", "attack"]
PointsPart = Literal["evaluation", "test", "train", "cross", "given"]
Role = Literal["metric", "references"]
_SEEDED = ("boundary",)
_USUAL = {"certify": "votes", "attack": "whitebox"}
DEFAULT_BUDGET = 1.0


@dataclass(frozen=True)
class RunSpec:
    """A training: (dataset fingerprint, learner, parameters, seed)."""

    dataset: str
    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"

    @property
    def kind(self) -> str:
        return "train"

    def normalised(self) -> RunSpec:
        """Checked, with every default filled in, so that leaving a parameter out is not different work."""
        if self.learner == GIVEN:
            return self
        entry = entry_of(self.learner)
        parameters = {p.name: p.default for p in entry.parameters}
        for name, value in self.parameters.items():
            parameters[name] = entry.parameter(name).check(json_value(value))
        return RunSpec(
            self.dataset,
            self.learner,
            parameters,
            int(self.seed) if entry.seeded else 0,
            self.device if entry.on_device else "cpu",
        )

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "learner": self.learner,
            "parameters": self.parameters,
            "seed": self.seed,
            "device": self.device,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> RunSpec:
        return cls(**{name: content[name] for name in ("dataset", "learner", "parameters", "seed", "device")})

    @property
    def gives(self) -> Gives:
        """What the training finds: a metric, references, or references that are training rows."""
        if self.learner == GIVEN:
            found: Gives = self.parameters.get("gives", "metric")
            return found
        entry = offered(self.learner)
        return "metric" if entry is None else entry.gives

    @property
    def role(self) -> Role:
        """The argument of :class:`~arml_core.MahalanobisKNN` that takes the result; scripts name it so, too."""
        return "metric" if self.gives == "metric" else "references"

    def usual_points(self, n_test: int, n: int | None = None) -> PointsSpec:
        """The first `n` rows that say how the model does: test rows where there are any, else training rows.

        These are left out of their own vote, or cross-fitted where the model's points were learned from them.
        """
        if n_test:
            return PointsSpec("evaluation", n)
        return PointsSpec("cross" if self.gives == "references" else "train", n)

    def python_line(self, points: PointsSpec | None = None) -> str:
        """The line that calls the model `metric` or `references`; for points that are cross-fitted, not fitted yet."""
        fitted = points is None or points.part != "cross"
        return f"{self.role} = {self.python() if fitted else self._built()}"

    def python(self) -> str:
        """The call that learns the model from `X_train` and `y_train`; defaults are left out."""
        return f"{self._built()}.fit(X_train, y_train)"

    def _built(self) -> str:
        entry = offered(self.learner)
        defaults = {} if entry is None else {parameter.name: parameter.default for parameter in entry.parameters}
        changed = {
            name: value for name, value in self.parameters.items() if name not in defaults or defaults[name] != value
        }
        options = [*([repr(changed)] if changed else []), f"random_state={self.seed}"]
        options += [f"device={self.device!r}"] if self.device != "auto" else []
        options += ["image_shape=data.image_shape"] if self.parameters.get("shifts") else []
        get = "get_learner" if self.gives == "metric" else "get_reference_learner"
        return f"{get}({self.learner!r}).build({', '.join(options)})"


@dataclass(frozen=True)
class PointsSpec:
    """Which rows are evaluated.

    `part` is "evaluation" (the first `n` test rows in the paper's order), "test" (the first `n`, or all, as they
    stand), "train" (training rows, each left out of its own vote; `n` as before), "cross" (training rows, each
    answered by a model learned without it, in `folds` that `seed` draws) or "given" (a query file with the content
    hash `digest`). `labels` says whether the true labels count; without them the classifier's own answer is evaluated.
    """

    part: PointsPart = "evaluation"
    n: int | None = None
    digest: str | None = None
    labels: bool = True
    folds: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.part not in get_args(PointsPart):
            raise ValueError(f"points must be evaluation, test, train, cross or given; got {self.part!r}")
        if self.part == "cross" and self.folds is None:
            object.__setattr__(self, "folds", DEFAULT_FOLDS)
        if self.part == "cross":
            check_whole("folds", self.folds, 2)
        elif self.folds is not None or self.seed:
            raise ValueError("folds and their seed go with cross-fitted points, and only with them")
        if self.n is not None and self.n < 1:
            raise ValueError(f"the number of points must be at least 1; got {self.n}")
        if (self.part == "given") != (self.digest is not None):
            raise ValueError("a digest goes with given points, and only with them")

    def content(self) -> dict[str, Any]:
        found = {"part": self.part, "n": self.n, "digest": self.digest, "labels": self.labels}
        return {**found, "folds": self.folds, "seed": self.seed} if self.part == "cross" else found

    def python_lines(self, row: int | None = None) -> list[str]:
        """The lines that call these rows, or one of them, `X` and `y`, and training rows themselves `exclude`.

        Given rows are those of a table that was read as `rows`. Cross-fitted rows need no lines: the model has them.
        """
        if self.part == "cross":
            return []
        if self.part == "evaluation":
            found = f"data.evaluation({self.n or ''})"
            return [f"X, y = {found}" if self.labels else f"X, y = {found}[0], None"]
        some = f"[[{row}]]" if row is not None else "" if self.n is None else f"[:{self.n}]"
        x, y = {"test": "data.X_test data.y_test", "train": "X_train y_train", "given": "rows.X rows.y"}[
            self.part
        ].split()
        lines = [f"X, y = {x}{some}, {f'{y}{some}' if self.labels else None}"]
        if self.part == "train":
            lines.append(f"exclude = {'range(len(X))' if row is None else [row]}  # without its own vote")
        return lines


@dataclass(frozen=True)
class EvaluationSpec:
    """Radii of a run's model: (run, K, threat, method, budget, points), and for attacks a seed.

    Without a method, certificates count votes and attacks are white-box. `options` go to the method as they are. `at`
    are the radii at which a search is to find verdicts. `ties` and `target` are those of ``certify`` and ``attack``.
    """

    kind: EvaluationKind
    run: str
    n_neighbors: int = 1
    method: str = ""
    threat: ThreatModel = field(default_factory=ThreatModel)
    points: PointsSpec = field(default_factory=PointsSpec)
    budget: float | None = None
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    at: tuple[float, ...] | None = None
    ties: str = "order"
    target: Any = None

    def __post_init__(self) -> None:
        if not self.method:
            object.__setattr__(self, "method", _USUAL[self.kind])

    def normalised(self) -> EvaluationSpec:
        """Checked before it is queued: what cannot work is refused at once."""
        if isinstance(self.n_neighbors, bool) or int(self.n_neighbors) != self.n_neighbors or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be an integer of at least 1; got {self.n_neighbors!r}")
        if self.threat.n_lines is not None:
            raise ValueError(
                "a job asks about points by their number, and cannot carry a box with a line for each row; "
                "certify those rows with MahalanobisKNN itself, or give limits by feature"
            )
        if self.kind == "certify":
            check_support(self.method, int(self.n_neighbors), self.threat, self.target is not None)
        elif self.method not in ATTACKS:
            raise ValueError(f"attack must be one of {', '.join(ATTACKS)}; got {self.method!r}")
        return EvaluationSpec(
            self.kind,
            self.run,
            int(self.n_neighbors),
            self.method,
            self.threat,
            self.points,
            self._checked_budget(),
            int(self.seed) if self.method in _SEEDED else 0,
            self._checked_options(),
            None if self.method != "search" else checked_radii(self.at, self.method),
            "any" if checked_ties(self.ties) else "order",
            json_value(self.target),
        )

    def _checked_budget(self) -> float | None:
        """Only the search looks at it."""
        if self.method != "search":
            return None
        budget = DEFAULT_BUDGET if self.budget is None else float(self.budget)
        if not budget >= 0:
            raise ValueError(f"budget must be a number of seconds, at least 0; got {self.budget!r}")
        return budget

    def _checked_options(self) -> dict[str, Any]:
        """Only the boundary attack has one: its steps."""
        known = {"steps": STEPS} if self.method == "boundary" else {}
        unknown = sorted(set(self.options) - set(known))
        if unknown:
            raise ValueError(f"{self.method} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        return {**known, **{name: json_value(value) for name, value in self.options.items()}}

    def settings_words(self) -> tuple[str, ...]:
        """What the method was given: steps and seed of an attack, seconds of a search, the noise of smoothing."""
        found = []
        if "steps" in self.options:
            found.append(f"{self.options['steps']:,} steps, seed {self.seed}")
        if self.budget is not None:
            found.append(f"{self.budget:g} s a point")
        if self.at is not None:
            found.append(verdicts_at(self.at))
        found += question_words(self.ties, self.target)
        if "sigma" in self.options:
            found.append(f"σ = {self.options['sigma']:g}")
        return tuple(found)

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "run": self.run,
            "n_neighbors": self.n_neighbors,
            "method": self.method,
            "threat": self.threat.arguments(),
            "points": self.points.content(),
            "budget": self.budget,
            "seed": self.seed,
            "options": self.options,
            # without them, jobs of older versions keep their keys
            **({} if self.at is None else {"at": list(self.at)}),
            **self.rule(),
        }

    def rule(self) -> dict[str, Any]:
        """What of `ties` and `target` is not as usual, as ``certify`` and ``attack`` take it."""
        found = {} if self.ties == "order" else {"ties": self.ties}
        return found if self.target is None else {**found, "target": self.target}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> EvaluationSpec:
        names = ("kind", "run", "n_neighbors", "method", "budget", "seed", "options")
        return cls(
            **{name: content[name] for name in names},
            threat=ThreatModel(**content["threat"]),
            points=PointsSpec(**content["points"]),
            at=tuple(content["at"]) if "at" in content else None,
            ties=content.get("ties", "order"),
            target=content.get("target"),
        )

    @property
    def side(self) -> str:
        """The bound that counts: what a certificate proves, what an attack reached."""
        return "lower" if self.kind == "certify" else "upper"

    def python_lines(self, role: Role = "metric") -> list[str]:
        """The lines that fit the classifier `knn` and name the threat model `threat`.

        `role` is what the model is called: `metric`, or `references` (:attr:`RunSpec.role`).
        """
        model, points = f"n_neighbors={self.n_neighbors}, {role}={role}", self.points
        fitted = f"arml.MahalanobisKNN({model}).fit(X_train, y_train)"
        if points.part == "cross":
            folds = f"folds={points.folds}, random_state={points.seed}"
            fitted = f"cross_fit({role}, X_train, y_train, {folds}, n_neighbors={self.n_neighbors})"
        return [f"knn = {fitted}", f"threat = {self.threat.python()}"]

    def python(self) -> str:
        """The call that bounds the radii of `X`, after the lines of the evaluation and of its points."""
        options = [f"method={self.method!r}", "threat=threat"]
        if self.points.part == "cross":
            options += [] if self.points.n is None else [f"rows=range({self.points.n})"]
            options += [] if self.points.labels else ["labels=False"]
        options += ["exclude=exclude"] if self.points.part == "train" else []
        options += [f"budget={self.budget!r}"] if self.budget is not None else []
        options += [f"at={list(self.at)!r}"] if self.at is not None else []
        options += [f"{name}={value!r}" for name, value in (self.options | self.rule()).items()]
        options += [f"random_state={self.seed}"] if self.method in _SEEDED else []
        rows = [] if self.points.part == "cross" else ["X", "y"]
        return f"knn.{self.kind}({', '.join([*rows, *options])})"


@dataclass(frozen=True)
class NetworkSpec:
    """A neural network, trained and certified on the first `n` points of the evaluation.

    `sigma` is None for an ordinary network bounded with CROWN, else the noise of a smoothed one. The other settings
    are those of :class:`arml_core.neural.NetworkCurve`.
    """

    dataset: str
    n: int
    sigma: float | None
    hidden: tuple[int, ...]
    epochs: int
    samples: int
    seed: int = 0

    @classmethod
    def of(cls, dataset: str, n: int, curve: NetworkCurve) -> NetworkSpec:
        return cls(dataset, int(n), **asdict(curve))

    @property
    def kind(self) -> str:
        return "network"

    def curve(self) -> NetworkCurve:
        """What is trained and certified; a ValueError if there is no such network."""
        from ..neural import NetworkCurve  # torch's networks are for these jobs alone

        return NetworkCurve(self.sigma, tuple(self.hidden), self.epochs, self.samples, self.seed)

    def normalised(self) -> NetworkSpec:
        """Checked; all of its settings are stated, so nothing is filled in."""
        return NetworkSpec.of(self.dataset, self.n, self.curve())

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, **{f.name: json_value(getattr(self, f.name)) for f in fields(self)}}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> NetworkSpec:
        values = {f.name: content[f.name] for f in fields(cls)}
        return cls(**{**values, "hidden": tuple(values["hidden"])})


Spec = RunSpec | EvaluationSpec | NetworkSpec
_SPECS: dict[str, type[RunSpec | EvaluationSpec | NetworkSpec]] = {"train": RunSpec, "network": NetworkSpec}


def spec_from(content: Mapping[str, Any]) -> Spec:
    """The spec of a stored job."""
    return _SPECS.get(content["kind"], EvaluationSpec).from_content(content)


def canonical(content: Mapping[str, Any]) -> str:
    """JSON with one spelling for equal values."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(spec: Spec, scope: str) -> str:
    """The name of the work: what is private to somebody has another key than the same public work."""
    content = {"version": SPEC_VERSIONS[spec.kind], "scope": scope, **spec.content()}
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:32]


def json_value(value: Any) -> Any:
    """`value` as JSON has it: numpy numbers and arrays become numbers and lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"a job takes numbers, text and lists of them; got {type(value).__name__} {value!r}")
