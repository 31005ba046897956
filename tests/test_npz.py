"""A .npz from anywhere: its arrays or a ValueError, never a pickle, never more memory than the file deserves."""

import io
import json
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arml_core.jobs.errors import DamagedFile
from arml_core.jobs.files import read_arrays
from arml_core.learners.storage import load_metric, save_metric
from arml_core.npz import TooLarge, read_npz
from arml_core.results import read_results, shipped, write_results

LIMIT = 2**20
PEAK = 12 * 2**20
"""What a loader may take for a file of a few kilobytes: its own buffers and the limit it states, a few times."""
ARRAYS = {
    "matrix": np.arange(12.0).reshape(3, 4),
    "turned": np.asfortranarray(np.arange(12).reshape(3, 4)),
    "text": np.array(["a", "äöü", ""]),
    "none": np.empty((0, 5)),
    "one": np.array(7),
    "truth": np.array([True, False]),
}


class Trap:
    """Says so if it is ever unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("unpickled",))


def member(descr: str = "<f8", shape: str = "(2, 2)", content: bytes = bytes(32)) -> bytes:
    """The bytes of a .npy with a header of one's own."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def archive(members: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def packed(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def test_what_numpy_writes_is_read_as_numpy_reads_it() -> None:
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **ARRAYS)
        found = read_npz(buffer, LIMIT)
        assert list(found) == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
            assert found[name].flags.writeable
            assert found[name].flags.f_contiguous == array.flags.f_contiguous


OBJECTS = b"\x93NUMPY\x01\x00" + (lambda h: len(h).to_bytes(2, "little") + h)(
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
)
HOSTILE = {
    "objects": (archive({"M.npy": OBJECTS + pickle.dumps([Trap()])}), "Python objects"),
    "objects in a structure": (archive({"M.npy": member("[('a', '|O')]", "(1,)")}), "Python objects"),
    "a bare pickle": (pickle.dumps(Trap()), "not a .npz"),
    "a member that is no array": (archive({"readme.txt": b"hello"}), "'readme.txt' is no array"),
    "names like paths": (archive({"../../etc/passwd": b"x", "C:\\x.npy": b"x", "/M.npy": b""}), "no array"),
    "a huge shape": (archive({"M.npy": member("'<f8'", "(1000000, 1000000)")}), "declares the shape"),
    "a shape beyond every integer": (archive({"M.npy": member("'<f8'", f"(1{'0' * 60},)")}), "declares the shape"),
    "nothing, many times": (archive({"M.npy": member("'<U0'", f"(1{'0' * 15},)")}), "declares the shape"),
    "a negative shape": (archive({"M.npy": member("'<f8'", "(-1, 4)")}), "declares the shape"),
    "a shape that is none": (archive({"M.npy": member("'<f8'", "('a',)")}), "no array"),
    "a truth value in a shape": (archive({"M.npy": member("'<f8'", "(True, 4)")}), "no array"),
    "no rows of a length beyond every integer": (
        archive({"M.npy": member("'<f8'", f"(0, 1{'0' * 60})", b"")}),
        "declares the shape",
    ),
    "a hundred axes": (archive({"M.npy": member("'<f8'", f"({'1, ' * 100})", bytes(8))}), "no array"),
    "more than its shape": (archive({"M.npy": member("'<f8'", "(2,)")}), "goes on after"),
    "a header of brackets": (archive({"M.npy": member("(" * 4000)}), "no array"),
    "a header that is an open string": (archive({"M.npy": member("'''")}), "no array"),
    "a header that cannot be a dictionary": (archive({"M.npy": member("{[]: 1}")}), "no array"),
    "a bomb": (packed(M=np.zeros(20 * LIMIT)), "unpacks to 160 MB"),
    "many small bombs": (archive({f"{i}.npy": bytes(LIMIT) for i in range(30)}), "unpacks to 30 MB"),
}


