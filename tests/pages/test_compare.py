"""The Compare page's logic, without a browser."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core import ThreatModel
from arml_core.figures import RobustLine, curves_table, verdicts_table
from arml_core.jobs import Client, PointsSpec
from arml_core.jobs.evaluation import rows_of
from arml_core.jobs.radii import Radii
from arml_core.jobs.workspace import Workspace
from arml_core.learners.registry import LEARNERS
from arml_core.reproduce import published
from arml_core.results import Evaluation, write_results
from arml_core.results import shipped as read_shipped
from pages.components.compare import catalogue, panels
from pages.components.compare.catalogue import load_catalogue
from pages.components.compare.charts import Chart, make_charts, resolve
from pages.components.compare.choices import View, names, write_names
from pages.components.compare.panels import made_table, readable
from pages.components.compare.snippet import computed_lines, stored_lines
from pages.components.plain import plain
from pages.components.store import open_store

from ..jobs.conftest import end_worker
from ..test_comparison import attack, certificate

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
N = 200


def made(learner: str, title: str, spread: float, dataset: str = "splice", **changes: Any) -> list[Evaluation]:
    """What ships for one metric, in small: exact for K = 1, two certificates and two attacks for K = 11."""
    rng = np.random.default_rng(7)
    true = np.concatenate([np.zeros(N // 10), spread * rng.random(N - N // 10)])
    about = {
        "dataset": dataset,
        "dataset_title": dataset.capitalize(),
        "learner": learner,
        "learner_title": title,
        "parameters": {},
        "seed": 42,
        "correct": true > 0,
        "planned": N,
        "points": {"part": "evaluation", "n": N, "digest": None, "labels": True},
        **changes,
    }
    exact = about | {"lower": true, "upper": true, "exact": np.ones(N, dtype=bool), "n_neighbors": 1}
    proof = about | {"upper": np.full(N, np.inf), "exact": np.zeros(N, dtype=bool), "n_neighbors": 11}
    few = {
        "n_neighbors": 11,
        "planned": 50,
        "points": about["points"] | {"n": 50},
        "upper": 1.2 * true[:50],
        "lower": np.zeros(50),
        "exact": np.zeros(50, dtype=bool),
        "correct": true[:50] > 0,
    }
    boundary = {"options": {"steps": 500}, "attack_seed": 3}
    return [
        certificate("exact", **exact),
        certificate("theorem1", **(proof | {"lower": 0.7 * true})),
        certificate("votes", **(proof | {"lower": 0.9 * true})),
        attack("whitebox", **(about | few)),
        attack("boundary", **(about | few | boundary | {"threat": ThreatModel(box=(0, 1))})),
    ]


EVERY = [
    *made("euclidean", "Euclidean", 0.4),
    *made("arml", "ARML", 0.8),
    *made("euclidean", "Euclidean", 0.3, "pendigits", fingerprint="p" * 32),
]


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    open_store.clear()
    yield
    open_store.clear()


@pytest.fixture
def ships(tmp_path, monkeypatch) -> Any:
    """A function that makes evaluations the ones that ship."""

    def put(evaluations: list[Evaluation]) -> None:
        folder = tmp_path / "results"
        write_results(folder / "all.npz", evaluations)
        read = read_shipped(folder)
        for place in (
            catalogue,
            arml.results,
        ):  # a page imported meanwhile keeps this one: other folders are as they are
            monkeypatch.setattr(place, "shipped", lambda other=None: read if other is None else read_shipped(other))

    return put


@pytest.fixture
def shipped_results(ships) -> None:
    ships(EVERY)


@pytest.fixture(scope="module")
def computed(tmp_path_factory) -> Iterator[dict[str, str]]:
    """A store with one metric on Iris, evaluated by a real worker: the ids of its jobs."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("compare")
        patch.setenv("ARML_HOME", str(home))
        patch.setenv("OMP_NUM_THREADS", "1")
        client = Client()
        run = client.train("iris", "euclidean").id
        points = PointsSpec("evaluation", 24)
        jobs = {
            "run": run,
            "votes": client.certify(run, 3, "votes", points=points).id,
            "whitebox": client.attack(run, 3, "whitebox", points=PointsSpec("evaluation", 15)).id,
            "exact": client.certify(run, 1, "exact", points=points).id,
        }
        for job in jobs.values():
            assert client.wait(job, PATIENCE).state == "done"
        yield {"home": str(home), **jobs}
        end_worker(client.store.paths)


