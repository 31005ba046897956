"""References on the Train page: chosen beside metrics, watched as pictures, evaluated and taken away."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import arml_core as arml
from arml_core.jobs import Client, PointsSpec, RunSpec
from arml_core.learners.storage import load_metric
from arml_core.references import KMeansPrototypes
from arml_core.references.registry import REFERENCES
from arml_core.vocabulary import number
from pages.components.job_words import state_words, step_word
from pages.components.metric_file import read_metric, read_model
from pages.components.train import references
from pages.components.train.detail import _learns_metric, metric_file
from pages.components.train.snippet import evaluation_lines, training_lines

from ...job_requests import certify, train
from ..app import address
from .train_page import PATIENCE, drawn, offer, page, status, texts


@pytest.fixture(scope="module")
def given(home) -> str:
    """Two prototypes for each digit, as a finished run; no worker is needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(home))
        data = arml.load_dataset("digits")
        learner = KMeansPrototypes(2, random_state=0).fit(data.X_train, data.y_train)
        return Client().add_metric("digits", learner, "Two centres").id


def test_references_are_chosen_beside_metrics_and_both_are_one_choice() -> None:
    app = page(methods="robust_prototypes~arml")
    assert app.multiselect(key="train_methods").value == ["arml"]
    assert app.multiselect(key="train_references").value == ["robust_prototypes"]
    assert app.button(key="train_start").label == "Start 2 trainings"
    app.multiselect(key="train_references").set_value(["gmlvq", "kmeans_prototypes"]).run()
    assert address(app)["methods"] == "arml~gmlvq~kmeans_prototypes"
    app.multiselect(key="train_methods").set_value([]).run()
    assert address(app)["methods"] == "gmlvq~kmeans_prototypes"
    assert "About" in texts(app)
    assert app.button(key="train_start").label == "Start 2 trainings"


def test_every_parameter_of_references_is_in_the_form_and_automatic_ones_start_empty() -> None:
    app = page(methods="robust_prototypes")
    for parameter in REFERENCES["robust_prototypes"].parameters:
        kind = app.selectbox if parameter.kind == "choice" else app.number_input
        shown = kind(key=f"train_p_robust_prototypes_{parameter.name}")
        assert shown.label == parameter.label
        assert shown.value == (None if parameter.automatic else parameter.default)
        if parameter.automatic:
            assert shown.placeholder == "automatic"
    app.number_input(key="train_p_robust_prototypes_n_prototypes").set_value(7).run()
    app.number_input(key="train_p_robust_prototypes_radius").set_value(0.25).run()
    settings = address(app)["settings"]
    assert settings == "robust_prototypes:n_prototypes:7~robust_prototypes:radius:0.25"
    again = page(methods="robust_prototypes", settings=settings)
    again.number_input(key="train_p_robust_prototypes_radius").set_value(None).run()
    assert address(again)["settings"] == "robust_prototypes:n_prototypes:7"


def test_references_of_images_are_drawn_a_line_a_class_and_no_metric_where_none_was_learned(given: str) -> None:
    app = page(job=given)
    assert "References as pictures, a line for each class: 0 2 of 2, 1 2 of 2" in drawn(app)
    assert "**Prototypes**: 20, 2 in each class." in texts(app)
    assert references.PICTURES in texts(app)
    assert "Eigenvalues of M" not in texts(app)
    assert "References from elsewhere. Evaluate them below" in texts(app)
    assert app.get("download_button")[0].label == "Download the references"


def test_eigenvalues_are_shown_only_where_a_metric_is_learned() -> None:
    assert _learns_metric(RunSpec("", "arml"), None)
    assert _learns_metric(RunSpec("", "gmlvq"), None)
    assert _learns_metric(RunSpec("", "robust_prototypes"), None)
    assert not _learns_metric(RunSpec("", "robust_prototypes", {"metric": "euclidean"}), None)
    assert not _learns_metric(RunSpec("", "kmeans_prototypes"), None)
    elsewhere = RunSpec("", "given", {"gives": "references"})
    assert _learns_metric(elsewhere, 2 * np.eye(2))
    assert not _learns_metric(elsewhere, np.eye(2))


