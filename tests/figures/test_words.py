"""Sentences say what was proved, and a certified number is never rounded up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core.figures import plane_alt, probe_words, radius_interval
from arml_core.figures.words import number, percent, radius_down, radius_near, radius_up, share_down, share_up

from .test_draw import scene


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


def test_the_four_things_that_can_be_said_about_a_point() -> None:
    plane, probe = scene()
    assert "**0.527** (exact, to three digits): nothing inside the disc" in probe_words(plane, probe)
    assert "**0.528** (exact, to three digits)" in probe_words(plane, replace(probe, lower=0.5279, upper=0.5279))
    assert radius_interval(replace(probe, lower=0.5279, upper=0.5279)) == "0.528"
    open_ended = replace(probe, exact=False, upper=np.inf, adversarial=None)
    assert "a proven lower bound" in probe_words(plane, open_ended)
    assert radius_interval(open_ended) == "≥ 0.527"
    between = replace(probe, exact=False, upper=0.6)
    assert "below **0.527**" in probe_words(plane, between)
    assert "one of length **0.600** does" in probe_words(plane, between)
    assert radius_interval(between) == "0.527 – 0.600"
    wrong = replace(probe, label=0, lower=0.0, upper=0.0)
    assert "already wrong, so the radius is 0" in probe_words(plane, wrong)
    assert radius_interval(wrong) == "0"
    assert "no step of any length" in probe_words(plane, replace(probe, lower=np.inf, upper=np.inf, exact=False))


def test_alternative_text_names_points_answer_and_radius() -> None:
    plane, probe = scene()
    text = plane_alt(plane, probe, "Euclidean")
    for part in ("Euclidean", "4 triangle", "3 square", "x1 = 1.18", "0.527"):
        assert part in text
    assert "*" not in text


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
