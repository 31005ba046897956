"""What the lessons claim is true of the engine's numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import arml_core as arml
from pages.components.plane_models import ROBUST
from pages.components.plane_panel import PLAYED, Panel, panel_of, points_of
from pages.components.playground.hints import HIGHLIGHTS
from pages.components.playground.lessons import CONTROLS, LESSONS, base_view, next_lesson
from pages.components.playground.view import PlaygroundView


def panels(view: PlaygroundView) -> dict[str, Panel]:
    points = points_of(view)
    return {method: panel_of(method, view, points, seconds=2.0) for method in view.methods}


def euclidean(view: PlaygroundView) -> Panel:
    return panel_of("euclidean", view, points_of(view), seconds=2.0)


def test_four_lessons_of_five_steps() -> None:
    assert [len(lesson.steps) for lesson in LESSONS.values()] == [5, 5, 5, 5]
    for lesson in LESSONS.values():
        for step in lesson.steps:
            assert step.control in CONTROLS
            assert all((step.text, step.task, step.question, step.answer))
    assert set(HIGHLIGHTS) <= set(CONTROLS)


def test_the_last_step_leads_to_the_next_lesson() -> None:
    following = [next_lesson(name) for name in LESSONS]
    assert following == [*list(LESSONS.values())[1:], None]


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("step", range(1, 6))
def test_every_scene_can_be_drawn(lesson: str, step: int) -> None:
    view = base_view(lesson, step)
    for panel in panels(view).values():
        assert panel.probe.lower >= 0
        assert np.isfinite(panel.mean_radius)
    if LESSONS[lesson].steps[step - 1].control == "hand":
        assert "hand" in view.methods
    if LESSONS[lesson].steps[step - 1].control == "epoch":
        assert set(PLAYED) & set(view.methods)
    if LESSONS[lesson].steps[step - 1].control == "prototypes":
        assert ROBUST in view.methods


def test_fooled_2_the_easiest_square_to_fool() -> None:
    view = base_view("fooled", 2)
    radii = [euclidean(replace(view, row=row)).probe.lower for row in (4, 5, 6)]
    assert np.argmin(radii) == 1
    assert radii[1] == pytest.approx(0.077, abs=5e-4)
    assert points_of(view).X[5].tolist() == [0.77, 0.95]


def test_fooled_3_one_point_is_wrong_when_left_out() -> None:
    view = base_view("fooled", 3)
    panel = euclidean(view)
    assert sum(euclidean(replace(view, row=row)).probe.is_wrong for row in range(7)) == 1
    assert panel.probe.is_wrong
    assert points_of(view).y[panel.probe.neighbours[0]] == 1


def test_fooled_4_a_larger_k_is_not_always_safer() -> None:
    view = base_view("fooled", 4)
    one, three, five = (euclidean(replace(view, k=k)).probe.lower for k in (1, 3, 5))
    assert three > one
    assert five == 0
    assert euclidean(replace(view, k=5)).probe.is_wrong


def test_fooled_5_the_same_point_in_three_norms() -> None:
    view = base_view("fooled", 5)
    one, two, most = (euclidean(replace(view, norm=norm)).probe for norm in ("l1", "l2", "linf"))
    assert most.lower < two.lower < one.lower
    assert two.lower <= np.sqrt(2) * most.upper * (1 + 1e-6)


def test_metric_1_twice_the_scale_is_half_the_way() -> None:
    view = base_view("metric", 1)
    assert view.hand[0] == 2 * view.hand[1]


def test_metric_2_ncas_disc_is_the_smaller_one() -> None:
    found = panels(base_view("metric", 2))
    assert found["euclidean"].probe.lower > 6 * found["nca"].probe.lower


def test_metric_5_the_metrics_that_ignore_x2_are_safer_on_average() -> None:
    found = panels(base_view("metric", 5))
    for name in ("nca", "arml"):
        matrix = found[name].components.T @ found[name].components
        assert matrix[0, 0] > 10 * matrix[1, 1]
        assert found[name].mean_radius > found["euclidean"].mean_radius


def test_metric_3_nca_halves_the_mean() -> None:
    found = panels(base_view("metric", 3))
    assert found["nca"].mean_radius < 0.55 * found["euclidean"].mean_radius


def test_metric_4_arml_ends_safer_than_it_began() -> None:
    start, end = (panels(replace(base_view("metric", 4), epoch=epoch))["arml"] for epoch in (0, 1000))
    assert end.mean_radius > 1.3 * start.mean_radius
    matrix = end.components.T @ end.components
    assert matrix[0, 0] > 4 * matrix[1, 1]


def test_promise_2_is_exact_and_promise_5_is_far_away() -> None:
    for panel in panels(base_view("promise", 2)).values():
        assert panel.probe.exact
    far, near = base_view("promise", 5), base_view("promise", 1)
    assert euclidean(far).probe.lower > 2 * euclidean(near).probe.lower


def robust(view: PlaygroundView) -> Panel:
    return panel_of(ROBUST, view, points_of(view))


def test_fewer_1_both_answer_the_same_and_one_odd_square_makes_the_left_disc_small() -> None:
    view = base_view("fewer", 1)
    points, found = points_of(view), panels(view)
    left, right = found["euclidean"].probe, found[ROBUST].probe
    assert len(points.y) == 80
    assert len(found[ROBUST].plane.voters[0]) == 6
    assert points.class_names[left.answer] == points.class_names[right.answer] == "upper"
    assert right.lower > 3 * left.lower
    flipped = np.argmin(np.linalg.norm(points.X - left.adversarial, axis=1) + 9 * (points.y == left.answer))
    others = np.linalg.norm(points.X - points.X[flipped], axis=1).argsort()[1:4]
    assert (points.y[others] == left.answer).all()  # a square, and its nearest points are triangles


def test_fewer_2_the_mean_grows_and_a_few_points_of_both_classes_are_given_up() -> None:
    view = base_view("fewer", 2)
    start, end = robust(view), robust(replace(view, prototype_epoch="end"))
    assert end.mean_radius > 1.15 * start.mean_radius
    assert start.wrong < end.wrong < 15
    moved = np.linalg.norm(end.plane.voters[0] - start.plane.voters[0], axis=1)
    assert moved.max() > 0.2


def test_fewer_3_one_prototype_draws_a_straight_line_and_five_gain_hardly_anything() -> None:
    view = base_view("fewer", 3)
    one, three, five = (robust(replace(view, prototypes=count)) for count in (1, 3, 5))
    assert 80 / 7 <= one.wrong <= 80 / 5
    assert three.wrong <= 5
    assert abs(five.wrong - three.wrong) <= 2
    assert abs(five.mean_radius - three.mean_radius) < 0.05


def test_fewer_4_a_large_target_buys_radius_with_right_answers() -> None:
    view = base_view("fewer", 4)
    small, middle, large = (robust(replace(view, target=target)) for target in (0.05, 0.3, 1.0))
    assert large.mean_radius > 1.5 * small.mean_radius
    assert small.mean_radius < middle.mean_radius < large.mean_radius
    assert large.wrong >= 3 * small.wrong > 0


def test_fewer_5_more_points_are_wrong_that_it_has_not_seen() -> None:
    view = base_view("fewer", 5)
    panel = robust(view)
    knn = arml.MahalanobisKNN(metric=arml.Metric.from_components(panel.components), references=panel.plane.voters)
    fresh = [points_of(replace(view, n=200, seed=seed)) for seed in range(100, 110)]
    wrong = [(knn.fit(new.X, new.y).predict(new.X) != new.y).mean() for new in fresh]
    assert np.mean(wrong) > 1.2 * panel.wrong / 80
