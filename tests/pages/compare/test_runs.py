"""Runs of the job store on the Compare page: finished, under way, private, and as Python lines."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.figures import curves_table, verdicts_table
from arml_core.jobs import Client, PointsSpec
from arml_core.jobs.evaluation import rows_of
from arml_core.jobs.workspace import Workspace
from arml_core.learners.registry import LEARNERS
from pages.components.compare.catalogue import load_catalogue
from pages.components.compare.choices import write_names
from pages.components.compare.panels import provenance_table
from pages.components.compare.snippet import computed_lines, computed_words, stored_lines
from pages.components.store import open_store

from ...job_requests import attack, certify, train
from ..app import ROOT, address
from .compare_page import PATIENCE, charts_of, column, made, page, words


def engine_on_iris(n: int, k: int, kind: str, method: str) -> Any:
    data = arml.load_dataset("iris")
    rows = rows_of(data, PointsSpec("evaluation", n), None)
    knn = arml.MahalanobisKNN(k).fit(data.X_train, data.y_train)
    return getattr(knn, kind)(rows.X, rows.y, method=method)


@pytest.mark.more
def test_a_run_of_the_store_is_drawn_with_the_engines_numbers(on_iris) -> None:
    app = page(data="iris", k="3")
    (label,) = column(app, "Points")
    assert label == f"Euclidean · run {on_iris['run'][:4]}"
    epsilon = app.slider(key="cmp_eps").value
    proved, reached = engine_on_iris(15, 3, "certify", "votes").lower, engine_on_iris(15, 3, "attack", "whitebox").upper
    assert column(app, "Certified error")[label] == f"{float(arml.robust_error(proved, epsilon)):.3f}"
    assert column(app, "Empirical error")[label] == f"{float(arml.robust_error(reached, epsilon)):.3f}"
    assert "24 points were certified and 15 attacked" in words(app)
    (chart,) = charts_of(data=("iris",), k=3)
    np.testing.assert_allclose(chart.lines[0].certified, proved, rtol=1e-12)
    np.testing.assert_allclose(chart.lines[0].empirical, reached, rtol=1e-12)


@pytest.mark.more
def test_runs_are_added_and_taken_away(on_iris) -> None:
    app = page(data="iris", k="3")
    key = on_iris["run"][:12]
    assert app.multiselect(key="cmp_runs").value == [key]
    app.multiselect(key="cmp_runs").set_value([]).run()
    assert address(app) == {"data": "iris", "k": "3", "runs": "none"}
    assert not app.table
    app.multiselect(key="cmp_runs").set_value([key]).run()
    assert address(app)["runs"] == key
    assert app.table


def test_as_many_runs_as_are_offered_can_be_chosen_and_reloaded(ships) -> None:
    ships([])
    client = Client(start=False)
    client.stop_worker()
    keys = [client.add_metric("iris", (n + 1) * np.eye(4), f"Metric {n}").id[:12] for n in range(14)]
    app = page(data="iris", runs=write_names(tuple(keys[:12])))
    app.multiselect(key="cmp_runs").set_value(keys).run()
    again = page(**address(app))
    assert sorted(again.multiselect(key="cmp_runs").value) == sorted(keys)
    assert "The address has" not in words(again)


@pytest.mark.more
def test_a_run_that_is_not_here_is_left_out_with_a_word(on_iris) -> None:
    assert "run 0123456789ab, which is not here" in words(page(runs="0123456789ab"))


@pytest.mark.more
@pytest.mark.usefixtures("shipped_results")
def test_runs_in_the_address_bring_their_dataset(computed, monkeypatch) -> None:
    monkeypatch.setenv("ARML_HOME", computed["home"])
    open_store.clear()
    assert [chart.dataset for chart in charts_of()] == ["splice"]
    assert [chart.dataset for chart in charts_of(runs=(computed["run"][:12],), k=3)] == ["iris"]


def run_printed(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    return printed.getvalue()


@pytest.mark.more
@pytest.mark.parametrize("k", [1, 3])
def test_the_lines_from_the_store_run_and_print_the_pages_table(on_iris, tmp_path, monkeypatch, k: int) -> None:
    (chart,) = charts_of(data=("iris",), k=k)
    monkeypatch.chdir(tmp_path)
    printed = run_printed(stored_lines(chart, 0.1, 1.0, 0.95))
    assert printed.rstrip("\n") == verdicts_table(chart.lines, 0.1).to_string()
    assert (tmp_path / "robust-error.html").stat().st_size > 10_000


@pytest.mark.more
@pytest.mark.parametrize("k", [1, 3])
def test_the_lines_from_nothing_run_and_print_the_pages_numbers(on_iris, k: int) -> None:
    (chart,) = charts_of(data=("iris",), k=k)
    printed = run_printed(computed_lines(chart, 0.1)).split()
    numbers = [float(text) for text in printed[-len(chart.pairs[0].evaluations) :]]
    expected = [float(arml.robust_error(radii, 0.1)) for _, radii, _ in chart.lines[0].sides()]
    np.testing.assert_allclose(numbers, expected)


@pytest.mark.usefixtures("shipped_results")
@pytest.mark.parametrize("view", [{}, {"k": 1}, {"limits": "box"}, {"certificate": "theorem1", "attack": "none"}])
def test_the_lines_from_shipped_results_run_too(tmp_path, monkeypatch, view: dict[str, Any]) -> None:
    (chart,) = charts_of(**view)
    monkeypatch.chdir(tmp_path)
    printed = run_printed(stored_lines(chart, 0.2, 0.5, None))
    assert printed.rstrip("\n") == verdicts_table(chart.lines, 0.2).to_string()


def test_the_lines_of_a_shipped_metric_load_it_and_print_the_pages_numbers(paper_data, monkeypatch) -> None:
    """A training's last bits depend on the processor; on Splice they moved ARML's error by 0.014."""
    (chart,) = charts_of(data=("splice",), methods=("arml",), k=1)
    monkeypatch.chdir(ROOT)
    printed = run_printed(computed_lines(chart, 0.1)).split()
    assert float(printed[-1]) == pytest.approx(float(arml.robust_error(chart.lines[0].certified, 0.1)))
    assert "trained again" not in computed_words(chart)


def test_what_is_trained_again_is_said_with_what_that_may_change() -> None:
    (chart,) = charts_of(data=("mnist",), methods=("euclidean", "arml"), k=1)
    assert "ARML: trained again" in computed_words(chart)
    assert "Euclidean" not in computed_words(chart)
    assert "on Splice by a few hundredths" in computed_words(chart)


def test_a_metric_of_another_training_is_not_taken_for_the_shipped_one(ships) -> None:
    ships(made("arml", "ARML", 0.8))
    (chart,) = charts_of()
    assert "load_metric" not in computed_lines(chart, 0.1)


def test_a_name_with_a_line_break_adds_no_line_to_a_script() -> None:
    (chart,) = charts_of(data=("splice",), methods=("euclidean",), k=1)
    named = replace(chart, runs=(replace(chart.runs[0], label="mine\nraise SystemExit"),))
    assert "\nraise" not in computed_lines(named, 0.1)


@pytest.mark.more
def test_a_metric_without_results_can_be_evaluated_here(on_iris) -> None:
    client = Client()
    matrix = np.diag(np.linspace(0.5, 2.0, 13))
    run = client.add_metric("wine", matrix, "Mine")
    label = f"Mine · run {run.id[:4]}"
    app = page(data="wine", runs=run.id[:12], k="1")
    assert f"{label} has not been evaluated yet" in words(app)
    app.button(key=f"cmp_evaluate_{run.id[:12]}").click().run()
    assert not app.exception
    (job,) = [job for job in client.list() if job.needs == run.id]
    assert client.wait(job.id, PATIENCE).state == "done"
    app.run()
    data = arml.load_dataset("wine")
    x, y = data.evaluation(200)
    knn = arml.MahalanobisKNN(1, metric=matrix).fit(data.X_train, data.y_train)
    epsilon = app.slider(key="cmp_eps").value
    expected = float(arml.robust_error(knn.certify(x, y, method="exact").lower, epsilon))
    assert column(app, "Certified error") == {label: f"{expected:.3f}"}


@pytest.mark.more
def test_a_run_whose_learner_is_offered_no_longer_keeps_its_name(on_iris, monkeypatch) -> None:
    """Whoever starts the app may take a learner out of ARML_LEARNERS; what it has learned stays."""
    monkeypatch.delitem(LEARNERS, "euclidean")
    assert list(column(page(data="iris", k="3"), "Points")) == [f"euclidean · run {on_iris['run'][:4]}"]


def unfinished(ships: Any) -> tuple[Client, str, str]:
    """A store with one metric, its certificates asked for but not begun: the client, the run and the job."""
    ships([])
    client = Client(start=False)
    client.stop_worker()  # looking at the page must not start one
    run = client.add_metric("iris", np.eye(4), "Mine").id
    return client, run, certify(client, run, 3, "votes", points=PointsSpec("evaluation", 30)).id


def set_state(client: Client, job: str, state: str, done: int) -> None:
    with client.store.database.writing() as connection:
        connection.execute("UPDATE jobs SET state = ?, done = ?, total = 30 WHERE id = ?", (state, done, job))


def compute_twelve(client: Client, job: str) -> Any:
    """Leave the first 12 points of a job where a worker would leave them."""
    data = arml.load_dataset("iris")
    rows = rows_of(data, PointsSpec("evaluation", 30), None).take(np.arange(12))
    knn = arml.MahalanobisKNN(3).fit(data.X_train, data.y_train)
    found = knn.certify(rows.X, rows.y, method="votes")
    folder = client.store.paths.unfinished_of(job)
    folder.mkdir(parents=True)
    workspace = Workspace(folder)
    workspace.add(found)
    workspace.flush()
    return found


def test_unfinished_results_are_shown_as_partial(ships) -> None:
    client, run, job = unfinished(ships)
    assert "waits in the queue, place 1" in words(page(data="iris"))
    found = compute_twelve(client, job)
    set_state(client, job, "cancelled", 12)
    app = page(data="iris", k="3")
    label = f"Mine · run {run[:4]}"
    assert f"{label} is partial: 12 of 30 points certified, then the job was cancelled." in words(app)
    assert list(column(app, "Points")) == [f"{label} (partial)"]
    epsilon = app.slider(key="cmp_eps").value
    expected = float(arml.robust_error(found.lower, epsilon))
    assert list(column(app, "Certified error").values()) == [f"{expected:.3f}"]


def test_a_job_that_goes_on_by_itself_is_not_to_be_retried(ships) -> None:
    """Its worker died; the next one takes it up, and Train offers no Retry."""
    client, _, job = unfinished(ships)
    set_state(client, job, "lost", 0)
    shown = words(page(data="iris"))
    assert "was interrupted and goes on by itself" in shown
    compute_twelve(client, job)
    set_state(client, job, "lost", 12)
    shown += words(page(data="iris", k="3"))
    assert "12 of 30 points certified so far" in shown
    assert "Retry" not in shown


def test_names_from_a_file_format_nothing_on_the_page_and_are_exported_as_they_are(ships) -> None:
    """A metric and a dataset with links for names: evaluated, half evaluated, and not evaluated at all."""
    ships([])
    hostile = "[Log in](//a.b) *x*"
    client = Client(start=False)
    client.stop_worker()
    iris = arml.load_dataset("iris")
    data = replace(iris, name="", title=hostile, X_train=iris.X_train + 1.0)
    run, other = client.add_metric(data, np.eye(4), hostile).id, client.add_metric(data, 2 * np.eye(4), hostile).id
    x, y = data.evaluation(12)
    knn = arml.MahalanobisKNN(3).fit(data.X_train, data.y_train)
    for n in (12, 5):
        job = (certify if n == 12 else attack)(client, run, 3, points=PointsSpec("evaluation", n)).id
        found = (knn.certify if n == 12 else knn.attack)(x[:n], y[:n])
        folder = client.store.paths.unfinished_of(job)
        folder.mkdir(parents=True)
        workspace = Workspace(folder)
        workspace.add(found)
        workspace.flush()
    key = data.fingerprint[:12]
    app = page(data=f"{key}~iris", k="3", runs=f"{run[:12]}~{other[:12]}")
    shown = [element.value for kind in (app.caption, app.info, app.markdown, app.warning) for element in kind]
    shown += [str(cell) for table in app.table for cell in table.value.to_numpy().ravel()]
    shown += [button.label for button in app.button]
    named = [text for text in shown if "Log in" in text]
    assert len(named) >= 5
    assert [text for text in named if "[Log in]" in text or " *x*" in text] == []
    assert any("Evaluate" in text for text in named)
    (chart,) = charts_of(data=(key,), k=3, runs=(run[:12],))
    assert hostile in chart.title
    assert set(curves_table(chart.lines)["method"]) == {f"{hostile} · run {run[:4]}"}
    assert set(provenance_table([chart])["Dataset"]) == {hostile}


def test_a_training_that_ended_without_a_metric_is_no_run(ships) -> None:
    """Its evaluation fails with it; the page on which it was asked for says why."""
    ships([])
    client = Client(start=False)
    client.stop_worker()
    run = train(client, "iris", "nca", seed=1).id
    certify(client, run, 3, points=PointsSpec("evaluation", 5))
    assert [found.key for found in load_catalogue().own] == [run[:12]]
    client.cancel(run)
    assert load_catalogue().own == ()


def test_in_shared_mode_a_stranger_sees_no_private_metric(ships, monkeypatch) -> None:
    ships([])
    monkeypatch.setenv("ARML_SHARED", "1")
    owner = "k" * 32
    client = Client(owner=owner, start=False)
    client.add_metric("iris", np.eye(4), "Secret")
    assert [run.label for run in load_catalogue().own] == []
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/compare.py").run()
    assert "No results yet" in words(app)
    app = page(key=owner, data="iris")
    assert "Secret" in words(app) or any("Secret" in str(box.options) for box in app.multiselect)
