"""The Train page's logic, without a browser; jobs are computed by a real worker."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.curves import mean_radius
from arml_core.datasets import read_dataset
from arml_core.figures import RobustLine
from arml_core.figures.words import radius_down
from arml_core.jobs import Client, EvaluationSpec, JobStatus, PointsSpec, new_key
from arml_core.learners.registry import LEARNERS
from arml_core.learners.storage import load_metric
from arml_core.neural import NetworkCurve
from pages.components.curve_words import (
    BOTH_CAPTION,
    EXACT_CAPTION,
    MEAN_RULE,
    NO_SCRIPT,
    PROVED_CAPTION,
    REACHED_CAPTION,
    curves_caption,
)
from pages.components.metric_file import LARGEST_MB, read_metric
from pages.components.store import open_store
from pages.components.train import queue
from pages.components.train.catalog import Offer, describe, offers
from pages.components.train.choices import (
    Chosen,
    read_seeds,
    read_settings,
    with_setting,
    write_settings,
)
from pages.components.train.detail import file_name, metric_file
from pages.components.train.evaluate import certificate_for, compare_query, grouped, lines_of, points_spec, supported
from pages.components.train.plan import MOST_TRAININGS, make_plan
from pages.components.train.queue import selected_job
from pages.components.train.snippet import evaluation_lines, training_lines
from pages.components.train.words import BADGES, progress_words, seed_words, state_words, under_way
from tests.browser.dashboard import stop_worker

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
TABLE = "x1,x2,label\n" + "".join(f"{i % 7},{(i * 5) % 11},{'ab'[i % 2]}\n" for i in range(40))


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One data folder with one worker for all tests here."""
    folder = tmp_path_factory.mktemp("home")
    yield folder
    stop_worker(folder)


