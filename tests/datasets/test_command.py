"""The command ``datasets``: list, info, fetch, check."""

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from arml_core.cli import datasets as command
from arml_core.datasets import load_dataset
from arml_core.datasets.paper_sets import PAPER_SETS, PaperSet

from .server import Server, serving
from .tiny import FILES

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def run(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    parsed = parser.parse_args(["datasets", *arguments])
    parsed.run(parsed)


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    monkeypatch.delenv("ARML_DATA", raising=False)


def test_list_has_a_line_per_set_and_says_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    run("list")
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["iris"] == ["105", "45", "4", "3", "built", "in"]
    assert lines["mnist"] == ["60000", "10000", "784", "10", "no", "(datasets", "fetch)"]


def test_info_names_source_terms_and_fingerprint(capsys: pytest.CaptureFixture[str]) -> None:
    run("info", "wine")
    out = capsys.readouterr().out
    assert "rows         124 train, 54 test" in out
    assert "terms        CC BY 4.0 (UCI)" in out
    assert load_dataset("wine").fingerprint in out
    run("info", "usps")
    assert "terms     no licence stated; treat as research use" in capsys.readouterr().out
    with pytest.raises(ValueError, match="there is no dataset 'nothing'"):
        run("info", "nothing")


def test_fetch_downloads_once_and_says_where(
    known: PaperSet,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(PAPER_SETS, "pendigits", known)
    run("fetch", "pendigits")
    place = tmp_path / "datasets" / "pendigits.npz"
    assert capsys.readouterr().out == f"Pendigits: {place}\n"
    run("fetch", "pendigits", "iris")
    assert capsys.readouterr().out == f"Pendigits is on this machine: {place}\nIris is on this machine: built in\n"
    assert server.requests == list(FILES)


def test_fetch_without_a_network_is_an_error_with_the_way_out(
    known: PaperSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving({}) as gone:
        nowhere = gone.url
    monkeypatch.setitem(PAPER_SETS, "pendigits", replace(known, mirrors=(nowhere,)))
    with pytest.raises(OSError, match=r"Pendigits is not on this machine and there is no network\. Put pendigits\.npz"):
        run("fetch", "pendigits")


def test_check_prints_the_words_of_the_dashboard(capsys: pytest.CaptureFixture[str]) -> None:
    run("check", str(SAMPLES / "bottles.csv"), "--label", "machine")
    assert capsys.readouterr().out == (
        "120 rows, 5 columns: volume_ml, weight_g, height_mm, glass_mm, machine\nclasses: north, south, west\n"
    )
    with pytest.raises(ValueError, match="before this is settled"):
        run("check", str(SAMPLES / "messy.csv"), "--label", "Klasse")
    out = capsys.readouterr().out
    assert "error: Line 9 has 8 values; expected 7." in out
    assert "    - Yes, it is separated by ';'  [separator=';']" in out
