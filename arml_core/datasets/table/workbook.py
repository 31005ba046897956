"""An Excel workbook (.xlsx): the first sheet that is shown, as records of cells as they are written.

openpyxl trusts a workbook; this module looks at the archive first: how much it unpacks to, how many parts it has, and
that no part declares a document type, so that no entity can be expanded. Formulas give the values that were saved
with them.
"""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from ...untrusted import shortened
from . import problems
from .cells import number_text
from .limits import MAX_CELLS, MAX_CHARACTERS, MAX_PARTS, MAX_RATIO, MAX_SHEET_ROWS, MAX_UNPACKED
from .problems import Problem
from .records import CHUNK_ROWS, Chunk
from .sniff import SAMPLE_LINES
from .table import FileFormat, ReadFailed

PIECE = 64 * 1024
LONGEST_SETTING_PART = 8 * 2**20
"""Of a part that is neither a sheet nor the table of strings: it is read as a whole."""
_TYPES, _SHEETS, _STRINGS = "[Content_Types].xml", "xl/worksheets/", "xl/sharedStrings.xml"


class Sheet:
    """The records of the first sheet; `found` says which it is and what was left out."""

    format: FileFormat = "sheet"
    encoding = separator = ""

    def __init__(self, content: bytes, found: list[Problem], skip_lines: int | None, max_columns: int) -> None:
        self._max_columns = max_columns
        self._sheet = _first_sheet(content, found)
        self._skip, self._width = 0, max_columns
        rows = self._first_rows()
        if not rows:
            raise ReadFailed(problems.empty_sheet(self._sheet.title))
        above = _rows_above([row for _, row in rows])
        if skip_lines is not None:
            self._skip = skip_lines
        elif above:
            self._skip = rows[above - 1][0]
            found.append(problems.rows_above_table(rows[0][0], self._skip, next(cell for cell in rows[0][1] if cell)))
        rows = [(line, row) for line, row in rows if line > self._skip]
        self._width = max((len(row) for _, row in rows), default=1)
        self.sample = [self._padded(row) for _, row in rows]

    def chunks(self, decimal: str) -> Iterator[Chunk]:
        """The rows by chunks, each with its number in the sheet; rows below are as wide as the first few hundred."""
        lines: list[int] = []
        rows: list[list[str]] = []
        for line, row in self._rows(decimal):
            lines.append(line)
            rows.append(self._padded(row))
            if len(rows) == CHUNK_ROWS:
                yield lines, rows
                lines, rows = [], []
        if rows:
            yield lines, rows

    def _first_rows(self) -> list[tuple[int, list[str]]]:
        rows = self._rows(".")
        return [row for row, _ in zip(rows, range(SAMPLE_LINES), strict=False)]

    def _padded(self, row: list[str]) -> list[str]:
        return row + [""] * (self._width - len(row))

    def _rows(self, decimal: str) -> Iterator[tuple[int, list[str]]]:
        """Every row that holds something, without the empty cells at its end, and its number."""
        n_cells = 0
        try:
            for line, cells in enumerate(self._sheet.iter_rows(values_only=True), 1):
                if line > MAX_SHEET_ROWS:
                    raise ReadFailed(problems.too_many_sheet_rows(MAX_SHEET_ROWS))
                n_cells += len(cells)
                if n_cells > MAX_CELLS:
                    raise ReadFailed(problems.too_many_cells(line, None, MAX_CELLS))
                row = [cell_text(value, decimal) for value in cells] if any(c is not None for c in cells) else []
                while row and not row[-1].strip():
                    row.pop()
                if not row or line <= self._skip:
                    continue
                if len(row) > self._max_columns:
                    raise ReadFailed(problems.too_wide(len(row), self._max_columns))
                if max(map(len, row)) > MAX_CHARACTERS:
                    raise ReadFailed(problems.huge_value(line, MAX_CHARACTERS))
                yield line, row
        except (ReadFailed, MemoryError):
            raise
        except Exception as error:  # a part that is no sheet ends in errors of any kind
            raise ReadFailed(_damaged(error)) from error


