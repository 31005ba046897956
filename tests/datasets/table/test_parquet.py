"""Parquet files: the same columns as from text, limits before data, and what has no cells."""

import datetime
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arml_core.datasets.table import Table, read_table, select
from arml_core.datasets.table import parquet as parquet_module
from arml_core.datasets.table.limits import MAX_CELLS
from tests.datasets.table.files import parquet


def table_of(content: bytes, **options: Any) -> Table:
    table, found = read_table(content, **options)
    assert table is not None, found
    assert not found.blocking, found
    return table


def refused(content: bytes) -> str:
    table, found = read_table(content)
    assert table is None
    assert found[0].severity == "error"
    assert found[0].remedies
    return found[0].message


@pytest.mark.parametrize("n", [3, 9_000])
def test_columns_are_those_of_the_text(n: int) -> None:
    rng = np.random.default_rng(0)
    data = {
        "real": rng.normal(size=n),
        "whole": np.arange(n) % 7,
        "flag": np.arange(n) % 2 == 0,
        "name": [None if k % 5 == 4 else f"n{k % 3}" for k in range(n)],
        "free": [f" text {k} " for k in range(n)],
    }
    content = parquet(data, row_group_size=max(n // 3, 1))
    lines = (
        "".join(f"{r!r},{w},{f},{'' if s is None else s},{t}\n" for r, w, f, s, t in zip(*data.values(), strict=True))
        .replace("np.float64(", "")
        .replace("),", ",")
    )
    text = table_of((",".join(data) + "\n" + lines).encode())
    table, found = read_table(content)
    assert table is not None
    assert [problem.message for problem in found] == ["Read as a Parquet file. Lines are its rows, counted from 1."]
    assert table.lines.tolist() == list(range(1, n + 1))
    assert table.preview == text.preview
    for a, b in zip(table.columns, text.columns, strict=True):
        assert (a.name, a.texts, a.first_text) == (b.name, b.texts, b.first_text)
        np.testing.assert_array_equal(a.values, b.values)
        np.testing.assert_array_equal(a.kinds, b.kinds)
        np.testing.assert_array_equal(a.codes, b.codes)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([1.0, None, float("nan"), float("inf")]), ("1", "", "nan", "inf")),
        (pa.array([2**63, 1], pa.uint64()), ("9223372036854775808", "1")),
        (pa.array([Decimal("1.50"), None]), ("1.50", "")),
        (pa.array([datetime.date(2026, 11, 18)]), ("2026-11-18",)),
        (pa.array([datetime.datetime(2026, 11, 18)]), ("2026-11-18",)),
        (pa.array([datetime.datetime(2026, 11, 18, 20, 6)]), ("2026-11-18 20:06:00",)),
        (
            pa.array([datetime.datetime(2026, 11, 18, 20, 6)], pa.timestamp("ns", "Europe/Berlin")),
            ("2026-11-18 20:06:00",),
        ),
        (pa.array([True, False, None]), ("True", "False", "")),
        (pa.array(["a", None, "b"]).dictionary_encode(), ("a", "", "b")),
        (pa.array([3, 4, 3]).dictionary_encode(), ("3", "4")),
        (pa.array([1.5], pa.float16()), ("1.5",)),
        (pa.array([0.1], pa.float32()), ("0.10000000149011612",)),
        (pa.nulls(2), ("",)),
        (pa.array(["=cmd()", "'-"]), ("=cmd()", "-")),
    ],
)
def test_cells_of_every_plain_type(values: Any, texts: tuple[str, ...]) -> None:
    column = table_of(parquet({"x": values, "y": list(range(10, 10 + len(values)))})).column("x")
    assert column.texts == texts


def test_missing_and_infinite_cells_are_told_with_their_rows() -> None:
    content = parquet({"x": [1.0, None, float("inf"), 4.0], "label": ["a", "b", "a", "b"]})
    _, found = select(table_of(content), label="label")
    assert {problem.kind: problem.lines for problem in found.blocking} == {"missing": (2,), "not_finite": (3,)}


