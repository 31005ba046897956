"""References as pictures: what is drawn are the points, a line for each class."""

from __future__ import annotations

import numpy as np

from arml_core.figures import style_for
from arml_core.figures.prototypes import prototypes_alt, prototypes_figure, references_table

LIGHT = style_for(dark=False)
POINTS = np.array([[0.0, 0.5, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.25, 0.0, 0.0, 0.0]])
LABELS = np.array([0, 2, 0, 0])
NAMES = ("zero", "<one>", "two")


def test_each_class_has_a_line_and_each_point_is_drawn_on_one_scale() -> None:
    figure = prototypes_figure(POINTS, LABELS, (2, 2), LIGHT, NAMES, most=2)
    canvas = figure.data[0].z
    assert canvas.shape == (8, 5)  # three lines of two pictures, a pixel between them
    np.testing.assert_array_equal(canvas[:2, :2], [[0, 128], [255, 0]])
    np.testing.assert_array_equal(canvas[:2, 3:], [[0, 0], [0, 255]])
    assert not canvas[3:5].any()  # nothing of the second class
    np.testing.assert_array_equal(canvas[6:, :2], 255)
    assert not canvas[6:, 2:].any()
    assert figure.layout.yaxis.ticktext == ("zero", "&lt;one&gt;", "two")
    assert figure.layout.yaxis.tickvals == (0.5, 3.5, 6.5)


def test_points_that_are_all_the_same_can_be_drawn() -> None:
    canvas = prototypes_figure(np.full((1, 4), 3.0), np.array([0]), (2, 2), LIGHT, ["a"]).data[0].z
    assert not canvas.any()


def test_the_words_count_what_is_drawn() -> None:
    assert prototypes_alt(LABELS, NAMES, most=2) == (
        "References as pictures, a line for each class: zero 2 of 3, <one> 0 of 0, two 1 of 1."
    )


def test_the_table_has_every_point_with_its_class() -> None:
    table = references_table(POINTS, LABELS, ["a", "b", "c", "class"], NAMES)
    assert list(table.columns) == ["class", "a", "b", "c", "class"]
    assert list(table.iloc[:, 0]) == ["zero", "two", "zero", "zero"]
    np.testing.assert_array_equal(table.iloc[:, 1:], POINTS)