@pytest.fixture
def on_iris(computed, ships, monkeypatch) -> dict[str, str]:
    """The store of `computed`, and nothing that ships."""
    ships([])
    monkeypatch.setenv("ARML_HOME", computed["home"])
    open_store.clear()
    return computed


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages/compare.py"), default_timeout=60)
    app.session_state["shell_opened"] = True
    for key, text in query.items():
        app.query_params[key] = text
    app.run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, str]:
    return {name: found[0] if isinstance(found, list) else found for name, found in app.query_params.items()}


def words(app: AppTest) -> str:
    """What is read on the page: a backslash only keeps the next sign from meaning anything."""
    kinds = (app.caption, app.info, app.markdown, app.warning)
    return "\n".join(found.value for kind in kinds for found in kind).replace("\\", "")


def column(app: AppTest, name: str, table: int = 0) -> dict[str, str]:
    shown = app.table[table].value
    found = zip(shown["Metric"], shown[name], strict=True)
    return {method.replace("\\", ""): value.strip("*★ ") for method, value in found}


def charts_of(**view: Any) -> list[Chart]:
    found = load_catalogue()
    chosen = View(**view)
    return make_charts(chosen, resolve(chosen, found), found)[0]


@pytest.mark.usefixtures("shipped_results")
def test_it_opens_on_what_ships_with_the_engines_numbers() -> None:
    app = page()
    assert address(app) == {}
    assert "**Splice · K = 11 · ℓ2 norm**" in words(app)
    epsilon = app.slider(key="cmp_eps").value
    for offset, title in ((0, "Euclidean"), (5, "ARML")):
        proof, hit = EVERY[offset + 2], EVERY[offset + 3]
        shared = proof.lower[:50]
        assert column(app, "Certified error")[title] == f"{float(arml.robust_error(shared, epsilon)):.3f}"
        assert column(app, "Empirical error")[title] == f"{float(arml.robust_error(hit.upper, epsilon)):.3f}"
        assert column(app, "Points")[title] == "50"
    assert "Euclidean, ARML: 200 points were certified and 50 attacked; both curves show the 50 they share." in words(
        app
    )


@pytest.mark.usefixtures("shipped_results")
def test_the_slider_changes_the_table_and_the_address() -> None:
    app = page()
    before = app.table[0].value
    app.slider(key="cmp_eps").set_value(0.05).run()
    assert address(app) == {"eps": "0.05"}
    assert not app.table[0].value.equals(before)
    lower = EVERY[7].lower[:50]
    assert column(app, "Certified error")["ARML"] == f"{float(arml.robust_error(lower, 0.05)):.3f}"


@pytest.mark.usefixtures("shipped_results")
def test_curves_and_bars_are_sent_before_the_tables(monkeypatch) -> None:
    monkeypatch.setattr("pages.components.compare.panels.let_draw", st.stop)
    app = page()
    assert {one.proto.id.rsplit("-", 1)[-1] for one in app.get("bidi_component")} >= {"cmp_curves0", "cmp_bars0"}
    assert not app.table
    assert "Ranked at" not in words(app)


@pytest.mark.usefixtures("shipped_results")
def test_the_best_of_each_column_is_marked_and_the_lowest_certified_error_comes_first() -> None:
    shown = page(eps="0.2").table[0].value
    assert list(shown["Metric"]) == ["ARML", "Euclidean"]
    for name in ("Certified error", "Empirical error", "Proved safe", "Can be flipped", "Median proved radius"):
        assert [value.endswith("★") for value in shown[name]] == [True, False]
    shares = shown[["Proved safe", "Undecided", "Can be flipped"]].map(lambda text: float(text.strip("*★ ")))
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=2e-3)


@pytest.mark.usefixtures("shipped_results")
def test_for_one_neighbour_there_is_one_exact_line() -> None:
    (chart,) = charts_of(k=1)
    for line in chart.lines:
        assert line.exact
        assert [kind for kind, _, _ in line.sides()] == ["certified"]
    app = page(k="1")
    assert set(column(app, "Undecided").values()) == {"0.000"}
    assert "exact" in set(curves_table(chart.lines)["kind"])
    assert "known exactly" in words(app)


