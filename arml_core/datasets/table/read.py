"""The only door for a user's file: ``read_table(file) -> (Table, Problems)``."""

from __future__ import annotations

import csv
import io
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...numerics.arrays import IntArray
from . import problems
from .cells import restored_cell
from .columns import Column, ColumnBuilder
from .encoding import MAX_BYTES, SAMPLE_BYTES, Source, find_encoding, foreign_format, read_bytes, undecodable_line
from .problems import Problem, Problems
from .sniff import decimal_comma_example, first_row_is_data, sample_rows, sniff_separator

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader

MAX_COLUMNS = 2_000
MAX_VALUES_IN_A_LINE = 100_000
CHUNK_ROWS = 4_096
RAGGED_SHOWN = 5
PREVIEW_ROWS = 20
_ROW_NUMBER_NAMES = frozenset(
    {"", "unnamed: 0", "index", "idx", "id", "row", "rows", "row_number", "nr", "no", "no.", "#"}
)


@dataclass(frozen=True, eq=False)
class Table:
    """A file's cells by column. `lines` holds the line of every row in the file; nothing is imputed or dropped.

    The four settings say how the file was read; `preview` is its first rows as written.
    """

    columns: tuple[Column, ...]
    lines: IntArray
    encoding: str
    separator: str
    decimal: str
    header: bool
    preview: tuple[tuple[str, ...], ...]

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


class _ReadFailed(Exception):
    """Reading cannot go on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def read_table(
    file: Source,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    skip_ragged: bool = False,
    keep_row_numbers: bool = False,
    max_bytes: int = MAX_BYTES,
    max_columns: int = MAX_COLUMNS,
) -> ReadResult:
    """Read a CSV file: bytes, a path, or an open binary file.

    A setting left at None is found out; if the finding is not the plain one (UTF-8, ',', '.', a header), the
    table is read that way and a question with the alternatives is among the problems. Pass the settings of
    the remedy that was chosen to settle it. Surrounding blanks of a cell do not count, blank lines neither.

    Returns the table, or None after an error that leaves nothing to show, and the problems. The table must
    not be used while ``problems.blocking`` is not empty. A file that cannot be opened raises OSError.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ValueError(f"separator must be one character, not a quote or a line end; got {separator!r}")
    if decimal not in (None, ".", ",") or (decimal is not None and decimal == separator == "."):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}")
    reader = _Reader(skip_ragged, keep_row_numbers, max_columns)
    try:
        content = _text_content(file, max_bytes)
        reader.open(content, encoding, separator, decimal, header)
        table = reader.read()
    except _ReadFailed as failure:
        return ReadResult(None, Problems([*reader.found, failure.problem]))
    return ReadResult(table, Problems(reader.found))


def _text_content(file: Source, max_bytes: int) -> bytes:
    content = read_bytes(file, max_bytes)
    if isinstance(content, Problem):
        raise _ReadFailed(content)
    other = foreign_format(content)
    if other is not None:
        raise _ReadFailed(problems.not_csv(other))
    return content


