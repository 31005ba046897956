"""The shared words: a proved number is never written larger than it is, and nothing is named in two places."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.attacks import METHODS as ATTACKS
from arml_core.certificates import METHODS
from arml_core.comparison import CERTIFICATES
from arml_core.threat import dual_norm
from arml_core.vocabulary import (
    METHOD_WORDS,
    NORMS,
    VERDICTS,
    norm_name,
    norm_of,
    number,
    parameter_label,
    percent,
    radii_down,
    radii_up,
    radius_down,
    radius_near,
    radius_up,
    share_down,
    share_up,
    training_words,
)

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "arml_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")])


def texts(path: Path) -> Iterator[str]:
    """The texts a file writes out, those inside larger ones not counted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.43781, "0.437"),
        (0.4, "0.400"),
        (np.nextafter(0.4, 0), "0.399"),
        (np.nextafter(0.1, 0), "0.0999"),
        (5e-324, "4.94e-324"),
        (1.239e300, "1.23e+300"),
        (12.39, "12.3"),
        (0.0, "0"),
        (1e-4 * 1.239, "0.000123"),
        (6.789e-7, "6.78e-07"),
        (np.inf, "∞"),
    ],
)
def test_a_certified_radius_is_cut_not_rounded(value: float, shown: str) -> None:
    assert radius_down(value) == shown
    assert float(shown.replace("∞", "inf")) <= value


@pytest.mark.parametrize(
    ("value", "shown"), [(0.43711, "0.438"), (0.4, "0.400"), (9.991, "10.0"), (6.781e-7, "6.79e-07"), (np.inf, "∞")]
)
def test_a_step_that_was_found_is_rounded_up(value: float, shown: str) -> None:
    assert radius_up(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.70996, "0.710"), (0.7093, "0.709"), (9.996, "10.0"), (0.0, "0"), (np.inf, "∞")]
)
def test_a_radius_that_is_known_exactly_is_rounded_to_the_nearest(value: float, shown: str) -> None:
    assert radius_near(value) == shown


@given(st.floats(1e-12, 1e12))
def test_what_is_shown_lies_outside_what_is_known(value: float) -> None:
    assert float(radius_down(value)) <= value <= float(radius_up(value))
    assert float(radius_up(value)) - float(radius_down(value)) <= 0.011 * value


def test_an_infinite_number_has_a_sign() -> None:
    assert number(np.inf) == "∞"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (0.001, "<1%"), (0.006, "1%"), (0.5, "50%"), (0.994, "99%"), (0.995, ">99%"), (1.0, "100%")],
)
def test_only_none_is_0_and_only_all_is_100_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_shares_are_written_on_the_side_of_caution():
    for n in (7, 200, 1000, 9997, 10_000):
        for count in {0, 1, 2, n // 3, n - 2, n - 1, n}:
            share = count / n
            assert float(share_down(share)) <= share + 1e-12
            assert float(share_up(share)) >= share - 1e-12
            assert (share_down(share) == "1.000") == (count == n)
            assert (share_up(share) == "0.000") == (count == 0)
    assert share_up(0.1 + 0.2) == share_down(0.3) == "0.300"  # rounding is no error
    assert share_up(1 - 0.659) == "0.341"


def test_shown_radii_are_cut_down_and_found_ones_up() -> None:
    values = np.array([0.123456, 0.0, np.inf, 1234.56, 1e-9 * 1.23456, 0.1234])
    low, high = radii_down(values), radii_up(values)
    assert low.tolist() == [0.1234, 0.0, np.inf, 1234.0, 1.234e-9, 0.1234]
    assert (low <= values).all()
    assert (high >= values).all()
    beside = np.array([0.0009003999999999999, 9.213000000000001])  # the last bit counts
    assert radii_down(beside).tolist() == [0.0009003, 9.213]
    assert radii_up(beside).tolist() == [0.0009004, 9.214]


def test_every_norm_is_written_and_read_in_one_way() -> None:
    for spelling, norm in NORMS.items():
        threat = ThreatModel(spelling)
        assert (threat.norm, threat.norm_name) == (norm.p, norm_name(spelling))
        assert threat.arguments()["norm"] == spelling
        assert norm_of(norm.p) is norm
        assert dual_norm(dual_norm(norm.p)) == norm.p


def test_every_method_and_every_verdict_of_the_engine_has_words() -> None:
    assert set(CERTIFICATES) == set(METHODS)
    for methods, kind in ((CERTIFICATES, "certificate"), (ATTACKS, "attack")):
        assert all(METHOD_WORDS[name].kind == kind and METHOD_WORDS[name].help for name in methods)
    x = np.array([[0.0], [1.0], [3.0]])
    knn = MahalanobisKNN(1).fit(x, [0, 1, 1])
    found = knn.certify([[0.0], [0.45], [3.0]], [0, 0, 1], method="votes")
    said = {str(verdict) for verdict in [*found.verdict(0.2), *knn.certify([[0.45]], [0], method="exact").verdict(0.2)]}
    assert said == set(VERDICTS)


def test_names_that_people_read_are_written_in_one_file() -> None:
    titles = {words.title for words in METHOD_WORDS.values()} | {words.full_title for words in METHOD_WORDS.values()}
    marks = {words.mark for words in VERDICTS.values()} - {"?"}
    names = {"ℓ1", "ℓ∞"} | titles - {"Exact", "Search"} | marks
    others = [path for path in SOURCES if path.name != "vocabulary.py"]
    assert [path.relative_to(ROOT).as_posix() for path in others if names & set(texts(path))] == []


def test_a_parameter_is_called_as_people_read_it() -> None:
    assert [parameter_label(name) for name in ("n_epochs", "max_iter", "n_neighbors")] == [
        "Epochs",
        "Most iterations",
        "Neighbours",
    ]


def test_wrong_training_rows_in_words() -> None:
    assert training_words(5, 4, 3) == (
        "The answer stands however 2 training rows are relabelled; 3 wrong labels could change it. "
        "So could 5 rows taken away or 4 rows added."
    )
    assert training_words(1, 1, 1).startswith("One wrong label among the training rows could change the answer.")
    assert "1 row taken away or 1 row added" in training_words(1, 1, 1)
    assert "however one training row is relabelled; 2 wrong labels" in training_words(1, 1, 2)
    assert training_words(math.inf, 2, 1).endswith("It stands whatever is taken away, as long as K rows remain.")
