"""Figures carry the numbers they were given, in the shapes and names a reader finds them by."""

from __future__ import annotations

import numpy as np
import pytest

import arml_core as arml
from arml_core.figures import make_plane, make_probe, plane_figure, plane_table, style_for, training_figure
from arml_core.figures.palette import DARK, LIGHT, SHAPES
from arml_core.figures.plane_figure import (
    ARROW,
    BOUNDARY,
    CERTIFIED,
    EQUAL,
    GLYPH,
    LEFT_OUT,
    NEIGHBOURS,
    OVERLAY,
    PROTOTYPES,
    SELECTED,
    UPPER,
    VOTING,
)
from arml_core.figures.training import smoothed
from tests.figures.contrast import contrast

SEVEN = arml.load_dataset("seven_points")


def scene(row: int = 6, k: int = 1, norm: float = 2, method: str = "exact"):
    knn = arml.MahalanobisKNN(k).fit(SEVEN.X_train, SEVEN.y_train)
    x, y = SEVEN.X_train[[row]], SEVEN.y_train[[row]]
    found = knn.certify(x, y, method=method, threat=arml.ThreatModel(norm), exclude=[row])
    squared, near = knn.kneighbors(x, exclude=[row])
    probe = make_probe(found, x[0], int(found.predicted[0]), near[0], squared[0], row, int(y[0]))
    plane = make_plane(SEVEN.X_train, SEVEN.y_train, SEVEN.class_names, knn.metric_, k, left_out=row)
    return plane, probe


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_training_points_have_a_colour_and_a_shape_per_class() -> None:
    plane, _ = scene()
    found = traces(plane_figure(plane, LIGHT))
    assert set(found) == {BOUNDARY, GLYPH, LEFT_OUT, "triangle", "square"}
    for code, name in enumerate(SEVEN.class_names):
        rows = np.flatnonzero(SEVEN.y_train == code)
        np.testing.assert_array_equal(found[name].x, SEVEN.X_train[rows, 0])
        assert list(found[name].customdata) == rows.tolist()
        assert found[name].marker.symbol == SHAPES[code]
        assert found[name].marker.color == LIGHT.classes[code]


def test_the_left_out_point_is_drawn_hollow() -> None:
    plane, probe = scene(row=6)
    (hollow,) = [t for t in plane_figure(plane, LIGHT, probe).data if t.name == LEFT_OUT]
    assert (hollow.x[0], hollow.y[0]) == tuple(SEVEN.X_train[6])
    assert (hollow.marker.symbol, hollow.marker.color) == (SHAPES[SEVEN.y_train[6]], LIGHT.paper)
    assert hollow.marker.line.color == LIGHT.classes[SEVEN.y_train[6]]
    with_all = make_plane(SEVEN.X_train, SEVEN.y_train, SEVEN.class_names, plane.metric, 1)
    assert LEFT_OUT not in traces(plane_figure(with_all, LIGHT))


@pytest.mark.parametrize(("norm", "corners"), [(1, 5), (2, 121), (np.inf, 5)])
def test_the_certified_ball_has_the_certified_radius_in_its_norm(norm: float, corners: int) -> None:
    plane, probe = scene(norm=norm, method="votes")
    ball = traces(plane_figure(plane, LIGHT, probe))[CERTIFIED]
    assert len(ball.x) == corners
    steps = np.column_stack([ball.x, ball.y]) - probe.point
    np.testing.assert_allclose(np.linalg.norm(steps, ord=norm, axis=1), probe.lower)


def test_the_arrow_goes_from_the_point_to_the_adversarial_point() -> None:
    plane, probe = scene()
    figure = plane_figure(plane, LIGHT, probe)
    (arrow,) = figure.layout.annotations
    assert (arrow.ax, arrow.ay) == tuple(probe.point)
    assert (arrow.x, arrow.y) == tuple(probe.adversarial)
    assert traces(figure)[ARROW].x[0] == probe.adversarial[0]
    assert traces(figure)[SELECTED].x[0] == probe.point[0]


def test_an_exact_radius_has_one_ball_and_an_interval_two() -> None:
    plane, probe = scene()
    assert probe.exact
    assert UPPER not in traces(plane_figure(plane, LIGHT, probe))
    wide = type(probe)(**{**probe.__dict__, "exact": False, "upper": 2 * probe.lower})
    outer = traces(plane_figure(plane, LIGHT, wide))[UPPER]
    assert outer.line.dash == "dash"
    np.testing.assert_allclose(np.hypot(outer.x - probe.point[0], outer.y - probe.point[1]), wide.upper)


def test_without_an_attack_there_is_no_arrow() -> None:
    plane, probe = scene(method="votes")
    figure = plane_figure(plane, LIGHT, probe)
    assert not figure.layout.annotations
    assert ARROW not in traces(figure)


