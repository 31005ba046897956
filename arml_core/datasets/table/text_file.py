"""A text as records: its encoding, its separator, its lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import problems
from .encoding import SAMPLE_BYTES, find_encoding, undecodable_line
from .limits import MAX_COLUMNS, MAX_VALUES_IN_A_LINE
from .problems import Problem
from .records import CHUNK_ROWS, Chunk
from .sniff import sample_rows, sniff_separator
from .table import FileFormat, ReadFailed

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader


class TextFile:
    """The records of a text table; how it is written is settled on opening, and `found` gets what was not plain."""

    format: FileFormat = "text"

    def __init__(
        self,
        content: bytes,
        found: list[Problem],
        encoding: str | None,
        separator: str | None,
        max_columns: int = MAX_COLUMNS,
    ) -> None:
        self._content, self._max_columns = content, max_columns
        self.encoding = self._settle_encoding(encoding, found)
        sample = self._sample()
        if not sample.strip():
            raise ReadFailed(problems.empty_file())
        self.separator = separator or sniff_separator(sample)
        if separator is None and self.separator != ",":
            found.append(problems.other_separator(self.separator))
        self.sample = sample_rows(sample, self.separator)

    def chunks(self, decimal: str) -> Iterator[Chunk]:
        """The records by chunks, each with the line it starts on; blank lines are passed over."""
        for lines, rows in self._quoted_chunks() if b'"' in self._content else self._plain_chunks():
            if min(map(len, rows)) > 1:
                yield lines, rows
                continue
            filled = [k for k, row in enumerate(rows) if len(row) > 1 or (row and row[0].strip())]
            if filled:
                yield [lines[k] for k in filled], [rows[k] for k in filled]

    def _settle_encoding(self, encoding: str | None, found: list[Problem]) -> str:
        if encoding is not None:
            line = undecodable_line(self._content, encoding)
            if line is not None:
                raise ReadFailed(problems.undecodable(encoding, line))
            return encoding
        settled = find_encoding(self._content)
        if isinstance(settled, Problem):
            raise ReadFailed(settled)
        if settled[1] is not None:
            found.append(settled[1])
        return settled[0]

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self._content), encoding=self.encoding, newline="")

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

    def _csv(self, lines: Iterator[str]) -> _CsvReader:
        return csv.reader(lines, delimiter=self.separator, skipinitialspace=self.separator != " ", strict=True)

    def _plain_chunks(self) -> Iterator[Chunk]:
        """Of a file without quotes, in which every line is a record: blocks of blank lines are counted and passed."""
        text, line = self._text(), 1
        while block := text.read(SAMPLE_BYTES):
            block += text.readline()
            if not block.strip("\r\n"):
                line += block.count("\n") + block.count("\r") - block.count("\r\n")
                continue
            lines: Iterator[str] = io.StringIO(block, newline="")
            reader = self._csv(lines if len(block) <= MAX_VALUES_IN_A_LINE else self._bounded_lines(lines, line))
            try:
                rows = list(reader)
            except csv.Error as error:
                raise ReadFailed(_quoting_problem(str(error), line - 1 + reader.line_num)) from error
            yield range(line, line + len(rows)), rows
            line += len(rows)

    def _quoted_chunks(self) -> Iterator[Chunk]:
        """Of a file in which a record may take several lines."""
        reader = self._csv(self._bounded_lines(self._text(), 1))
        while True:
            lines: list[int] = []
            rows: list[list[str]] = []
            line = 1
            try:
                for _ in range(CHUNK_ROWS):
                    line = reader.line_num + 1
                    rows.append(next(reader))
                    lines.append(line)
            except StopIteration:
                if not rows:
                    return
            except csv.Error as error:
                raise ReadFailed(_quoting_problem(str(error), line)) from error
            yield lines, rows

    def _bounded_lines(self, text: Iterator[str], first: int) -> Iterator[str]:
        """The lines, none with so many separators that its list of values would fill the memory."""
        for number, line in enumerate(text, first):
            if len(line) > MAX_VALUES_IN_A_LINE and line.count(self.separator) >= MAX_VALUES_IN_A_LINE:
                n_values = line.count(self.separator) + 1
                if number == 1:
                    raise ReadFailed(problems.too_wide(n_values, self._max_columns))
                raise ReadFailed(problems.endless_line(number, n_values, MAX_VALUES_IN_A_LINE))
            yield line


def _quoting_problem(error: str, line: int) -> Problem:
    if "field larger" in error:
        return problems.huge_value(line, csv.field_size_limit())
    if "expected after" in error:
        return problems.text_after_quote(line)
    return problems.unclosed_quote(line)
