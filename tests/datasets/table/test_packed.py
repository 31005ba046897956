"""Text in a gzip archive: the same table, and nothing that unpacks to more than is allowed."""

import gzip
import io
import tracemalloc

import pytest

from arml_core.datasets.table import read_table
from arml_core.datasets.table.limits import MAX_UNPACKED
from arml_core.datasets.table.packed import unpacked
from arml_core.datasets.table.table import ReadFailed
from tests.datasets.table.files import parquet, workbook

TEXT = b"x1,label\n1,a\n2,b\n"


def compressed(content: bytes) -> bytes:
    """The same bytes at any time: tests that are named by them have the same names in every process."""
    return gzip.compress(content, mtime=0)


def said(content: bytes) -> str:
    table, found = read_table(content)
    assert table is None
    (problem,) = found
    assert problem.severity == "error"
    assert problem.remedies
    return problem.message


def test_packed_text_is_the_text() -> None:
    table, found = read_table(gzip.compress(TEXT))
    assert table is not None
    assert not found
    assert table.column("x1").values.tolist() == [1, 2]
    padded = gzip.compress(TEXT) + bytes(512)  # as a tape leaves it
    assert read_table(padded).table is not None


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(130):
            file.write(bytes(2**20))
    assert len(packed.getvalue()) < 2**18
    assert said(packed.getvalue()) == "The file unpacks to more than 100 MB; the limit is 100 MB."
    assert MAX_UNPACKED == 100 * 2**20
    tracemalloc.start()
    with pytest.raises(ReadFailed, match="more than 1 MB; the limit is 1 MB"):
        unpacked(packed.getvalue(), 2**20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (compressed(TEXT)[:-9], "This gzip archive cannot be read: it is damaged, or not what it seems (it is cut"),
        (b"\x1f\x8b\x08\x00", "(it is cut short)"),
        (b"\x1f\x8b\xff\xff" + bytes(30), "This gzip archive cannot be read"),
        (compressed(TEXT) + compressed(TEXT), "goes on after its first file"),
        (compressed(compressed(TEXT)), "This is a gzip archive with another gzip archive in it, not CSV."),
        (compressed(b"%PDF-1.7"), "This is a gzip archive with a PDF file in it, not CSV."),
        (compressed(workbook([["x", "y"], [1, 2]])), "a gzip archive with an Excel file in it"),
        (compressed(parquet({"x": [1, 2]})), "a gzip archive with a Parquet file in it"),
        (compressed(b""), "The file is empty."),
    ],
)
def test_what_is_no_packed_text_is_told(content: bytes, words: str) -> None:
    assert words in said(content)
