"""What ``certify`` and ``attack`` ask about: rows of a dataset, an archive or a file, and who may move them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import TIES
from ..curves import robust_error
from ..datasets import Dataset
from ..datasets.scaling import SCALING_KINDS, ScalingKind
from ..datasets.table import Layout, TableData, layout_of
from ..knn import MahalanobisKNN
from ..learners.storage import SavedMetric, load_metric
from ..model_file import load_model
from ..neighbors.chosen import classifier_arguments
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.directed_rounding import as_written
from ..radii import Radii
from ..report import CertifiedTable
from ..switching import estimated_seconds
from ..threat import ThreatModel
from ..untrusted import shortened
from ..vocabulary import duration, question_words
from .files import is_table, load_data, load_later_table, load_table
from .missing_arguments import Ranges, check_missing, empty_columns, ranges_of
from .threat_arguments import add_threat_arguments, threat_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that both commands share."""
    add_data_arguments(parser)
    parser.add_argument("-k", "--neighbors", type=int, help="K (default: 1)")
    add_threat_arguments(parser)
    parser.add_argument(
        "--ties",
        choices=TIES,
        default=TIES[0],
        help="order: training order decides between equal distances and the smallest label between equal votes "
        "(default); any: an answer counts as kept only if no order changes it",
    )
    parser.add_argument("--target", metavar="CLASS", help="how far until the answer is this class")
    parser.add_argument("--metric", type=Path, help="what 'train' saved, or M as .npz or .csv")
    parser.add_argument("--model", type=Path, help="a model that 'train --model-out' saved, for a file like its own")
    parser.add_argument("--points", type=int, help="only the first N (of the paper's six: in its evaluation order)")
    parser.add_argument("-o", "--output", type=Path, help="write the rows there (default: standard output)")


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of :func:`load_data`."""
    parser.add_argument(
        "data",
        help="a dataset's name, a .npz with X_train, y_train, X_test, y_test, "
        "or a table: .csv, .tsv, .csv.gz, .xlsx (its first sheet), .parquet",
    )
    parser.add_argument("--label", help="the label column of a table")
    parser.add_argument(
        "--category",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of a table that holds categories",
    )
    parser.add_argument(
        "--scaling",
        choices=SCALING_KINDS,
        default="minmax",
        help="of the columns of a table; radii and the box are measured after it (default: minmax, each column to "
        "[0, 1]; none: in the file's own units)",
    )


@dataclass(frozen=True, eq=False)
class QueryArguments:
    """Points, the training rows each is not compared with, and the classifier and threat in question.

    `y` is None where a file for a saved model has no labels. `table` are the rows of a file as it has them. `ranges`
    are the ends of what each feature may be in rows where it is empty (NaN); None without ``--missing``.
    """

    layout: Layout
    x: FloatArray
    y: NDArray[np.integer[Any]] | None
    exclude: NDArray[np.intp] | None
    knn: MahalanobisKNN
    threat: ThreatModel
    ties: str
    target: int | None
    table: TableData | None = None
    ranges: Ranges | None = None

    @classmethod
    def parse(cls, arguments: argparse.Namespace) -> QueryArguments:
        check_missing(arguments)
        asked = _later_file if arguments.model is not None else _known_rows
        layout, rows, exclude, knn, table = asked(arguments)
        target, ranges = _target(layout.class_names, arguments.target), ranges_of(arguments, layout, knn, rows[0])
        return cls(layout, *rows, exclude, knn, threat_of(arguments, layout), arguments.ties, target, table, ranges)

    @property
    def missing(self) -> BoolArray:
        """Which cells are empty."""
        return np.asarray(np.isnan(self.x))

    def about_missing(self) -> dict[str, Any]:
        """What :func:`~arml_core.certify_missing` and :func:`~arml_core.attack_missing` are told of empty cells."""
        missing: BoolArray = np.asarray(self.missing.any(axis=0))
        return {"ranges": self.ranges, "categories": [group for group in self.layout.groups if missing[group].any()]}

    def missing_column(self) -> dict[str, list[Any]]:
        """The names of each row's empty columns under their heading; nothing without ``--missing``."""
        return {} if self.ranges is None else {"missing": empty_columns(self.layout, self.missing)}

    def question_words(self) -> str:
        """What counts as another answer, to stand behind a method's name; empty for the usual."""
        target = None if self.target is None else self.layout.class_names[self.target]
        return "".join(f", {words}" for words in question_words(self.ties, target))

    def class_names(self, codes: NDArray[Any]) -> list[str]:
        return [self.layout.class_names[int(code)] for code in codes]

    def label_column(self) -> dict[str, list[Any]]:
        """The labels under their heading; nothing where there are none."""
        return {} if self.y is None else {"label": self.class_names(self.y)}

    def as_table(self, found: Radii) -> CertifiedTable | None:
        """The rows of a file with their radii; None for rows that come from no file."""
        if self.table is None:
            return None
        n, y = len(self.x), None if self.y is None else self.y.astype(np.intp)
        return CertifiedTable(
            self.layout, self.x, self.table.raw[:n], self.table.lines[:n], y, found, ranges=self.ranges
        )

    def answers(self, points: FloatArray, rows: IntArray) -> IntArray:
        """The classes of changed versions of some rows."""
        left_out = None if self.exclude is None else self.exclude[rows]
        return np.asarray(self.knn.predict(points, exclude=left_out), dtype=np.intp)