def cell_text(value: Any, decimal: str = ".") -> str:
    """A cell as text: dates as 2026-11-18, truth values as Excel shows them, numbers with every digit that counts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return number_text(value).replace(".", decimal)
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    return str(value)


def _rows_above(rows: list[list[str]]) -> int:
    """How many rows with a single cell stand above a table of several columns."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    above = next((k for k, n in enumerate(filled) if n > 1), 0)
    below = Counter(n > 1 for n in filled[above:])
    return above if below[True] >= 2 and below[True] > below[False] else 0


def _first_sheet(content: bytes, found: list[Problem]) -> Any:
    """The first sheet that is shown, by openpyxl."""
    _check_archive(content)
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ReadFailed(problems.missing_package("an Excel file", "openpyxl")) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it leaves out: pictures, rules, other people's extensions
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise
    except Exception as error:  # as in `Sheet`
        raise ReadFailed(_damaged(error)) from error
    sheets = book.worksheets
    sheet = next((sheet for sheet in sheets if sheet.sheet_state == "visible"), None)
    if sheet is None:
        raise ReadFailed(problems.no_sheet())
    sheet.reset_dimensions()  # the file's own word about its size; rows and columns are counted instead
    found.append(problems.read_as_sheet(sheet.title, len(sheets)))
    return sheet


def _check_archive(content: bytes) -> None:
    """Refuse what unpacks to too much, and what could make more of itself when it is read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            names = {part.filename for part in parts}
            if _TYPES not in names or not any(name.startswith("xl/") for name in names):
                raise ReadFailed(problems.not_csv("an Office document"))
            if "xl/workbook.bin" in names:
                raise ReadFailed(problems.not_csv("an Excel file in the binary format (.xlsb)"))
            if len(parts) > MAX_PARTS:
                raise ReadFailed(problems.too_many_parts(len(parts), MAX_PARTS))
            _check_sizes(parts, len(content))
            for part in parts:
                with archive.open(part) as stream:
                    if _declares_a_document_type(stream):
                        raise ReadFailed(problems.declares_entities(part.filename))
    except ReadFailed:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ReadFailed(_damaged(error)) from error
    except Exception as error:
        if type(error).__name__ in ("error", "LZMAError"):  # zlib's and lzma's
            raise ReadFailed(_damaged(error)) from error
        raise


def _check_sizes(parts: list[zipfile.ZipInfo], packed: int) -> None:
    size = sum(part.file_size for part in parts)
    if size > MAX_UNPACKED:
        raise ReadFailed(problems.unpacks_to_too_much(size, MAX_UNPACKED))
    if size > MAX_UNPACKED / 10 and size > MAX_RATIO * packed:
        raise ReadFailed(problems.unpacks_to_too_much(size, MAX_RATIO * packed))
    for part in parts:
        if part.filename.startswith(_SHEETS) or part.filename == _STRINGS:
            continue
        if part.filename.endswith((".xml", ".rels")) and part.file_size > LONGEST_SETTING_PART:
            raise ReadFailed(problems.unpacks_to_too_much(part.file_size, LONGEST_SETTING_PART, part.filename))


def _declares_a_document_type(stream: Any) -> bool:
    """Whether a part is XML with a DOCTYPE, the only place for entities; it stands before the first element."""
    declared: list[str] = []
    begun: list[str] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda name, *_: declared.append(name)
    parser.StartElementHandler = lambda name, _: begun.append(name)
    try:
        while not declared and not begun:
            piece = stream.read(PIECE)
            parser.Parse(piece, not piece)
            if not piece:
                break
    except expat.ExpatError:
        pass  # no XML, or none that anything reads further than this
    return bool(declared)


def _damaged(error: Exception) -> Problem:
    return problems.damaged("Excel file", shortened(error or type(error).__name__, 80))
