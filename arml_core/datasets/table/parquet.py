"""A Parquet file, column by column; what its footer says is held against the limits before any data are read."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...untrusted import shortened
from . import problems
from .cells import MISSING, NOT_FINITE, NUMBER, number_text
from .columns import MAX_TEXTS, Column, ColumnBuilder
from .finish import Settings, finished_table, names_of
from .limits import MAX_CELLS, MAX_CHARACTERS, MAX_PARTS, MAX_UNPACKED
from .problems import Problem
from .records import CHUNK_ROWS
from .table import PREVIEW_ROWS, ReadFailed, Table

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_NUMBERS = 100_000
"""Most measurements show here that they are too many for categories; sorting millions takes seconds."""
LONGEST_FOOTER_TEXT, MOST_FOOTER_ITEMS = 16 * 2**20, 1_000_000
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)(?: 00:00:00(?:\.0+)?Z?)?")
_NO_FRACTION = re.compile(r"(.*:\d\d)\.0+(Z?)")


def read_parquet(content: bytes, keep_row_numbers: bool, max_columns: int, found: list[Problem]) -> Table:
    """The table in a Parquet file; its rows are numbered from 1."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ReadFailed(problems.missing_package("a Parquet file", "pyarrow")) from error
    try:
        file = _opened(ParquetFile, content)
        _check_size(file.metadata, max_columns)
        _check_types(file.schema_arrow)
        names = list(file.schema_arrow.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ReadFailed(problems.duplicate_column(twice, names.count(twice)))
        found.append(problems.read_as_parquet())
        unique = names_of(names, len(names), found)
        columns, previews = [], []
        for name, shown in zip(names, unique, strict=True):
            values = file.read(columns=[name], use_threads=False).column(0)
            if len(values) != file.metadata.num_rows:
                raise ReadFailed(problems.damaged("Parquet file", f"column {shortened(name, 40)} is cut short"))
            columns.append(column_of(shown, values))
            previews.append([text.strip() for cells in cell_chunks(values.slice(0, PREVIEW_ROWS)) for text in cells])
    except (ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, MemoryError):
            raise
        raise ReadFailed(problems.damaged("Parquet file", shortened(error, 120))) from error
    lines = np.arange(1, file.metadata.num_rows + 1, dtype=np.intp)
    preview = list(zip(*previews, strict=True))
    settings = Settings("parquet", keep_row_numbers=keep_row_numbers)
    return finished_table(columns, names, lines, preview, settings, found)


def column_of(name: str, values: pa.ChunkedArray) -> Column:
    """One column: numbers as they are, everything else by its text."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type) and _is_number(values.type.value_type):
        values = values.cast(values.type.value_type)
    if _is_number(values.type):
        return _number_column(name, values)
    builder = ColumnBuilder(name, ".")
    for cells in cell_chunks(values):
        builder.extend(cells)
    return builder.build()


def cell_chunks(values: pa.ChunkedArray) -> Iterator[list[str]]:
    """The cells as texts by chunks; equal ones are one object, so that few long texts stay few."""
    import pyarrow as pa

    for piece in values.chunks:
        encoded = piece if pa.types.is_dictionary(piece.type) else piece.dictionary_encode()
        texts = [*_texts(encoded.dictionary), ""]
        if max(map(len, texts)) > MAX_CHARACTERS:
            raise ReadFailed(problems.huge_value(1, MAX_CHARACTERS))
        codes = encoded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        for start in range(0, len(codes), CHUNK_ROWS):
            yield [texts[code] for code in codes[start : start + CHUNK_ROWS].tolist()]


def _opened(parquet_file: Any, content: bytes) -> Any:
    """The file, its texts left as codes: a text that is written once and meant a million times stays one."""
    import pyarrow as pa

    bounds = {"thrift_string_size_limit": LONGEST_FOOTER_TEXT, "thrift_container_size_limit": MOST_FOOTER_ITEMS}
    file = parquet_file(io.BytesIO(content), **bounds)
    texts = [f.name for f in file.schema_arrow if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    return parquet_file(io.BytesIO(content), read_dictionary=texts, **bounds) if texts else file


def _check_size(footer: Any, max_columns: int) -> None:
    if footer.num_columns > max_columns:
        raise ReadFailed(problems.too_wide(footer.num_columns, max_columns))
    if footer.num_columns == 0 or footer.num_rows == 0:
        raise ReadFailed(problems.empty_file() if footer.num_columns == 0 else problems.header_only())
    if footer.num_rows < 0 or footer.num_row_groups < 0:
        raise ReadFailed(problems.damaged("Parquet file", f"it claims to have {footer.num_rows} rows"))
    if footer.num_rows * footer.num_columns > MAX_CELLS:
        raise ReadFailed(problems.too_many_cells(footer.num_rows, footer.num_columns, MAX_CELLS))
    if footer.num_row_groups > MAX_PARTS:
        raise ReadFailed(problems.too_many_parts(footer.num_row_groups, MAX_PARTS))
    groups = [footer.row_group(k) for k in range(footer.num_row_groups)]
    if sum(group.num_rows for group in groups) != footer.num_rows:
        raise ReadFailed(problems.damaged("Parquet file", "its row groups have another number of rows than the file"))
    chunks = [group.column(k) for group in groups for k in range(group.num_columns)]
    size = sum(chunk.total_uncompressed_size for chunk in chunks)
    if size > MAX_UNPACKED:
        raise ReadFailed(problems.unpacks_to_too_much(size, MAX_UNPACKED))


def _check_types(schema: Any) -> None:
    import pyarrow as pa

    for field in schema:
        if pa.types.is_nested(field.type):
            raise ReadFailed(problems.no_cells(field.name, "lists or records in its cells"))
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            raise ReadFailed(problems.no_cells(field.name, "bytes in its cells, neither numbers nor text"))
        if pa.types.is_fixed_size_binary(field.type):
            raise ReadFailed(problems.no_cells(field.name, "bytes in its cells, neither numbers nor text"))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _number_column(name: str, values: pa.ChunkedArray) -> Column:
    import pyarrow as pa

    missing = values.is_null().to_numpy().astype(bool)
    floats = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    kinds = np.where(missing, MISSING, np.where(np.isfinite(floats), NUMBER, NOT_FINITE)).astype(np.int8)
    if any(len(np.unique(floats[:n])) > MAX_TEXTS for n in (FIRST_NUMBERS, len(floats))):
        return Column(name, floats, kinds, None, None, None)
    builder = ColumnBuilder(name, ".")
    for cells in cell_chunks(values):
        builder.extend(cells)
    coded = builder.build()
    return Column(name, floats, kinds, coded.texts, coded.codes, None)


def _texts(values: Any) -> list[str]:
    """The different values of a column as texts."""
    import pyarrow as pa

    if _is_number(values.type):
        numbers = values.cast(pa.float64()) if pa.types.is_floating(values.type) else values
        return [number_text(value) for value in numbers.to_pylist()]
    if pa.types.is_boolean(values.type):
        return [str(value) for value in values.to_pylist()]
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit))
    texts = [text or "" for text in values.cast(pa.string()).to_pylist()]
    return [_tidy(text) for text in texts] if pa.types.is_timestamp(values.type) else texts


def _tidy(moment: str) -> str:
    """A moment without a time that is midnight, and without a fraction that is zero."""
    midnight = _MIDNIGHT.fullmatch(moment)
    return midnight[1] if midnight else _NO_FRACTION.sub(r"\1\2", moment)