def test_the_equally_far_ellipse_passes_through_the_last_neighbour() -> None:
    plane, probe = scene(k=3, method="votes")
    ellipse = traces(plane_figure(plane, LIGHT, probe))[EQUAL]
    last = plane.points[probe.neighbours[-1]]
    np.testing.assert_allclose(
        np.hypot(ellipse.x - probe.point[0], ellipse.y - probe.point[1]), np.linalg.norm(last - probe.point)
    )
    assert len(probe.neighbours) == 3
    assert probe.row not in probe.neighbours


def test_layers_can_be_left_out() -> None:
    plane, probe = scene()
    names = traces(plane_figure(plane, LIGHT, probe, ellipse=False, neighbours=False))
    assert not {EQUAL, GLYPH, NEIGHBOURS} & set(names)


def test_axes_have_equal_scale_and_show_every_point() -> None:
    plane, probe = scene()
    layout = plane_figure(plane, DARK, probe, height=321).layout
    assert layout.yaxis.scaleanchor == "x"
    assert layout.height == 321
    for axis, values in ((layout.xaxis, plane.points[:, 0]), (layout.yaxis, plane.points[:, 1])):
        assert axis.range[0] < values.min() < values.max() < axis.range[1]


def test_regions_lie_on_the_first_class_and_end_at_zero() -> None:
    plane, _ = scene()
    figure = plane_figure(plane, LIGHT)
    (region,) = [trace for trace in figure.data if trace.type == "contour"]
    assert region.meta == SEVEN.class_names[1]
    assert (region.line.width, region.contours.value) == (2, 0)
    assert region.fillcolor == LIGHT.region(1)
    np.testing.assert_allclose(region.z, plane.margin[1], rtol=1e-6)
    (ground,) = figure.layout.shapes
    assert (ground.x0, ground.x1, ground.y0, ground.y1) == (plane.x1[0], plane.x1[-1], plane.x2[0], plane.x2[-1])
    assert (ground.fillcolor, ground.layer) == (LIGHT.region(0), "below")


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_a_region_hides_the_one_it_lies_on_and_looks_like_its_class(style) -> None:
    for code, colour in enumerate(style.classes):
        region = style.region(code)
        assert len(region) == 7, "a colour without transparency"
        near = [abs(int(region[i : i + 2], 16) - int(style.paper[i : i + 2], 16)) for i in (1, 3, 5)]
        far = [abs(int(colour[i : i + 2], 16) - int(style.paper[i : i + 2], 16)) for i in (1, 3, 5)]
        assert near == pytest.approx([style.region_opacity * value for value in far], abs=1)


def test_a_class_that_nowhere_wins_has_no_region() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])
    plane = make_plane(points, np.array([0, 1, 1, 2, 2]), ("a", "b", "c"), arml.Metric.identity(2), 5)
    assert not (plane.margin[0] > 0).any()
    figure = plane_figure(plane, LIGHT)
    assert [trace.meta for trace in figure.data if trace.type == "contour"] == []
    assert figure.layout.shapes[0].fillcolor == LIGHT.region(1)


@pytest.mark.parametrize(("left_out", "winner"), [(None, 2), (0, 0)])
def test_where_all_points_coincide_the_earliest_row_has_the_whole_plane(left_out: int | None, winner: int) -> None:
    points, codes = np.zeros((3, 2)), np.array([2, 0, 1])
    plane = make_plane(points, codes, ("a", "b", "c"), arml.Metric.identity(2), 1, left_out=left_out)
    figure = plane_figure(plane, LIGHT)
    assert figure.layout.shapes[0].fillcolor == LIGHT.region(winner)
    assert BOUNDARY not in traces(figure)
    answer = (
        arml.MahalanobisKNN(1)
        .fit(points, codes)
        .predict(np.array([[0.3, 0.1]]), exclude=[-1 if left_out is None else left_out])
    )
    assert answer == [winner]


def test_what_follows_a_choice_can_be_drawn_on_its_own() -> None:
    """Another point, K, metric or row left out changes regions, overlay and arrow, and nothing else."""
    plane, probe = scene()
    other_metric = make_plane(SEVEN.X_train, SEVEN.y_train, SEVEN.class_names, arml.Metric(np.diag([4.0, 1.0])), 1)
    scenes = [(plane, probe), scene(k=3, method="votes"), scene(row=1), (other_metric, probe)]
    rest = []
    for figure in (plane_figure(plane, LIGHT, probe).to_dict() for plane, probe in scenes):
        figure["layout"].pop("annotations", None)
        rest.append([t for t in figure["data"] if t.get("meta") != OVERLAY and t["type"] != "contour"])
        rest.append(figure["layout"])
    assert rest[::2] == [rest[0]] * len(scenes)
    assert rest[1::2] == [rest[1]] * len(scenes)


def test_neighbours_that_vote_are_drawn_larger_in_their_own_shape() -> None:
    plane, probe = scene(k=3, method="votes")
    found = traces(plane_figure(plane, LIGHT, probe))
    voting, rows = found[VOTING], list(probe.neighbours)
    np.testing.assert_array_equal(voting.x, plane.points[rows, 0])
    assert list(voting.marker.symbol) == [SHAPES[code] for code in plane.codes[rows]]
    assert list(voting.marker.color) == [LIGHT.classes[code] for code in plane.codes[rows]]
    assert voting.marker.size > found["square"].marker.size


