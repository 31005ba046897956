"""From a table to rows that can be certified: which column is the label, which are features, what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...numerics.arrays import BoolArray, FloatArray, IntArray
from ..base import Dataset, Labels
from ..scaling import Scaling, ScalingKind, fit_scaling
from . import feature_columns, problems, role_problems
from .cells import MISSING
from .columns import Column
from .feature_columns import Usage
from .labels import Classes, find_classes, match_classes
from .layout import FeatureColumn, Layout
from .problems import Problem, Problems
from .read import MAX_COLUMNS, Table

_LABEL_NAMES = ("label", "class", "target", "y", "category", "outcome", "species", "diagnosis", "result")


@dataclass(frozen=True, eq=False)
class TableData:
    """Rows ready to be certified: `X` scaled, `raw` in the file's units, `y` None without labels.

    `lines` leads back to the file; rows that were left out are not among them. Empty cells that were kept are NaN, and
    so are all the 0/1 features of a category that is empty.
    """

    layout: Layout
    X: FloatArray
    raw: FloatArray
    y: Labels | None
    lines: IntArray

    @property
    def complete(self) -> BoolArray:
        """Which rows have no empty cell: only these can be training rows."""
        return _complete(self.raw)

    def dataset(self, name: str = "file", title: str = "Your file") -> Dataset:
        """The complete rows as the training part of a dataset; it has no test part."""
        if self.y is None:
            raise ValueError("a dataset needs labels; this table has none")
        complete = self.complete
        return Dataset(
            name=name,
            title=title,
            group="file",
            X_train=self.X[complete],
            y_train=self.y[complete],
            X_test=self.X[:0],
            y_test=self.y[:0],
            feature_names=self.layout.feature_names,
            class_names=self.layout.class_names,
            scaling=self.layout.scaling,
        )


class SelectResult(NamedTuple):
    """The data (None while something blocking is open) and everything found on the way."""

    data: TableData | None
    problems: Problems


def select(
    table: Table,
    *,
    label: str | None = None,
    labelled: bool = True,
    features: Sequence[str] | None = None,
    drop: Collection[str] = (),
    one_hot: Collection[str] = (),
    whole: Collection[str] | None = None,
    drop_incomplete: bool = False,
    keep_missing: bool = False,
    labels_are_classes: bool = False,
    scaling: ScalingKind = "minmax",
) -> SelectResult:
    """Choose label and features of a table and scale them; the result's layout reads later files the same way.

    Parameters
    ----------
    label : the label's column; None asks for it unless `labelled` is False.
    features : the columns used (default: all but the label), without those in `drop`.
    one_hot : columns encoded as one 0/1 feature per category.
    whole : columns of whole numbers, which stay whole in every change that is shown; None for those that hold nothing
        else.
    drop_incomplete : leave out rows with an empty or infinite value in a column that is used; they are counted.
    keep_missing : rows with empty cells are kept, these cells as NaN; those without a label are left out. Every class
        needs a complete row. With `drop_incomplete` only rows with infinite values are left out besides.
    labels_are_classes : labels such as 1.5 are names of classes.
    scaling : none, minmax or standard, fitted on the complete rows that are kept.
    """
    for name in [*([label] if label is not None else []), *(features or ()), *drop, *one_hot, *(whole or ())]:
        table.column(name)
    if labelled and label is None:
        return SelectResult(None, Problems([role_problems.which_label(label_candidates(table))]))
    chosen = set(table.names if features is None else features) - {label, *drop}
    usages = [Usage(column, column.name in one_hot) for column in table.columns if column.name in chosen]
    label_column = table.column(label) if labelled and label is not None else None
    found: list[Problem] = [] if usages else [role_problems.no_features()]
    rows = _usable_rows(table, usages, label_column, drop_incomplete, keep_missing, found)
    classes = Classes((), np.empty(0, dtype=np.int64), [])
    if label_column is not None and len(rows):
        classes = find_classes(label_column, rows, table.lines, labels_are_classes)
        found += classes.problems
    columns = [_feature_column(usage, rows, whole, found) for usage in usages]
    found += feature_columns.same_features(columns)
    if Problems(found).blocking:
        return SelectResult(None, Problems(found))
    width = sum(len(column.feature_names) for column in columns)
    if width > MAX_COLUMNS:
        return SelectResult(None, Problems([*found, problems.too_wide(width, MAX_COLUMNS)]))
    if any(column.categories == () for column in columns):  # empty throughout
        return SelectResult(None, Problems([*found, role_problems.no_rows_left()]))
    raw = _matrix(columns, usages, rows)
    y = classes.y if label_column is not None else None
    training = _complete(raw)
    found += _too_few_complete(training, y, classes.names)
    if Problems(found).blocking:
        return SelectResult(None, Problems(found))
    layout = Layout(tuple(columns), label, classes.names, _fit(raw[training], columns, scaling))
    return _finish(table, layout, raw, y, rows, found)


def apply_layout(
    layout: Layout,
    table: Table,
    *,
    label: str | None = None,
    labelled: bool | None = None,
    drop_incomplete: bool = False,
    keep_missing: bool = False,
) -> SelectResult:
    """Read a later file as a model expects it: same features, categories, classes and scaling.

    Labels are read from the column `label` (default: the layout's) if it is there (`labelled` None), must be
    there (True), or are not looked at (False). Categories may come as one column or as their 0/1 features, as
    an export has them. Incomplete rows are refused, left out or kept as :func:`select` does it.
    """
    if label is not None:
        table.column(label)
    label = layout.label if label is None else label
    expected, missing = _expected_columns(layout, table)
    used = {column.name for column in expected}
    rest = [name for name in table.names if name not in used and name != label]
    if missing:
        n_found = len([name for name in table.names if name != label])
        wrong = role_problems.wrong_columns(len(layout.feature_names), n_found, missing, rest)
        return SelectResult(None, Problems([wrong]))
    has_label = label is not None and label in table.names
    if labelled and not has_label:
        return SelectResult(None, Problems([role_problems.which_label(rest)]))
    label_column = table.column(label) if label is not None and has_label and labelled is not False else None
    found: list[Problem] = [role_problems.columns_left_out(rest)] if rest else []
    usages = [Usage(table.column(c.name), c.categories is not None, fixed=True) for c in expected]
    rows = _usable_rows(table, usages, label_column, drop_incomplete, keep_missing, found)
    classes = None
    if label_column is not None and len(rows):
        classes = match_classes(label_column, rows, table.lines, layout.class_names)
        found += classes.problems
    for column, usage in zip(expected, usages, strict=True):
        found += feature_columns.unseen_categories(column, usage.column, rows, table.lines)
    if Problems(found).blocking:
        return SelectResult(None, Problems(found))
    raw = _matrix(expected, usages, rows)
    return _finish(table, layout, raw, None if classes is None else classes.y, rows, found)


def label_candidates(table: Table) -> list[str]:
    """The columns that can be a label, the likeliest first: by name, then few different values, then the last."""
    few = [column for column in table.columns if column.texts is not None]
    n_columns = len(few)

    def rank(item: tuple[int, Column]) -> tuple[int, bool, int]:
        position, column = item
        name = column.name.lower()
        by_name = _LABEL_NAMES.index(name) if name in _LABEL_NAMES else len(_LABEL_NAMES)
        return by_name, len(column.texts or ()) > 20, n_columns - position

    return [column.name for _, column in sorted(enumerate(few), key=rank)]


def _usable_rows(
    table: Table,
    usages: Sequence[Usage],
    label: Column | None,
    drop_incomplete: bool,
    keep_missing: bool,
    found: list[Problem],
) -> IntArray:
    """The rows to look at; adds the problems of the cells, or a count of the rows left out."""
    found += [problem for usage in usages for problem in feature_columns.text_problems(usage, table)]
    incomplete = np.zeros(table.n_rows, dtype=bool)
    for usage in usages:
        incomplete |= feature_columns.incomplete(usage, keep_missing)
    if label is not None:
        incomplete |= label.kinds == MISSING
    if keep_missing and not drop_incomplete:
        found += feature_columns.not_finite_problems(usages, table)
        return _labelled_rows(table, label, found)
    if not drop_incomplete:
        found += feature_columns.incomplete_problems(usages, label, table)
        # the classes are those of the whole file, whatever will become of its incomplete rows
        return np.arange(table.n_rows) if label is None else np.flatnonzero(label.kinds != MISSING)
    if incomplete.any():
        found.append(role_problems.rows_left_out(table.lines[incomplete]))
    if incomplete.all():
        found.append(role_problems.no_rows_left())
    return np.flatnonzero(~incomplete)


def _labelled_rows(table: Table, label: Column | None, found: list[Problem]) -> IntArray:
    """The rows that have a label; adds a count of the others."""
    if label is None:
        return np.arange(table.n_rows)
    unlabelled = label.kinds == MISSING
    if unlabelled.any():
        found.append(role_problems.unlabelled_left_out(table.lines[unlabelled]))
    if unlabelled.all():
        found.append(role_problems.no_label_left(label.name))
    return np.flatnonzero(~unlabelled)


def _complete(raw: FloatArray) -> BoolArray:
    return np.asarray(~np.isnan(raw).any(axis=1))


def _too_few_complete(complete: BoolArray, y: Labels | None, class_names: Sequence[str]) -> list[Problem]:
    """What stands against training on the complete rows: there are none, or none of some class."""
    if not complete.any():
        return [role_problems.no_rows_left()]
    if y is None:
        return []
    counts = np.bincount(y[complete], minlength=len(class_names))
    return [role_problems.no_complete_row(class_names[k]) for k in np.flatnonzero(counts == 0).tolist()]


def _feature_column(usage: Usage, rows: IntArray, whole: Collection[str] | None, found: list[Problem]) -> FeatureColumn:
    if not usage.one_hot:
        name = usage.column.name
        is_whole = feature_columns.is_whole(usage.column, rows) if whole is None else name in whole
        return FeatureColumn(name, whole=is_whole)
    categories = feature_columns.categories(usage.column, rows)
    if isinstance(categories, Problem):
        found.append(categories)
        categories = ()
    return FeatureColumn(usage.column.name, categories)


def _expected_columns(layout: Layout, table: Table) -> tuple[list[FeatureColumn], list[str]]:
    """The layout's columns as this table has them, and the names of those it lacks."""
    expected: list[FeatureColumn] = []
    missing: list[str] = []
    for column in layout.columns:
        if column.name in table.names:
            expected.append(column)
        elif column.categories and all(name in table.names for name in column.feature_names):
            expected += [FeatureColumn(name) for name in column.feature_names]
        else:
            missing.append(column.name)
    return expected, missing


def _matrix(columns: Sequence[FeatureColumn], usages: Sequence[Usage], rows: IntArray) -> FloatArray:
    parts = [feature_columns.encode(c, usage.column, rows) for c, usage in zip(columns, usages, strict=True)]
    return np.concatenate(parts, axis=1)


def _fit(raw: FloatArray, columns: Sequence[FeatureColumn], kind: ScalingKind) -> Scaling:
    fitted = fit_scaling(raw, kind)
    numeric = np.array([column.categories is None for column in columns for _ in column.feature_names])
    return Scaling(kind, np.where(numeric, fitted.offset, 0.0), np.where(numeric, fitted.scale, 1.0))


def _finish(
    table: Table, layout: Layout, raw: FloatArray, y: Labels | None, rows: IntArray, found: list[Problem]
) -> SelectResult:
    lines = table.lines[rows]
    complete = _complete(raw)
    known = None if y is None else y[complete]
    found = found + feature_columns.notes(layout.feature_names, raw[complete], known, lines[complete])
    data = TableData(layout, layout.from_units(raw), raw, y, lines)
    return SelectResult(data, Problems(found))
