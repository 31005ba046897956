"""A metric and a point as pictures: the figures show the numbers, and the words say what they mean."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from arml_core.figures import style_for
from arml_core.figures.method_bounds import (
    PROVED,
    REACHED,
    MethodBound,
    best_bounds,
    method_bounds_alt,
    method_bounds_figure,
    method_bounds_table,
)
from arml_core.figures.metric import (
    SHOWN_IN_FULL,
    anatomy,
    block_edges,
    direction_figure,
    directions_table,
    eigenvalue_figure,
    eigenvalue_table,
    ignored_words,
    in_blocks,
    matrix_alt,
    matrix_figure,
    matrix_table,
    weights_figure,
    weights_table,
)
from arml_core.figures.pictures import DIFFERENCE, picture_figure, strip_figure, twin_figure
from arml_core.metric import Metric

LIGHT, DARK = style_for(dark=False), style_for(dark=True)
RNG = np.random.default_rng(3)
NAMES = tuple("abcdefgh")


def low_rank() -> Metric:
    """Rank 3 on eight features, of which "c" has no weight."""
    g = RNG.normal(size=(3, 8))
    g[:, 2] = 0.0
    return Metric.from_components(g)


# the anatomy ------------------------------------------------------------------------------------------------------


def test_eigenvalues_and_directions_rebuild_the_matrix():
    for metric in (low_rank(), Metric.from_components(RNG.normal(size=(8, 8))), Metric(np.arange(8.0))):
        found = anatomy(metric)
        rebuilt = (found.directions.T * found.eigenvalues) @ found.directions
        assert_allclose(rebuilt, metric.matrix(), atol=1e-12)
        assert_allclose(found.directions @ found.directions.T, np.eye(8), atol=1e-12)
        assert_allclose(found.weights, np.diag(metric.matrix()), atol=1e-12)
        assert (np.diff(found.eigenvalues) <= 0).all()


def test_the_largest_share_of_a_direction_is_positive():
    found = anatomy(Metric.from_components(RNG.normal(size=(8, 8))))
    largest = np.abs(found.directions).argmax(axis=1)
    assert (found.directions[np.arange(8), largest] > 0).all()


def test_rank_and_features_without_weight():
    found = anatomy(low_rank())
    assert found.rank == np.linalg.matrix_rank(low_rank().matrix()) == 3
    assert found.unweighted.tolist() == [2]
    words = " ".join(ignored_words(found, NAMES))
    assert "One feature has no weight and can change freely: c." in words
    assert "5 directions of 8 have eigenvalue 0 (numerical rank 3)" in words


def test_directions_that_hardly_count_are_told_apart_from_those_that_do_not():
    found = anatomy(Metric(np.array([1.0, 0.5, 0.009, 0.0])))
    first, second, third = ignored_words(found, NAMES)
    assert first == "One feature has no weight and can change freely: d."
    assert second.startswith("One direction of 4 has eigenvalue 0 (numerical rank 3)")
    assert third.startswith("One more direction counts less than a hundredth")
    assert found.nearly_ignored == 2


def test_a_metric_that_sees_everything_ignores_nothing():
    (words,) = ignored_words(anatomy(Metric.identity(8)), NAMES)
    assert words.startswith("Nothing")
    assert anatomy(Metric.identity(8)).is_flat


def test_many_features_without_weight_are_counted_and_the_first_are_named():
    weights = np.zeros(30)
    weights[0] = 1.0
    words = ignored_words(anatomy(Metric(weights)), [f"f{k}" for k in range(30)])[0]
    assert words.startswith("29 features have no weight")
    assert words.endswith("f8 and 21 more.")


def test_a_metric_of_zeros_says_so():
    assert ignored_words(anatomy(Metric(np.zeros(3))), NAMES) == ["M is zero: every point is as near as any other."]


# the heatmap --------------------------------------------------------------------------------------------------------


def test_the_heatmap_shows_the_matrix_with_zero_in_the_middle_of_its_scale():
    metric = low_rank()
    figure = matrix_figure(metric.matrix(), NAMES, LIGHT)
    (trace,) = figure.data
    assert_allclose(trace.z, metric.matrix())
    assert trace.zmin == -trace.zmax
    assert trace.colorscale[1] == (0.5, LIGHT.paper)
    assert list(figure.layout.xaxis.ticktext) == list(NAMES)
    assert trace.customdata[2][5] == "c × f"


def test_a_large_matrix_is_averaged_over_blocks_that_keep_the_mean():
    matrix = RNG.normal(size=(784, 784))
    shown, edges = in_blocks(matrix), block_edges(784)
    assert shown.shape == (SHOWN_IN_FULL, SHOWN_IN_FULL)
    assert_allclose(shown[5, 9], matrix[edges[5] : edges[6], edges[9] : edges[10]].mean())
    sizes = np.diff(edges)
    assert_allclose((shown * np.outer(sizes, sizes)).sum(), matrix.sum())
    names = [f"pix_{k}" for k in range(784)]
    assert "…" in str(matrix_figure(matrix, names, DARK).data[0].customdata[0][0])
    assert_allclose(in_blocks(matrix[:64, :64]), matrix[:64, :64])


def test_names_are_text_not_markup():
    figure = matrix_figure(np.eye(2), ("<b>x</b>", "y & z"), LIGHT)
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "y &amp; z"]
    assert list(direction_figure(np.array([0.6, 0.8]), ("<b>", "y"), LIGHT).layout.yaxis.ticktext) == ["&lt;b&gt;", "y"]


def test_alternative_text_names_the_largest_entries():
    matrix = np.diag([1.0, 5.0, 2.0])
    matrix[0, 2] = matrix[2, 0] = -0.5
    words = matrix_alt(anatomy(Metric.from_matrix(matrix)), NAMES)
    assert "b with 5.00" in words
    assert "a with c, -0.500" in words
    assert "identity" in matrix_alt(anatomy(Metric.identity(3)), NAMES)


def test_the_tables_hold_every_digit():
    found = anatomy(low_rank())
    table = matrix_table(found, NAMES)
    assert_allclose(table[list(NAMES)].to_numpy(), low_rank_again(found), rtol=0)
    assert list(table.iloc[:, 0]) == list(NAMES)
    eigenvalues = eigenvalue_table(found)
    assert_allclose(eigenvalues["stretch"] ** 2, eigenvalues["eigenvalue"])
    directions = directions_table(found, NAMES)
    assert_allclose(directions["direction_2"], found.directions[1], rtol=0)
    assert matrix_table(anatomy(Metric.identity(2)), ("feature", "")).shape == (2, 3)


def low_rank_again(found) -> np.ndarray:
    return found.metric.components.T @ found.metric.components


# eigenvalues, directions, weights -----------------------------------------------------------------------------------


def test_eigenvalues_over_decades_are_drawn_on_a_logarithmic_scale_and_others_are_not():
    wide = eigenvalue_figure(anatomy(Metric(np.array([100.0, 1.0, 0.01]))), LIGHT)
    flat = eigenvalue_figure(anatomy(Metric(np.array([1.2, 1.0, 0.9]))), LIGHT)
    assert wide.layout.yaxis.type == "log"
    assert flat.layout.yaxis.type == "linear"
    assert flat.layout.yaxis.tickmode == "auto"
    assert flat.layout.yaxis.range[0] == 0
    assert_allclose(wide.data[-1].y, [1e4, 1.0, 1e-4])


def test_a_direction_shows_its_largest_shares_with_sign_colour_and_pattern():
    direction = np.array([0.1, -0.9, 0.0, 0.42])
    (bars,) = direction_figure(direction, NAMES, LIGHT).data
    assert list(bars.customdata) == ["a", "d", "b"]
    assert_allclose(bars.x, [0.1, 0.42, -0.9])
    assert list(bars.marker.color) == [LIGHT.classes[0], LIGHT.classes[0], LIGHT.classes[1]]
    assert list(bars.marker.pattern.shape) == ["", "", "/"]


def test_weights_are_what_a_step_of_one_counts():
    (bars,) = weights_figure(np.array([4.0, 9.0]), NAMES, LIGHT).data
    assert list(zip(bars.customdata, bars.x, strict=True)) == [("a", 2.0), ("b", 3.0)]
    assert weights_table(np.array([4.0, 9.0]), NAMES[:2])["counts"].tolist() == [2.0, 3.0]


def test_two_features_whose_names_are_cut_alike_keep_a_bar_each():
    names = [f"{'long' * 10}{k}" for k in range(3)]
    (bars,) = direction_figure(np.array([0.5, 0.6, 0.7]), names, LIGHT).data
    assert len(set(bars.y)) == 3


# pictures -----------------------------------------------------------------------------------------------------------


def test_the_twin_is_three_pictures_and_the_difference_is_centred_at_zero():
    before, after = RNG.random(12), RNG.random(12)
    figure = twin_figure(before, after, (3, 4), DARK, ("answered 1", "answered 7"))
    first, second, third = figure.data
    assert_allclose(first.z, before.reshape(3, 4))
    assert_allclose(second.z, after.reshape(3, 4))
    assert_allclose(third.z, (after - before).reshape(3, 4))
    assert (first.zmin, first.zmax) == (second.zmin, second.zmax) == (0.0, before.max())
    assert third.zmin == -third.zmax == -np.abs(after - before).max()
    assert [a.text for a in figure.layout.annotations] == ["answered 1", "answered 7", DIFFERENCE]
    assert figure.layout.yaxis.autorange == figure.layout.yaxis3.autorange == "reversed"


def test_a_twin_that_is_no_different_still_has_a_scale():
    third = twin_figure(np.ones(4), np.ones(4), (2, 2), LIGHT).data[2]
    assert third.zmin < 0 < third.zmax


def test_a_strip_shows_every_picture_in_reading_order():
    rows = RNG.random((8, 6))
    figure = strip_figure(rows, (2, 3), LIGHT, [f"p{k}" for k in range(8)], columns=6)
    assert len(figure.data) == 8
    assert_allclose(figure.data[7].z, rows[7].reshape(2, 3))
    assert [a.text for a in figure.layout.annotations] == [f"p{k}" for k in range(8)]
    left, below = figure.layout.annotations[0], figure.layout.annotations[6]
    assert left.x == below.x
    assert left.y > below.y
    with pytest.raises(ValueError, match="8 pictures need as many titles; got 1"):
        strip_figure(rows, (2, 3), LIGHT, ["one"])


def test_titles_of_two_lines_take_nothing_from_the_pictures():
    rows = RNG.random((8, 6))

    def pixels(titles):
        layout = strip_figure(rows, (2, 3), LIGHT, titles, columns=6).layout
        return [(below - above) * layout.height for above, below in (layout.yaxis.domain, layout.yaxis7.domain)], layout

    (one, _), (two, tall) = pixels(["row 7"] * 8), pixels(["row 7<br>3"] * 8)
    assert_allclose(one, two)
    above_second_line = tall.yaxis.domain[0] - tall.yaxis7.domain[1]
    assert above_second_line * tall.height > 2 * 13  # two lines of 13 pixels


def test_directions_as_pictures_have_zero_in_the_middle():
    (trace,) = strip_figure(np.array([[-0.5, 0.2]]), (1, 2), LIGHT, ["1"], signed=True).data
    assert (trace.zmin, trace.zmax) == (-0.5, 0.5)
    (whole,) = picture_figure(np.array([0.0, 2.0]), (1, 2), LIGHT, "weight").data
    assert (whole.zmin, whole.zmax) == (0.0, 2.0)


# the methods' bounds --------------------------------------------------------------------------------------------------

BOUNDS = [
    MethodBound("theorem1", 0.4, np.inf),
    MethodBound("votes", 0.5, np.inf),
    MethodBound("search", 0.6, 0.71),
    MethodBound("whitebox", 0.0, 0.7),
]


def test_the_chart_shows_what_each_method_proves_and_reaches():
    figure = method_bounds_figure(BOUNDS, LIGHT)
    proved, reached = figure.data
    assert (proved.name, reached.name) == (PROVED, REACHED)
    assert_allclose(proved.x, [0.4, 0.5, 0.6, 0.0])
    right = figure.layout.xaxis.range[1]
    assert_allclose(np.add(reached.base, reached.x), right)
    assert_allclose(reached.base[2:], [0.71, 0.7])
    assert_allclose(reached.x[:2], 0.0)
    assert list(proved.y) == [3, 2, 1, 0]
    assert [shape.x0 for shape in figure.layout.shapes] == [0.6, 0.7]
    assert best_bounds(BOUNDS) == (0.6, 0.7)


def test_what_is_proved_is_rounded_down_and_an_exact_radius_is_called_so():
    assert MethodBound("votes", 0.78999, np.inf).describe() == "0.789"
    assert MethodBound("search", 0.6, 0.71).describe() == "0.600 … 0.710"
    assert MethodBound("exact", 0.12355, 0.12355, exact=True).describe() == "≈ 0.124 (exact)"
    assert MethodBound("whitebox", 0.0, np.inf).describe() == "found nothing"
    assert MethodBound("votes", np.inf, np.inf).describe() == "no step at all"


def test_a_point_that_nothing_can_move_is_proved_along_the_whole_axis():
    figure = method_bounds_figure([MethodBound("votes", np.inf, np.inf), MethodBound("whitebox", 0.0, np.inf)], LIGHT)
    assert figure.data[0].x[0] == figure.layout.xaxis.range[1]
    assert len(figure.layout.shapes) == 0


def test_the_table_of_the_bounds_leaves_empty_what_a_method_does_not_say():
    table = method_bounds_table(BOUNDS)
    assert_allclose(table["lower"], [0.4, 0.5, 0.6, np.nan])
    assert_allclose(table["upper"], [np.nan, np.nan, 0.71, 0.7])
    assert "Theorem 1 0.400; Votes 0.500; Search 0.600 … 0.710; White-box attack 0.700" in method_bounds_alt(
        BOUNDS, "ℓ2"
    )
