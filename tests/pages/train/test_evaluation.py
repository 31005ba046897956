"""Certificates of and attacks on a trained metric, computed by a real worker."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pytest

import arml_core as arml
from arml_core.curves import mean_radius
from arml_core.figures import RobustLine, curves_caption
from arml_core.jobs import EvaluationSpec, JobStatus, PointsSpec, RunSpec
from arml_core.vocabulary import (
    BOTH_CAPTION,
    EXACT_CAPTION,
    MEAN_RULE,
    NO_SCRIPT,
    PROVED_CAPTION,
    REACHED_CAPTION,
    radius_down,
    share_up,
)
from pages.components.train.choices import TrainView
from pages.components.train.evaluate import grouped
from pages.components.train.evaluation_curves import compare_query, lines_of
from pages.components.train.evaluation_form import (
    certificate_for,
    fitting_view,
    most_neighbours,
    points_spec,
    supported,
)
from pages.components.train.snippet import evaluation_lines

from ...job_requests import attack, certify, train
from .train_page import PATIENCE, offer, page, status, texts


@pytest.mark.more
def test_the_python_lines_of_an_evaluation_print_its_numbers(client, run: str) -> None:
    points, threat = PointsSpec("evaluation", 20), arml.ThreatModel("linf", box=(0.0, 1.0))
    jobs = [
        certify(client, run, 3, "votes", threat, points),
        attack(client, run, 3, "boundary", threat, points, seed=5, options={"steps": 40}),
    ]
    for job in jobs:
        assert client.wait(job.id, PATIENCE).state == "done"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(evaluation_lines(client.status(run).spec, [job.spec for job in jobs], offer()), {})
    certified, attacked = (client.radii(job.id) for job in jobs)
    for radii, line in zip((certified.lower, attacked.upper), printed.getvalue().splitlines(), strict=True):
        assert str(arml.robust_error(radii, [0, 0.1, 0.2])) in line


@pytest.mark.more
def test_the_python_lines_about_the_own_answers_leave_the_labels_out(client, run: str) -> None:
    job = certify(client, run, 5, "votes", points=PointsSpec("train", 40, labels=False))
    assert client.wait(job.id, PATIENCE).state == "done"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(evaluation_lines(client.status(run).spec, [job.spec], offer()), {})
    assert str(arml.robust_error(client.radii(job.id).lower, [0, 0.1, 0.2])) in printed.getvalue()


@pytest.mark.more
def test_no_python_lines_are_given_for_the_rows_of_a_file(client, run: str) -> None:
    data = arml.load_dataset("wine")
    job = certify(client, run, 5, "votes", points=client.add_points(data.X_test[:4], data.y_test[:4]))
    assert client.wait(job.id, PATIENCE).state == "done"
    app = page(job=run, curve=job.id)
    app.session_state["train_open_curve_python"] = True
    app.run()
    assert NO_SCRIPT in texts(app)
    assert not app.code


@pytest.mark.more
def test_an_evaluation_is_asked_for_as_chosen_and_drawn_with_the_engines_numbers(client, run: str) -> None:
    app = page(job=run, k="3", norm="linf", points="15", attack="boundary", steps="30", attack_seed="4")
    assert app.selectbox(key="train_certificate").value == "votes"
    app.button(key="train_evaluate").click().run()
    assert not app.exception
    asked = {job.kind: job for job in client.list() if job.needs == run and job.content["points"]["n"] == 15}
    assert asked["attack"].content["options"] == {"steps": 30}
    assert asked["attack"].content["seed"] == 4
    for job in asked.values():
        assert client.wait(job.id, PATIENCE).state == "done"
    app.run()
    assert not app.exception
    data = arml.load_dataset("wine")
    x, y = data.evaluation(15)
    knn = arml.MahalanobisKNN(3, metric=client.run(run)).fit(data.X_train, data.y_train)
    engine = knn.certify(x, y, "votes", arml.ThreatModel("linf"))
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Mean certified radius"] == radius_down(engine.lower.mean())
    assert shown["Clean error"] == share_up(1 - engine.correct.mean())
    (line,) = lines_of("ARML", [client.evaluation(asked[kind].id) for kind in ("certify", "attack")])
    np.testing.assert_allclose(line.certified, engine.lower, rtol=1e-12)
    assert line.attack == "Boundary attack, 30 steps, seed 4"
    assert compare_query(client.status(run), asked["certify"], offer()) == {
        "data": "wine",
        "runs": run[:12],
        "k": "3",
        "norm": "linf",
        "limits": "free",
    }


@pytest.mark.parametrize(
    ("threat", "limits"),
    [
        ({"box": (0.0, 1.0)}, "box"),
        ({"frozen": [1]}, "special"),
        ({"costs": [1, 2]}, "special"),
        ({"costs": [1, 1]}, "free"),
    ],
)
def test_the_way_to_compare_leads_to_the_attacker_that_is_drawn(threat: dict, limits: str) -> None:
    asked = evaluation(threat=arml.ThreatModel(**threat))
    assert compare_query(status("done"), asked, offer())["limits"] == limits


@pytest.mark.more
def test_curves_under_way_are_drawn_on_the_points_both_sides_have(client, run: str) -> None:
    points = PointsSpec("evaluation", 25)
    certified, attacked = certify(client, run, 3, points=points), attack(client, run, 3, points=points)
    for job in (certified, attacked):
        assert client.wait(job.id, PATIENCE).state == "done"
    whole, part = client.evaluation(certified.id), client.evaluation(attacked.id)
    part = replace(part, radii=part.radii.take(np.arange(10)))
    (line,) = lines_of("ARML", [whole, part])
    assert line.partial
    np.testing.assert_array_equal(line.certified, whole.radii.lower[:10])
    np.testing.assert_array_equal(line.empirical, part.radii.upper)
    (alone,) = lines_of("ARML", [whole])
    assert (len(alone.certified), alone.partial) == (25, False)


def evaluation(kind: str = "certify", created: float = 0.0, **changes) -> JobStatus:
    spec = EvaluationSpec(kind, "0" * 32, **changes)
    return status("done", kind=kind, created=created, needs="0" * 32, content=spec.content())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"points": PointsSpec("train", 9)}, {"points": PointsSpec("train", 9, labels=False)}),
        ({"points": PointsSpec("train", 9)}, {"points": PointsSpec("train", 8)}),
        ({"points": PointsSpec("test", 9)}, {"points": PointsSpec("evaluation", 9)}),
        ({"points": PointsSpec("given", None, "a")}, {"points": PointsSpec("given", None, "b")}),
        ({"threat": arml.ThreatModel(frozen=[0])}, {"threat": arml.ThreatModel(frozen=[1])}),
        ({"threat": arml.ThreatModel(costs=[1.0, 2.0])}, {"threat": arml.ThreatModel(costs=[2.0, 1.0])}),
    ],
)
def test_evaluations_of_different_questions_are_never_drawn_together(one: dict, other: dict) -> None:
    older, newer = evaluation(created=1.0, **one), evaluation("attack", created=2.0, **other)
    groups = grouped([older, newer])
    assert list(groups.values()) == [[newer], [older]]


def test_evaluations_of_one_question_are_drawn_together() -> None:
    proof, attack = evaluation(), evaluation("attack", threat=arml.ThreatModel(costs=[1.0, 1.0]))
    assert grouped([proof, attack]) == {"K = 1, ℓ2 norm, all test points": [proof, attack]}


def test_groups_that_words_do_not_tell_apart_are_counted_from_the_oldest() -> None:
    files = [evaluation(created=at, points=PointsSpec("given", None, name)) for at, name in ((1.0, "a"), (2.0, "b"))]
    words = "K = 1, ℓ2 norm, rows of a file"
    assert grouped(files) == {f"{words} (2 of 2)": files[1:], f"{words} (1 of 2)": files[:1]}


@pytest.mark.more
def test_radii_about_labels_and_about_the_own_answers_have_a_chart_each(client, run: str) -> None:
    labelled, own = (
        certify(client, run, 5, "votes", points=PointsSpec("train", 40, labels=labels)) for labels in (True, False)
    )
    for job in (labelled, own):
        assert client.wait(job.id, PATIENCE).state == "done"
    for job, labels in ((labelled, True), (own, False)):
        app = page(job=run, curve=job.id)
        tiles = {tile.label: tile.value for tile in app.metric}
        assert tiles["Mean certified radius"] == radius_down(mean_radius(client.evaluation(job.id).radii.lower))
        assert ("Clean error" in tiles) == labels
        assert ("each left out; the classifier's own answers, not the labels" in texts(app)) != labels


@pytest.mark.more
def test_the_caption_speaks_of_what_is_drawn_and_tiles_name_their_certificate(client, run: str) -> None:
    points = PointsSpec("evaluation", 9)
    asked = {method: certify(client, run, 1, method, points=points) for method in ("exact", "votes")}
    for job in asked.values():
        assert client.wait(job.id, PATIENCE).state == "done"
    app = page(job=run, curve=asked["votes"].id)
    assert PROVED_CAPTION in texts(app)
    assert "ashed" not in texts(app)
    tiles = {tile.label: tile for tile in app.metric}
    assert set(tiles) == {"Clean error", "Mean certified radius, Exact", "Mean certified radius, Votes"}
    for method in ("exact", "votes"):
        tile = tiles[f"Mean certified radius, {method.capitalize()}"]
        assert tile.value == radius_down(mean_radius(client.evaluation(asked[method].id).radii.lower))
        assert MEAN_RULE in tile.help


@pytest.mark.parametrize(
    ("line", "caption"),
    [
        (RobustLine("a", np.ones(2), np.ones(2), exact=True), EXACT_CAPTION),
        (RobustLine("a", np.ones(2), np.ones(2)), BOTH_CAPTION),
        (RobustLine("a", np.ones(2)), PROVED_CAPTION),
        (RobustLine("a", None, np.ones(2)), REACHED_CAPTION),
    ],
)
def test_a_caption_for_each_case(line: RobustLine, caption: str) -> None:
    assert curves_caption([line]) == caption


def test_only_certificates_that_exist_are_offered_the_tightest_first() -> None:
    assert supported(1, "l2", box=False) == ["exact", "search", "votes", "theorem1"]
    assert supported(2, "l2", box=False) == ["search", "votes"]
    assert supported(11, "linf", box=True) == ["search", "votes", "theorem1"]
    assert supported(1, "l2", box=True)[0] == "exact"
    assert certificate_for(TrainView(k=11), box=False) == "votes"
    assert certificate_for(TrainView(k=1), box=False) == "exact"


@pytest.mark.more
def test_certificates_are_offered_for_the_largest_k_where_the_address_asks_for_more(client) -> None:
    run = train(client, "seven_points", "euclidean", device="cpu")
    assert client.wait(run.id, PATIENCE).state == "done"
    app = page(job=run.id, k="11", certificate="theorem1", attack="none")
    assert app.number_input(key="train_k").value == 6
    assert app.selectbox(key="train_certificate").options == ["Search", "Votes"]
    app.button(key="train_evaluate").click().run()
    (asked,) = [job.content for job in client.list() if job.needs == run.id]
    assert (asked["n_neighbors"], asked["method"]) == (6, "votes")


METRIC, PROTOTYPES, ROWS = (RunSpec("", name) for name in ("arml", "robust_prototypes", "adversarial_pruning"))


def test_without_test_points_training_points_are_judged_by_what_has_not_seen_them() -> None:
    view, seven = TrainView(points=100), offer(n_train=7, n_test=0)
    for run in (METRIC, PROTOTYPES, ROWS):
        assert points_spec(view, offer(), run) == PointsSpec("evaluation", 54)
    assert points_spec(view, seven, METRIC) == PointsSpec("train", 7)
    assert points_spec(view, seven, ROWS) == PointsSpec("train", 7)
    assert points_spec(view, seven, PROTOTYPES) == PointsSpec("cross", 7)


def test_a_k_that_is_too_large_becomes_the_largest_of_a_metric_and_1_of_prototypes() -> None:
    assert most_neighbours(offer()) == 99
    assert most_neighbours(offer(), 9) == 9
    assert fitting_view(TrainView(k=11), 9, has_references=True).k == 1
    assert fitting_view(TrainView(k=11), 9, has_references=False).k == 9
    assert fitting_view(TrainView(k=3), 9, has_references=True).k == 3
