"""Whatever the bytes are: a table or a typed problem, never a traceback, and memory stays bounded."""

import bz2
import encodings.aliases
import io
import random
import tracemalloc
import zipfile
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arml_core.datasets.table import MAX_BYTES, Problem, Problems, Table, read_table, select
from arml_core.datasets.table.problems import Severity
from tests.more import more

pytestmark = pytest.mark.fuzz

ENCODINGS = sorted(set(encodings.aliases.aliases.values()) | {"idna", "punycode", "unicode_escape", "undefined", "x"})
LINE_ENDS = ["\n", "\r\n", "\r", "\n\n", " \n"]
SEPARATORS = [",", ";", "\t", "|"]
BOMS = [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"]
CELLS = st.one_of(
    st.floats().map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(
        ["", "NA", "inf", "1e400", "-1e999", "nan", "1,5", "abc", "=1+1", "'-", '"', '""', '"a', "x\x00y", " ", "\x1a"]
    ),
    st.text(max_size=5),
)


def is_sound(table: Table | None, found: Problems) -> None:
    """What every reading promises."""
    for problem in found:
        assert isinstance(problem, Problem)
        assert problem.severity in get_args(Severity)
        assert problem.message
        assert len(problem.message) < 2000
        assert all(line >= 1 for line in problem.lines)
        assert problem.severity == "note" or problem.remedies
    if table is None:
        assert found.blocking
        return
    assert len(set(table.names)) == len(table.names) >= 1
    assert (np.diff(table.lines) > 0).all()
    for column in table.columns:
        assert len(column.values) == len(column.kinds) == table.n_rows > 0
        assert np.isfinite(column.values[column.kinds == 0]).all()


def look_at(content: bytes, **options: Any) -> None:
    """Read, and select with every remedy that is offered, as a user would who says yes to everything."""
    reading: dict[str, Any] = dict(options)
    choosing: dict[str, Any] = {}
    for _ in range(25):
        table, found = read_table(content, **reading)
        is_sound(table, found)
        if table is None:
            return
        data, more = select(table, **choosing)
        is_sound(table, more)
        assert (data is None) == bool(more.blocking)
        open_questions = [*found.blocking, *more.blocking]
        if not open_questions:
            assert data is not None
            assert np.isfinite(data.raw).all()
            assert len(data.X) == len(data.lines) <= table.n_rows
            return
        remedy = next((r for problem in open_questions for r in problem.remedies if r.options), None)
        if remedy is None:
            return
        target = reading if remedy.step == "read" else choosing
        target.update(remedy.apply(target))


@given(st.binary(max_size=400), st.sampled_from(BOMS))
@example(b"\x80", b"")
@example(b"a,b\n\x81,2\n", b"")
@example(b"1", b"\xff\xfe\x00\x00")
@example(b"a\r\n\x85,b", b"")
def test_random_bytes(content: bytes, bom: bytes) -> None:
    look_at(bom + content)


@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16", "cp1252", "shift_jis", "utf-7"]))
@example("x\u2028,y\n1,2\u2028\n", "utf-8")
@example("a,b\n1,\x85\n", "utf-8")
def test_random_text_in_any_encoding(text: str, encoding: str) -> None:
    content = text.encode(encoding, "ignore")
    look_at(content)
    is_sound(*read_table(content, encoding=encoding))


@given(
    st.lists(st.lists(CELLS, max_size=5), max_size=8),
    st.sampled_from(SEPARATORS),
    st.sampled_from(LINE_ENDS),
    st.sampled_from(BOMS[:2]),
)
@example([["", ""], ["0.0", ""]], ",", "\n", b"")
@example([["", ""], ["", ""]], ",", "\n", b"")
def test_random_tables(rows: list[list[str]], separator: str, end: str, bom: bytes) -> None:
    content = bom + end.join(separator.join(row) for row in rows).encode("utf-8", "ignore")
    look_at(content)
    look_at(content, separator=separator, decimal=",", header=False, skip_ragged=True)


@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1, 1), st.sampled_from("ab")), min_size=2, max_size=30),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.randoms(use_true_random=False),
)
def test_a_well_formed_table_is_read_exactly(
    rows: list[tuple[float, float, str]], end: str, chance: random.Random
) -> None:
    ends = [chance.choice([end, "\n", "\r\n"]) for _ in rows]
    lines = [f"{x!r},{y!r},{label}{e}" for (x, y, label), e in zip(rows, ends, strict=True)]
    table, found = read_table(("first,second,label\n" + "".join(lines)).encode(), keep_row_numbers=True)
    assert table is not None
    assert not found
    assert table.lines.tolist() == list(range(2, len(rows) + 2))
    assert table.column("first").values.tolist() == [row[0] for row in rows]
    assert table.column("second").values.tolist() == [row[1] for row in rows]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"," * (5 * 2**20), "too_wide"),
        (b"a,b\n" + b'"' * (5 * 2**20), "quote"),
        (b'a,b\n1,"' + b"x\n" * (2 * 2**20), "quote"),
        (b"a,b\n" + b"1" * (5 * 2**20) + b",2\n", "quote"),
        (b"a;b\n" + b";" * (5 * 2**20), "ragged"),
        (b"\n" * (5 * 2**20), "empty"),
        (b"a,b\n" + b"1,2,3\n" * 2**17, "ragged"),
    ],
)
def test_hostile_shapes_are_refused_in_bounded_memory(content: bytes, kind: str) -> None:
    tracemalloc.start()
    _, found = read_table(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kind in [problem.kind for problem in found.blocking]
    assert peak < 60 * 2**20


@pytest.mark.parametrize(
    "line",
    [b"1.25,-3,7,a\n", *more(b"%d,%d,%d,b\n", b"1,2,3,label number %d of many %d and %d\n")],
    ids=["few", "many", "text"],
)
def test_memory_grows_with_the_file_and_no_faster(line: bytes) -> None:
    """Peak memory per byte of file, so that a file at the limit needs a known multiple of it."""
    rng = random.Random(0)
    filled = (line % tuple(rng.randrange(10**6) for _ in range(3)) if b"%" in line else line for _ in range(40_000))
    content = b"x1,x2,x3,label\n" + b"".join(filled)
    tracemalloc.start()
    table, _ = read_table(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table is not None
    assert table.n_rows == 40_000
    assert peak < 12 * len(content) + 10 * 2**20


@given(st.text(max_size=60) | st.binary(max_size=60), st.sampled_from(ENCODINGS))
def test_every_codec_is_a_text_encoding_or_refused(content: str | bytes, encoding: str) -> None:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        "".encode(encoding)
        known = encoding not in ("idna", "punycode", "raw_unicode_escape", "unicode_escape")
    except (LookupError, UnicodeError):
        known = False
    if known:
        is_sound(*read_table(raw, encoding=encoding))
    else:
        with pytest.raises(ValueError, match=f"there is no text encoding '{encoding}'"):
            read_table(b"a,b\n1,2\n", encoding=encoding)


def _zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", content)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [bz2.compress, _zipped])
def test_a_packed_bomb_is_named_and_not_unpacked(pack: Any) -> None:
    content = pack(bytes(20 * 2**20))
    tracemalloc.start()
    table, found = read_table(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table is None
    assert "archive" in found[0].message
    assert peak < 2**20


def test_the_size_limit_is_stated_in_bytes() -> None:
    assert MAX_BYTES == 50 * 1024 * 1024
