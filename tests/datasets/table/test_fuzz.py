"""Whatever is packed, in a workbook or in Parquet: a table or a typed problem, never a traceback."""

import gzip
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arml_core.datasets.table import read_table, read_table_apart
from tests.datasets.table.files import parquet, with_part, workbook
from tests.datasets.test_fuzz import is_sound, look_at

pytestmark = pytest.mark.fuzz

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.sampled_from(["", "NA", "inf", "1,5", "=1+1", "'-", "#DIV/0!", "\ud83d\udc27", " ", "a\nb"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF), max_size=5),
)
SHEETS = st.lists(st.lists(CELLS, max_size=5), max_size=8)
PARTS = ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels"]
GOOD = {
    "gzip": gzip.compress(b"x1,x2,label\n" + b"1,2,a\n3,4,b\n" * 20),
    "workbook": workbook([["x1", "x2", "label"], [1, 2.5, "a"], [3, None, "b"]]),
    "parquet": parquet({"x1": [1, 2, None], "x2": [0.5, 1.5, 2.5], "label": ["a", "b", "a"]}),
}


def spoiled(content: bytes, places: list[tuple[float, int]]) -> bytes:
    """The content with some bytes changed; a place is a share of its length."""
    changed = bytearray(content)
    for share, byte in places:
        changed[min(int(share * len(changed)), len(changed) - 1)] = byte
    return bytes(changed)


@given(
    SHEETS,
    st.text(
        st.characters(exclude_characters="\\*?:/[]", min_codepoint=32, max_codepoint=0xD7FF), min_size=1, max_size=31
    ),
)
@example([["", "x"], [1, 2], [3, 4]], "=1")
def test_random_sheets(rows: list[list[Any]], name: str) -> None:
    try:
        content = workbook(rows, names=[name])
    except (ValueError, OverflowError):  # openpyxl does not write everything
        return
    look_at(content)
    look_at(content, decimal=",", header=False, skip_ragged=True, skip_lines=1)


@given(st.sampled_from(PARTS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_workbooks_with_damaged_parts(part: str, places: list[tuple[float, int]]) -> None:
    look_at(with_part(GOOD["workbook"], part, lambda xml: spoiled(xml, places)))


@given(
    st.sampled_from(["gzip", "workbook"]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_damaged_files(name: str, places: list[tuple[float, int]]) -> None:
    look_at(spoiled(GOOD[name], places))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=3), st.floats(0.1, 1))
def test_damaged_parquet_in_a_process_of_its_own(places: list[tuple[float, int]], kept: float) -> None:
    """Its reader is C++: what it does to its process is not for this one."""
    content = GOOD["parquet"]
    for damaged in (spoiled(content, places), content[: int(kept * len(content))]):
        table, found = read_table_apart(b"PAR1" + damaged[4:])
        is_sound(table, found)


@given(
    st.lists(
        st.tuples(st.integers() | st.none(), st.floats(), st.text(max_size=5) | st.none()), min_size=1, max_size=20
    )
)
def test_random_parquet(rows: list[tuple[Any, ...]]) -> None:
    small, reals, texts = (list(column) for column in zip(*rows, strict=True))
    try:
        content = parquet({"n": pa.array(small, pa.int64()), "x": reals, "label": texts})
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return
    look_at(content)


@given(st.binary(max_size=300), st.sampled_from([b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"PAR1", b""]))
def test_random_bytes_behind_every_magic(content: bytes, magic: bytes) -> None:
    look_at(magic + content)
    is_sound(*read_table(gzip.compress(content)))