@pytest.fixture(autouse=True)
def _own_home(home, monkeypatch) -> None:
    for name in ("ARML_DASK", "ARML_SHARED", "ARML_JOBS", "ARML_LEARNERS", "ARML_UPLOAD_DAYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ARML_HOME", str(home))
    open_store.clear()


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture(scope="module")
def run(home) -> str:
    """A finished training on wine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(home))
        client = Client()
        asked = client.train("wine", "arml", {"n_epochs": 30}, seed=3, device="cpu")
        assert client.wait(asked.id, PATIENCE).state == "done"
    return asked.id


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["train_warmed"] = True  # no worker unless a test asks for work
    for name, text in query.items():
        app.query_params[name] = text
    app.switch_page("pages/train.py").run()
    assert not app.exception
    return app


def query(app: AppTest) -> dict[str, str]:
    return {name: found[0] if isinstance(found, list) else found for name, found in app.query_params.items()}


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.success, app.subheader)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def drawn(app: AppTest) -> str:
    """The figures and their alternative texts, as they are sent."""
    return "\n".join(str(chart.proto) for chart in app.get("bidi_component"))


def offer(**changes) -> Offer:
    return replace(Offer("wine", "Wine", "bundled", 124, 54, 13, 3, unit_scale=True), **changes)


def status(state: str, **changes) -> JobStatus:
    plain_values = {
        "id": "0" * 32,
        "kind": "train",
        "state": state,
        "title": "ARML on Wine",
        "phase": "training",
        "done": 312,
        "total": 1000,
        "seconds_left": 12.0,
        "position": None,
        "attempt": 1,
        "reason": "",
        "note": "",
        "needs": None,
        "dataset": "",
        "private": False,
        "mine": True,
        "created": 0.0,
        "started": 10.0,
        "finished": None,
        "silent": None,
        "content": {"kind": "train", "learner": "arml", "seed": 42},
    }
    return JobStatus(**{**plain_values, **changes})


# the form ---------------------------------------------------------------------------------------------------------


def test_it_opens_on_a_small_dataset_with_the_papers_method_and_an_estimate() -> None:
    app = page(hide="queue")
    assert app.multiselect(key="train_datasets").value == ["breast_cancer"]
    assert app.multiselect(key="train_methods").value == ["arml"]
    assert app.number_input(key="train_p_arml_n_epochs").value == 1000
    assert "About" in texts(app)
    assert "of memory" in texts(app)
    assert not app.button(key="train_start").disabled


def test_every_parameter_of_a_chosen_method_is_in_the_form_and_in_the_address() -> None:
    app = page(methods="arml~lmnn")
    for method in ("arml", "lmnn"):
        for parameter in LEARNERS[method].parameters:
            kind = app.selectbox if parameter.kind == "choice" else app.number_input
            assert kind(key=f"train_p_{method}_{parameter.name}").value == parameter.default
    app.number_input(key="train_p_arml_n_epochs").set_value(50).run()
    app.selectbox(key="train_p_arml_loss").set_value("hinge").run()
    app.number_input(key="train_p_lmnn_learning_rate").set_value(1e-6).run()
    app.number_input(key="train_p_arml_batch_size").set_value(100).run()
    assert not app.exception
    settings = query(app)["settings"]
    assert settings == "arml:n_epochs:50~arml:loss:hinge~lmnn:learning_rate:1e-06~arml:batch_size:100"
    again = page(methods="arml~lmnn", settings=settings)
    assert again.number_input(key="train_p_lmnn_learning_rate").value == 1e-6
    assert again.number_input(key="train_p_arml_batch_size").value == 100
    app.number_input(key="train_p_arml_n_epochs").set_value(1000).run()
    assert "n_epochs" not in query(app)["settings"]


def test_a_value_the_method_refuses_stops_the_start_with_its_words() -> None:
    app = page(settings="arml:n_epochs:5")
    app.number_input(key="train_p_arml_learning_rate").set_value(0.0).run()
    assert "Learning_rate must be" in texts(app)
    assert app.button(key="train_start").disabled


def test_what_cannot_fit_is_refused_with_the_reason_and_the_rest_can_start() -> None:
    app = page(datasets="mnist~wine", settings="arml:objective:unsampled")
    (refused,) = app.error
    assert refused.value.startswith("ARML on MNIST cannot run here: it needs about 2")
    assert "of memory, and" in refused.value
    assert app.button(key="train_start").label == "Start training"
    assert not app.button(key="train_start").disabled
    assert page(datasets="mnist", settings="arml:objective:unsampled").button(key="train_start").disabled


def test_seeds_that_make_no_sense_stay_in_the_field_with_a_reason() -> None:
    app = page()
    app.text_input(key="train_seeds").set_value("1, two").run()
    assert app.text_input(key="train_seeds").value == "1, two"
    assert "whole numbers such as 0, 1, 2 or 0-4" in texts(app)
    assert app.button(key="train_start").disabled
    app.text_input(key="train_seeds").set_value("0-2").run()
    assert query(app) == {"seeds": "0~1~2"}
    assert app.button(key="train_start").label == "Start 3 trainings"


@pytest.mark.parametrize(
    ("text", "seeds"), [("42", (42,)), ("0, 1 ,2", (0, 1, 2)), ("3-5", (3, 4, 5)), ("7~7~1", (7, 1)), ("1 2", (1, 2))]
)
def test_seeds_are_read_as_people_write_them(text: str, seeds: tuple[int, ...]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "5-1", "0-99999", "99999999999", "²"])
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it takes"):
        read_seeds(text)


@pytest.mark.parametrize(
    "text",
    ["arml", "svm:k:1", "arml:epochs:1", "arml:n_epochs:0", "arml:refresh:99999999999", "itml:gamma:inf", "a:b:c:d"],
)
def test_other_settings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it takes|has no parameter|must be"):
        read_settings(text)


def test_settings_come_back_from_the_address_and_a_default_is_none() -> None:
    settings = (("arml", "learning_rate", 1e-7), ("nca", "n_components", 3), ("lfda", "variant", "published"))
    assert read_settings(write_settings(settings)) == settings
    chosen = Chosen(settings=settings)
    assert with_setting(chosen, "arml", "learning_rate", 1e-3) == settings[1:]


def test_a_dataset_that_is_not_here_is_offered_with_size_source_and_terms(monkeypatch, client) -> None:
    monkeypatch.delenv("ARML_DATA", raising=False)
    words = describe(offers(client)["usps"])
    assert "Not on this machine: the job downloads 8.4 MB first" in words
    assert "no licence stated" in words
    assert "J. J. Hull" in words


def test_a_method_without_chance_runs_once_whatever_the_seeds() -> None:
    chosen = Chosen(datasets=("wine",), methods=("arml", "lfda", "euclidean"), seeds=(0, 1, 2))
    plan = make_plan(chosen, {"wine": offer()}, None)
    assert [len(training.seeds) for training in plan.trainings] == [3, 1, 1]
    assert plan.count == 5


def test_the_estimate_of_each_is_a_table_with_alternative_text() -> None:
    (table,) = page(datasets="wine", methods="arml~lmnn").dataframe
    assert table.proto.alt == "Seeds, time and memory of each training"


def test_too_many_trainings_are_counted() -> None:
    chosen = Chosen(datasets=("wine",) * 4, methods=("arml",), seeds=tuple(range(20)))
    plan = make_plan(chosen, {"wine": offer()}, None)
    assert plan.too_many == f"That is 80 trainings; at most {MOST_TRAININGS} can be started at once. Choose fewer."


def test_the_estimate_counts_what_runs_at_the_same_time(monkeypatch) -> None:
    monkeypatch.setenv("ARML_JOBS", "2")
    chosen = Chosen(datasets=("wine",), methods=("arml",), seeds=(0, 1, 2, 3))
    plan = make_plan(chosen, {"wine": offer()}, 10 * 2**30)
    (one,) = plan.trainings
    assert plan.seconds == pytest.approx(2 * one.cost.seconds)
    assert plan.memory == 2 * one.cost.memory
    assert "2 run at once" in plan.summary()


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page(
        datasets="<script>", methods="svm", seeds="x", job="zzz", settings="arml:n_epochs:-5", k="0", colour="red"
    )
    for part in ("datasets=<script>", "methods=svm", "seeds=x", "job=zzz", "settings=arml", "k=0", "'colour'"):
        assert part in texts(app)
    assert query(app) == {}
    app = page(job="f" * 32, datasets="a" * 64)
    assert "there is no such job, or it is somebody else's" in texts(app)
    assert "an upload that is not here, or not yours" in texts(app)
    assert app.multiselect(key="train_datasets").value == []
    assert "Choose at least one dataset and one method" in texts(app)


# jobs -------------------------------------------------------------------------------------------------------------


def test_start_queues_the_work_shows_it_and_keeps_it_in_the_address(client) -> None:
    app = page(datasets="iris", methods="arml~euclidean", settings="arml:n_epochs:15", seeds="0~1")
    app.button(key="train_start").click().run()
    assert not app.exception
    assert "3 trainings are in the queue" in texts(app)
    job = query(app)["job"]
    assert client.status(job).title == "ARML on Iris"
    for asked in client.list():
        if "Iris" in asked.title:
            assert client.wait(asked.id, PATIENCE).state == "done"
    again = page(datasets="iris", methods="arml", settings="arml:n_epochs:15", seeds="0", job=job)
    again.button(key="train_start").click().run()
    assert "It was trained before; here is the result." in texts(again)
    assert "finished in" in texts(again)


def test_a_failed_job_says_why_and_can_be_retried(client) -> None:
    app = page(datasets="moons", settings="arml:n_components:5")
    app.button(key="train_start").click().run()
    job = query(app)["job"]
    failed = client.wait(job, PATIENCE)
    assert failed.state == "failed"
    app.run()
    assert not app.exception
    shown = " ".join(error.value for error in app.error)
    assert r"This training failed: n\_components must be" in shown
    assert "Retry" in shown
    before = client.status(job).started
    app.button(key="train_retry").click().run()
    assert not app.exception
    assert client.wait(job, PATIENCE).started != before


@pytest.mark.parametrize("state", BADGES)
def test_every_state_has_its_own_words_and_a_next_step(state: str) -> None:
    finished = None if state in ("queued", "running", "cancelling") else 22.0
    job = status(state, position=2 if state == "queued" else None, reason="the disk is full", finished=finished)
    words = state_words(job)
    expected = {
        "queued": "place 2 in the queue: it starts by itself",
        "running": "You may close this page",
        "cancelling": "Stopping",
        "cancelled": "Stopped on request at epoch 312 of 1,000. “Retry” goes on",
        "failed": r"failed: the disk is full\. Change the setting",
        "lost": "“Retry” takes it up again",
        "done": "Finished in 12 s. Evaluate it below",
    }[state]
    assert expected in words
    assert len({state_words(status(other, position=1, finished=22.0)) for other in BADGES}) == len(BADGES)


def test_progress_says_where_how_far_and_how_long() -> None:
    assert progress_words(status("running")) == "epoch 312 of 1,000, about 12 s left"
    assert progress_words(
        status("running", phase="downloading", done=3_100_000, total=11_600_000, seconds_left=None)
    ) == ("downloading, 3.1 of 11.6 MB")
    assert progress_words(status("running", phase="loading", done=0, total=0)) == "loading the data"
    assert progress_words(status("queued", position=3)) == "waiting, place 3 in the queue"
    gone = status("lost")
    assert under_way(gone)
    assert progress_words(gone) == "interrupted, it goes on by itself"
    assert "worker was stopped on purpose" in state_words(status("queued", position=1), held=True)


def test_without_a_choice_the_running_training_is_shown(client, run: str) -> None:
    assert selected_job([status("done"), status("queued")], client, "") == (status("done"), None)
    shown, notice = selected_job([], client, run)
    assert (shown.id, notice) == (run, None)
    assert selected_job([], client, "f" * 32)[0] is None


def test_a_network_of_the_paper_is_no_training_of_a_metric(client, run: str, monkeypatch) -> None:
    network = client.certify_network("iris", NetworkCurve(hidden=(4,), epochs=1), 5)
    monkeypatch.setattr(queue, "looking", lambda: client)
    assert network.id in [job.id for job in client.list()]
    assert network.id not in [job.id for job in queue.listed()]
    shown, notice = selected_job([], client, network.id)
    assert shown is None
    assert notice.startswith(f"The address has job={network.id[:8]}")
    assert progress_words(replace(network, state="running", phase="training", done=2, total=5)).startswith("epoch 2")
    assert progress_words(replace(network, state="running", phase="certifying", done=2, total=5)).startswith("point 2")


# the result -------------------------------------------------------------------------------------------------------


def test_a_downloaded_metric_is_the_learned_one_and_says_how_it_was_made(client, run: str, tmp_path) -> None:
    (tmp_path / "m.npz").write_bytes(metric_file(client, client.status(run)))
    saved = load_metric(tmp_path / "m.npz", n_features=13)
    np.testing.assert_array_equal(saved.components_, client.run(run).components_)
    assert saved.info["learner"] == "arml"
    assert saved.info["dataset"] == "wine"
    assert saved.info["parameters"]["n_epochs"] == 30
    assert saved.info["seed"] == 3
    assert file_name(client.status(run), "npz") == "arml-wine-3.npz"


def test_the_python_lines_train_the_same_metric(client, run: str) -> None:
    lines = training_lines(client.status(run).spec, offer())
    found: dict = {}
    exec(lines.replace("print(metric", "M = (metric"), found)
    np.testing.assert_allclose(found["M"], client.run(run).get_mahalanobis_matrix(), rtol=1e-6, atol=1e-8)


def test_the_python_lines_of_an_evaluation_print_its_numbers(client, run: str) -> None:
    points, threat = PointsSpec("evaluation", 20), arml.ThreatModel("linf", box=(0.0, 1.0))
    jobs = [
        client.certify(run, 3, "votes", threat, points),
        client.attack(run, 3, "boundary", threat, points, seed=5, options={"steps": 40}),
    ]
    for job in jobs:
        assert client.wait(job.id, PATIENCE).state == "done"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(evaluation_lines(client.status(run).spec, [job.spec for job in jobs], offer()), {})
    certified, attacked = (client.radii(job.id) for job in jobs)
    for radii, line in zip((certified.lower, attacked.upper), printed.getvalue().splitlines(), strict=True):
        assert str(arml.robust_error(radii, [0, 0.1, 0.2])) in line


def test_the_python_lines_about_the_own_answers_leave_the_labels_out(client, run: str) -> None:
    job = client.certify(run, 5, "votes", points=PointsSpec("train", 40, labels=False))
    assert client.wait(job.id, PATIENCE).state == "done"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(evaluation_lines(client.status(run).spec, [job.spec], offer()), {})
    assert str(arml.robust_error(client.radii(job.id).lower, [0, 0.1, 0.2])) in printed.getvalue()


def test_no_python_lines_are_given_for_the_rows_of_a_file(client, run: str) -> None:
    data = arml.load_dataset("wine")
    job = client.certify(run, 5, "votes", points=client.add_points(data.X_test[:4], data.y_test[:4]))
    assert client.wait(job.id, PATIENCE).state == "done"
    app = page(job=run, curve=job.id)
    app.session_state["train_open_curve_python"] = True
    app.run()
    assert NO_SCRIPT in texts(app)
    assert not app.code


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
    assert shown["Clean error"] == f"{1 - engine.correct.mean():.3f}"
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


def test_curves_under_way_are_drawn_on_the_points_both_sides_have(client, run: str) -> None:
    points = PointsSpec("evaluation", 25)
    certified, attacked = client.certify(run, 3, points=points), client.attack(run, 3, points=points)
    for job in (certified, attacked):
        assert client.wait(job.id, PATIENCE).state == "done"
    whole, part = client.evaluation(certified.id), client.evaluation(attacked.id)
    few = {name: getattr(part, name)[:10] for name in ("lower", "upper", "exact", "correct")}
    part = replace(part, **few, rows=np.arange(10))
    (line,) = lines_of("ARML", [whole, part])
    assert line.partial
    np.testing.assert_array_equal(line.certified, whole.lower[:10])
    np.testing.assert_array_equal(line.empirical, part.upper)
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


def test_radii_about_labels_and_about_the_own_answers_have_a_chart_each(client, run: str) -> None:
    labelled, own = (
        client.certify(run, 5, "votes", points=PointsSpec("train", 40, labels=labels)) for labels in (True, False)
    )
    for job in (labelled, own):
        assert client.wait(job.id, PATIENCE).state == "done"
    for job, labels in ((labelled, True), (own, False)):
        app = page(job=run, curve=job.id)
        tiles = {tile.label: tile.value for tile in app.metric}
        assert tiles["Mean certified radius"] == radius_down(mean_radius(client.evaluation(job.id).lower))
        assert ("Clean error" in tiles) == labels
        assert ("each left out; the classifier's own answers, not the labels" in texts(app)) != labels


def test_the_caption_speaks_of_what_is_drawn_and_tiles_name_their_certificate(client, run: str) -> None:
    points = PointsSpec("evaluation", 9)
    asked = {method: client.certify(run, 1, method, points=points) for method in ("exact", "votes")}
    for job in asked.values():
        assert client.wait(job.id, PATIENCE).state == "done"
    app = page(job=run, curve=asked["votes"].id)
    assert PROVED_CAPTION in texts(app)
    assert "ashed" not in texts(app)
    tiles = {tile.label: tile for tile in app.metric}
    assert set(tiles) == {"Clean error", "Mean certified radius, Exact", "Mean certified radius, Votes"}
    for method in ("exact", "votes"):
        tile = tiles[f"Mean certified radius, {method.capitalize()}"]
        assert tile.value == radius_down(mean_radius(client.evaluation(asked[method].id).lower))
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
    assert "exact" not in supported(1, "l2", box=True)
    assert certificate_for(Chosen(k=11), box=False) == "votes"
    assert certificate_for(Chosen(k=1), box=False) == "exact"


def test_certificates_are_offered_for_the_largest_k_where_the_address_asks_for_more(client) -> None:
    run = client.train("seven_points", "euclidean", device="cpu")
    assert client.wait(run.id, PATIENCE).state == "done"
    app = page(job=run.id, k="11", certificate="theorem1", attack="none")
    assert app.number_input(key="train_k").value == 6
    assert app.selectbox(key="train_certificate").options == ["Search", "Votes"]
    app.button(key="train_evaluate").click().run()
    (asked,) = [job.content for job in client.list() if job.needs == run.id]
    assert (asked["n_neighbors"], asked["method"]) == (6, "votes")


def test_without_test_points_training_points_are_left_out_one_by_one() -> None:
    assert points_spec(Chosen(points=100), offer()).content()["part"] == "evaluation"
    assert points_spec(Chosen(points=100), offer()).n == 54
    seven = offer(n_train=7, n_test=0)
    assert (points_spec(Chosen(points=100), seven).part, points_spec(Chosen(points=100), seven).n) == ("train", 7)


# metrics from elsewhere and other people --------------------------------------------------------------------------


def test_an_uploaded_matrix_becomes_a_run_that_can_be_shown(client) -> None:
    metric = read_metric("mine.csv", b"2,0\n0,1\n", n_features=2)
    added = client.add_metric("moons", metric, "Mine")
    app = page(job=added.id)
    assert any("Mine for Two moons" in heading.value for heading in app.subheader)
    assert "A metric from elsewhere" in texts(app)


def test_a_metric_is_called_by_its_own_name_whatever_the_files_is(client) -> None:
    data = replace(read_dataset(TABLE.encode(), label="label", name="x.csv"), title="data for me.csv")
    added = client.add_metric(data, np.eye(2), "Mine")
    asked = client.certify(added.id, 1, "exact", points=PointsSpec("train", 5))
    assert client.wait(asked.id, PATIENCE).state == "done"
    assert client.evaluation(asked.id).learner_title == "Mine"
    assert "Mine, certified" in drawn(page(job=added.id))


def test_a_training_whose_method_is_offered_no_longer_is_still_shown(client, run: str, monkeypatch) -> None:
    asked = client.certify(run, 3, "votes", points=PointsSpec("evaluation", 5))
    assert client.wait(asked.id, PATIENCE).state == "done"
    monkeypatch.delitem(LEARNERS, "arml")
    app = page(job=run, methods="nca", curve=asked.id)
    assert "arml is offered here no longer" in texts(app)
    assert "arml, certified" in drawn(app)
    assert "random_state=3" in training_lines(client.status(run).spec, offer())


def test_a_seed_is_named_where_one_is_drawn_from(monkeypatch) -> None:
    monkeypatch.setitem(LEARNERS, "sober", replace(LEARNERS["arml"], name="sober", seeded=False))
    for learner, words in (("arml", " · seed 3"), ("lfda", ""), ("sober", "")):
        assert seed_words(status("done", content={"kind": "train", "learner": learner, "seed": 3})) == words


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", b"1,2\n0,1\n", "m.csv: a metric must be symmetric"),
        ("m.csv", b"1,0\n0,-1\n", "m.csv: .*positive semi-definite"),
        ("m.csv", b"1,0,0\n0,1,0\n0,0,1\n", "m.csv: it has 3 lines"),
        ("m.csv", b"", "m.csv: the file is empty"),
        ("m.npz", b"no archive", "m.npz: it is not a .npz file, or it is damaged"),
        ("m.csv", b"1" * (LARGEST_MB * 2**20 + 1), "the limit is 50 MB"),
    ],
)
def test_a_file_that_is_no_metric_is_named_with_what_is_wrong(name: str, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_metric(name, content, n_features=2)


@pytest.mark.parametrize("name", ["m.csv", "m.npz", "m"])
@pytest.mark.parametrize("packed", [True, False])
def test_an_uploaded_matrix_is_read_by_what_it_holds(name: str, packed: bool) -> None:
    stream = io.BytesIO()
    np.savez(stream, M=np.diag([2.0, 1.0]))
    metric = read_metric(name, stream.getvalue() if packed else b"2,0\n0,1\n", n_features=2)
    assert np.allclose(metric.matrix(), np.diag([2.0, 1.0]))


def test_an_uploaded_matrix_is_never_unpickled() -> None:
    stream = io.BytesIO()
    np.savez(stream, M=np.array([[1, None], [None, 1]], dtype=object))
    with pytest.raises(ValueError, match=r"m\.csv: "):
        read_metric("m.csv", stream.getvalue(), n_features=2)


def test_two_visitors_of_a_shared_app_see_what_they_may_and_no_more(monkeypatch, client) -> None:
    public = client.train("circles", "arml", {"n_epochs": 12}, seed=1, device="cpu")
    client.wait(public.id, PATIENCE)
    monkeypatch.setenv("ARML_SHARED", "1")
    ann, bob = new_key(), new_key()
    secret = read_dataset(TABLE.encode(), label="label", name="patients.csv")
    hers = Client(owner=ann)
    hers.store.contents.put_dataset(secret, hers.visitor)
    digest = secret.fingerprint
    app = page(key=ann, datasets=digest, settings="arml:n_epochs:12")
    assert "This address is private" in texts(app)
    assert "deleted on" in texts(app)
    app.button(key="train_start").click().run()
    assert not app.exception
    job = query(app)["job"]
    assert query(app)["key"] == ann
    assert hers.status(job).private
    assert hers.wait(job, PATIENCE).state == "done"
    assert "ARML on Your file" in texts(page(key=ann, job=job))
    for other in (page(key=bob, job=job, datasets=digest), page(job=job, datasets=digest)):
        assert "Your file" not in texts(other)
        assert "no such job, or it is somebody else's" in texts(other)
        assert "ARML on Circles" in texts(other)
    shown = page(key=bob, job=public.id)
    assert "Somebody else asked for this job; only they can cancel it" in texts(shown)


def test_a_visitor_gets_a_key_with_the_first_job(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    app = page(datasets="wine", methods="euclidean")
    assert "key" not in query(app)
    app.button(key="train_start").click().run()
    assert len(query(app)["key"]) >= 16
    assert "This address is private" in texts(app)