def say_combinations(query: QueryArguments, method: str, budget: float = 0.0) -> None:
    """Before switches are gone through: how many combinations there are and how long they take; refuses too many."""
    complete = ~query.missing.any(axis=1)
    if not query.threat.switches or not complete.any():
        return
    x = query.x[complete]
    count = int(query.knn.count_combinations(x, query.threat).sum())
    exclude = None if query.exclude is None else list(query.exclude[complete])
    seconds = estimated_seconds(query.knn, x, query.threat, method, budget, exclude)
    about = "at most about" if method == "search" else "about"
    rows = "rows" if complete.all() else "complete rows"
    print(
        f"{count:,} combinations of switched values for {len(x):,} {rows}, {about} {duration(seconds)}",
        file=sys.stderr,
    )


def write_output(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8", newline="")


def summary(
    what: str,
    kind: str,
    radii: FloatArray,
    correct: BoolArray,
    threat: ThreatModel,
    scaling: ScalingKind,
    at: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """How many rows, what was asked, robust errors, and in what the radii are measured.

    The errors are those `at` some radii, by default the quartiles.
    """
    if at is None:
        finite = radii[np.isfinite(radii)]
        quartiles = np.quantile(finite, [0.25, 0.5, 0.75]) if len(finite) else np.zeros(3)
        shown = [float(f"{radius:.3g}") for radius in quartiles]  # the errors are those at the numbers that are printed
        at = list(dict.fromkeys(shown))
    errors = zip(robust_error(radii, at), at, strict=True)
    parts = ", ".join(f"{error:.3f} at {as_written(radius)}" for error, radius in errors)
    clean = float(np.mean(~correct))
    text = f"{len(radii)} rows, {what}, {threat.describe(names)}: clean error {clean:.3f}; {kind} error {parts}"
    return text if scaling == "none" else f"{text}\n{_scaling_note(scaling, threat)}"


def _scaling_note(scaling: ScalingKind, threat: ThreatModel) -> str:
    what = "Radii are" if threat.box is None else "Radii and the box are"
    return (
        f"{what} measured after scaling each column to {'[0, 1]' if scaling == 'minmax' else 'mean 0 and deviation 1'}"
    )


Asked = tuple[
    Layout,
    tuple[FloatArray, "NDArray[np.integer[Any]] | None"],
    "NDArray[np.intp] | None",
    MahalanobisKNN,
    "TableData | None",
]


def _known_rows(arguments: argparse.Namespace) -> Asked:
    """The rows of a dataset or a file, and a classifier that is fitted to its training part."""
    table, given = None, (arguments.data, arguments.label, arguments.scaling, arguments.category)
    switched = [*arguments.switch, *getattr(arguments, "sensitive", [])]
    if is_table(arguments.data):
        table = load_table(*given, switched, keep_missing=bool(arguments.missing))
        data, layout = table.dataset(Path(arguments.data).stem), table.layout
    else:
        data = load_data(*given)
        layout = layout_of(data)
    x, y, exclude = _points(data, arguments.points) if table is None else _rows_of(table, arguments.points)
    model = None if arguments.metric is None else _load_metric(arguments.metric, data)
    if exclude is not None and _learned_elsewhere(model, data):
        exclude = None  # the rows are new to the model
    knn = MahalanobisKNN(arguments.neighbors or 1, **classifier_arguments(model)).fit(data.X_train, data.y_train)
    return layout, (x, y), exclude, knn, table


def _later_file(arguments: argparse.Namespace) -> Asked:
    """The rows of a file that a saved model answers; its columns, scaling, metric and K are those of the model."""
    for option in ("metric", "neighbors"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} is part of a saved model: leave it out beside --model")
    if not is_table(arguments.data):
        raise ValueError("--model answers the rows of a .csv file; for a dataset use --metric")
    knn = load_model(arguments.model)
    if knn.layout_ is None:
        raise ValueError(f"{arguments.model} does not say which columns it was made for; save it with its layout")
    table = load_later_table(arguments.data, knn.layout_, arguments.label, bool(arguments.missing))
    n = _first(arguments.points, len(table.X))
    return knn.layout_, (table.X[:n], None if table.y is None else table.y[:n]), None, knn, table


def _load_metric(path: Path, data: Dataset) -> SavedMetric:
    """The metric in a file, or references with one, that fits the data's features and classes."""
    saved = load_metric(path, data.n_features)
    try:
        saved.check_classes(data.class_names)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return saved


def _learned_elsewhere(model: SavedMetric | None, data: Dataset) -> bool:
    """Whether these are references that are known to come from other rows than these."""
    if model is None or model.references_ is None:
        return False
    return model.info.get("fingerprint") not in (None, data.fingerprint)


def _first(points: int | None, n: int) -> int:
    """How many rows are asked about."""
    if points is not None and points < 1:
        raise ValueError(f"--points must be at least 1; got {points}")
    return n if points is None else min(points, n)


def _points(data: Dataset, points: int | None) -> tuple[FloatArray, NDArray[np.integer[Any]], NDArray[np.intp] | None]:
    n = _first(points, len(data.X_test) or len(data.X_train))
    if len(data.X_test) == 0:
        return data.X_train[:n], data.y_train[:n], np.arange(n)
    if data.group == "paper":
        x, y = data.evaluation(n)
        return x, y, None
    return data.X_test[:n], data.y_test[:n], None


def _rows_of(table: TableData, points: int | None) -> tuple[FloatArray, NDArray[np.integer[Any]], NDArray[np.intp]]:
    """The rows of a file; the complete ones are training rows and leave themselves out, the others leave out none."""
    assert table.y is not None
    n, complete = _first(points, len(table.X)), table.complete
    own = np.where(complete, np.cumsum(complete) - 1, -1)
    return table.X[:n], table.y[:n], own[:n].astype(np.intp)


def _target(class_names: Sequence[str], name: str | None) -> int | None:
    if name is not None and name not in class_names:
        raise ValueError(f"there is no class {shortened(repr(name))}; there are {', '.join(class_names[:20])}")
    return None if name is None else list(class_names).index(name)
