"""What has to be computed for a table or figure, with the settings of the paper and where ours depart from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..attacks.boundary import STEPS
from ..datasets import dataset_info
from ..jobs.spec import EvaluationKind, EvaluationSpec, PointsSpec, RunSpec
from ..learners.arml import FULL_BATCH, LARGE_BATCH, epochs_between_rankings
from ..learners.registry import get_learner
from ..learners.solvers import FULL_SOLVER_LIMIT
from ..threat import ThreatModel
from .published import LARGE, METHODS, POINTS, TITLES, K, radii

SEED = 42
BOX = (0.0, 1.0)
"""Where the authors' attack stays; their certificates hold in all of ℝᴰ."""
SENSITIVITY = (1, 2, 5, 10, 20, 50)
"""Neighbourhood sizes of the paper's appendix."""
SENSITIVITY_SETS = ("splice", "satimage")
TOY = "seven_points"


@dataclass(frozen=True)
class TableColumn:
    """One number per radius in a table: a certificate or an attack. The paper has some of them, we add others."""

    kind: EvaluationKind
    method: str
    n_neighbors: int
    in_paper: bool
    box: bool = False


COLUMNS = {
    "exact": TableColumn("certify", "exact", 1, True),
    "theorem1": TableColumn("certify", "theorem1", K, True),
    "votes": TableColumn("certify", "votes", K, False),
    "whitebox": TableColumn("attack", "whitebox", K, False),
    "search": TableColumn("certify", "search", K, False),
    "boundary-box": TableColumn("attack", "boundary", K, True, box=True),
    "boundary": TableColumn("attack", "boundary", K, True),
}
TABLES = {"table1": ("exact",), "table2": ("theorem1", "votes", "whitebox", "search", "boundary-box", "boundary")}


@dataclass(frozen=True)
class Effort:
    """How much is spent; None takes the default for the column and the dataset. `quick` is for a first look."""

    points: int | None = None
    steps: int | None = None
    budget: float | None = None
    quick: bool = False

    def points_for(self, column: str, dataset: str) -> int:
        if self.points is not None:
            return self.points
        if self.quick:
            return 20
        if column in ("exact", "theorem1", "votes"):
            return POINTS
        if dataset in LARGE:
            return 50
        return POINTS if dataset == "splice" and column.startswith("boundary") else 200

    def boundary_steps(self) -> int:
        if self.steps is not None:
            return self.steps
        return 200 if self.quick else STEPS

    def budget_a_point(self) -> float:
        if self.budget is not None:
            return self.budget
        return 0.05 if self.quick else 0.5

    def parameters_of(self, learner: str) -> dict[str, Any]:
        """What is trained: the defaults, which are the paper's, or a few iterations."""
        if not self.quick:
            return {}
        return {"arml": {"n_epochs": 30}, "nca": {"max_iter": 5}, "lmnn": {"max_iter": 5, "min_iter": 1}}.get(
            learner, {}
        )


@dataclass(frozen=True)
class PlanStep:
    """One evaluation of one metric; `column` names it in the tables. `at` are the radii that a search is to decide."""

    dataset: str
    learner: str
    column: str
    points: PointsSpec
    parameters: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    budget: float | None = None
    at: tuple[float, ...] | None = None

    @property
    def what(self) -> TableColumn:
        return COLUMNS[self.column]

    @property
    def threat(self) -> ThreatModel:
        return ThreatModel(box=BOX) if self.what.box else ThreatModel()

    def training(self, fingerprint: str) -> RunSpec:
        """The training it needs, on the dataset with this fingerprint."""
        return RunSpec(fingerprint, self.learner, dict(self.parameters), SEED).normalised()

    def evaluation(self, run: str) -> EvaluationSpec:
        """What is computed of the metric of `run`."""
        what, options = self.what, {} if self.steps is None else {"steps": self.steps}
        return EvaluationSpec(
            what.kind,
            run,
            what.n_neighbors,
            what.method,
            self.threat,
            self.points,
            self.budget,
            options=options,
            at=self.at,
        )

    @property
    def title(self) -> str:
        changed = "".join(f", {name} = {value}" for name, value in self.parameters.items())
        inside = " in the box" if self.what.box else ""
        where = TITLES.get(self.dataset, self.dataset)
        return f"{where}, {METHODS[self.learner]}{changed}: {self.what.method}{inside}, K = {self.what.n_neighbors}"

    def deviations(self) -> tuple[str, ...]:
        """Where the result departs from the paper's protocol, a clause each."""
        return (*_training_deviations(self), *_evaluation_deviations(self))


