"""The charts of a file's rows, by their data."""

from __future__ import annotations

import numpy as np
import pytest

from arml_core.figures.certified_table import (
    BARS_SHOWN,
    change_alt,
    change_figure,
    changes_table,
    histogram_table,
    radius_figure,
)
from arml_core.figures.palette import DARK, LIGHT
from arml_core.report import Change, radius_histogram

LOWER = np.array([0.05, 0.05, 0.4, 0.6, 0.61, np.inf])
VERDICTS = np.array(["attackable", "attackable", "undecided", "certified", "certified", "certified"])


@pytest.mark.parametrize("style", [LIGHT, DARK])
def test_the_bars_are_the_rows_and_the_line_is_the_radius(style) -> None:
    histogram = radius_histogram(LOWER, VERDICTS)
    figure = radius_figure(histogram, 0.3, style)
    counts = {bar.name: int(np.sum(bar.y)) for bar in figure.data}
    assert counts == {"attackable": 2, "undecided": 1, "certified": 2}
    assert len({bar.marker.pattern.shape for bar in figure.data}) == 3
    assert len({bar.marker.color for bar in figure.data}) == 3
    assert all(bar.marker.pattern.fillmode == "overlay" for bar in figure.data)
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.3, 0.3)
    table = histogram_table(histogram)
    assert table[["certified", "undecided", "attackable"]].to_numpy().sum() == 5


def changes() -> list[Change]:
    return [
        Change("<b>mass</b>", 70.0, 71.5, 0.04, 1.2),
        Change("flow", 40.0, 39.0, -0.02, 0.5),
        Change("k", 1, 1, 0, 0),
    ]


def test_a_bar_per_feature_in_scaled_units_with_the_change_in_the_files() -> None:
    figure = change_figure(changes(), LIGHT)
    (bars,) = figure.data
    assert list(bars.x) == [0, -0.02, 0.04]
    assert list(bars.text) == ["0", "-1", "+1.5"]
    assert bars.marker.color[2] != bars.marker.color[1]
    assert list(bars.marker.pattern.shape) == ["/", "/", ""]
    assert figure.layout.yaxis.ticktext[2] == "&lt;b&gt;mass&lt;/b&gt;"
    assert list(bars.customdata[2]) == ["&lt;b&gt;mass&lt;/b&gt;", "70", "71.5"]


def test_the_words_name_what_moves() -> None:
    assert change_alt(changes(), "What flips it") == "What flips it: <b>mass</b> from 70 to 71.5, flow from 40 to 39"


def test_long_names_that_begin_alike_have_a_bar_each_and_are_told_apart_under_the_mouse() -> None:
    names = [f"mean temperature of the bearing, {side} side" for side in ("left", "right")]
    figure = change_figure([Change(name, 1.0, 2.0, 0.5, None) for name in names], LIGHT)
    (bars,) = figure.data
    assert len(set(bars.y)) == 2
    assert list(figure.layout.yaxis.tickvals) == list(bars.y)
    assert sorted(shown[0] for shown in bars.customdata) == names
    assert bars.hovertemplate.startswith("%{customdata[0]}")


def test_many_features_are_cut_to_the_largest() -> None:
    many = [Change(f"x{k}", 0.0, 1.0, 1 / (k + 1), None) for k in range(40)]
    assert len(change_figure(many, DARK).data[0].x) == BARS_SHOWN
    assert len(changes_table(many)) == 40


def test_nothing_moves_is_drawn_too() -> None:
    assert change_figure([Change("k", 1, 1, 0, 0)], LIGHT).layout.xaxis.range is not None
