"""Feature columns: what is wrong with their cells, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...numerics.arrays import FloatArray, IntArray
from ...numerics.equal_rows import conflicting_rows
from ..base import Labels
from . import role_problems
from .cells import MISSING, NOT_FINITE, TEXT
from .columns import Column
from .layout import MAX_CATEGORIES, FeatureColumn
from .problems import Problem
from .read import Table

SHOWN_AT_MOST = 5


@dataclass(frozen=True)
class Usage:
    """A column and how it is used; `fixed` means a model expects it, so it can be neither dropped nor encoded."""

    column: Column
    one_hot: bool
    fixed: bool = False


def text_problems(usage: Usage, table: Table) -> list[Problem]:
    """The first cell that is no number, unless the column is encoded."""
    column = usage.column
    if usage.one_hot or column.first_text is None:
        return []
    row, text = column.first_text
    n_more = int((column.kinds == TEXT).sum()) - 1
    can_encode = column.texts is not None and len(column.texts) <= MAX_CATEGORIES
    problem = role_problems.not_a_number(
        column.name, int(table.lines[row]), text, n_more, can_encode, table.decimal, usage.fixed
    )
    return [problem]


def incomplete(usage: Usage, keep_missing: bool = False) -> NDArray[np.bool_]:
    """The rows in which this column is empty (unless these are kept) or, as a number, infinite or NaN."""
    kinds = ([] if keep_missing else [MISSING]) + ([] if usage.one_hot else [NOT_FINITE])
    return np.isin(usage.column.kinds, kinds)


def incomplete_problems(usages: Sequence[Usage], label: Column | None, table: Table) -> list[Problem]:
    """Empty values of all columns together, infinite ones by column."""
    found: list[Problem] = []
    columns = [usage.column for usage in usages] + ([label] if label is not None else [])
    with_gaps = [column for column in columns if (column.kinds == MISSING).any()]
    if with_gaps:
        rows = np.flatnonzero(np.any([column.kinds == MISSING for column in with_gaps], axis=0))
        names = [column.name for column in with_gaps]
        droppable = [usage.column.name for usage in usages if usage.column in with_gaps and not usage.fixed]
        found.append(role_problems.missing_values(table.lines[rows], names, droppable))
    return found + not_finite_problems(usages, table)


def not_finite_problems(usages: Sequence[Usage], table: Table) -> list[Problem]:
    """Infinite values and NaN, by column."""
    found: list[Problem] = []
    for usage in usages:
        rows = usage.column.rows_of(NOT_FINITE)
        if not usage.one_hot and rows.size:
            has_nan, has_infinite = _which_not_finite(usage.column, rows)
            lines = table.lines[rows]
            found.append(role_problems.not_finite(usage.column.name, lines, has_nan, has_infinite, usage.fixed))
    return found


def _which_not_finite(column: Column, rows: IntArray) -> tuple[bool, bool]:
    nan = np.isnan(column.values[rows])
    return bool(nan.any()), bool((~nan).any())


def categories(column: Column, rows: IntArray) -> tuple[str, ...] | Problem:
    """The different texts of the rows, in the alphabet's order; an empty cell is none."""
    if column.texts is None or column.codes is None:
        return role_problems.too_many_categories(column.name, None, MAX_CATEGORIES)
    known = rows[column.kinds[rows] != MISSING]
    texts = sorted(column.texts[code] for code in np.unique(column.codes[known]))
    if len(texts) > MAX_CATEGORIES:
        return role_problems.too_many_categories(column.name, len(texts), MAX_CATEGORIES)
    return tuple(texts)


def is_whole(column: Column, rows: IntArray) -> bool:
    """Whether every number of the rows is a whole one."""
    values = column.values[rows]
    known = values[np.isfinite(values)]
    return bool(len(known) and (known == np.rint(known)).all())


def same_features(columns: Sequence[FeatureColumn]) -> list[Problem]:
    """Features that two columns give: a category is named as a column that is there already."""
    givers: dict[str, list[str]] = {}
    for column in columns:
        for name in column.feature_names:
            givers.setdefault(name, []).append(column.name)
    twice = [(name, names) for name, names in givers.items() if len(names) > 1]
    return [role_problems.same_feature(name, names) for name, names in twice[:SHOWN_AT_MOST]]


def unseen_categories(feature: FeatureColumn, column: Column, rows: IntArray, lines: IntArray) -> list[Problem]:
    """Texts that are not among the categories of the model; an empty cell is none."""
    if feature.categories is None:
        return []
    if column.texts is None or column.codes is None:
        return [role_problems.too_many_categories(column.name, None, MAX_CATEGORIES)]
    rows = rows[column.kinds[rows] != MISSING]
    codes = column.codes[rows]
    unseen = [code for code in dict.fromkeys(codes.tolist()) if column.texts[code] not in feature.categories]
    return [
        role_problems.unseen_category(column.name, column.texts[code], lines[rows[codes == code]])
        for code in unseen[:SHOWN_AT_MOST]
    ]


def encode(feature: FeatureColumn, column: Column, rows: IntArray) -> FloatArray:
    """The feature's numbers: one column, or one of 0 and 1 per category; all NaN where the cell is empty."""
    if feature.categories is None:
        return column.values[rows, None]
    assert column.texts is not None
    assert column.codes is not None
    position = {category: k for k, category in enumerate(feature.categories)}
    of_text = np.array([position.get(text, -1) for text in column.texts], dtype=np.intp)
    encoded: FloatArray = np.eye(len(position))[of_text[column.codes[rows]]]
    encoded[column.kinds[rows] == MISSING] = np.nan
    return encoded


def notes(names: Sequence[str], raw: FloatArray, y: Labels | None, lines: IntArray) -> list[Problem]:
    """Constant features, and equal rows with different labels."""
    constant = (raw == raw[:1]).all(axis=0) & (len(raw) > 1)
    found = [role_problems.constant_column(names[int(k)]) for k in np.flatnonzero(constant)]
    conflicting = np.empty(0, dtype=np.intp) if y is None else conflicting_rows(raw, y)
    if conflicting.size:
        found.append(role_problems.conflicting_rows(lines[conflicting]))
    return found