def table(
    name: str, datasets: Iterable[str], methods: Iterable[str], effort: Effort, columns: Sequence[str] = ()
) -> list[PlanStep]:
    """The steps of a table, datasets and methods in the given order."""
    wanted = [column for column in TABLES[name] if not columns or column in columns]
    chosen = list(methods)
    return [_step(dataset, learner, column, effort) for dataset in datasets for column in wanted for learner in chosen]


def figure1() -> list[PlanStep]:
    """The seven points under three metrics: exact leave-one-out radii."""
    return [PlanStep(TOY, learner, "exact", PointsSpec("train")) for learner in ("euclidean", "nca", "arml")]


def sensitivity(datasets: Iterable[str], effort: Effort) -> list[PlanStep]:
    """ARML with neighbourhoods of several sizes: both certificates, and the white-box attack."""
    return [
        _step(dataset, "arml", column, effort, {"n_neighbors": size})
        for dataset in datasets
        for size in SENSITIVITY
        for column in ("exact", "theorem1", "whitebox")
    ]


def _step(
    dataset: str, learner: str, column: str, effort: Effort, parameters: Mapping[str, Any] | None = None
) -> PlanStep:
    search = column == "search"
    return PlanStep(
        dataset,
        learner,
        column,
        PointsSpec("evaluation", effort.points_for(column, dataset)),
        {**effort.parameters_of(learner), **(parameters or {})},
        effort.boundary_steps() if column.startswith("boundary") else None,
        effort.budget_a_point() if search else None,
        tuple(radii(dataset).tolist()) if search else None,
    )


def _training_deviations(step: PlanStep) -> tuple[str, ...]:
    entry = get_learner(step.learner)
    known = {p.name: p.default for p in entry.parameters}
    changed = {name: value for name, value in step.parameters.items() if value != known[name]}
    found = [f"{name} = {value} instead of {known[name]}" for name, value in changed.items()]
    n = dataset_info(step.dataset).n_train
    if step.learner == "arml":
        every = epochs_between_rankings(n, None, known["refresh"])
        found.append(f"neighbours ranked every {every} epochs, not every epoch")
        if n > FULL_BATCH:
            found.append(f"batches of {LARGE_BATCH:,} points instead of all {n:,}")
    elif step.learner != "euclidean":
        found.append(f"our own {entry.title}, not metric-learn's")
        if step.learner == "lmnn":
            found.append(f"steps that work grow by a factor of {known['growth']}, metric-learn's by 1.01")
        if step.learner in ("nca", "lmnn") and n > FULL_SOLVER_LIMIT:
            found.append(f"{known['n_steps']} steps on random batches of {known['batch_size']:,} points")
    return tuple(found)


def _evaluation_deviations(step: PlanStep) -> tuple[str, ...]:
    found = []
    if not step.what.in_paper:
        found.append("not in the paper")
    if step.points.part == "evaluation" and (step.points.n or 0) < POINTS:
        found.append(f"{step.points.n} points instead of {POINTS:,}")
    if step.steps is not None and step.steps < STEPS:
        found.append(f"{step.steps:,} steps instead of {STEPS:,}")
    if step.column == "boundary":
        found.append("attacked in all of ℝᴰ; the authors attack inside [0, 1]")
    return tuple(found)
