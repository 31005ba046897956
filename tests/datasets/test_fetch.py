"""Downloads against a local server that is slow, breaks off, lies, or says no."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arml_core.datasets import fetch as fetch_module
from arml_core.datasets import load_dataset
from arml_core.datasets.fetch import DownloadError, fetch
from arml_core.datasets.formats import build_archive, parse_idx
from arml_core.datasets.paper import read_archive
from arml_core.datasets.paper_sets import PAPER_SETS, PaperSet
from arml_core.errors import Cancelled

from .server import Server, bzipped, idx, libsvm, serving
from .tiny import ARCHIVE, FILES, RNG, TEST


def test_a_download_gives_the_arrays_that_were_published(known: PaperSet, tmp_path: Path) -> None:
    path = fetch(known, tmp_path)
    assert path == tmp_path / "pendigits.npz"
    assert [entry.name for entry in tmp_path.iterdir()] == ["pendigits.npz"]
    archive = read_archive(path, known)
    for key, expected in ARCHIVE.items():
        assert archive[key].dtype == expected.dtype
        np.testing.assert_array_equal(archive[key], expected)


def test_a_slow_server_is_waited_for_and_progress_grows_to_the_end(
    known: PaperSet, server: Server, tmp_path: Path
) -> None:
    server.misbehave = "slow"
    seen: list[tuple[int, int, str]] = []
    fetch(known, tmp_path, callback=lambda done, total, info: seen.append((done, total, info["file"])))
    done = [entry[0] for entry in seen]
    assert done == sorted(done)
    assert len(set(done)) > 4
    assert seen[-1][0] == seen[-1][1] == sum(len(content) for content in FILES.values())
    assert {entry[2] for entry in seen} == set(FILES)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("breaks off", "pendigits broke off in the middle"),
        ("hangs up", "pendigits broke off"),
        ("wrong bytes", "pendigits is not the file that was published (its sha256 differs)"),
        ("says 404", "pendigits answered 404"),
        ("stalls", "pendigits stopped answering for 0.3 seconds"),
        ("never ends", "pendigits is far larger than the published file; stopped"),
    ],
)
def test_a_failed_download_leaves_nothing_and_says_why(
    known: PaperSet, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, words: str
) -> None:
    monkeypatch.setattr(fetch_module, "READ_TIMEOUT", 0.3)
    server.misbehave = how
    with pytest.raises(DownloadError) as caught:
        fetch(known, tmp_path)
    assert str(caught.value).startswith("Pendigits could not be downloaded: ")
    assert words in str(caught.value)
    assert f"Nothing was kept. Try again later, or: Put pendigits.npz into {tmp_path}." in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_download_keeps_the_good_file_that_is_there(known: PaperSet, server: Server, tmp_path: Path) -> None:
    before = fetch(known, tmp_path).read_bytes()
    server.misbehave = "breaks off"
    with pytest.raises(DownloadError):
        fetch(known, tmp_path)
    assert (tmp_path / "pendigits.npz").read_bytes() == before


def test_offline_is_said_in_plain_words(known: PaperSet, tmp_path: Path) -> None:
    with serving({}) as gone:
        nowhere = gone.url
    with pytest.raises(DownloadError) as caught:
        fetch(replace(known, mirrors=(nowhere,)), tmp_path / "cache", place=tmp_path)
    assert str(caught.value) == (
        f"Pendigits is not on this machine and there is no network. Put pendigits.npz into {tmp_path}."
    )
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_second_mirror_helps_when_the_first_is_down(known: PaperSet, server: Server, tmp_path: Path) -> None:
    with serving({}) as empty:
        fetch(replace(known, mirrors=(empty.url, server.url)), tmp_path)
        assert empty.requests == ["pendigits", "pendigits.t"]
    assert server.requests == ["pendigits", "pendigits.t"]


def test_other_data_is_refused_even_without_a_checksum_of_the_file(
    known: PaperSet, server: Server, tmp_path: Path
) -> None:
    unchecked = replace(known, files=tuple(replace(file, sha256=None) for file in known.files))
    fetch(unchecked, tmp_path / "good")
    server.files["pendigits.t"] = libsvm(TEST[::-1], np.arange(200) % 10)
    with pytest.raises(DownloadError, match="are not the data that was published"):
        fetch(unchecked, tmp_path / "bad")
    server.files["pendigits.t"] = b"<html>Please log in</html>"
    with pytest.raises(DownloadError, match="are damaged"):
        fetch(unchecked, tmp_path / "bad")
    assert list((tmp_path / "bad").iterdir()) == []


def test_cancelling_passes_through_and_leaves_nothing(known: PaperSet, server: Server, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        fetch(known, tmp_path, callback=stop)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_behind_is_swept_away(known: PaperSet, tmp_path: Path) -> None:
    old, fresh = tmp_path / ".pendigits-old", tmp_path / ".pendigits-fresh"
    for folder in (old, fresh):
        folder.mkdir()
        (folder / "pendigits").write_bytes(b"half a file")
    os.utime(old, (0, 0))
    fetch(known, tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".pendigits-fresh", "pendigits.npz"]


def test_the_same_set_from_data_folder_cache_and_download(
    known: PaperSet, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_SETS, "pendigits", known)
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARML_DATA", raising=False)
    downloaded = load_dataset("pendigits")
    asked = len(server.requests)
    cached = load_dataset("pendigits")
    assert len(server.requests) == asked
    monkeypatch.setenv("ARML_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "pendigits.npz", **ARCHIVE)
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "empty"))
    local = load_dataset("pendigits")
    assert len(server.requests) == asked
    assert downloaded.fingerprint == cached.fingerprint == local.fingerprint
    np.testing.assert_array_equal(downloaded.X_test, TEST / 100)


def test_a_damaged_file_in_the_cache_is_fetched_again(
    known: PaperSet, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_SETS, "pendigits", known)
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    monkeypatch.delenv("ARML_DATA", raising=False)
    first = load_dataset("pendigits").fingerprint
    cached = tmp_path / "datasets" / "pendigits.npz"
    cached.write_bytes(cached.read_bytes()[:1000])
    assert load_dataset("pendigits").fingerprint == first
    assert len(server.requests) == 4


def test_a_wrong_file_in_the_data_folder_is_an_error_that_names_it(
    known: PaperSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_SETS, "pendigits", known)
    monkeypatch.setenv("ARML_DATA", str(tmp_path))
    wrong = {**ARCHIVE, "y_test": ARCHIVE["y_test"][::-1]}
    np.savez(tmp_path / "pendigits.npz", **wrong)
    with pytest.raises(ValueError, match=r"pendigits\.npz does not hold the paper's Pendigits"):
        load_dataset("pendigits")
    np.savez(tmp_path / "pendigits.npz", **{**ARCHIVE, "X_test": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(ValueError, match="not a readable archive"):
        load_dataset("pendigits")
    (tmp_path / "pendigits.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="not a readable archive"):
        load_dataset("pendigits")


def test_idx_files_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    images, labels = RNG.integers(0, 256, (5, 28, 28)), np.array([3, 1, 4, 1, 5])
    known = replace(PAPER_SETS["mnist"], n_train=5, n_test=5)
    paths = [tmp_path / name for name in ("a.gz", "b.gz", "c.gz", "d.gz")]
    for path, values in zip(paths, (images, labels, images[::-1], labels[::-1]), strict=True):
        path.write_bytes(idx(values))
    archive = build_archive(known, paths)
    np.testing.assert_array_equal(archive["X_train"], images.reshape(5, 784))
    np.testing.assert_array_equal(archive["y_test"], labels[::-1])
    assert (archive["x_offset"], archive["x_scale"]) == (0.0, 255.0)
    with pytest.raises(ValueError, match="not an idx file"):
        parse_idx(b"\x1f\x8b\x08\x00")
    with pytest.raises(ValueError, match="ends inside its header"):
        parse_idx(bytes([0, 0, 8, 3, 0, 0]))


def test_scaled_sets_are_min_max_scaled_on_the_training_part_only(tmp_path: Path) -> None:
    known = replace(PAPER_SETS["usps"], n_train=3, n_test=1, feature_names=("a", "b"))
    train, test = tmp_path / "usps.bz2", tmp_path / "usps.t.bz2"
    train.write_bytes(bzipped(b"1 1:-1 2:0.5\n2 1:0.25 2:1\n10 1:1\n"))
    test.write_bytes(bzipped(b"10 1:1.5 2:-0.5\n"))
    archive = build_archive(known, [train, test])
    np.testing.assert_array_equal(archive["X_train"], np.array([[0, 0.5], [0.625, 1], [1, 0]], dtype=np.float32))
    np.testing.assert_array_equal(archive["X_test"], np.array([[1.25, -0.5]], dtype=np.float32))
    np.testing.assert_array_equal(archive["y_train"], [0, 1, 2])
    np.testing.assert_array_equal(archive["y_test"], [2])
