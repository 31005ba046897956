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
from ..datasets import Dataset, fit_scaling, load_dataset, read_dataset
from ..datasets.scaling import SCALING_KINDS, ScalingKind
from ..knn import MahalanobisKNN
from ..learners.storage import SavedMetric, load_metric
from ..neighbors.chosen import classifier_arguments
from ..npz import read_npz
from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.directed_rounding import as_written
from ..threat import ThreatModel
from ..untrusted import shortened
from ..vocabulary import NORMS, question_words

TAB_ENDINGS = (".tsv", ".tab")
TABLE_ENDINGS = (".csv", ".gz", ".parquet", ".txt", ".xlsx", *TAB_ENDINGS)
"""A name that ends so is a table's; what the file is, its content says."""
LARGEST_ARCHIVE = 8 * 2**30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that both commands share."""
    add_data_arguments(parser)
    parser.add_argument("-k", "--neighbors", type=int, default=1, help="K (default: 1)")
    parser.add_argument("--norm", choices=[f"{norm.p:g}" for norm in NORMS.values()], default="2", help="default: 2")
    parser.add_argument(
        "--box", nargs=2, type=float, metavar=("LOW", "HIGH"), help="keep changed features inside, after scaling"
    )
    parser.add_argument("--frozen", action="append", default=[], metavar="FEATURE", help="a feature that cannot move")
    parser.add_argument(
        "--free", action="append", default=[], metavar="FEATURE", help="a feature that moves at no cost inside the box"
    )
    parser.add_argument(
        "--ties",
        choices=TIES,
        default=TIES[0],
        help="order: training order decides between equal distances and the smallest label between equal votes "
        "(default); any: an answer counts as kept only if no order changes it",
    )
    parser.add_argument("--target", metavar="CLASS", help="how far until the answer is this class")
    parser.add_argument("--metric", type=Path, help="what 'train' saved, or M as .npz or .csv")
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
        "--scaling",
        choices=SCALING_KINDS,
        default="minmax",
        help="of the columns of a table; radii and the box are measured after it (default: minmax, each column to "
        "[0, 1]; none: in the file's own units)",
    )


@dataclass(frozen=True)
class QueryArguments:
    """Points with labels, the training rows each is not compared with, and the classifier and threat in question."""

    data: Dataset
    x: FloatArray
    y: NDArray[np.integer[Any]]
    exclude: NDArray[np.intp] | None
    knn: MahalanobisKNN
    threat: ThreatModel
    ties: str
    target: int | None

    @classmethod
    def parse(cls, arguments: argparse.Namespace) -> QueryArguments:
        data = load_data(arguments.data, arguments.label, arguments.scaling)
        x, y, exclude = _points(data, arguments.points)
        model = None if arguments.metric is None else _load_model(arguments.metric, data)
        if exclude is not None and _learned_elsewhere(model, data):
            exclude = None  # the rows are new to the model
        threat = ThreatModel(
            float(arguments.norm),
            frozen=_features(data, arguments.frozen),
            free=_features(data, arguments.free),
            box=None if arguments.box is None else tuple(arguments.box),
        )
        knn = MahalanobisKNN(arguments.neighbors, **classifier_arguments(model)).fit(data.X_train, data.y_train)
        return cls(data, x, y, exclude, knn, threat, arguments.ties, _target(data, arguments.target))

    def question_words(self) -> str:
        """What counts as another answer, to stand behind a method's name; empty for the usual."""
        target = None if self.target is None else self.data.class_names[self.target]
        return "".join(f", {words}" for words in question_words(self.ties, target))

    def class_names(self, codes: NDArray[Any]) -> list[str]:
        return [self.data.class_names[int(code)] for code in codes]


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
) -> str:
    """How many rows, what was asked, robust errors, and in what the radii are measured.

    The errors are those `at` some radii, by default the quartiles.
    """
    if at is None:
        finite = radii[np.isfinite(radii)]
        quartiles = np.quantile(finite, [0.25, 0.5, 0.75]) if len(finite) else np.zeros(3)
        at = [float(f"{radius:.3g}") for radius in quartiles]  # the errors are those at the numbers that are printed
    errors = zip(robust_error(radii, at), at, strict=True)
    parts = ", ".join(f"{error:.3f} at {as_written(radius)}" for error, radius in errors)
    clean = float(np.mean(~correct))
    text = f"{len(radii)} rows, {what}, {threat.describe()}: clean error {clean:.3f}; {kind} error {parts}"
    return text if scaling == "none" else f"{text}\n{_scaling_note(scaling, threat)}"