def prototype_scene(row: int | None = 2):
    """Two prototypes a class answer; the second of the triangles decides for training row 2, which is not left out."""
    places, codes = np.array([[-0.5, 0.2], [0.2, 1.2], [1.0, 0.9], [9.0, 0.4]]), np.array([0, 0, 1, 1])
    knn = arml.MahalanobisKNN(references=(places, codes)).fit(SEVEN.X_train, SEVEN.y_train)
    x = SEVEN.X_train[[2]]
    found = knn.certify(x, method="exact")
    squared, near = knn.kneighbors(x)
    probe = make_probe(found, x[0], int(found.predicted[0]), near[0], squared[0], row, None if row is None else 0)
    names = SEVEN.class_names
    plane = make_plane(SEVEN.X_train, SEVEN.y_train, names, knn.metric_, 1, prototypes=(places, codes))
    return plane, probe, knn


def test_prototypes_answer_where_there_are_any() -> None:
    plane, probe, knn = prototype_scene()
    places = np.column_stack([a.ravel() for a in np.meshgrid(plane.x1, plane.x2)])
    np.testing.assert_array_equal(plane.margin.reshape(2, -1).argmax(axis=0), knn.predict(places))
    assert probe.neighbours == (1,)
    assert plane.window == scene()[0].window  # that of the points: pictures of other methods show the same
    with pytest.raises(ValueError, match="none can be left out"):
        make_plane(*plane_arguments(plane), left_out=2, prototypes=plane.prototypes)


def plane_arguments(plane):
    return plane.points, plane.codes, plane.class_names, plane.metric, 1


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_prototypes_are_large_outlined_marks_and_the_points_small_and_faint(style) -> None:
    plane, probe, _ = prototype_scene()
    found = traces(plane_figure(plane, style, probe, legend=True))
    marks, codes = found[PROTOTYPES], plane.prototypes[1]
    np.testing.assert_array_equal(np.column_stack([marks.x, marks.y]), plane.prototypes[0])
    assert list(marks.marker.symbol) == [SHAPES[code] for code in codes]
    assert list(marks.marker.color) == [style.classes[code] for code in codes]
    assert marks.marker.line.color == style.ink
    assert marks.showlegend
    usual = traces(plane_figure(scene()[0], style))["square"]
    assert found["square"].marker.size < usual.marker.size < marks.marker.size < found[VOTING].marker.size
    assert found["square"].marker.color.startswith("rgba")
    assert list(found["square"].customdata) == list(usual.customdata)  # they can still be clicked
    assert (found[VOTING].x[0], found[VOTING].y[0]) == tuple(plane.prototypes[0][1])
    assert tuple(found[NEIGHBOURS].x[:2]) == (probe.point[0], plane.prototypes[0][1, 0])
    assert LEFT_OUT not in found


def test_the_table_holds_the_prototypes_too() -> None:
    plane, probe, _ = prototype_scene()
    table = plane_table(plane, probe)
    rows = table[table["kind"] == "prototype"]
    np.testing.assert_array_equal(rows[["x1", "x2"]], plane.prototypes[0])
    assert rows["class"].tolist() == ["triangle", "triangle", "square", "square"]
    neighbour = table[table["kind"] == "neighbour"].iloc[0]
    assert (neighbour["x1"], neighbour["x2"], neighbour["value"]) == (0.2, 1.2, 1)
    assert (table["kind"] == "training point").sum() == 7


def test_the_table_holds_what_is_drawn() -> None:
    plane, probe = scene()
    table = plane_table(plane, probe)
    assert (table["kind"] == "training point").sum() == 7
    chosen = table[table["kind"] == "chosen point"].iloc[0]
    assert (chosen["x1"], chosen["x2"], chosen["value"]) == (*probe.point, probe.lower)
    assert chosen["class"] == "square"
    assert (table["kind"] == "margin").sum() == plane.margin.size


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_have_enough_contrast(style) -> None:
    """WCAG AA: 4.5 for text, 3 for what must be told apart."""
    assert contrast(style.ink, style.paper) >= 4.5
    assert contrast(style.muted, style.paper) >= 4.5
    assert all(contrast(colour, style.paper) >= 3 for colour in style.classes)
    assert style_for(dark=style is DARK) is style


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_the_training_curve_marks_the_epoch() -> None:
    radius = np.linspace(0.1, 0.5, 100)
    found = traces(training_figure(radius, LIGHT, epoch=40))
    np.testing.assert_array_equal(found["each epoch"].y, radius)
    assert found["now"].x[0] == 40
    assert found["now"].y[0] == smoothed(radius)[39]


def test_smoothing_keeps_a_constant_and_the_first_value() -> None:
    np.testing.assert_allclose(smoothed(np.full(50, 3.0)), 3.0)
    assert smoothed(np.array([5.0, 0.0]))[0] == pytest.approx(5.0)
