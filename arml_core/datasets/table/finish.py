"""From columns to a table: their names, and which of them hold nothing or count the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...numerics.arrays import IntArray
from . import problems
from .columns import Column
from .problems import Problem
from .table import FileFormat, ReadFailed, Table

_ROW_NUMBER_NAMES = frozenset(
    {"", "unnamed: 0", "index", "idx", "id", "row", "rows", "row_number", "nr", "no", "no.", "#"}
)


@dataclass(frozen=True)
class Settings:
    """How a file is read, as far as its table remembers it."""

    format: FileFormat
    encoding: str = ""
    separator: str = ""
    decimal: str = "."
    header: bool = True
    keep_row_numbers: bool = False


def names_of(header: Sequence[str] | None, width: int, found: list[Problem]) -> list[str]:
    """A name of its own for every column; the header's, as far as it has them."""
    if header is None:
        return [f"x{i}" for i in range(1, width + 1)]
    for name, times in Counter(name for name in header if name).items():
        if times > 1:
            found.append(problems.duplicate_column(name, times))
    names: dict[str, None] = {}
    for position, name in enumerate(header, 1):
        unique = name or f"column {position}"
        while unique in names:
            unique += "'"
        names[unique] = None
    return list(names)


def finished_table(
    columns: list[Column],
    header: Sequence[str] | None,
    lines: IntArray,
    preview: Sequence[Sequence[str]],
    settings: Settings,
    found: list[Problem],
) -> Table:
    """The table without nameless empty columns and a first column of row numbers; `found` gets what was left out."""
    nameless = {i for i, name in enumerate(header or ()) if not name}
    left_out = {i for i in nameless if columns[i].is_empty}
    counts_rows = not settings.keep_row_numbers and _counts_rows(columns[0], header, lines)
    if len(columns) - len(left_out) > 1 and counts_rows:
        left_out.add(0)
        found.append(problems.row_numbers("" if 0 in nameless else columns[0].name))
    for i in sorted(nameless):
        if i not in left_out:
            found.append(problems.nameless_column(i + 1, columns[i].name))
        elif columns[i].is_empty:
            found.append(problems.empty_column_left_out(i + 1))
    kept = [i for i in range(len(columns)) if i not in left_out]
    if not kept:
        raise ReadFailed(problems.no_values())
    if len(kept) == 1:
        found.append(problems.one_column(columns[kept[0]].name))
    return Table(
        columns=tuple(columns[i] for i in kept),
        lines=lines,
        encoding=settings.encoding,
        separator=settings.separator,
        decimal=settings.decimal,
        header=settings.header,
        preview=tuple(tuple(row[i] for i in kept) for row in preview),
        format=settings.format,
    )


def _counts_rows(first: Column, header: Sequence[str] | None, lines: IntArray) -> bool:
    if not first.is_row_numbers(lines):
        return False
    if header is not None:
        return header[0].lower() in _ROW_NUMBER_NAMES
    return len(first.values) >= 5  # without a name, fewer rising numbers may be a measurement