@pytest.mark.usefixtures("shipped_results")
def test_certificate_and_attack_of_different_attackers_are_not_drawn_together() -> None:
    (chart,) = charts_of(limits="box")
    assert all(line.certified is None for line in chart.lines)
    (why,) = chart.refused
    assert "Euclidean, ARML: certificate and attack are not drawn together" in why
    assert "the certificate allows every step, the attack stays inside [0, 1]" in why
    app = page(limits="box")
    assert plain(why) in [found.value for found in app.info]
    assert set(column(app, "Certified error").values()) == {"–"}
    assert set(column(app, "Proved safe").values()) == {"0.000"}
    (other,) = charts_of(attack="boundary")
    assert other.lines[0].empirical is None
    assert "the attack stays inside [0, 1]" in other.refused[0]


@pytest.mark.usefixtures("shipped_results")
def test_the_papers_values_stand_only_where_they_answer_the_same_question() -> None:
    def drawn(**view: Any) -> dict[str, tuple[Any, Any]]:
        return {line.label: (line.paper_certified, line.paper_empirical) for line in charts_of(**view)[0].lines}

    np.testing.assert_array_equal(drawn(k=1)["ARML"][0], published.errors("splice", "arml", "exact"))
    np.testing.assert_array_equal(drawn(k=11)["ARML"][0], published.errors("splice", "arml", "certified"))
    assert drawn(k=11)["ARML"][1] is None  # the paper's attack stays inside a box
    boxed = drawn(k=11, limits="box")["ARML"]
    assert boxed[0] is None
    np.testing.assert_array_equal(boxed[1], published.errors("splice", "arml", "empirical"))
    assert drawn(paper=False) == {"Euclidean": (None, None), "ARML": (None, None)}
    assert "Theorem 1" in " ".join(charts_of()[0].notes)
    assert "Theorem 1" not in " ".join(charts_of(certificate="theorem1")[0].notes)


def test_an_attacker_with_costs_gets_no_values_of_the_paper(ships) -> None:
    costs = [replace(e, threat=ThreatModel(costs=[2.0] * 60)) for e in made("arml", "ARML", 0.8)]
    ships(costs)
    (chart,) = charts_of(k=1)
    assert chart.lines[0].paper_certified is None
    assert "per-feature costs" in chart.title


def test_what_holds_for_several_metrics_is_said_once_whatever_they_are_called(ships) -> None:
    ships([*made("euclidean", "One: two", 0.4), *made("arml", "ARML", 0.8)])
    (chart,) = charts_of(k=11, limits="free", paper=False)
    assert [note for note in chart.notes if "both curves" in note] == [
        "One: two, ARML: 200 points were certified and 50 attacked; both curves show the 50 they share."
    ]


@pytest.mark.usefixtures("shipped_results")
def test_a_radius_beyond_the_curves_of_a_dataset_is_not_marked_at_their_end(monkeypatch) -> None:
    marks: list[Any] = []
    monkeypatch.setattr(panels, "show_chart", lambda figure, *, mark, **_: marks.append(mark))
    (chart,) = charts_of()
    top = panels.epsilon_range([chart])[0]
    for epsilon in (top, 1.5 * top):
        panels._show_curves(chart, 0, epsilon, View(hide=("export",)))
    assert marks[0].x == top
    assert marks[1] is None


@pytest.mark.usefixtures("shipped_results")
def test_datasets_stand_side_by_side() -> None:
    app = page(data="splice~pendigits", k="1")
    assert "**Splice · K = 1 · ℓ2 norm**" in words(app)
    assert "**Pendigits · K = 1 · ℓ2 norm**" in words(app)
    assert list(column(app, "Points", 1)) == ["Euclidean"]