def test_the_file_holds_the_references_and_can_be_given_back(client, given: str, tmp_path: Path) -> None:
    content = metric_file(client, client.status(given))
    (tmp_path / "references.npz").write_bytes(content)
    saved, run = load_metric(tmp_path / "references.npz"), client.run(given)
    np.testing.assert_array_equal(saved.references_, run.references_)
    np.testing.assert_array_equal(saved.reference_labels_, run.reference_labels_)
    assert saved.info["class_names"] == [str(digit) for digit in range(10)]
    with pytest.raises(ValueError, match=r"mine\.npz holds points to compare with"):
        read_metric("mine.npz", content, 64)
    again = client.add_metric("digits", read_model("mine.npz", content, 64), "Two centres")
    assert again.id == given
    with pytest.raises(ValueError, match="its references are of the classes"):
        saved.check_classes(["a", "b"])


def test_more_neighbours_than_references_become_one(given: str) -> None:
    app = page(job=given, k="30")
    assert app.number_input(key="train_k").value == 1
    assert app.number_input(key="train_k").max == 20
    assert app.selectbox(key="train_certificate").value == "exact"
    assert page(job=given, k="3").number_input(key="train_k").value == 3


def test_words_for_references() -> None:
    content = {"kind": "train", "learner": "robust_prototypes", "seed": 42}
    done = status("done", content=content, finished=22.0)
    assert "download the references" in state_words(done)
    assert step_word(done) == "epoch"
    assert step_word(status("done", content={**content, "learner": "kmeans_prototypes"})) == "iteration"


def test_classes_of_different_sizes_are_counted_each() -> None:
    found = references.LiveReferences(0, np.zeros((3, 1)), np.array([0, 0, 1]))
    assert references.counts_words(found, ("a_b", "c")) == r"3 in all (a\_b: 2, c: 1)."


def test_the_radius_that_automatic_stands_for_is_among_the_settings(client) -> None:
    job = train(client, "wine", "robust_prototypes", {"n_prototypes": 1}, seed=5, device="cpu").id
    assert client.wait(job, PATIENCE).state == "done"
    said = texts(page(job=job))
    assert f"target radius automatic ({number(client.run(job).radius_)})" in said
    assert "**prototypes in each class 1**" in said


@pytest.mark.more
def test_prototypes_are_learned_watched_evaluated_and_repeated_in_python(client) -> None:
    settings = "robust_prototypes:n_prototypes:2~robust_prototypes:radius:0.2"
    app = page(datasets="wine", methods="robust_prototypes", settings=settings, seeds="3", device="cpu")
    app.button(key="train_start").click().run()
    job = address(app)["job"]
    assert client.wait(job, PATIENCE).state == "done"
    app = page(job=job)
    assert "**Prototypes**: 6, 2 in each class." in texts(app)
    for title in ("**Loss**", "**Mean radius**", "**Eigenvalues of M**"):
        assert title in texts(app)
    asked = certify(client, job, 1, "exact", points=PointsSpec("evaluation", 20))
    assert client.wait(asked.id, PATIENCE).state == "done"
    printed = io.StringIO()
    spec = client.status(job).spec
    with redirect_stdout(printed):
        exec(evaluation_lines(spec, [asked.spec], offer()), {})
        exec(training_lines(spec, offer()), {})
    assert str(arml.robust_error(client.radii(asked.id).lower, [0, 0.1, 0.2])) in printed.getvalue()


@pytest.mark.more
def test_pictures_appear_while_the_training_runs(client) -> None:
    asked = train(client, "digits", "robust_prototypes", {"n_epochs": 2000}, seed=1, device="cpu")
    while client.live_references(asked.id) is None:
        assert client.status(asked.id).is_active
    app = page(job=asked.id)
    client.cancel(asked.id)
    assert "References as pictures, a line for each class: 0 " in drawn(app)
    assert "**Prototypes after epoch " in texts(app)
    assert client.wait(asked.id, PATIENCE).state == "cancelled"
