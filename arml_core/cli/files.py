"""Rows from a name: a known dataset, a .npz archive or a user's file."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np

from ..datasets import Dataset, fit_scaling, load_dataset
from ..datasets.scaling import ScalingKind
from ..datasets.table import Layout, Problems, Table, TableData, apply_layout, read_table, select
from ..npz import read_npz
from ..untrusted import shortened

LARGEST_ARCHIVE = 8 * 2**30
TAB_ENDINGS = (".tsv", ".tab")
TABLE_ENDINGS = (".csv", ".gz", ".parquet", ".txt", ".xlsx", *TAB_ENDINGS)
"""A name that ends so is a table's; what the file is, its content says."""


def is_table(name: str) -> bool:
    """Whether the name is that of a user's file with columns."""
    return Path(name).suffix.lower() in TABLE_ENDINGS


def load_data(
    name: str, label: str | None, scaling: ScalingKind, categories: Collection[str] = (), switched: Collection[str] = ()
) -> Dataset:
    """The rows of a name, as a dataset."""
    if is_table(name):
        return load_table(name, label, scaling, categories, switched).dataset(
            Path(name).stem.removesuffix(".csv").removesuffix(".tsv")
        )
    return _from_archive(Path(name)) if Path(name).suffix.lower() == ".npz" else load_dataset(name)


def load_table(
    name: str,
    label: str | None,
    scaling: ScalingKind,
    categories: Collection[str] = (),
    switched: Collection[str] = (),
    keep_missing: bool = False,
) -> TableData:
    """A labelled file; `categories` are encoded, and so are those of the `switched` columns that hold text.

    With `keep_missing` rows with empty cells are among them, and stderr says which ones have no label.
    """
    if label is None:
        raise ValueError("Which column is the label? Name it with --label")
    table = _read(name)
    texts = [column for column in switched if column in table.names and table.column(column).first_text is not None]
    data, found = select(table, label=label, scaling=scaling, one_hot={*categories, *texts}, keep_missing=keep_missing)
    return _without_problems(data, found)


def load_later_table(name: str, layout: Layout, label: str | None, keep_missing: bool = False) -> TableData:
    """A file as a model expects it; labels may be missing, and with `keep_missing` other cells, too."""
    labelled = True if label is not None else None
    return _without_problems(
        *apply_layout(layout, _read(name), label=label, labelled=labelled, keep_missing=keep_missing)
    )


def _without_problems(data: TableData | None, found: Problems) -> TableData:
    """The data if nothing stands against it; stderr says which rows were left out."""
    found.raise_if_blocking()
    assert data is not None
    for problem in found.of("rows_left_out"):
        print(problem.message, file=sys.stderr)
    return data


def _read(name: str) -> Table:
    tabs = any(end.lower() in TAB_ENDINGS for end in Path(name).suffixes)
    table, found = read_table(Path(name), separator="\t" if tabs else None)
    found.raise_if_blocking()
    assert table is not None
    return table


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