@pytest.mark.usefixtures("shipped_results")
def test_every_control_goes_into_the_address_and_comes_back() -> None:
    app = page()
    app.multiselect(key="cmp_data").set_value(["splice", "pendigits"]).run()
    app.multiselect(key="cmp_methods").set_value(["euclidean"]).run()
    app.segmented_control(key="cmp_k").set_value(1).run()
    app.selectbox(key="cmp_certificate").set_value("exact").run()
    app.selectbox(key="cmp_attack").set_value("none").run()
    app.toggle(key="cmp_band").set_value(True).run()
    app.toggle(key="cmp_paper").set_value(False).run()
    app.slider(key="cmp_eps").set_value(0.1).run()
    assert not app.exception
    wanted = {
        "data": "splice~pendigits",
        "methods": "euclidean",
        "k": "1",
        "certificate": "exact",
        "attack": "none",
        "band": "1",
        "paper": "0",
        "eps": "0.1",
    }
    assert address(app) == wanted
    again = page(**wanted)
    assert again.slider(key="cmp_eps").value == 0.1
    for before, after in zip(app.table, again.table, strict=True):
        pd.testing.assert_frame_equal(before.value, after.value)


@pytest.mark.usefixtures("shipped_results")
def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page(k="banana", data="atlantis", norm="l7", runs="<script>", eps="-3", methods="magic", colour="red")
    said = words(app)
    for part in (
        "k=banana",
        "norm=l7",
        "runs=<script>",
        "eps=-3",
        "'colour'",
        "dataset 'atlantis'",
        "name 'magic'",
    ):
        assert part in said
    assert app.multiselect(key="cmp_data").value == ["splice"]
    assert not app.exception


@pytest.mark.usefixtures("shipped_results")
def test_a_choice_nothing_was_computed_for_says_what_there_is() -> None:
    app = page(k="7", norm="linf")
    assert "Nothing was computed for K = 7, ℓ∞" in words(app)
    assert "they have some for K = 1, ℓ2 norm; K = 11, ℓ2 norm" in words(app)
    app.segmented_control(key="cmp_k").set_value(11).run()
    app.segmented_control(key="cmp_norm").set_value("l2").run()
    assert app.table


@pytest.mark.usefixtures("shipped_results")
def test_without_any_metric_the_page_says_how_to_go_on() -> None:
    app = page(methods="none")
    assert "No metric is chosen" in words(app)
    app.multiselect(key="cmp_methods").set_value(["arml"]).run()
    assert list(column(app, "Points")) == ["ARML"]


@pytest.mark.usefixtures("shipped_results")
def test_hide_takes_controls_away() -> None:
    app = page(hide="data~methods~runs~k~norm~limits~certificate~attack~band~paper~radius~bars~table~export~python")
    for kind in ("multiselect", "selectbox", "toggle", "slider", "segmented_control", "table", "download_button"):
        assert not app.get(kind)
    assert [box.label for box in app.expander] == ["The formula", "How these results were made"]


def test_an_empty_folder_has_its_own_words(ships) -> None:
    ships([])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert "No results yet" in words(app)
    assert "python -m arml_core reproduce" in app.code[0].value


def test_results_that_cannot_be_read_are_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "bad.npz").write_text("no archive")
    monkeypatch.setattr(catalogue, "shipped", lambda: read_shipped(tmp_path))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert "bad.npz is not a results file" in words(app)


def test_a_shipped_variant_stands_beside_its_default_only_when_asked_for(ships) -> None:
    ships([*EVERY[5:10], *made("arml", "ARML", 0.7, parameters={"n_neighbors": 5})])
    assert [line.label for line in charts_of()[0].lines] == ["ARML"]
    keys = tuple(run.key for run in load_catalogue().shipped)
    labels = [line.label for line in charts_of(methods=keys)[0].lines]
    assert labels == ["ARML", "ARML, n neighbors 5"]


# runs of the job store ----------------------------------------------------------------------------------------------


def engine_on_iris(n: int, k: int, kind: str, method: str) -> Any:
    data = arml.load_dataset("iris")
    rows = rows_of(data, PointsSpec("evaluation", n), None)
    knn = arml.MahalanobisKNN(k).fit(data.X_train, data.y_train)
    return getattr(knn, kind)(rows.X, rows.y, method=method)


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


def test_a_run_that_is_not_here_is_left_out_with_a_word(on_iris) -> None:
    assert "run 0123456789ab, which is not here" in words(page(runs="0123456789ab"))


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


