"""The front carries both errors of every model, tells the methods apart, and its table equals what is drawn."""

from __future__ import annotations

import pytest

from arml_core.curves import FrontPoint
from arml_core.figures import front_alt, front_figure, front_table
from arml_core.figures.palette import DARK, LIGHT

POINTS = (
    FrontPoint("Robust prototypes", 30, 0.10, 0.40, 1000, 0.5),
    FrontPoint("Robust prototypes", 30, 0.05, 0.50, 1000, 0.25),
    FrontPoint("Robust prototypes", 1200, 0.12, 0.45, 1000, 1.0),
    FrontPoint("Euclidean", 7000, 0.04, 0.90, 1000),
)


@pytest.mark.parametrize("style", [LIGHT, DARK])
def test_every_model_is_a_mark_where_its_errors_are(style):
    robust, euclidean = front_figure(POINTS, style, epsilon=0.3).data
    assert list(zip(robust.x, robust.y, strict=True)) == [(0.05, 0.50), (0.10, 0.40), (0.12, 0.45)]  # by target radius
    assert (list(euclidean.x), list(euclidean.y), list(euclidean.text)) == ([0.04], [0.90], ["7,000"])
    assert list(robust.text) == ["30", "30", "1,200"]
    assert robust.marker.color != euclidean.marker.color
    assert robust.marker.symbol[0] != euclidean.marker.symbol[0]


def test_a_model_that_another_one_beats_is_an_open_mark():
    robust, euclidean = front_figure(POINTS, epsilon=0.3).data
    assert [symbol.endswith("-open") for symbol in robust.marker.symbol] == [False, False, True]
    assert not euclidean.marker.symbol[0].endswith("-open")


def test_the_hover_says_everything():
    robust, euclidean = front_figure(POINTS, epsilon=0.3).data
    assert robust.customdata[0] == (
        "Robust prototypes, target radius 0.250<br>30 references<br>clean error 0.050<br>"
        "robust error 0.500 at ε = 0.3 (1,000 points)"
    )
    assert "target" not in euclidean.customdata[0]


def test_every_mark_lies_inside_the_axes():
    for points in (POINTS, POINTS[:1], [FrontPoint("a", 1, 0.0, 0.0, 5), FrontPoint("b", 1, 1.0, 1.0, 5)]):
        layout = front_figure(points, epsilon=0.3).layout
        for value, axis in [(p.clean_error, layout.xaxis) for p in points] + [
            (p.robust_error, layout.yaxis) for p in points
        ]:
            assert axis.range[0] < value < axis.range[1]


def test_the_table_and_the_words_have_every_model():
    table = front_table(POINTS)
    assert table["clean error"].tolist() == [0.10, 0.05, 0.12, 0.04]
    assert table["robust error"].tolist() == [0.40, 0.50, 0.45, 0.90]
    assert table["references"].tolist() == [30, 30, 1200, 7000]
    assert table["on the front"].tolist() == [True, True, False, True]
    assert table["target radius"].isna().tolist() == [False, False, False, True]
    words = front_alt(POINTS, 0.3)
    assert "at ε = 0.3 in ℓ2" in words
    assert "Euclidean, 7,000 references, 0.040 clean and 0.900 robust error, on the front." in words


def test_a_name_from_a_file_is_plain_text():
    (trace,) = front_figure([FrontPoint("<b>%{x}", 1, 0.1, 0.2, 3)], epsilon=0.1).data
    assert trace.name == "&lt;b&gt;%&#123;x}"
    assert "<b>" not in trace.customdata[0]
