"""From the cells of a label column to classes that keep the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...numerics.arrays import IntArray
from ..base import Labels
from . import role_problems
from .cells import NUMBER, parse_number
from .columns import Column
from .problems import Problem

MAX_CLASSES = 1_000
UNSEEN_SHOWN = 5


class Classes(NamedTuple):
    """The classes found in a label column and the class of every row; empty after a problem."""

    names: tuple[str, ...]
    y: Labels
    problems: list[Problem]


def find_classes(column: Column, rows: IntArray, lines: IntArray, labels_are_classes: bool = False) -> Classes:
    """The classes of `rows`, whole numbers in their order, other names in the alphabet's.

    '1' and '1.0' are one class, which is noted. A label such as 1.5 is asked about unless `labels_are_classes`.
    """
    none = np.empty(0, dtype=np.int64)
    if column.texts is None or column.codes is None:
        return Classes((), none, [role_problems.too_many_classes(column.name, None, MAX_CLASSES)])
    codes, inverse = np.unique(column.codes[rows], return_inverse=True)
    texts = [column.texts[code] for code in codes]
    if len(texts) > MAX_CLASSES:
        return Classes((), none, [role_problems.too_many_classes(column.name, len(texts), MAX_CLASSES)])
    found: list[Problem] = []
    if (column.kinds[rows] == NUMBER).all():
        first_rows = rows[np.unique(inverse, return_index=True)[1]]
        values = column.values[first_rows]
        fractional = np.flatnonzero(values != np.floor(values))
        if fractional.size and not labels_are_classes:
            earliest = fractional[np.argmin(first_rows[fractional])]
            line = int(lines[first_rows[earliest]])
            return Classes((), none, [role_problems.fractional_label(texts[earliest], column.name, line)])
        order, of_text = np.unique(values, return_inverse=True)
        spellings = [[texts[i] for i in np.flatnonzero(of_text == k)] for k in range(len(order))]
        names = [min(group, key=len) for group in spellings]
        pairs = zip(spellings, names, strict=True)
        found += [role_problems.same_number_labels(group, name) for group, name in pairs if len(group) > 1]
    else:
        names, of_text = np.unique(texts, return_inverse=True)[:2]  # type: ignore[assignment]
        names = [str(name) for name in names]
    y = of_text[inverse].astype(np.int64)
    if len(names) == 1:
        found.append(role_problems.one_class(names[0]))
    return Classes(tuple(names), y, found)


def match_classes(column: Column, rows: IntArray, lines: IntArray, names: Sequence[str]) -> Classes:
    """The class of every row among the known `names`; a label that is not among them is a problem."""
    if column.texts is None or column.codes is None:
        problem = role_problems.too_many_classes(column.name, None, MAX_CLASSES)
        return Classes((), np.empty(0, dtype=np.int64), [problem])
    by_name = {name: index for index, name in enumerate(names)}
    by_value = {value: index for index, name in enumerate(names) if (value := parse_number(name)) is not None}
    of_text = [by_name.get(text, by_value.get(parse_number(text), -1)) for text in column.texts]  # type: ignore[arg-type]
    y = np.array(of_text, dtype=np.int64)[column.codes[rows]]
    found = []
    for code in dict.fromkeys(column.codes[rows][y < 0].tolist()):
        where = lines[rows[column.codes[rows] == code]]
        found.append(role_problems.unseen_label(column.texts[code], where))
        if len(found) == UNSEEN_SHOWN:
            break
    return Classes(tuple(names), y, found)


def check_neighbors(
    class_names: Sequence[str], y: Labels, n_neighbors: int, method: str = "votes", leave_one_out: bool = False
) -> list[Problem]:
    """What stands against certifying K neighbours on these training rows.

    `theorem1` needs (K+1)/2 rows of every class, besides the row itself in leave-one-out; the others need K
    rows in all.
    """
    own = int(leave_one_out)
    counts = np.bincount(y, minlength=len(class_names))
    largest = 2 * (int(counts.min()) - own) - 1 if method == "theorem1" else len(y) - own
    if len(y) - own < n_neighbors:
        return [role_problems.too_few_rows_for_k(len(y) - own, n_neighbors, largest)]
    if method != "theorem1":
        return []
    needed = (n_neighbors + 1) // 2 + own
    return [
        role_problems.too_few_rows(name, int(n), needed, n_neighbors, largest)
        for name, n in zip(class_names, counts, strict=True)
        if n < needed
    ]
