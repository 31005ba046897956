"""What reading a file gives: its cells by column, and everything found on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...numerics.arrays import IntArray
from . import problems
from .columns import Column
from .problems import Problem, Problems

PREVIEW_ROWS = 20
FileFormat = Literal["text", "sheet", "parquet"]


@dataclass(frozen=True, eq=False)
class Table:
    """A file's cells by column. `lines` holds the line of every row in the file; nothing is imputed or dropped.

    The four settings say how the file was read; `preview` is its first rows as written. A sheet has rows where a text
    has lines, a Parquet file counts its rows from 1; these two have neither an encoding nor a separator.
    """

    columns: tuple[Column, ...]
    lines: IntArray
    encoding: str
    separator: str
    decimal: str
    header: bool
    preview: tuple[tuple[str, ...], ...]
    format: FileFormat = "text"

    @property
    def n_rows(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(f"there is no column {name!r}; there are {problems.abbreviated(self.names)}")


class ReadResult(NamedTuple):
    """A table (None where the file could not be read at all) and everything found on the way."""

    table: Table | None
    problems: Problems


class ReadFailed(Exception):
    """Reading cannot go on."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
