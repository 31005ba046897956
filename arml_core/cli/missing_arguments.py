"""``--missing``: rows with empty cells are answered for whatever these cells may hold."""

from __future__ import annotations

import argparse

import numpy as np

from ..datasets.table import Layout
from ..knn import MahalanobisKNN
from ..numerics.arrays import BoolArray, FloatArray
from ..untrusted import shortened
from .files import is_table
from .threat_arguments import limits_in

TRAINING_RANGE = "range"


def add_missing_argument(parser: argparse.ArgumentParser) -> None:
    """The argument that says what empty cells may hold."""
    parser.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="RANGE",
        help="keep rows with empty cells: range, for anything in the range of its column in the training rows (a "
        "category: any value that they have); or COLUMN=LOW:HIGH, for a range in the file's units. Training rows are "
        "the complete ones",
    )


def check_missing(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be answered for rows with empty cells."""
    if not arguments.missing:
        return
    if not is_table(arguments.data):
        raise ValueError("--missing is for the rows of a table, such as a .csv file")
    given = {
        "--ties any": arguments.ties == "any",
        "--target": arguments.target is not None,
        "--sensitive": bool(getattr(arguments, "sensitive", [])),
        "--training": getattr(arguments, "training", False),
    }
    for option, is_given in given.items():
        if is_given:
            raise ValueError(f"{option} is not known for rows with empty cells: leave it or --missing out")


Ranges = tuple[FloatArray, FloatArray]


def ranges_of(arguments: argparse.Namespace, layout: Layout, knn: MahalanobisKNN, x: FloatArray) -> Ranges | None:
    """The smallest and the largest scaled value of each feature where it is empty; NaN where it is not known.

    None without ``--missing``. An empty cell of `x` needs one that is known.
    """
    if not arguments.missing:
        return None
    train, width = knn.training_rows(), len(layout.feature_names)
    low, high = np.full(width, np.nan), np.full(width, np.nan)
    if train is not None:
        low, high = train.min(axis=0).astype(np.float64), train.max(axis=0).astype(np.float64)
    for word in arguments.missing:
        if word == TRAINING_RANGE:
            continue
        name = _number_column(word, layout)
        if name in arguments.switch:
            raise ValueError(f"--missing {word}: {name} is exchanged whole (--switch), so it has no range")
        place = layout.feature_names.index(name)
        ends = limits_in(word, "--missing")
        if not np.isfinite(ends).all():
            raise ValueError(f"--missing {word}: both ends of the range must be finite")
        scaled = [(end - layout.scaling.offset[place]) / layout.scaling.scale[place] for end in ends]
        low[place], high[place] = scaled
    numbers = [
        (column.name, layout.feature_names.index(column.name)) for column in layout.columns if not column.categories
    ]
    for name, place in numbers:
        if np.isnan(low[place]) and np.isnan(x[:, place]).any():
            raise ValueError(
                f"{name} has empty cells, and the model does not know its range: give --missing {name}=LOW:HIGH"
            )
    return low, high


def _number_column(word: str, layout: Layout) -> str:
    name = word.rpartition("=")[0]
    if not name:
        raise ValueError(f"--missing {shortened(repr(word))}: give range, or a column and its range as in age=18:99")
    if layout.features_of(name) != (name,) or name not in [column.name for column in layout.columns]:
        raise ValueError(f"{name} holds categories: where it is empty, each value of the training rows is tried")
    return name


def empty_columns(layout: Layout, missing: BoolArray) -> list[str]:
    """For each row the names of its columns with empty cells; `missing` says which features are NaN."""
    names, ends = [column.name for column in layout.columns], np.cumsum([len(c.feature_names) for c in layout.columns])
    by_column = np.stack([part.any(axis=1) for part in np.split(missing, ends[:-1], axis=1)], axis=1)
    return [", ".join(name for name, is_empty in zip(names, row, strict=True) if is_empty) for row in by_column]


def missing_words(layout: Layout, missing: BoolArray, proved: bool) -> str:
    """What is said of the rows that have empty cells."""
    some, n = int(missing.any(axis=1).sum()), len(missing)
    text = f"{some:,} of {n:,} rows have empty cells"
    if not some:
        return text
    if proved:
        text += ": what is proved of them holds whatever the missing value is, within the range of its column."
    else:
        text += ": their changed rows show missing values, within the range of the column, that flip the answer."
    if any(missing[:, group].any() for group in layout.groups):
        text += " The range of a category is the values that the training rows have."
    return text