def assert_refused_in_bounded_memory(content: bytes, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words):
            read_npz(io.BytesIO(content), LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * LIMIT


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_in_words_and_in_bounded_memory(name: str) -> None:
    content, words = HOSTILE[name]
    assert_refused_in_bounded_memory(content, words)


def test_a_packed_member_that_understates_its_size_is_not_unpacked_beyond_it() -> None:
    whole = bytearray(packed(M=np.zeros((1000, 1000))))
    size = (8_000_000 + 128).to_bytes(4, "little")
    assert whole.count(size) >= 1
    lying = bytes(whole).replace(size, (1128).to_bytes(4, "little"))
    assert_refused_in_bounded_memory(lying, r"damaged|declares the shape")


def test_an_encrypted_or_strangely_packed_member_is_refused() -> None:
    content = bytearray(archive({"M.npy": member("'<f8'")}, zipfile.ZIP_STORED))
    central = content.rindex(b"PK\x01\x02")
    encrypted, strange = bytearray(content), bytearray(content)
    encrypted[6], encrypted[central + 8] = 1, 1
    strange[8], strange[central + 10] = 99, 99
    for damaged in (encrypted, strange):
        with pytest.raises(ValueError, match="damaged"):
            read_npz(io.BytesIO(bytes(damaged)), LIMIT)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "none.npz", LIMIT)


def test_the_size_is_told_with_the_limit() -> None:
    with pytest.raises(TooLarge, match="at most 1 MB") as told:
        read_npz(io.BytesIO(packed(M=np.zeros(LIMIT))), LIMIT)
    assert told.value.size > 8 * LIMIT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("npz")


def valid_files(folder: Path) -> dict[str, bytes]:
    """A file of each kind that the program reads."""
    save_metric(folder / "metric.npz", np.diag([1.0, 2.0, 3.0]))
    write_results(folder / "results.npz", shipped()[:1])
    np.savez(folder / "job.npz", components=np.eye(3), n_iter=np.array(4), title=np.array("x"))
    np.savez_compressed(folder / "plain.npz", M=np.eye(3))
    (folder / "plain.csv").write_text("1,0.5,0\n0.5,1,0\n0,0,2\n")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


LOADERS: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
    "metric.npz": (lambda path: load_metric(path, 3), ValueError),
    "plain.npz": (lambda path: load_metric(path, 3), ValueError),
    "plain.csv": (lambda path: load_metric(path, 3), ValueError),
    "results.npz": (read_results, ValueError),
    "job.npz": (read_arrays, DamagedFile),
}
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "drop", "put", "repeat"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=20) | st.sampled_from([b"\x00" * 8, b"\xff" * 8, b"PK\x01\x02", b'"', b"1e999"]),
    ),
    min_size=1,
    max_size=4,
)


def changed(content: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    for what, place, put in changes:
        at, n = int(place * len(content)), len(put)
        if what == "flip" and content:
            content = content[:at] + bytes([content[at] ^ (put[0] or 1)]) + content[at + 1 :]
        elif what == "cut":
            content = content[:at]
        elif what == "drop":
            content = content[:at] + content[at + n :]
        elif what == "put":
            content = content[:at] + put + content[at + n :]
        elif what == "repeat":
            content = content[:at] + content[at : at + 10 * n] * 3 + content[at:]
    return content


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", LOADERS)
@given(CHANGES)
def test_a_damaged_file_is_read_or_refused(folder: Path, kind: str, changes: list[tuple[str, float, bytes]]) -> None:
    content = changed(_valid(folder)[kind], changes)
    load_or_refuse(folder, kind, content)


HEADERS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}}}".format,
        st.sampled_from(
            ["'<f8'", "'|O'", "'<U3'", "'<U0'", "'|V0'", "'<M8[s]'", "'<c16'", "[('a', '<f8')]", "'('", "1"]
        )
        | st.text(max_size=6).map(repr),
        st.sampled_from(["True", "False", "1", "[]"]),
        st.lists(st.integers(-2, 10**12), max_size=4).map(tuple).map(repr) | st.text(max_size=6).map(repr),
    ),
)
NAMES = st.sampled_from(
    ["components.npy", "info.npy", "M.npy", "about.npy", "0.lower.npy", "../../x.npy", "C:\\con.npy", "a/" * 100]
) | st.text(max_size=8)


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", ["metric.npz", "results.npz", "job.npz"])
@given(
    st.dictionaries(
        NAMES, st.tuples(st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00"]), HEADERS, st.binary(max_size=80)),
        max_size=4,
    ),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]),
)  # fmt: skip
def test_a_forged_archive_is_read_or_refused(
    folder: Path, kind: str, members: dict[str, tuple[bytes, str, bytes]], packing: int
) -> None:
    forged = {}
    for name, (version, header, content) in members.items():
        text = header.encode("utf-8", "ignore")
        length = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
        forged[name.replace("\x00", "") or "x"] = b"\x93NUMPY" + version + length + text + content
    load_or_refuse(folder, kind, archive(forged, packing))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.fuzz
