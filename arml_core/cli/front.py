"""``front``: the price of robustness, one learner trained for several target radii, as CSV."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cross_fitting import DEFAULT_FOLDS, cross_fit
from ..curves import FrontPoint, front_point, on_front
from ..datasets import Dataset
from ..datasets.table import write_csv
from ..jobs.front import MULTIPLES, RADIUS, front_learners, multiples_of
from ..knn import MahalanobisKNN
from ..learners.registry import AUTO, LEARNERS, LearnerEntry
from ..neighbors.chosen import classifier_arguments
from ..radii import Radii
from ..references.registry import REFERENCES
from ..threat import ThreatModel
from ..vocabulary import NORMS, cross_fitted_words
from .common_arguments import add_data_arguments, write_output
from .files import load_data
from .progress import progress_bar
from .train import parse_parameters

HEADER = ["method", "target_radius", "references", "clean_error", "robust_error", "points", "on_front"]
EXAMPLES = """examples:
  python -m arml_core front iris --eps 0.1
  python -m arml_core front data/samples/bottles.csv --label machine --eps 0.05 --radii 0.05 0.1 auto
  python -m arml_core front usps --eps 1 --points 1000 --beside euclidean arml -o usps-front.csv
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    multiples = ", ".join(f"{multiple:g}" for multiple in MULTIPLES)
    parser = commands.add_parser(
        "front",
        help="the price of robustness: clean against robust error for several target radii",
        description="Train references for several target radii and print, for each, how many there are, the clean "
        "error and the robust error at ε: the share of rows that is not proved to keep its right answer under every "
        "change up to ε (exact, one neighbour). Test rows are certified; without any, training rows, each by a model "
        "learned without it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    add_data_arguments(parser)
    parser.add_argument("--eps", type=float, required=True, metavar="E", help="the radius of the robust error")
    parser.add_argument(
        "--radii",
        nargs="+",
        metavar="R",
        help=f"target radii, numbers or auto (default: the automatic one times {multiples})",
    )
    parser.add_argument(
        "--learner", choices=[name for name in front_learners() if name in REFERENCES], default="robust_prototypes"
    )
    parser.add_argument("-p", "--set", action="append", default=[], metavar="NAME=VALUE", help="set a parameter")
    parser.add_argument(
        "--beside", nargs="*", choices=LEARNERS, default=["euclidean"], help="metrics to compare with, all rows kept"
    )
    parser.add_argument("--norm", choices=[f"{norm.p:g}" for norm in NORMS.values()], default="2", help="default: 2")
    parser.add_argument("--points", type=int, help="only the first N rows, in the order of the Compare page")
    parser.add_argument(
        "--folds", type=int, default=DEFAULT_FOLDS, help=f"without test rows (default: {DEFAULT_FOLDS})"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    parser.add_argument("-o", "--output", type=Path, help="write the table there (default: standard output)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Train and certify one model after the other; the table is written when all are done."""
    if not arguments.eps >= 0:
        raise ValueError(f"--eps must be at least 0; got {arguments.eps:g}")
    entry, threat = REFERENCES[arguments.learner], ThreatModel(float(arguments.norm))
    parameters = parse_parameters(entry, arguments.set)
    for name, option in ((RADIUS, "--radii"), ("norm", "--norm")):
        if name in parameters:
            raise ValueError(f"give the {name} with {option}")
    parameters["norm"] = threat.arguments()["norm"]
    radii = None if arguments.radii is None else [entry.parameter(RADIUS).parse(text) for text in arguments.radii]
    trials = Trials(
        load_data(arguments.data, arguments.label, arguments.scaling, arguments.category),
        threat,
        arguments.points,
        arguments.folds,
        arguments.seed,
        arguments.device,
    )
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same for every radius
        for model in trials.models(entry, parameters, radii, [LEARNERS[name] for name in arguments.beside]):
            point = front_point(model.radii, arguments.eps, model.title, model.size, model.target_radius)
            points.append(point)
            print(_words(point, arguments.eps), file=sys.stderr)
    points.sort(key=lambda point: (point.target_radius is None, point.target_radius or 0.0))
    write_output(write_csv(HEADER, _rows(points)), arguments.output)
    print(
        f"{trials.rows_words()}; {threat.describe()}, K = 1, certified (exact), seed {arguments.seed}", file=sys.stderr
    )


@dataclass(frozen=True)
class TriedModel:
    """A model's certificates, how many points it compares with and the radius it was trained for."""

    title: str
    radii: Radii
    size: int
    target_radius: float | None


@dataclass(frozen=True)
class Trials:
    """The data, and how every model is trained and judged on it."""

    data: Dataset
    threat: ThreatModel
    n: int | None
    folds: int
    seed: int
    device: str

    def models(
        self,
        entry: LearnerEntry,
        parameters: dict[str, Any],
        radii: list[Any] | None,
        beside: list[LearnerEntry],
    ) -> Iterator[TriedModel]:
        """The learner for each target radius, the automatic one first where the others follow from it; then others."""
        if self.n is not None and self.n < 1:
            raise ValueError(f"--points must be at least 1; got {self.n}")
        if radii is None:
            first = self.tried(entry, {**parameters, RADIUS: AUTO})
            yield first
            assert first.target_radius is not None
            radii = [radius for radius in multiples_of(first.target_radius) if radius != AUTO]
        for radius in radii:
            yield self.tried(entry, {**parameters, RADIUS: radius})
        for other in beside:
            yield self.tried(other, {})

    def tried(self, entry: LearnerEntry, parameters: dict[str, Any]) -> TriedModel:
        data = self.data

        def new() -> Any:
            return entry.build(parameters, random_state=self.seed, device=self.device, image_shape=data.image_shape)

        learner, target = new(), parameters.get(RADIUS)
        title = entry.title if target is None else f"{entry.title}, radius {target}"
        with progress_bar(title, "it") as callback:
            learner.fit(data.X_train, data.y_train, callback=callback)
        radii = self._test(learner, title) if len(data.X_test) else self._cross_fitted(new(), title)
        size = len(learner.references_) if entry.gives_references else len(data.X_train)
        return TriedModel(entry.title, radii, size, getattr(learner, "radius_", None))

    def _test(self, learner: Any, title: str) -> Radii:
        data = self.data
        n = len(data.X_test) if self.n is None else min(self.n, len(data.X_test))
        x, y = data.evaluation(n)
        knn = MahalanobisKNN(**classifier_arguments(learner)).fit(data.X_train, data.y_train)
        with progress_bar(f"certify {title}", "row") as callback:
            return knn.certify(x, y, method="exact", threat=self.threat, callback=callback)

    def _cross_fitted(self, learner: Any, title: str) -> Radii:
        x, y = self.data.X_train, self.data.y_train
        with progress_bar(f"{title}, cross-fitted", "it") as callback:
            found = cross_fit(learner, x, y, folds=self.folds, random_state=self.seed, callback=callback)
        rows = None if self.n is None else range(min(self.n, len(x)))
        with progress_bar(f"certify {title}", "row") as callback:
            return found.certify(rows, method="exact", threat=self.threat, callback=callback)

    def rows_words(self) -> str:
        """Which rows the errors are shares of."""
        if len(self.data.X_test):
            return "test rows"
        return f"training rows, {cross_fitted_words(self.folds, self.seed)}"


def _rows(points: list[FrontPoint]) -> Iterator[list[object]]:
    for point, best in zip(points, on_front(points), strict=True):
        target = "" if point.target_radius is None else point.target_radius
        errors = [point.clean_error, point.robust_error]
        yield [point.label, target, point.size, *errors, point.n_points, best]


def _words(point: FrontPoint, epsilon: float) -> str:
    target = "" if point.target_radius is None else f", target radius {point.target_radius:.4g}"
    errors = f"clean error {point.clean_error:.3f}, robust error {point.robust_error:.3f} at {epsilon:g}"
    return f"{point.label}{target}: {point.size:,} references, {errors}, {point.n_points:,} rows"
