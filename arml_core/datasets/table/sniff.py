"""How a table is written: separator, decimal sign, header. Every finding becomes a question, never a silent guess."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .cells import in_groups, is_missing, parse_number

SEPARATORS = (",", ";", "\t", "|")
SAMPLE_LINES = 200
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Reading:
    separator: str
    width: int
    agreement: float  # share of the rows that have as many cells as the first
    leftovers: int  # cells that hold another separator


def sniff_separator(sample: str) -> str:
    """The separator under which the rows of `sample` agree best; ',' if nothing speaks for another."""
    readings = [_reading(sample, separator) for separator in SEPARATORS]
    wide = [reading for reading in readings if reading.width > 1]
    if not wide:
        return ","
    best = max(wide, key=lambda r: (round(r.agreement, 1), -r.leftovers, r.separator == ",", r.width))
    return best.separator


def _reading(sample: str, separator: str) -> _Reading:
    rows = sample_rows(sample, separator)
    if not rows:
        return _Reading(separator, 0, 0.0, 0)
    width = len(rows[0])
    if width == 1:  # a first row without names for the rest: let the body decide
        width = Counter(len(row) for row in rows).most_common(1)[0][0]
    agreement = sum(len(row) == width for row in rows) / len(rows)
    others = [other for other in SEPARATORS if other not in (separator, ",")]
    leftovers = sum(any(other in cell for other in others) for row in rows for cell in row)
    return _Reading(separator, width, agreement, leftovers)


def sample_rows(sample: str, separator: str) -> list[list[str]]:
    """The first rows, read leniently; what is wrong in detail is the reader's business."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(sample.splitlines(keepends=True), delimiter=separator, skipinitialspace=True):
            if row:
                rows.append([cell.strip() for cell in row])
            if len(rows) >= SAMPLE_LINES:
                break
    except csv.Error:
        pass
    return rows


def decimal_comma_example(rows: Rows) -> str | None:
    """A cell such as 1,5 from a column whose cells are all like it or whole numbers; None if there is none."""
    for column in _columns(rows[1:] or rows):
        cells = [cell for cell in column if not is_missing(cell)]
        with_comma = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell) or in_groups(cell, ",")]
        rest = [cell for cell in cells if not in_groups(cell, ",")]
        plain = sum(_is_number(cell) for cell in rest if "," not in cell)
        if with_comma and len(with_comma) + plain >= max(1, round(0.9 * len(cells))) and not _has_point(rest):
            return with_comma[0]
    return None


def first_row_is_data(rows: Rows, decimal: str) -> bool:
    """Row 1 has numbers wherever the rows below do; if there are none below, wherever it can."""
    first, body = rows[0], rows[1:]
    if not body:
        return any(_is_number(cell, decimal) for cell in first)
    numeric = [
        i
        for i, column in enumerate(_columns(body))
        if i < len(first) and 2 * sum(_is_number(cell, decimal) for cell in column) > len(column)
    ]
    named = [i for i in numeric if not _is_number(first[i], decimal)]
    return bool(numeric) and not named


def _columns(rows: Rows) -> list[list[str]]:
    width = max((len(row) for row in rows), default=0)
    return [[row[i] for row in rows if i < len(row)] for i in range(min(width, 5000))]


def _is_number(cell: str, decimal: str = ".") -> bool:
    return parse_number(cell, decimal) is not None


def _has_point(cells: Sequence[str]) -> bool:
    return any("." in cell for cell in cells)
