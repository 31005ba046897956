"""The only door for a user's file: ``read_table(file) -> (Table, Problems)``."""

from __future__ import annotations

from . import problems
from .encoding import Source, foreign_format, read_bytes
from .finish import Settings
from .limits import MAX_BYTES, MAX_COLUMNS
from .packed import is_gzip, unpacked
from .problems import Problem, Problems
from .records import RecordReader, Records
from .sniff import decimal_comma_example, first_row_is_data
from .table import ReadFailed, ReadResult, Table
from .text_file import TextFile

__all__ = ["MAX_COLUMNS", "ReadResult", "Table", "is_quick", "read_table"]

QUICK_BYTES = 256 * 1024
_PARQUET = b"PAR1"
_WORKBOOK = "an Excel file"


def read_table(
    file: Source,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    skip_lines: int | None = None,
    skip_ragged: bool = False,
    keep_row_numbers: bool = False,
    max_bytes: int = MAX_BYTES,
    max_columns: int = MAX_COLUMNS,
) -> ReadResult:
    """Read a table: bytes, a path, or an open binary file.

    It may be text (CSV, separated by tabs, …), such text in a gzip archive, the first sheet of an Excel workbook
    (.xlsx), or Parquet. What it is, its content says, never its name.

    A setting left at None is found out; if the finding is not the plain one (UTF-8, ',', '.', a header), the
    table is read that way and a question with the alternatives is among the problems. Pass the settings of
    the remedy that was chosen to settle it. Surrounding blanks of a cell do not count, blank lines neither.
    A setting that a format does not have is not looked at. `skip_lines` is how many rows of a sheet stand above
    its table.

    Returns the table, or None after an error that leaves nothing to show, and the problems. The table must
    not be used while ``problems.blocking`` is not empty. A file that cannot be opened raises OSError.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ValueError(f"separator must be one character, not a quote or a line end; got {separator!r}")
    if decimal not in (None, ".", ",") or (decimal is not None and decimal == separator == "."):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}")
    found: list[Problem] = []
    try:
        content = _content(file, max_bytes)
        if content.startswith(_PARQUET):
            from .parquet import read_parquet

            return ReadResult(read_parquet(content, keep_row_numbers, max_columns, found), Problems(found))
        records: Records
        if foreign_format(content) == _WORKBOOK:
            from .workbook import Sheet

            records = Sheet(content, found, skip_lines, max_columns)
        else:
            records = TextFile(content, found, encoding, separator, max_columns)
        settings = _settled(records, decimal, header, keep_row_numbers, found)
        table = RecordReader(settings, skip_ragged, max_columns, found).read(records.chunks(settings.decimal))
    except ReadFailed as failure:
        return ReadResult(None, Problems([*found, failure.problem]))
    return ReadResult(table, Problems(found))


def is_quick(content: bytes) -> bool:
    """Whether it is so short a text that the worst of its length was seen to take two tenths of a second."""
    return len(content) <= QUICK_BYTES and not is_gzip(content) and _is_text(content)


def _is_text(content: bytes) -> bool:
    return not content.startswith(_PARQUET) and foreign_format(content) is None


def _content(file: Source, max_bytes: int) -> bytes:
    """The file's bytes, unpacked; a ReadFailed for what no reader is for."""
    content = read_bytes(file, max_bytes)
    if isinstance(content, Problem):
        raise ReadFailed(content)
    if is_gzip(content):
        content = unpacked(content)
        if not _is_text(content):
            inside = "a Parquet file" if content.startswith(_PARQUET) else foreign_format(content)
            raise ReadFailed(problems.not_csv(f"a gzip archive with {inside} in it"))
        return content
    other = None if content.startswith(_PARQUET) else foreign_format(content)
    if other not in (None, _WORKBOOK):
        raise ReadFailed(problems.not_csv(str(other)))
    return content


def _settled(
    records: Records, decimal: str | None, header: bool | None, keep_row_numbers: bool, found: list[Problem]
) -> Settings:
    """Decimal sign and header, asked for where they are not the plain ones."""
    example = decimal_comma_example(records.sample) if decimal is None else None
    decimal = decimal or ("," if example else ".")
    if example:
        found.append(problems.decimal_comma(example))
    has_header = header if header is not None else not (records.sample and first_row_is_data(records.sample, decimal))
    if header is None and not has_header:
        found.append(problems.no_header())
    return Settings(records.format, records.encoding, records.separator, decimal, has_header, keep_row_numbers)
