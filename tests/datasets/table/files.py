"""Files in the formats that are read, and parts of files that nobody should have written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl import Workbook


def workbook(*sheets: Sequence[Sequence[Any]], names: Iterable[str] = (), change: Callable[[Any], None] | None = None):
    """A workbook with these sheets; `change` gets it before it is saved."""
    book = Workbook()
    book.remove(book.active)
    titles = [*names, *(f"Sheet{k}" for k in range(9))]
    for title, rows in zip(titles, sheets, strict=False):
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    if change is not None:
        change(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def with_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same archive with one part changed, or added where it is not there."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, change(old.read(part)) if part == name else old.read(part))
        if name not in old.namelist():
            new.writestr(name, change(b""))
    return buffer.getvalue()


def parquet(data: Any, **options: Any) -> bytes:
    """A Parquet file of a dict of columns, a frame or an Arrow table."""
    table = pa.table(data) if isinstance(data, dict) else data
    table = pa.Table.from_pandas(table, preserve_index=False) if isinstance(table, pd.DataFrame) else table
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()