@given(st.sampled_from(["format", "format_version", "evaluations", "threat", "points", "made", "n_neighbors"]), JSON)
@example("format", "[" * 3000)
def test_a_description_of_anything_is_read_or_refused(folder: Path, name: str, value: Any) -> None:
    about = {"format": 1, "evaluations": [], name: value}
    text = value if name == "format" and isinstance(value, str) and value.startswith("[[") else json.dumps(about)
    raw = np.frombuffer(text.encode("utf-8", "ignore"), dtype=np.uint8)
    load_or_refuse(folder, "results.npz", packed(about=raw))
    info = json.dumps({"format": "arml-metric", "format_version": 1, name: value})
    for written in (info, text):
        load_or_refuse(folder, "metric.npz", packed(components=np.eye(3), info=np.array(written)))


@pytest.mark.fuzz
@given(st.lists(st.lists(st.sampled_from(["1", "0", "1e999", "-1", "nan", "", "=1", '"', "1;2", "\x00"])), max_size=5))
@example([["1"] * 5000])
@example([["1" * 200_000]])
@example([[",".join(["0"] * 3)] * 3])
def test_a_table_of_anything_is_a_metric_or_refused(folder: Path, rows: list[list[str]]) -> None:
    load_or_refuse(folder, "plain.csv", "\n".join(",".join(row) for row in rows).encode())


def test_a_wide_first_line_does_not_make_room_for_a_wide_matrix(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("," * 1_000_000 + "\n" + "1\n" * 500)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="line 1 has 1000001 values; a metric has one per feature, 600 at most"):
            load_metric(path, 600)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < PEAK
    path.write_text("1" * (LIMIT + LIMIT // 2))
    with pytest.raises(ValueError, match="it has 2 MB; that is too large for 3 features"):
        load_metric(path, 3)


_files: dict[Path, dict[str, bytes]] = {}


def _valid(folder: Path) -> dict[str, bytes]:
    if folder not in _files:
        _files[folder] = valid_files(folder)
    return _files[folder]


def load_or_refuse(folder: Path, kind: str, content: bytes) -> None:
    path = folder / f"fuzzed-{kind}"
    path.write_bytes(content)
    load, refusal = LOADERS[kind]
    told = "nothing to tell"
    tracemalloc.start()
    try:
        load(path)
    except refusal as error:
        told = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 0 < len(told) < 1000
    assert peak < PEAK + 4 * len(content)


@pytest.mark.parametrize(
    "arrays",
    [
        {"M": np.eye(2), "x" * 60_000: np.eye(2), "y" * 60_000: np.eye(2), "z" * 60_000: np.eye(2)},
        {
            "components": np.eye(2),
            "info": np.array(f'{{"format": "arml-metric", "format_version": "{"9" * 200_000}", "version": "1"}}'),
        },
        {
            "components": np.eye(2),
            "info": np.array(f'{{"format": "arml-metric", "format_version": 99, "version": "{"9" * 200_000}"}}'),
        },
        {"M": np.array([["a" * 50_000, "b"], ["c", "d"]])},
    ],
)
def test_an_error_tells_only_the_beginning_of_a_foreign_text(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "metric.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"metric\.npz: ") as told:
        load_metric(path)
    assert len(str(told.value)) < 1000 + len(str(path))
