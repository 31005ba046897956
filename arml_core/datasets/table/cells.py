"""Single cells: which texts are numbers, which are empty, and how a cell is written so that nothing runs it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...numerics.arrays import FloatArray

NUMBER, MISSING, NOT_FINITE, TEXT = 0, 1, 2, 3
CellKinds = NDArray[np.int8]

_MISSING_WORDS = frozenset({"", "NA", "N/A", "#N/A", "na", "n/a", "NULL", "null", "None"})
_CELL_START = r"(?:^|(?<=[,;\t]))"
_LINE_START = r"(?<=[\r\n])"
_RUNNABLE_CELL, _RUNNABLE_LINE = r"""(?=['"]*[=+\-@\t\r\n＝＋－＠])""", r"""(?=['"]*[=+\-@＝＋－＠])"""
_UNGUARDED = re.compile(f"{_CELL_START}{_RUNNABLE_CELL}|{_LINE_START}{_RUNNABLE_LINE}")
_GUARDED = re.compile(f"{_CELL_START}'{_RUNNABLE_CELL}|{_LINE_START}'{_RUNNABLE_LINE}")
_IN_GROUPS = {
    decimal: re.compile(rf"[+-]?\d{{1,3}}([{signs}])\d{{3}}(?:\1\d{{3}})*{re.escape(decimal)}\d+", re.ASCII)
    for decimal, signs in ((".", ", '’\u00a0\u202f"), (",", ". '’\u00a0\u202f"))
}
"""1.234,56 and its like: with a decimal sign behind, the sign between groups of three has one meaning only."""
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def is_missing(cell: str) -> bool:
    """An empty cell, or a word such as NA that stands for one. 'NaN' is not: it is a number that is not finite."""
    return cell in _MISSING_WORDS


def in_groups(cell: str, decimal: str) -> bool:
    """A number whose thousands are set apart, with a decimal sign behind."""
    return _IN_GROUPS[decimal].fullmatch(cell) is not None


def parse_number(cell: str, decimal: str = ".") -> float | None:
    """The number a cell holds (infinities and NaN too), or None. Digits of other scripts and '1_000' do not count.

    Thousands may be set apart where there is a decimal sign, too: 1.234 alone could mean two numbers.
    """
    groups = _IN_GROUPS[decimal].fullmatch(cell)
    if groups:
        cell = cell.replace(groups[1], "")
    if not cell.isascii() or "_" in cell:
        return None
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".", 1)
    try:
        return float(cell)
    except ValueError:
        return None


def parse_cells(cells: Sequence[str], decimal: str = ".") -> tuple[FloatArray, CellKinds]:
    """Numbers (NaN where there is none) and the kind of every cell; blanks around a cell do not count."""
    values = _all_numbers(cells) if decimal == "." else None
    if values is not None:
        kinds = np.where(np.isfinite(values), NUMBER, NOT_FINITE).astype(np.int8)
        return values, kinds
    known: dict[str, tuple[float, int]] = {}
    pairs = [known.get(cell) or known.setdefault(cell, _parse_cell(cell.strip(), decimal)) for cell in cells]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], dtype=np.int8)


def _all_numbers(cells: Sequence[str]) -> FloatArray | None:
    """The usual case, fast: every cell is a number."""
    joined = "".join(cells)
    if not joined.isascii() or "_" in joined:
        return None
    try:
        return np.frombuffer(array("d", map(float, cells)), dtype=np.float64)
    except ValueError:
        return None


def _parse_cell(cell: str, decimal: str) -> tuple[float, int]:
    if is_missing(cell):
        return np.nan, MISSING
    value = parse_number(cell, decimal)
    if value is None:
        return np.nan, TEXT
    return value, NUMBER if np.isfinite(value) else NOT_FINITE


def number_text(value: float) -> str:
    """A number as people write it: every digit that counts, and a whole one without a point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(value)


def safe_cell(text: str) -> str:
    """The text for a CSV that people open in a spreadsheet: what could run as a formula gets a leading quote.

    A spreadsheet that separates by ';' or tabs takes the CSV's own quotes for text: each part of a cell, and each
    of its lines, is then a cell of its own and guarded as one. Plain numbers stay as they are;
    :func:`restored_cell` takes the quotes off again.
    """
    return text if _PLAIN_NUMBER.fullmatch(text) else _UNGUARDED.sub("'", text)


def restored_cell(text: str) -> str:
    """The inverse of :func:`safe_cell`."""
    return _GUARDED.sub("", text)
