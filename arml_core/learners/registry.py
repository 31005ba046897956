"""Every learner by name, with its parameters described well enough to build a form or a command line from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..vocabulary import parameter_label
from .arml import ARML, OBJECTIVES
from .checks import check_choice, check_int, check_real
from .euclidean import Euclidean
from .itml import ITML
from .lfda import EMBEDDINGS, LFDA, VARIANTS
from .lmnn import LMNN
from .lmnn import SOLVERS as LMNN_SOLVERS
from .metric_learn_backend import BACKENDS
from .nca import NCA
from .nca import SOLVERS as NCA_SOLVERS
from .triplets import LOSSES
from .work import CountWork, arml_work, euclidean_work, itml_work, lfda_work, lmnn_work, nca_work

Kind = Literal["int", "float", "choice"]
Gives = Literal["metric", "references", "rows"]
AUTO = "auto"


@dataclass(frozen=True)
class Parameter:
    """One argument of a learner: its type, range, default and a line of help.

    `low` and `high` belong to the range, except that `open_low` leaves `low` itself out. `optional` says that None
    is allowed too, `automatic` that "auto" is. `advanced` is for everything the paper keeps fixed. `title` is what
    people read where the name alone does not say it.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    low: float = 0
    high: float | None = None
    choices: tuple[str, ...] = ()
    open_low: bool = False
    optional: bool = False
    automatic: bool = False
    advanced: bool = True
    title: str = ""

    @property
    def label(self) -> str:
        """The parameter as people read it."""
        return self.title or parameter_label(self.name)

    def check(self, value: Any) -> Any:
        """`value` in the parameter's type; a ValueError with name and value if it is out of range."""
        if value is None and self.optional:
            return None
        if self.automatic and isinstance(value, str):
            return self._check_automatic(value)
        if self.kind == "choice":
            return check_choice(self.name, value, self.choices)
        if self.kind == "int":
            return check_int(self.name, value, int(self.low), None if self.high is None else int(self.high))
        high = float("inf") if self.high is None else self.high
        return check_real(self.name, value, self.low, high, open_low=self.open_low)

    def _check_automatic(self, value: str) -> str:
        if value != AUTO:
            raise ValueError(f"{self.name} must be {self._wanted()}; got {value!r}")
        return AUTO

    def _wanted(self) -> str:
        kind = "an integer" if self.kind == "int" else "a number"
        return f"{kind} or {AUTO!r}" if self.automatic else kind

    def parse(self, text: str) -> Any:
        """The value written as `text`; "none" is None and "auto" is "auto" where that is allowed."""
        if self.optional and text.lower() == "none":
            return None
        if self.automatic and text.lower() == AUTO:
            return AUTO
        try:
            value: Any = {"int": int, "float": float, "choice": str}[self.kind](text)
        except ValueError:
            raise ValueError(f"{self.name} must be {self._wanted()}; got {text!r}") from None
        return self.check(value)