@dataclass
class _Reader:
    """One reading of one file; `found` collects its problems."""

    skip_ragged: bool
    keep_row_numbers: bool
    max_columns: int
    found: list[Problem] = field(default_factory=list)
    ragged_lines: array[int] = field(default_factory=lambda: array("q"))
    ragged_counts: list[int] = field(default_factory=list)  # of the first few

    def open(
        self, content: bytes, encoding: str | None, separator: str | None, decimal: str | None, header: bool | None
    ) -> None:
        """Settle how the file is written."""
        self.content = content
        self.encoding = self._settle_encoding(encoding)
        sample = self._sample()
        if not sample.strip():
            raise _ReadFailed(problems.empty_file())
        self.separator = separator or sniff_separator(sample)
        if separator is None and self.separator != ",":
            self.found.append(problems.other_separator(self.separator))
        rows = sample_rows(sample, self.separator)
        example = decimal_comma_example(rows) if decimal is None else None
        self.decimal = decimal or ("," if example else ".")
        if example:
            self.found.append(problems.decimal_comma(example))
        self.header = header if header is not None else not (rows and first_row_is_data(rows, self.decimal))
        if header is None and not self.header:
            self.found.append(problems.no_header())

    def read(self) -> Table:
        chunks = self._chunks()
        first_lines, first_rows = next(chunks, ([], []))
        if not first_rows:
            raise _ReadFailed(problems.empty_file())
        if len(first_rows[0]) > self.max_columns:
            raise _ReadFailed(problems.too_wide(len(first_rows[0]), self.max_columns))
        names = self._names([restored_cell(cell.strip()) for cell in first_rows[0]])
        builders = [ColumnBuilder(name, self.decimal) for name in names]
        preview: list[tuple[str, ...]] = []
        lines: list[IntArray] = []
        start = int(self.header)
        for chunk_lines, chunk_rows in chain([(first_lines[start:], first_rows[start:])], chunks):
            kept_lines, rows = self._of_width(chunk_lines, chunk_rows, len(names))
            if rows:
                preview += [tuple(cell.strip() for cell in row) for row in rows[: PREVIEW_ROWS - len(preview)]]
                lines.append(np.array(kept_lines, dtype=np.intp))
                for builder, cells in zip(builders, zip(*rows, strict=True), strict=True):
                    builder.extend(cells)
        self._report_ragged(len(names))
        if not lines:
            raise _ReadFailed(problems.header_only() if not self.ragged_lines else problems.no_row_fits(len(names)))
        columns = [builder.build() for builder in builders]
        return self._table(columns, np.concatenate(lines), preview)

    def _settle_encoding(self, encoding: str | None) -> str:
        if encoding is not None:
            line = undecodable_line(self.content, encoding)
            if line is not None:
                raise _ReadFailed(problems.undecodable(encoding, line))
            return encoding
        settled = find_encoding(self.content)
        if isinstance(settled, Problem):
            raise _ReadFailed(settled)
        if settled[1] is not None:
            self.found.append(settled[1])
        return settled[0]

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self.content), encoding=self.encoding, newline="")

    def _sample(self) -> str:
        """The beginning of the file, up to a line end if there is one; blank lines in front do not count."""
        text = self._text()
        sample = text.read(SAMPLE_BYTES)
        while sample and not sample.strip():
            sample = text.read(SAMPLE_BYTES)
        if not text.read(1):
            return sample
        end = max(sample.rfind("\n"), sample.rfind("\r"))
        return sample[: end + 1] if end > 0 else sample

    def _chunks(self) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        """The records by chunks, each with the line it starts on; blank lines are passed over."""
        reader = csv.reader(
            self._bounded_lines() if self._may_have_long_lines() else self._text(),
            delimiter=self.separator,
            skipinitialspace=self.separator != " ",
            strict=True,
        )
        read_chunk = _quoted_chunk if b'"' in self.content else _plain_chunk
        while True:
            lines, rows = read_chunk(reader)
            if not rows:
                return
            if min(map(len, rows)) <= 1:
                filled = [k for k, row in enumerate(rows) if len(row) > 1 or (row and row[0].strip())]
                lines, rows = [lines[k] for k in filled], [rows[k] for k in filled]
            if rows:
                yield lines, rows

    def _may_have_long_lines(self) -> bool:
        if self.encoding != "utf-8-sig":
            return True
        start = 0
        while len(self.content) - start > MAX_VALUES_IN_A_LINE:
            start = self.content.rfind(b"\n", start, start + MAX_VALUES_IN_A_LINE) + 1
            if start == 0:
                return True
        return False

    def _bounded_lines(self) -> Iterator[str]:
        """The lines, none with so many separators that its list of values would fill the memory."""
        for number, line in enumerate(self._text(), 1):
            if len(line) > MAX_VALUES_IN_A_LINE and line.count(self.separator) >= MAX_VALUES_IN_A_LINE:
                n_values = line.count(self.separator) + 1
                if number == 1:
                    raise _ReadFailed(problems.too_wide(n_values, self.max_columns))
                raise _ReadFailed(problems.endless_line(number, n_values, MAX_VALUES_IN_A_LINE))
            yield line

    def _names(self, first: Sequence[str]) -> list[str]:
        if not self.header:
            return [f"x{i}" for i in range(1, len(first) + 1)]
        for name, times in Counter(name for name in first if name).items():
            if times > 1:
                self.found.append(problems.duplicate_column(name, times))
        names: list[str] = []
        for position, name in enumerate(first, 1):
            unique = name or f"column {position}"
            while unique in names:
                unique += "'"
            names.append(unique)
        self.nameless = {i for i, name in enumerate(first) if not name}
        return names

    def _of_width(
        self, lines: Sequence[int], rows: list[list[str]], width: int
    ) -> tuple[Sequence[int], list[list[str]]]:
        if all(len(row) == width for row in rows):
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

    def _table(self, columns: list[Column], lines: IntArray, preview: list[tuple[str, ...]]) -> Table:
        nameless = self.nameless if self.header else set()
        left_out = {i for i in nameless if columns[i].is_empty}
        if len(columns) - len(left_out) > 1 and self._first_is_row_numbers(columns, lines, 0 in nameless):
            left_out.add(0)
            self.found.append(problems.row_numbers("" if 0 in nameless else columns[0].name))
        for i in sorted(nameless):
            if i not in left_out:
                self.found.append(problems.nameless_column(i + 1, columns[i].name))
            elif columns[i].is_empty:
                self.found.append(problems.empty_column_left_out(i + 1))
        kept = [i for i in range(len(columns)) if i not in left_out]
        if not kept:
            raise _ReadFailed(problems.no_values())
        if len(kept) == 1:
            self.found.append(problems.one_column(columns[kept[0]].name))
        return Table(
            columns=tuple(columns[i] for i in kept),
            lines=lines,
            encoding=self.encoding,
            separator=self.separator,
            decimal=self.decimal,
            header=self.header,
            preview=tuple(tuple(row[i] for i in kept) for row in preview),
        )

    def _first_is_row_numbers(self, columns: Sequence[Column], lines: IntArray, nameless: bool) -> bool:
        if self.keep_row_numbers or not columns[0].is_row_numbers(lines):
            return False
        if self.header:
            return nameless or columns[0].name.lower() in _ROW_NUMBER_NAMES
        return len(columns[0].values) >= 5  # without a name, fewer rising numbers may be a measurement


def _plain_chunk(reader: _CsvReader) -> tuple[Sequence[int], list[list[str]]]:
    """The next records of a file without quotes, in which every line is a record."""
    start = reader.line_num + 1
    try:
        rows = list(islice(reader, CHUNK_ROWS))
    except csv.Error as error:
        raise _ReadFailed(_quoting_problem(str(error), reader.line_num)) from error
    return range(start, start + len(rows)), rows


def _quoted_chunk(reader: _CsvReader) -> tuple[Sequence[int], list[list[str]]]:
    """The next records of a file in which a record may take several lines."""
    lines: list[int] = []
    rows: list[list[str]] = []
    while len(rows) < CHUNK_ROWS:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise _ReadFailed(_quoting_problem(str(error), line)) from error
        lines.append(line)
        rows.append(row)
    return lines, rows


def _quoting_problem(error: str, line: int) -> Problem:
    if "field larger" in error:
        return problems.huge_value(line, csv.field_size_limit())
    if "expected after" in error:
        return problems.text_after_quote(line)
    return problems.unclosed_quote(line)