def _scaling_note(scaling: ScalingKind, threat: ThreatModel) -> str:
    what = "Radii are" if threat.box is None else "Radii and the box are"
    return (
        f"{what} measured after scaling each column to {'[0, 1]' if scaling == 'minmax' else 'mean 0 and deviation 1'}"
    )


def _load_model(path: Path, data: Dataset) -> SavedMetric:
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


def load_data(name: str, label: str | None, scaling: ScalingKind) -> Dataset:
    path = Path(name)
    if path.suffix.lower() in TABLE_ENDINGS:
        if label is None:
            raise ValueError("Which column is the label? Name it with --label")
        name = path.stem.removesuffix(".csv").removesuffix(".tsv")
        tabs = {"separator": "\t"} if any(end.lower() in TAB_ENDINGS for end in path.suffixes) else {}
        return read_dataset(path, label=label, name=name, scaling=scaling, **tabs)
    if path.suffix.lower() == ".npz":
        return _from_archive(path)
    return load_dataset(name)


def _from_archive(path: Path) -> Dataset:
    """Arrays as they are, without scaling; a missing test part means leave-one-out."""
    try:
        arrays = read_npz(path, LARGEST_ARCHIVE)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    names = ("X_train", "y_train") if "X_train" in arrays else ("X", "y")
    missing = [key for key in names if key not in arrays]
    if missing:
        raise ValueError(f"{path} has no array {missing[0]}; it has {shortened(', '.join(arrays)) or 'none'}")
    x, y = arrays[names[0]].astype(np.float64), arrays[names[1]]
    if "x_scale" in arrays:  # the layout of the paper's six
        x = (x - float(arrays.get("x_offset", 0.0))) / float(arrays["x_scale"])
    classes, codes = np.unique(y, return_inverse=True)
    x_test, y_test = np.empty((0, x.shape[1])), np.empty(0, dtype=np.int64)
    if "X_test" in arrays and "y_test" in arrays:
        x_test = arrays["X_test"].astype(np.float64)
        if "x_scale" in arrays:
            x_test = (x_test - float(arrays.get("x_offset", 0.0))) / float(arrays["x_scale"])
        unseen = np.setdiff1d(arrays["y_test"], classes)
        if len(unseen):
            raise ValueError(f"label {shortened(repr(unseen[0]))} of {path}'s test part was not in training")
        y_test = np.searchsorted(classes, arrays["y_test"])
    return Dataset(
        name=path.stem,
        title=path.name,
        group="file",
        X_train=x,
        y_train=codes.astype(np.int64),
        X_test=x_test,
        y_test=y_test.astype(np.int64),
        feature_names=tuple(f"x{k}" for k in range(x.shape[1])),
        class_names=tuple(str(c) for c in classes),
        scaling=fit_scaling(x, "none"),
    )


def _points(data: Dataset, points: int | None) -> tuple[FloatArray, NDArray[np.integer[Any]], NDArray[np.intp] | None]:
    if points is not None and points < 1:
        raise ValueError(f"--points must be at least 1; got {points}")
    if len(data.X_test) == 0:
        n = len(data.X_train) if points is None else min(points, len(data.X_train))
        return data.X_train[:n], data.y_train[:n], np.arange(n)
    n = len(data.X_test) if points is None else min(points, len(data.X_test))
    if data.group == "paper":
        x, y = data.evaluation(n)
        return x, y, None
    return data.X_test[:n], data.y_test[:n], None


def _target(data: Dataset, name: str | None) -> int | None:
    if name is not None and name not in data.class_names:
        raise ValueError(f"there is no class {shortened(repr(name))}; there are {', '.join(data.class_names[:20])}")
    return None if name is None else data.class_names.index(name)


def _features(data: Dataset, names: list[str]) -> list[int] | None:
    unknown = [name for name in names if name not in data.feature_names]
    if unknown:
        raise ValueError(f"there is no feature {unknown[0]!r}; there are {', '.join(data.feature_names[:20])}")
    return [data.feature_names.index(name) for name in names] or None
