"""Reading in a process of its own: the same answer, real limits, and nothing left behind."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from arml_core.datasets.table import ReadResult, read_apart, read_table, read_table_apart
from arml_core.datasets.table.read import QUICK_BYTES
from arml_core.datasets.table.transport import read_result, write_result
from tests.datasets.table.files import parquet, workbook

ROOT = Path(__file__).parents[3]
ROWS = b"".join(b"%d,%d.5,%s,name %d\n" % (k, k % 11, b"ab"[k % 2 :][:1], k) for k in range(30_000))
LONG = b"x1,x2,label,note\n" + ROWS
ENDLESS = b'x,"y"\n' + b'"1","2"\n' * (2**20)
"""A text that takes seconds to read."""


def is_same(a: ReadResult, b: ReadResult) -> None:
    assert list(a.problems) == list(b.problems)
    assert (a.table is None) == (b.table is None)
    if a.table is None or b.table is None:
        return
    for name in ("encoding", "separator", "decimal", "header", "format", "preview"):
        assert getattr(a.table, name) == getattr(b.table, name)
    np.testing.assert_array_equal(a.table.lines, b.table.lines)
    for one, other in zip(a.table.columns, b.table.columns, strict=True):
        assert (one.name, one.texts, one.first_text) == (other.name, other.texts, other.first_text)
        for part in ("values", "kinds", "codes"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


SOURCES = {
    "text": LONG,
    "ragged": LONG + b"1,2\n",
    "gzip": gzip.compress(LONG),
    "workbook": workbook([["x", "label"], [1, "a"], [2, "=b"]]),
    "parquet": parquet({"x": [1, None], "label": ["ä", "\U0001f427"]}),
    "no table": gzip.compress(b""),
    "encoding": "größe,label\n".encode("cp1252") + b"1,a\n" * (QUICK_BYTES // 4),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_answer_is_that_of_the_reader(name: str) -> None:
    assert len(SOURCES[name]) > QUICK_BYTES or not SOURCES[name][:1].isalpha() or name in ("workbook", "parquet")
    is_same(read_table_apart(SOURCES[name]), read_table(SOURCES[name]))


@pytest.mark.parametrize("name", SOURCES)
def test_a_result_survives_the_way_between_two_processes(name: str) -> None:
    buffer, result = io.BytesIO(), read_table(SOURCES[name])
    write_result(result, buffer)
    is_same(read_result(buffer, 2**28), result)


def test_options_and_remedies_arrive() -> None:
    content = LONG.replace(b",", b";") + b"1;2\n"
    _, found = read_table_apart(content)
    assert found.of("separator")[0].remedies[0].apply({}) == {"separator": ";"}
    _, found = read_table_apart(content, separator=";")
    options: dict[str, Any] = found.of("ragged")[0].remedies[-1].apply({"separator": ";"})
    assert options == {"separator": ";", "skip_ragged": True}
    is_same(read_table_apart(content, **options), read_table(content, **options))
    with pytest.raises(ValueError, match="there is no text encoding 'zip'"):
        read_table_apart(LONG, encoding="zip")
    assert read_table_apart(LONG, max_bytes=100).problems[0].kind == "too_large"


def test_short_text_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert read_table_apart(b"x,label\n1,a\n2,b\n").table is not None


@pytest.fixture
def children_and_files():
    """Nothing may be left: no process, no file in the folder for temporary ones."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    after = {process.pid for process in psutil.Process().children(recursive=True)}
    assert after <= before


@pytest.mark.usefixtures("children_and_files")
def test_what_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table, found = read_table_apart(ENDLESS * 5, seconds=0.5)
    assert table is None
    (problem,) = found
    assert problem.kind == "too_slow"
    assert problem.message.startswith("Reading this file took longer than")
    assert problem.remedies
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("children_and_files")
def test_what_takes_too_much_memory_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table, found = read_table_apart(ENDLESS * 2, memory=24 * 2**20, seconds=60)
    assert table is None
    assert found[0].message == "Reading this file took more than 24 MB of memory and was stopped."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("children_and_files")
def test_the_watch_alone_stops_it_where_the_system_has_no_limits() -> None:
    code = "import time; held = bytearray(200 * 2**20); time.sleep(600)"
    for seconds, memory, kind in ((60.0, 100 * 2**20, "too_much_memory"), (0.2, 2**40, "too_slow")):
        child = subprocess.Popen([sys.executable, "-c", code])
        problem = read_apart._watch(child, seconds, memory)
        child.kill()
        child.wait()
        assert problem is not None
        assert problem.kind == kind


def test_a_reader_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: real([sys.executable, "-c", "import os; os.abort()"], **options)
    )
    _, found = read_table_apart(LONG)
    assert found[0].message == ("The process that read this file ended before it was done. The file may be damaged.")


@pytest.mark.skipif(os.name != "posix", reason="limits of the system")
def test_the_child_ends_by_itself_when_nobody_watches() -> None:
    question = b'{"seconds": 0.2, "memory": 1000000000, "options": {}}\n' + ENDLESS * 5
    child = subprocess.run(
        [sys.executable, "-m", "arml_core.datasets.table.read_child"], input=question, cwd=ROOT, capture_output=True
    )
    assert child.returncode < 0


def test_the_child_loads_neither_torch_nor_the_dashboard() -> None:
    code = "import sys, arml_core.datasets.table.read_child; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "streamlit", "sklearn", "scipy", "pandas", "numba"} & set(done.stdout.split())


HOSTILE = {
    "empty lines": b"\n" * 2**20,
    "empty lines below a table": b"a,b\n1,2\n" + b"\n" * 2**20,
    "quotes": b'"' * 2**20,
    "pairs of quotes": b'""\n' * 2**18,
    "one endless line": b"x" * 2**20,
    "commas": b"," * 2**20,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end_with_a_sentence(name: str) -> None:
    table, found = read_table_apart(HOSTILE[name] * 8 if "below" not in name else HOSTILE[name])
    assert (table is not None and table.lines.tolist() == [2]) or found.blocking[0].message
