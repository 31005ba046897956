"""What can be asked for on the Train page, and what it will cost."""

from __future__ import annotations

import pytest

from arml_core.learners.registry import LEARNERS
from pages.components.dataset_options import dataset_options, describe
from pages.components.store import WAITING
from pages.components.train import form
from pages.components.train.choices import TrainView, read_seeds, read_settings, with_setting, write_settings
from pages.components.train.plan import MOST_TRAININGS, make_plan

from ...jobs.locks import write_lock
from ..app import address
from .train_page import offer, page, texts


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
    settings = address(app)["settings"]
    assert settings == "arml:n_epochs:50~arml:loss:hinge~lmnn:learning_rate:1e-06~arml:batch_size:100"
    again = page(methods="arml~lmnn", settings=settings)
    assert again.number_input(key="train_p_lmnn_learning_rate").value == 1e-6
    assert again.number_input(key="train_p_arml_batch_size").value == 100
    app.number_input(key="train_p_arml_n_epochs").set_value(1000).run()
    assert "n_epochs" not in address(app)["settings"]


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
    assert address(app) == {"seeds": "0~1~2"}
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
    chosen = TrainView(settings=settings)
    assert with_setting(chosen, "arml", "learning_rate", 1e-3) == settings[1:]


def test_a_dataset_that_is_not_here_is_offered_with_size_source_and_terms(monkeypatch, client) -> None:
    monkeypatch.delenv("ARML_DATA", raising=False)
    words = describe(dataset_options(client)["usps"])
    assert "Not on this machine: the job downloads 8.4 MB first" in words
    assert "no licence stated" in words
    assert "J. J. Hull" in words


def test_a_method_without_chance_runs_once_whatever_the_seeds() -> None:
    chosen = TrainView(datasets=("wine",), methods=("arml", "lfda", "euclidean"), seeds=(0, 1, 2))
    plan = make_plan(chosen, {"wine": offer()}, None)
    assert [len(training.seeds) for training in plan.trainings] == [3, 1, 1]
    assert plan.count == 5


def test_the_estimate_of_each_is_a_table_with_alternative_text() -> None:
    (table,) = page(datasets="wine", methods="arml~lmnn").dataframe
    assert table.proto.alt == "Seeds, time and memory of each training"


def test_too_many_trainings_are_counted() -> None:
    chosen = TrainView(datasets=("wine",) * 4, methods=("arml",), seeds=tuple(range(20)))
    plan = make_plan(chosen, {"wine": offer()}, None)
    assert plan.too_many == f"That is 80 trainings; at most {MOST_TRAININGS} can be started at once. Choose fewer."


def test_the_estimate_counts_what_runs_at_the_same_time(monkeypatch) -> None:
    monkeypatch.setenv("ARML_JOBS", "2")
    chosen = TrainView(datasets=("wine",), methods=("arml",), seeds=(0, 1, 2, 3))
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
    assert address(app) == {}
    app = page(job="f" * 32, datasets="a" * 64)
    assert "there is no such job, or it is somebody else's" in texts(app)
    assert "an upload that is not here, or not yours" in texts(app)
    assert app.multiselect(key="train_datasets").value == []
    assert "Choose at least one dataset and one method" in texts(app)


def test_a_device_is_named_as_in_a_sentence(monkeypatch) -> None:
    monkeypatch.setattr(form, "list_devices", lambda: ["cpu"])
    assert page().selectbox(key="train_device").options == ["Automatic: the CPU", "The CPU"]


@pytest.mark.parametrize(
    "named", ["no_such_module:NAME", "math:no_such_name", "math:pi", "nonsense", "tests.jobs.learners:"]
)
def test_a_learner_that_is_named_in_vain_is_said_and_the_others_work(named: str, monkeypatch) -> None:
    monkeypatch.setenv("ARML_LEARNERS", f"{named} tests.jobs.learners:STEADY")
    app = page(methods="steady~arml")
    assert app.multiselect(key="train_methods").value == ["steady", "arml"]
    (warning,) = [found.value for found in app.warning if "ARML_LEARNERS" in found.value]
    assert f"ARML_LEARNERS names {named}, which" in warning
    assert not app.button(key="train_start").disabled


@pytest.mark.more
def test_a_store_that_another_process_writes_to_is_said_and_can_still_be_looked_at(client) -> None:
    app = page()
    with write_lock(client.store.paths.database):
        app.button(key="train_start").click().run(timeout=60)
        assert not app.exception
        assert "busy for 5 s: another process is writing to it" in texts(app)
        assert [toast.value for toast in app.toast] == [WAITING]
        assert "ARML" in texts(page())
    assert client.list() == []
    app.button(key="train_start").click().run(timeout=60)
    assert [job.kind for job in client.list()] == ["train"]
    client.cancel(client.list()[0].id)
