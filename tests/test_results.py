"""Evaluations on disk: what is written is read again, and what is damaged or foreign is refused by name."""

from pathlib import Path

import numpy as np
import pytest

from arml_core import ThreatModel
from arml_core.results import read_results, shipped, write_results

from .made_evaluations import made_evaluation as evaluation


def test_what_is_written_is_read_again_to_the_last_bit(tmp_path: Path) -> None:
    box = ThreatModel(norm="linf", costs=[1, 2], frozen=[0], box=([0, 0], [1, np.inf]))
    written = [
        evaluation(),
        evaluation(method="search", budget=0.5, at=(0.1, 1 / 3)),
        evaluation(kind="attack", method="boundary", options={"steps": 100}, threat=box),
        evaluation(ties="any", target=1),
    ]
    write_results(tmp_path / "a.npz", written)
    read = read_results(tmp_path / "a.npz")
    for before, after in zip(written, read, strict=True):
        for name in ("lower", "upper", "exact", "correct"):
            np.testing.assert_array_equal(getattr(before.radii, name), getattr(after.radii, name))
        assert after.spec == before.spec
        assert after.run == before.run
        assert after.made == before.made
    assert list(tmp_path.iterdir()) == [tmp_path / "a.npz"]


def test_the_side_that_counts() -> None:
    np.testing.assert_array_equal(evaluation().bound, [0.0, 0.1 + 0.2, 1.5])
    np.testing.assert_array_equal(evaluation(kind="attack", method="whitebox").bound, [0.0, np.inf, 1.5])
    assert evaluation().whole
    assert not evaluation(planned=9).whole


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"kind": "attack", "method": "boundary", "options": {"steps": 25000}, "attack_seed": 7},
            "Boundary attack, 25,000 steps, seed 7",
        ),
        ({"kind": "attack", "method": "whitebox"}, "White-box attack"),
        ({"method": "search", "budget": 0.5}, "Search, 0.5 s a point"),
        (
            {"method": "search", "budget": 0.5, "at": (0.1, 0.25)},
            "Search, 0.5 s a point, verdicts at ε = 0.1, 0.25",
        ),
        ({"method": "theorem1"}, "Theorem 1"),
    ],
)
def test_methods_in_words(changes: dict[str, object], words: str) -> None:
    assert evaluation(**changes).describe_method() == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"made": {"seconds": 90.04}}, "90.0 s, on average 30.0 s a point"),
        ({"made": {"seconds": 0.02}, "method": "search"}, "0.0 s, on average 0.00667 s a point"),
        (
            {"made": {"seconds": 1500.0}, "method": "search", "at": (0.1, 0.25)},
            "1,500.0 s, on average 500 s a point, spent on verdicts at ε = 0.1, 0.25",
        ),
    ],
)
def test_the_time_in_words_says_what_it_was_spent_on(changes: dict[str, object], words: str) -> None:
    assert evaluation(**changes).time_words() == words


@pytest.mark.parametrize(
    "radii",
    [
        {"lower": np.array([0.0, np.nan, 1.0])},
        {"lower": np.array([0.0, -1.0, 1.0])},
        {"upper": np.array([0.0, 0.1, 1.5])},
        {"exact": np.array([True])},
    ],
)
def test_impossible_radii_are_refused(tmp_path: Path, radii: dict[str, np.ndarray]) -> None:
    write_results(tmp_path / "a.npz", [evaluation(**radii)])
    with pytest.raises(ValueError, match=r"a\.npz is not a results file"):
        read_results(tmp_path / "a.npz")


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    write_results(tmp_path / "a.npz", [evaluation()])
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickle.npz", about=np.array([{}], dtype=object))
    for name in ("cut", "text", "other", "pickle"):
        with pytest.raises(ValueError, match=rf"{name}\.npz is not a results file"):
            read_results(tmp_path / f"{name}.npz")


def test_what_ships_can_be_read() -> None:
    every = shipped()
    assert every
    for found in every:
        assert found.whole
        assert found.dataset


def test_rows_under_way_know_their_places_and_are_not_written(tmp_path: Path) -> None:
    np.testing.assert_array_equal(evaluation().radii.index, [0, 1, 2])
    np.testing.assert_array_equal(evaluation(index=np.array([4, 5, 9])).radii.index, [4, 5, 9])
    with pytest.raises(ValueError, match="only the first 3 rows"):
        write_results(tmp_path / "a.npz", [evaluation(index=np.array([4, 5, 9]))])
    write_results(tmp_path / "a.npz", [evaluation(index=np.arange(3))])
    assert read_results(tmp_path / "a.npz")[0].radii.index.tolist() == [0, 1, 2]