@dataclass(frozen=True)
class LearnerEntry:
    """A learner: its short name, its title in tables, what it does, its class and parameters.

    `gives` is what `fit` finds: a metric; "references", the points to compare with, perhaps with a metric; or "rows",
    references that are training rows. `on_images` says that its class takes an `image_shape`. `work` counts what a
    training takes, None where that is not known.
    """

    name: str
    title: str
    summary: str
    learner: type[Any]
    parameters: tuple[Parameter, ...] = ()
    seeded: bool = True
    on_device: bool = False
    gives: Gives = "metric"
    on_images: bool = False
    work: CountWork | None = None

    @property
    def gives_references(self) -> bool:
        return self.gives != "metric"

    def parameter(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = ", ".join(p.name for p in self.parameters) or "none"
        raise ValueError(f"{self.title} has no parameter {name!r}; it has {known}")

    def build(
        self,
        parameters: Mapping[str, Any] | None = None,
        *,
        random_state: int | None = None,
        device: str = "auto",
        image_shape: tuple[int, int] | None = None,
    ) -> Any:
        """An unfitted learner; parameters that are not given keep their defaults.

        `image_shape` is that of the rows, where they are images, for learners that make use of it.
        """
        checked = {name: self.parameter(name).check(value) for name, value in (parameters or {}).items()}
        if self.seeded:
            checked["random_state"] = random_state
        if self.on_device:
            checked["device"] = device
        if self.on_images:
            checked["image_shape"] = image_shape
        return self.learner(**checked)


_RANK = Parameter("n_components", "int", None, "Rows of G; none for a full-rank metric.", low=1, optional=True)
_BACKEND = Parameter("backend", "choice", "native", "Our code, or metric-learn's for comparison.", choices=BACKENDS)
_TOL = "Stop when an iteration changes less than this."


def _stochastic(step: str) -> tuple[Parameter, ...]:
    return (
        Parameter("n_steps", "int", 300, "Steps of the stochastic solver.", low=1),
        Parameter("batch_size", "int", 1000, "Points in a step of the stochastic solver.", low=1),
        Parameter(step, "float", 0.01, "Adam's learning rate in the stochastic solver.", open_low=True),
    )


_ENTRIES = (
    LearnerEntry(
        "euclidean",
        "Euclidean",
        "No learning: every feature counts the same.",
        Euclidean,
        seeded=False,
        work=euclidean_work,
    ),
    LearnerEntry(
        "nca",
        "NCA",
        "Makes a random near neighbour likely to be of the right class.",
        NCA,
        (
            Parameter("max_iter", "int", 100, "The most iterations of L-BFGS.", low=1, advanced=False),
            Parameter("tol", "float", None, _TOL, optional=True),
            Parameter("solver", "choice", "auto", "L-BFGS on all points, or random batches.", choices=NCA_SOLVERS),
            *_stochastic("learning_rate"),
            _RANK,
            _BACKEND,
        ),
        on_device=True,
        work=nca_work,
    ),
    LearnerEntry(
        "lmnn",
        "LMNN",
        "Keeps a margin around each point's nearest points of its class.",
        LMNN,
        (
            Parameter("n_neighbors", "int", 3, "Target neighbours of each point.", low=1, high=1000, advanced=False),
            Parameter("regularization", "float", 0.5, "Weight of the pull against the push.", high=1.0),
            Parameter("learning_rate", "float", 1e-7, "First step of the descent.", open_low=True),
            Parameter("growth", "float", 1.1, "Lengthens a step that worked; metric-learn's is 1.01.", low=1.0),
            Parameter("min_iter", "int", 50, "The fewest iterations."),
            Parameter("max_iter", "int", 1000, "The most iterations.", low=1, advanced=False),
            Parameter("tol", "float", 1e-3, _TOL),
            Parameter("solver", "choice", "auto", "Descent on all points, or random batches.", choices=LMNN_SOLVERS),
            *_stochastic("step_size"),
            _RANK,
            _BACKEND,
        ),
        on_device=True,
        work=lmnn_work,
    ),
    LearnerEntry(
        "itml",
        "ITML",
        "Stays near the Euclidean metric while random pairs become near or far as their labels say.",
        ITML,
        (
            Parameter("gamma", "float", 1.0, "Price of breaking a pair's bound.", open_low=True, advanced=False),
            Parameter("max_iter", "int", 1000, "The most passes over the pairs.", low=1),
            Parameter("tol", "float", 1e-3, _TOL),
            Parameter("n_constraints", "int", None, "Pairs of each kind; none: 20 · classes².", low=1, optional=True),
            _BACKEND,
        ),
        work=itml_work,
    ),
    LearnerEntry(
        "lfda",
        "LFDA",
        "Parts the classes while near points of a class stay near.",
        LFDA,
        (
            _RANK,
            Parameter("k", "int", None, "Neighbour that sets the local scale; none for 7.", low=1, optional=True),
            Parameter(
                "variant",
                "choice",
                "metric-learn",
                "As in the paper, or as published.",
                choices=VARIANTS,
            ),
            Parameter("embedding_type", "choice", "weighted", "How directions are scaled.", choices=EMBEDDINGS),
            _BACKEND,
        ),
        seeded=False,
        work=lfda_work,
    ),
    LearnerEntry(
        "arml",
        "ARML",
        "Enlarges the smallest step that would bring a point nearer to another class.",
        ARML,
        (
            Parameter("n_epochs", "int", 1000, "Updates of the metric.", low=1, high=1_000_000, advanced=False),
            Parameter("loss", "choice", "negative", "The loss on the triplet radius.", choices=tuple(LOSSES)),
            Parameter("n_neighbors", "int", 10, "Neighbourhood to draw from.", low=1, high=1000, advanced=False),
            Parameter("learning_rate", "float", 1e-3, "Adam's learning rate.", open_low=True),
            Parameter("refresh", "int", 10, "Rank the neighbours again every so many epochs.", low=1),
            Parameter("batch_size", "int", None, "Points in an update; none for the default.", low=1, optional=True),
            _RANK,
            Parameter(
                "objective", "choice", "sampled", "Draw triplets, or take the deciding ones.", choices=OBJECTIVES
            ),
            Parameter("objective_k", "int", 1, "The odd K of the unsampled objective.", low=1),
            Parameter("validation_fraction", "float", 0.0, "Part held out to stop early; 0 for none.", high=0.5),
            Parameter("patience", "int", 50, "Epochs without progress before an early stop.", low=1),
        ),
        on_device=True,
        work=arml_work,
    ),
)

LEARNERS: dict[str, LearnerEntry] = {entry.name: entry for entry in _ENTRIES}
"""The learners in the order of the paper's tables."""


def get_learner(name: str) -> LearnerEntry:
    """The entry for a name; a ValueError that lists the names if there is none."""
    if name not in LEARNERS:
        raise ValueError(f"there is no learner {name!r}; there are {', '.join(LEARNERS)}")
    return LEARNERS[name]