def test_names() -> None:
    table, found = read_table(parquet(pa.table([[1, 2], [3, 4], [5, 6]], names=["größe.a", "", "=x"])))
    assert table is not None
    assert table.names == ("größe.a", "column 2", "=x")
    assert "Column 2 has no name" in found[1].message
    twice = pa.table([[1], [2]], names=["x", "x"])
    assert refused(parquet(twice)) == "Column x appears twice."


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array([[1], [2]]), "Column 'x' has lists or records in its cells"),
        (pa.array([{"a": 1}, {"a": 2}]), "Column 'x' has lists or records in its cells"),
        (pa.array([b"a", b"b"]), "Column 'x' has bytes in its cells"),
        (pa.array([b"a", b"b"], pa.binary(1)), "Column 'x' has bytes in its cells"),
    ],
)
def test_what_has_no_cells_is_refused_in_words(values: Any, words: str) -> None:
    assert refused(parquet({"y": [1, 2], "x": values})).startswith(words)


def test_empty_tables() -> None:
    assert refused(parquet({"x": pa.array([], pa.int64())})) == "Found a header but no rows."
    assert refused(parquet(pa.table({}))) == "The file is empty."
    assert read_table(parquet({"x": [1, 2]})).problems.of("one_column")


def test_limits_are_held_before_data_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(parquet({f"c{k}": [1] for k in range(2_001)})) == "The file has 2,001 columns; the limit is 2,000."
    assert (
        refused(parquet({"x": np.arange(3_000)}, row_group_size=1)) == "The file is in 3,000 parts; the limit is 2,000."
    )
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", lambda *_, **__: pytest.fail("data were read"))
    many = parquet({"x": np.zeros(MAX_CELLS // 2 + 1, dtype=np.int8), "y": np.zeros(MAX_CELLS // 2 + 1, dtype=np.int8)})
    assert len(many) < 2**17
    assert refused(many) == "The file has 15,000,001 rows and 2 columns, 30,000,002 cells; the limit is 30,000,000."
    monkeypatch.setattr(parquet_module, "MAX_UNPACKED", 2**20)
    wide = parquet({"x": np.random.default_rng(0).normal(size=200_000)})
    assert refused(wide) == "The file unpacks to 1.8 MB; the limit is 1 MB."


def test_one_long_text_meant_a_million_times_takes_no_memory_a_million_times() -> None:
    codes = pa.array(np.zeros(1_000_000, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["long " * 20_000]))
    content = parquet({"x": column, "y": np.arange(1_000_000)}, store_schema=False)
    assert len(content) < 20 * 2**20
    assert table_of(content).column("x").texts == (("long " * 20_000).strip(),)
    endless = parquet({"x": ["long " * 40_000], "y": [1]})
    assert "more than 131,072 characters" in refused(endless)


def test_a_footer_that_claims_other_rows_is_refused() -> None:
    content = parquet({"x": [1, 2, 3], "y": [1, 2, 3]})
    (size,) = struct.unpack("<I", content[-8:-4])
    start = len(content) - 8 - size
    refusals = 0
    for k in range(start, len(content) - 8):  # every byte of the footer in turn, as a number that is far too large
        damaged = content[:k] + b"\xfe" + content[k + 1 :]
        table, found = read_table(damaged)
        refusals += table is None
        assert table is None or table.n_rows == 3
        assert table is not None or found.blocking[0].message
    assert refusals > 10


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1\x15\x04", b"PAR1" + bytes(100) + b"PAR1"])
def test_damage_is_told(content: bytes) -> None:
    assert refused(content).startswith("This Parquet file cannot be read: it is damaged")
    whole = parquet({"x": [1, 2], "y": [3, 4]})
    assert refused(whole[:-4]).startswith("This Parquet file cannot be read")


def test_without_the_package_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet({"x": [1, 2], "y": [3, 4]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    assert refused(content) == "Reading a Parquet file needs the Python package pyarrow, which is not installed here."
