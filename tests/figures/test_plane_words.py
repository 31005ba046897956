"""Sentences beside a picture say what was proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arml_core.figures import plane_alt, probe_words, prototype_words, radius_interval

from .test_plane_figure import prototype_scene, scene


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


def test_prototypes_are_named_with_who_taught_them_and_which_are_not_seen() -> None:
    plane, probe, _ = prototype_scene()
    words = prototype_words(plane, probe)
    assert words.startswith("4 prototypes (the large marks) answer instead of the 7 points.")
    assert "learned from all points, this one too, so none is left out" in words
    assert "1 of the prototypes lies outside the picture" in words
    assert words in plane_alt(plane, probe, "Robust prototypes")
    plane, probe, _ = prototype_scene(row=None)
    assert "learned from all points, so none is left out" in prototype_words(plane, probe)
    assert "prototype" not in plane_alt(*scene(), "Euclidean")