@pytest.mark.parametrize("k", [1, 3])
def test_the_lines_from_the_store_run_and_print_the_pages_table(on_iris, tmp_path, monkeypatch, k: int) -> None:
    (chart,) = charts_of(data=("iris",), k=k)
    monkeypatch.chdir(tmp_path)
    printed = run_printed(stored_lines(chart, 0.1, 1.0, 0.95))
    assert printed.rstrip("\n") == verdicts_table(chart.lines, 0.1).to_string()
    assert (tmp_path / "robust-error.html").stat().st_size > 10_000


@pytest.mark.parametrize("k", [1, 3])
def test_the_lines_from_nothing_run_and_print_the_pages_numbers(on_iris, k: int) -> None:
    (chart,) = charts_of(data=("iris",), k=k)
    printed = run_printed(computed_lines(chart, 0.1)).split()
    numbers = [float(text) for text in printed[-len(chart.contenders[0].evaluations) :]]
    expected = [float(arml.robust_error(radii, 0.1)) for _, radii, _ in chart.lines[0].sides()]
    np.testing.assert_allclose(numbers, expected)


@pytest.mark.usefixtures("shipped_results")
@pytest.mark.parametrize("view", [{}, {"k": 1}, {"limits": "box"}, {"certificate": "theorem1", "attack": "none"}])
def test_the_lines_from_shipped_results_run_too(tmp_path, monkeypatch, view: dict[str, Any]) -> None:
    (chart,) = charts_of(**view)
    monkeypatch.chdir(tmp_path)
    printed = run_printed(stored_lines(chart, 0.2, 0.5, None))
    assert printed.rstrip("\n") == verdicts_table(chart.lines, 0.2).to_string()


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
    return client, run, client.certify(run, 3, "votes", points=PointsSpec("evaluation", 30)).id


def set_state(client: Client, job: str, state: str, done: int) -> None:
    with client.store.database.writing() as connection:
        connection.execute("UPDATE jobs SET state = ?, done = ?, total = 30 WHERE id = ?", (state, done, job))


def compute_twelve(client: Client, job: str) -> Any:
    """Leave the first 12 points of a job where a worker would leave them."""
    data = arml.load_dataset("iris")
    rows = rows_of(data, PointsSpec("evaluation", 30), None).take(np.arange(12))
    knn = arml.MahalanobisKNN(3).fit(data.X_train, data.y_train)
    found = knn.certify(rows.X, rows.y, method="votes")
    folder = client.store.paths.work_of(job)
    folder.mkdir(parents=True)
    workspace = Workspace(folder)
    workspace.add(Radii.from_result(found, np.arange(12)))
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
        job = (client.certify if n == 12 else client.attack)(run, 3, points=PointsSpec("evaluation", n)).id
        found = (knn.certify if n == 12 else knn.attack)(x[:n], y[:n])
        folder = client.store.paths.work_of(job)
        folder.mkdir(parents=True)
        workspace = Workspace(folder)
        workspace.add(Radii.from_result(found, np.arange(n)))
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
    assert set(made_table([chart])["Dataset"]) == {hostile}


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


# small things -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shipped_results")
def test_the_csv_equals_the_lines() -> None:
    (chart,) = charts_of()
    table = curves_table(chart.lines, 0.5)
    part = table[(table["method"] == "ARML") & (table["kind"] == "certified")]
    np.testing.assert_array_equal(part["error"], arml.robust_error(EVERY[7].lower[:50], part["radius"]))


@pytest.mark.usefixtures("shipped_results")
def test_how_the_results_were_made() -> None:
    table = made_table(charts_of(limits="box"))
    assert set(table["Method"]) == {"Boundary attack, 500 steps, seed 3"}
    assert set(table["Attacker"]) == {"ℓ2 norm, inside [0, 1]"}


def test_numbers_for_people() -> None:
    shown = readable(verdicts_table([RobustLine("never", np.full(4, np.inf))], 0.2))
    assert shown.loc[0, "Median proved radius"] == "∞"
    assert shown.loc[0, "Empirical error"] == "–"
    assert shown.loc[0, "Points"] == "4"


@pytest.mark.parametrize("text", ["splice", "splice~pendigits", "none"])
def test_names_in_the_address(text: str) -> None:
    assert write_names(names(text)) == text


@pytest.mark.parametrize("text", ["", "a b", "../x", "~", "x" * 41, "~".join(f"a{n}" for n in range(501))])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="up to 500 names"):
        names(text)
