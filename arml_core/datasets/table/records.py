"""Records of cells as texts → columns: names, widths, cells. What texts and sheets have in common."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol, TypeAlias

import numpy as np

from ...numerics.arrays import IntArray
from . import problems
from .cells import restored_cell
from .columns import ColumnBuilder
from .finish import Settings, finished_table, names_of
from .limits import MAX_CELLS
from .problems import Problem
from .table import PREVIEW_ROWS, FileFormat, ReadFailed, Table

CHUNK_ROWS = 4_096
RAGGED_SHOWN = 5
Chunk: TypeAlias = "tuple[Sequence[int], list[list[str]]]"


class Records(Protocol):
    """Rows of cells as they are written, each with its number in the file; blank ones are passed over."""

    @property
    def format(self) -> FileFormat: ...
    @property
    def encoding(self) -> str: ...
    @property
    def separator(self) -> str: ...
    @property
    def sample(self) -> list[list[str]]: ...
    def chunks(self, decimal: str) -> Iterator[Chunk]: ...


@dataclass
class RecordReader:
    """One reading of one file; `found` collects its problems."""

    settings: Settings
    skip_ragged: bool
    max_columns: int
    found: list[Problem]
    ragged_lines: array[int] = field(default_factory=lambda: array("q"))
    ragged_counts: list[int] = field(default_factory=list)  # of the first few

    def read(self, chunks: Iterator[Chunk]) -> Table:
        first_lines, first_rows = next(chunks, ([], []))
        if not first_rows:
            raise ReadFailed(problems.empty_file())
        width = len(first_rows[0])
        if width > self.max_columns:
            raise ReadFailed(problems.too_wide(width, self.max_columns))
        header = [restored_cell(cell.strip()) for cell in first_rows[0]] if self.settings.header else None
        names = names_of(header, width, self.found)
        builders = [ColumnBuilder(name, self.settings.decimal) for name in names]
        preview: list[tuple[str, ...]] = []
        lines: list[IntArray] = []
        n_rows, start = 0, int(self.settings.header)
        for chunk_lines, chunk_rows in chain([(first_lines[start:], first_rows[start:])], chunks):
            kept_lines, rows = self._of_width(chunk_lines, chunk_rows, width)
            n_rows += len(rows)
            if n_rows * width > MAX_CELLS:
                raise ReadFailed(problems.too_many_cells(None, width, MAX_CELLS))
            if rows:
                preview += [tuple(cell.strip() for cell in row) for row in rows[: PREVIEW_ROWS - len(preview)]]
                lines.append(np.array(kept_lines, dtype=np.intp))
                for builder, cells in zip(builders, zip(*rows, strict=True), strict=True):
                    builder.extend(cells)
        self._report_ragged(width)
        if not lines:
            raise ReadFailed(problems.header_only() if not self.ragged_lines else problems.no_row_fits(width))
        columns = [builder.build() for builder in builders]
        return finished_table(columns, header, np.concatenate(lines), preview, self.settings, self.found)

    def _of_width(
        self, lines: Sequence[int], rows: list[list[str]], width: int
    ) -> tuple[Sequence[int], list[list[str]]]:
        if set(map(len, rows)) <= {width}:
            return lines, rows
        ragged = [k for k, row in enumerate(rows) if len(row) != width]
        self.ragged_lines.extend(lines[k] for k in ragged)
        if len(self.ragged_counts) < RAGGED_SHOWN:
            self.ragged_counts += [len(rows[k]) for k in ragged]
        kept = [k for k, row in enumerate(rows) if len(row) == width]
        return [lines[k] for k in kept], [rows[k] for k in kept]

    def _report_ragged(self, width: int) -> None:
        lines = self.ragged_lines
        if lines and self.skip_ragged:
            self.found.append(problems.ragged_lines_left_out(lines, width))
        elif lines:
            shown = zip(lines[:RAGGED_SHOWN], self.ragged_counts[:RAGGED_SHOWN], strict=True)
            self.found += [problems.ragged_line(line, n, width) for line, n in shown]
            if len(lines) > RAGGED_SHOWN:
                self.found.append(problems.more_ragged_lines(lines[RAGGED_SHOWN:]))
            last = self.found.pop()
            self.found.append(replace(last, remedies=(*last.remedies, problems.leave_ragged_lines_out(lines))))
