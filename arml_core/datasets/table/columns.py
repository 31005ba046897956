"""A table column by column: numbers, what kind each cell is, and the different texts while they are few."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...numerics.arrays import FloatArray, IntArray
from .cells import MISSING, NUMBER, TEXT, CellKinds, parse_cells, restored_cell

MAX_TEXTS = 5_000
"""A column with more different texts is neither a label nor a category; its texts are not kept."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table. `values` holds NaN where a cell is empty or text.

    `texts` are the different cells as they are written and `codes` index them, one per row; both are None
    when there are more than MAX_TEXTS. `first_text` is the first cell that is no number: row and text.
    """

    name: str
    values: FloatArray
    kinds: CellKinds
    texts: tuple[str, ...] | None
    codes: NDArray[np.int32] | None
    first_text: tuple[int, str] | None

    @property
    def is_empty(self) -> bool:
        return bool((self.kinds == MISSING).all())

    def rows_of(self, *kinds: int) -> IntArray:
        """The rows whose cell is of one of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def is_row_numbers(self, lines: IntArray) -> bool:
        """0, 1, 2, … or 1, 2, 3, …, counting rows or lines (rows may have been left out)."""
        if not (self.kinds == NUMBER).all() or self.values[0] not in (0.0, 1.0):
            return False
        counted = self.values - self.values[0]
        return bool(np.array_equal(counted, np.arange(len(counted))) or np.array_equal(counted, lines - lines[0]))


class ColumnBuilder:
    """Collects the cells of one column, chunk by chunk, in a few bytes a cell.

    While the different texts are few, a cell is a code and each text is looked at once; after that a cell is
    its number.
    """

    def __init__(self, name: str, decimal: str) -> None:
        self.name = name
        self._decimal = decimal
        self._known: dict[str, int] | None = {}  # every spelling, blanks around it included
        self._texts: dict[str, int] = {}
        self._codes = array("i")
        self._values: list[FloatArray] = []
        self._kinds: list[CellKinds] = []
        self._n_rows = 0
        self._first_text: tuple[int, str] | None = None

    def extend(self, cells: Sequence[str]) -> None:
        if self._known is not None:
            for cell in dict.fromkeys(cells):
                if cell not in self._known:
                    self._known[cell] = self._texts.setdefault(cell.strip(), len(self._texts))
            if len(self._known) <= MAX_TEXTS:
                self._codes.extend(map(self._known.__getitem__, cells))
                return
            self._stop_coding()
        self._append(*parse_cells(cells, self._decimal), cells)

    def build(self) -> Column:
        if self._known is None:
            return Column(
                self.name, np.concatenate(self._values), np.concatenate(self._kinds), None, None, self._first_text
            )
        codes, values, kinds = self._decoded()
        self._append(values, kinds)
        texts = tuple(restored_cell(text) for text in self._texts)
        return Column(self.name, values, kinds, texts, codes, self._first_text)

    def _decoded(self) -> tuple[NDArray[np.int32], FloatArray, CellKinds]:
        codes = np.array(self._codes, dtype=np.int32)
        values, kinds = parse_cells(list(self._texts), self._decimal)
        return codes, values[codes], kinds[codes]

    def _stop_coding(self) -> None:
        if self._codes:
            _, values, kinds = self._decoded()
            self._append(values, kinds)
        self._known, self._texts, self._codes = None, {}, array("i")

    def _append(self, values: FloatArray, kinds: CellKinds, cells: Sequence[str] | None = None) -> None:
        """Keep a chunk; without `cells` its texts are still known by their codes."""
        if self._first_text is None and (kinds == TEXT).any():
            at = int(np.argmax(kinds == TEXT))
            text = list(self._texts)[self._codes[at]] if cells is None else cells[at].strip()
            self._first_text = (self._n_rows + at, text)
        self._values.append(values)
        self._kinds.append(kinds)
        self._n_rows += len(values)
