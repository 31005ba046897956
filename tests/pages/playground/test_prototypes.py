"""Robust prototypes in the playground: learned once, watched while they learn, certified as they stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import arml_core as arml
from arml_core.references import RobustPrototypes
from pages.components import plane_models
from pages.components.plane_models import EPOCH_STEP, ROBUST, epoch_step, prototype_training
from pages.components.plane_panel import panel_of, points_of, recorded_training
from pages.components.playground.view import PlaygroundView

from ..app import address, alone

MOONS = PlaygroundView(data="moons", n=30, row=4, methods=("euclidean", ROBUST), prototypes=2, target=0.4)


def learner() -> RobustPrototypes:
    points = points_of(MOONS)
    return RobustPrototypes(2, 0.4, device="cpu", random_state=0).fit(points.X, points.y)


def test_a_panel_is_certified_with_the_prototypes_and_without_leaving_a_point_out() -> None:
    points, learned = points_of(MOONS), learner()
    panel = panel_of(ROBUST, MOONS, points)
    knn = arml.MahalanobisKNN(references=learned, device="cpu").fit(points.X, points.y)
    found = knn.certify(points.X, points.y, method="exact")
    assert panel.probe.lower == pytest.approx(found.lower[4], rel=1e-9)
    assert panel.mean_radius == pytest.approx(found.lower.mean())
    assert panel.wrong == (~found.correct).sum()
    np.testing.assert_array_equal(panel.plane.prototypes[0], learned.references_)
    assert (panel.plane.left_out, panel.probe.row, panel.probe.label) == (None, 4, points.y[4])


def test_prototypes_answer_with_one_neighbour_whatever_k_is() -> None:
    one, many = (panel_of(ROBUST, replace(MOONS, k=k), points_of(MOONS)) for k in (1, 15))
    assert many.n_neighbors == 1
    assert len(many.probe.neighbours) == 1
    assert many.probe.lower == one.probe.lower
    assert panel_of("euclidean", replace(MOONS, k=3), points_of(MOONS)).n_neighbors == 3


def test_the_training_is_kept_from_its_start_to_the_learners_result() -> None:
    points, learned = points_of(MOONS), learner()
    training = recorded_training(ROBUST, MOONS, points)
    assert training.epochs == len(training.radius) == learned.n_iter_
    assert len(training.models) > 20
    start, end = training.at(0), training.at("end")
    for code in (0, 1):  # k-means: the middle of what is nearest
        own = points.X[points.y == code]
        centres = start.prototypes[0][start.prototypes[1] == code]
        nearest = np.linalg.norm(own[:, None] - centres, axis=2).argmin(axis=1)
        np.testing.assert_allclose(centres, [own[nearest == i].mean(axis=0) for i in range(2)])
    np.testing.assert_array_equal(end.prototypes[0], learned.references_)
    np.testing.assert_array_equal(end.components, learned.components_)
    assert training.at(10**9) is end
    steps = [np.abs(b.prototypes[0] - a.prototypes[0]).max() for a, b in pairwise(training.models)]
    assert 0 < max(steps) < 0.3  # they move, and do not jump
    assert training.at(training.step + 1) is training.models[1]


@pytest.mark.parametrize(("total", "step"), [(1000, 10), (600, 6), (601, 1), (7, 1), (30, 1), (101, 1), (1210, 11)])
def test_states_are_kept_evenly_with_the_last(total: int, step: int) -> None:
    assert epoch_step(total) == step
    assert epoch_step(plane_models.EPOCHS) == EPOCH_STEP


def test_a_change_of_the_view_learns_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of(MOONS)
    panel_of(ROBUST, MOONS, points)
    monkeypatch.setattr(plane_models, "RobustPrototypes", None)
    for change in ({"k": 3}, {"norm": "l1"}, {"row": 2}, {"row": None, "at": (0.1, 0.2)}, {"prototype_epoch": 60}):
        panel_of(ROBUST, replace(MOONS, **change), points)
    with pytest.raises(TypeError):
        panel_of(ROBUST, replace(MOONS, prototypes=3), points)


def test_a_class_that_is_missing_in_between_keeps_its_number() -> None:
    x = np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [1.1, 1.0]])
    training = prototype_training(x, np.array([0, 0, 3, 3]), 1, 0.2)
    for model in (training.at(0), training.at(60), training.at("end")):
        assert model.prototypes[1].tolist() == [0, 3]


def test_number_target_and_epoch_are_chosen_on_the_page_and_kept_in_the_address() -> None:
    app = alone("pages/playground.py", data="moons", n="30", methods=f"euclidean~{ROBUST}", k="3")
    assert any("auto: 3 in each class, target radius" in caption.value for caption in app.caption)
    assert any("so K = 1 in this picture" in caption.value for caption in app.caption)
    app.segmented_control(key="pg_prototypes").set_value(2).run()
    app.select_slider(key="pg_target").set_value(0.4).run()
    app.slider(key="pg_prototype_epoch").set_value(60).run()
    kept = {"data": "moons", "n": "30", "methods": f"euclidean~{ROBUST}", "k": "3"}
    kept |= {"prototypes": "2", "target": "0.4", "prototype_epoch": "60"}
    assert address(app) == kept
    assert not app.exception
    panel = panel_of(ROBUST, replace(MOONS, row=1, prototype_epoch=60), points_of(MOONS))
    means = [metric for metric in app.metric if metric.label == "Mean of all"]
    assert [metric.delta.split(" of ")[1] for metric in means] == ["30 wrong"] * 2
    assert f"{panel.wrong} of 30 wrong" == means[1].delta
    assert "learned from these points" in means[1].help
    app.slider(key="pg_prototype_epoch").set_value(600).run()
    kept.pop("prototype_epoch")
    assert address(app) == kept


def test_other_pictures_show_no_setting_of_prototypes() -> None:
    app = alone("pages/playground.py")
    assert not any("prototypes" in control.label for control in app.slider)
    assert "pg_prototypes" not in {control.key for control in app.get("button_group")}
    assert all(not metric.delta for metric in app.metric)


def test_play_moves_the_prototypes_from_the_start() -> None:
    app = alone("pages/playground.py", data="moons", n="30", methods=f"euclidean~{ROBUST}")
    app.button(key="pg_play_prototype_epoch").click().run()
    assert app.session_state["pg_playing"] == ROBUST
    assert address(app)["data"] == "moons"
    assert 0 < app.slider(key="pg_prototype_epoch").value <= 60


@pytest.mark.parametrize("hide", ["prototypes", "epoch"])
def test_their_controls_can_be_hidden(hide: str) -> None:
    app = alone("pages/playground.py", data="moons", n="30", methods=f"euclidean~{ROBUST}", hide=hide)
    keys = {control.key for control in (*app.slider, *app.select_slider)}
    assert ("pg_target" in keys) == (hide != "prototypes")
    assert ("pg_prototype_epoch" in keys) == (hide != "epoch")


def test_the_answer_takes_the_place_of_the_task() -> None:
    app = alone("pages/playground.py", lesson="fewer", step="4")
    words = lambda: " ".join(text.value for text in app.markdown)  # noqa: E731
    assert "**Try 'Robust prototypes'.**" in words()
    assert "**Answer.**" not in words()
    app.button(key="pg_answer").click().run()
    assert "**Answer.**" in words()
    assert "**Try" not in words()
    app.button(key="pg_next").click().run()
    assert "**Answer.**" not in words()
    assert address(app) == {"lesson": "fewer", "step": "5"}
