"""The Inspect page's logic, without a browser."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.datasets import Dataset, fit_scaling
from arml_core.figures.words import radius_down
from arml_core.jobs import Client, new_key
from arml_core.learners.storage import save_metric
from arml_core.metric import Metric
from pages.components.inspect import desk as desk_module
from pages.components.inspect import flow, sources, waiting
from pages.components.inspect.choices import View
from pages.components.inspect.controls import HUNT
from pages.components.inspect.desk import Desk, Task, desk
from pages.components.inspect.snippet import metric_lines, point_lines
from pages.components.inspect.sources import load_catalogue, resolve
from pages.components.inspect.study import Prepared, Question, begin, changes, hunt, pursue, twin_rows
from pages.components.plain import plain
from pages.components.store import open_store

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARML_SHARED", raising=False)
    open_store.clear()
    yield
    open_store.clear()


@pytest.fixture(autouse=True)
def _fresh_desk() -> None:
    desk.clear()


@pytest.fixture
def ships(tmp_path, monkeypatch) -> Any:
    """A function that makes a metric one that ships for a dataset."""
    folder = tmp_path / "metrics"
    folder.mkdir()
    monkeypatch.setattr(sources, "METRICS", folder)

    def put(dataset: str, learner: str, metric: Metric, fingerprint: str | None = None) -> None:
        save_metric(
            folder / f"{dataset}-{learner}.npz", metric, learner=learner, dataset=dataset, fingerprint=fingerprint
        )

    return put


def uploaded(data: Dataset) -> str:
    """Keep a dataset as this visitor's upload; returns its fingerprint."""
    client = Client(start=False)
    client.store.contents.put_dataset(data, client.visitor)
    return data.fingerprint


def page(wait: bool = True, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages/inspect.py"), default_timeout=60)
    app.session_state["shell_opened"] = True
    for key, text in query.items():
        app.query_params[key] = text
    app.run()
    return settled(app) if wait else app


def settled(app: AppTest) -> AppTest:
    """Run again, as the page does by itself, until nothing is being worked out any more."""
    until = time.monotonic() + PATIENCE
    while any(found.value.startswith("⏳") for found in app.caption):
        assert time.monotonic() < until, [found.value for found in app.caption]
        time.sleep(0.1)
        app.run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, str]:
    return {name: found[0] if isinstance(found, list) else found for name, found in app.query_params.items()}


def words(app: AppTest) -> str:
    kinds = (app.caption, app.info, app.markdown, app.warning, app.error)
    return "\n".join(found.value for kind in kinds for found in kind).replace("\\", "")


def tile(app: AppTest, label: str) -> str:
    return next(found.value for found in app.metric if found.label.startswith(label))


def charts(app: AppTest) -> set[str]:
    return {found.proto.id.rsplit("-", 1)[-1] for found in app.get("bidi_component")}


def knn_of(name: str, k: int, metric: Any = None) -> tuple[Dataset, arml.MahalanobisKNN]:
    data = arml.load_dataset(name)
    return data, arml.MahalanobisKNN(k, metric=metric).fit(data.X_train, data.y_train)


def blobs(apart: float = 9.0, scale: float = 1.0) -> Prepared:
    """Two classes of twelve points, far apart: every answer is right."""
    x = np.concatenate([RNG.normal(size=(12, 3)), RNG.normal(size=(12, 3)) + apart])
    y = np.repeat([0, 1], 12)
    scaling = fit_scaling(x * scale, "standard")
    names = ("a", "b", "c")
    data = Dataset(
        "", "Blobs", "file", scaling.transform(x * scale), y, np.empty((0, 3)), y[:0], names, ("no", "yes"), scaling
    )
    return Prepared(data, Metric.identity(3))


def quiet(_: str) -> None:
    """Nobody listens."""


# a point ------------------------------------------------------------------------------------------------------------


def test_it_opens_on_a_digit_with_pictures_and_the_engines_numbers() -> None:
    app = page()
    data, knn = knn_of("digits", 5)
    assert address(app) == {}
    assert {"inspect_twin", "inspect_trail", "inspect_tiles_before", "inspect_tiles_after"} <= charts(app)
    assert tile(app, "Answer") == data.class_names[knn.predict(data.X_test[:1])[0]]
    near = knn.kneighbors(data.X_test[:1])
    table = app.dataframe[0].value
    assert table["training row"][:5].tolist() == near[1][0].tolist()
    assert_allclose(table["distance"][:5], np.sqrt(near[0][0]))
    lowest = knn.certify(data.X_test[:1], data.y_test[:1]).lower[0]
    highest = knn.attack(data.X_test[:1], data.y_test[:1]).upper[0]
    assert float(radius_down(lowest)) <= float(tile(app, "Proved")) <= float(tile(app, "Found")) <= highest + 5e-4


def test_one_neighbour_is_exact_and_the_radius_is_the_engines() -> None:
    app = page(k="1", row="7")
    data, knn = knn_of("digits", 1)
    radius = knn.certify(data.X_test[7:8], data.y_test[7:8], method="exact").lower[0]
    assert tile(app, "Proved") == tile(app, "Found") == radius_down(radius)
    assert f"has ℓ2 length **{radius_down(radius)}** (exact)" in words(app)


def test_a_training_row_is_certified_without_itself() -> None:
    app = page(data="iris", k="1", part="train", row="3")
    data, knn = knn_of("iris", 1)
    left_out = knn.certify(data.X_train[3:4], data.y_train[3:4], method="exact", exclude=[3])
    assert tile(app, "Proved") == radius_down(left_out.lower[0])
    assert 3 not in app.dataframe[0].value["training row"].tolist()
    assert "certified without itself" in words(app)


def test_a_wrong_answer_has_radius_zero_until_its_own_answer_is_asked_for() -> None:
    data, knn = knn_of("digits", 5)
    row = int(np.flatnonzero(knn.predict(data.X_test) != data.y_test)[0])
    app = page(row=str(row))
    assert tile(app, "Proved") == tile(app, "Found") == "0"
    assert "Wrong already, so the radius is 0" in words(app)
    assert "inspect_alone" in charts(app)
    app.button(key="inspect_own_instead").click().run()
    settled(app)
    assert address(app) == {"row": str(row), "own": "1"}
    assert float(tile(app, "Proved")) > 0
    assert "(wrong)" in words(app)


def test_without_pictures_the_change_is_told_feature_by_feature_in_units() -> None:
    app = page(data="iris", k="3", norm="linf")
    assert "inspect_changes" in charts(app)
    assert "inspect_twin" not in charts(app)
    assert "change in the dataset's own units" in words(app)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_the_trail_never_contradicts_itself_and_the_twin_fools_the_classifier(norm, k) -> None:
    data, knn = knn_of("wine", k)
    prepared = Prepared(data, Metric.identity(data.n_features))
    for part, row in (("test", 4), ("train", 9)):
        study = begin(prepared, Question(part, row, k, norm, own=False))
        pursue(prepared, study, 0.2, quiet)
        if study.wrong:
            continue
        names = [mark.method for mark in study.marks]
        ends = ["exact"] if (k, norm) == (1, "l2") else ["search", "whitebox"]
        assert names == [*(["theorem1"] if k % 2 else []), "votes", *ends]
        proofs = [mark.lower for mark in study.marks if mark.proves]
        assert proofs == sorted(proofs)
        assert study.lower <= study.upper
        exclude = [row] if part == "train" else None
        assert knn.predict(study.twin[None], exclude=exclude)[0] == study.twin_answer != study.label
        order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
        assert_allclose(np.linalg.norm(study.twin - study.x, ord=order), study.upper, rtol=1e-6)


def test_a_longer_search_goes_on_where_the_first_one_stopped() -> None:
    data, _ = knn_of("digits", 5)
    prepared = Prepared(data, Metric.identity(64))
    study = begin(prepared, Question("test", 1, 5, "l2", own=False))
    said: list[str] = []
    pursue(prepared, study, 0.05, said.append)
    before = (study.lower, study.upper, len(said))
    pursue(prepared, study, 0.5, said.append)
    assert study.searched == 0.5
    assert study.lower >= before[0]
    assert study.upper <= before[1]
    assert said[before[2] :] == ["searching from both sides, up to 0.5 s"]
    assert [mark.method for mark in study.marks] == ["theorem1", "votes", "search", "whitebox"]


def test_the_button_for_a_longer_search_changes_the_address() -> None:
    for row in range(6):
        app = page(row=str(row), k="15", norm="linf")
        if any(button.key == "inspect_longer" for button in app.button):
            app.button(key="inspect_longer").click().run()
            settled(app)
            assert address(app)["seconds"] == "4"
            assert "search 4 s" in words(app)
            return
    pytest.fail("every search ended exactly; the button was never there")


def test_too_few_rows_for_theorem_1_are_named_and_the_rest_is_shown() -> None:
    app = page(data="seven_points", k="5")
    assert "Theorem 1 says nothing here" in words(app) or "Wrong already" in words(app)
    assert app.segmented_control(key="inspect_part").options == ["Training row"]


def test_before_and_after_are_in_the_datasets_units_and_come_back_to_the_same_point() -> None:
    prepared = blobs(scale=250.0)
    study = pursue(prepared, begin(prepared, Question("train", 2, 3, "l2", own=False)), 0.2, quiet)
    header, rows = twin_rows(prepared.data, study)
    table = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    scaling = prepared.data.scaling
    assert_allclose(scaling.transform(table["before"]), study.x)
    assert_allclose(scaling.transform(table["after"]), study.twin)
    assert_allclose(table["scaled after"], study.twin, rtol=0)
    moved = changes(prepared.data, study)
    assert [abs(c.step) for c in moved] == sorted((abs(c.step) for c in moved), reverse=True)
    assert_allclose([c.alone for c in moved], [study.lower * scaling.scale["abc".index(c.feature)] for c in moved])


# another one --------------------------------------------------------------------------------------------------------


def test_another_one_that_is_answered_wrong_really_is() -> None:
    app = page(want="wrong")
    app.button(key="inspect_another").click().run()
    settled(app)
    data, knn = knn_of("digits", 5)
    row = int(address(app)["row"])
    assert knn.predict(data.X_test[[row]])[0] != data.y_test[row]
    assert "Wrong already" in words(app)


def test_another_one_goes_through_all_rows_and_says_if_there_is_none() -> None:
    prepared = blobs()
    seen, row = [], 0
    for _ in range(24):
        row = hunt(prepared, Question("train", row, 3, "l2", own=False), "right", quiet)
        seen.append(row)
    assert sorted(seen) == list(range(24))
    assert hunt(prepared, Question("train", 0, 3, "l2", own=False), "wrong", quiet) is None


def test_no_such_row_has_its_own_words() -> None:
    digest = uploaded(blobs().data)
    app = page(data=digest[:12], want="wrong", k="3")
    app.button(key="inspect_another").click().run()
    settled(app)
    assert "No row of this part is answered wrong with K = 3." in words(app)


# a metric -----------------------------------------------------------------------------------------------------------


def test_the_euclidean_metric_is_said_to_be_the_ordinary_distance() -> None:
    app = page(show="metric")
    assert "All 64 features and all directions count alike: the ordinary distance." in words(app)
    assert "no direction stands out" in words(app)
    assert {"inspect_matrix", "inspect_eigenvalues", "inspect_weights"} <= charts(app)


def test_a_metric_of_the_store_shows_rank_directions_and_what_it_ignores() -> None:
    client = Client(start=False)
    g = RNG.normal(size=(2, 4))
    g[:, 1] = 0
    run = client.add_metric("iris", Metric.from_components(g), title="Two :smile: *directions*")
    app = page(data="iris", metric=run.id[:12], show="metric")
    said = words(app)
    assert "numerical rank 2" in said
    assert "One feature has no weight and can change freely: sepal width (cm)." in said
    assert "2 directions of 4 have eigenvalue 0" in said
    assert {"inspect_direction0", "inspect_direction1"} <= charts(app)
    assert "inspect_direction2" not in charts(app)
    assert app.selectbox(key="inspect_metric").value == run.id[:12]
    point = page(data="iris", metric=run.id[:12], k="1")
    data, knn = knn_of("iris", 1, metric=g.T @ g)
    radius = knn.certify(data.X_test[:1], data.y_test[:1], method="exact").lower[0]
    assert float(tile(point, "Proved")) == pytest.approx(radius, rel=1e-2)


def test_a_run_whose_learner_is_offered_no_longer_keeps_its_name() -> None:
    client = Client(start=False)
    run = client.add_metric("iris", np.eye(4)).id
    with client.store.database.writing() as connection:
        old = "UPDATE jobs SET spec = replace(spec, '\"given\"', '\"withdrawn\"') WHERE id = ?"
        assert connection.execute(old, (run,)).rowcount == 1
    assert load_catalogue().sources["iris"][run[:12]].title == f"withdrawn · run {run[:4]}"


def test_pictures_show_directions_of_image_data() -> None:
    run = Client(start=False).add_metric("digits", Metric.from_components(RNG.normal(size=(10, 64))), title="Ten")
    app = page(metric=run.id[:12], show="metric")
    assert "inspect_directions" in charts(app)
    assert "54 directions of 64 have eigenvalue 0 (numerical rank 10)" in words(app)


def test_a_metric_that_ships_is_offered_where_its_dataset_is(ships) -> None:
    metric = Metric.from_components(RNG.normal(size=(4, 4)))
    ships("iris", "arml", metric, arml.load_dataset("iris").fingerprint)
    ships("nowhere", "arml", metric)
    found = load_catalogue()
    assert list(found.sources["iris"]) == ["euclidean", "arml"]
    assert "nowhere" not in found.sources
    app = page(data="iris", metric="arml", show="metric")
    assert "ARML, as shipped on Iris" in words(app)


def test_a_shipped_metric_for_another_version_of_the_data_is_refused(ships) -> None:
    ships("iris", "arml", Metric.identity(4), "0" * 64)
    app = page(data="iris", metric="arml")
    assert "was learned on another version of Iris" in words(app)
    assert any(button.key == "inspect_again" for button in app.button)


# the address, and who may see what ----------------------------------------------------------------------------------


def test_every_control_goes_into_the_address_and_comes_back() -> None:
    app = page()
    app.selectbox(key="inspect_data").set_value("wine").run()
    settled(app).number_input(key="inspect_k").set_value(3).run()
    settled(app).segmented_control(key="inspect_norm").set_value("l1").run()
    settled(app).toggle(key="inspect_own").set_value(True).run()
    settled(app).segmented_control(key="inspect_part").set_value("train").run()
    settled(app).number_input(key="inspect_row").set_value(11).run()
    settled(app).selectbox(key="inspect_want").set_value("right").run()
    settled(app)
    wanted = {"data": "wine", "k": "3", "norm": "l1", "own": "1", "part": "train", "row": "11", "want": "right"}
    assert address(app) == wanted
    again = page(**wanted)
    assert [found.value for found in again.metric] == [found.value for found in app.metric]
    app.segmented_control(key="inspect_show").set_value("metric").run()
    assert address(settled(app)) == {**wanted, "show": "metric"}


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page(data="atlantis", k="500", norm="l7", row="-1", show="all", seconds="9", colour="red", metric="<b>")
    said = words(app)
    for part in ("k=500", "norm=l7", "row=-1", "show=all", "seconds=9", "'colour'", "metric=<b>", "'atlantis'"):
        assert part in said
    assert app.selectbox(key="inspect_data").value == "digits"
    limited = page(data="iris", row="99999", k="99", part="train")
    assert "There is no row 99,999" in words(limited)
    small = page(data="seven_points", k="50")
    assert "K = 50 is more than the 6 training rows that can vote" in words(small)


def test_a_run_that_is_not_there_has_its_own_words() -> None:
    app = page(metric="0123456789ab")
    assert "There is no finished run or shipped metric '0123456789ab' for Digits 8×8" in words(app)
    assert tile(app, "Answer")
    client = Client(start=False)
    iris = client.add_metric("iris", np.eye(4), title="For iris")
    assert f"The metric '{iris.id[:12]}' is for Iris, not for Digits 8×8" in words(page(metric=iris.id[:12]))
    waiting = client.train("digits", "nca")
    assert f"The run {waiting.id[:12]} is queued, so it has no metric yet" in words(page(metric=waiting.id[:12]))


def test_a_dataset_that_is_not_on_this_machine_says_how_to_get_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ARML_DATA", str(tmp_path))
    assert "datasets fetch mnist" in words(page(data="mnist"))


def test_in_shared_mode_a_stranger_sees_no_private_metric(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    mine = new_key()
    run = Client(start=False, owner=mine).add_metric("iris", 2 * np.eye(4), title="Secret")
    query = {"data": "iris", "metric": run.id[:12], "show": "metric"}
    own = page(**query, key=mine)
    assert "Secret" in words(own)
    assert "This address is private" in words(own)
    for other in ({}, {"key": new_key()}):
        stranger = page(**query, **other)
        assert "Secret" not in words(stranger)
        assert "or belong to somebody else" in words(stranger)


def test_controls_can_be_hidden_for_a_lesson() -> None:
    app = page(hide="data~metric~row~k~norm~own~show~csv~python~trail~neighbours")
    assert not app.selectbox
    assert not app.number_input
    assert not app.get("download_button")
    assert "inspect_trail" not in charts(app)
    assert "inspect_twin" in charts(app)


# copy Python --------------------------------------------------------------------------------------------------------


def run_lines(lines: str, folder: Path, monkeypatch) -> str:
    monkeypatch.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(lines, "lines", "exec"), {})
    return out.getvalue()


@pytest.mark.parametrize(("k", "norm", "part", "own"), [(1, "l2", "test", False), (3, "linf", "train", True)])
def test_copied_lines_run_as_printed_and_give_the_pages_numbers(k, norm, part, own, monkeypatch, tmp_path) -> None:
    run = Client(start=False).add_metric("iris", Metric.from_components(RNG.normal(size=(3, 4))), title="Three")
    for metric in ("euclidean", run.id[:12]):
        view = View("iris", metric)
        source, _ = resolve(view, load_catalogue())
        ask = Question(part, 5, k, norm, own)
        printed = run_lines(point_lines(source, ask, 0.3), tmp_path, monkeypatch)
        prepared = Prepared(*sources.read_source(source, Client(start=False)))
        study = pursue(prepared, begin(prepared, ask), 0.3, quiet)
        assert f"votes {study.mark('votes').lower}" in printed.replace("np.float64(", "")
        assert f"the twin is answered {study.twin_answer}" in printed
        assert str(study.neighbours[0]) in printed.splitlines()[0]
        written = run_lines(metric_lines(source), tmp_path, monkeypatch)
        assert written.startswith("3 [" if metric != "euclidean" else "4 [")
        assert (tmp_path / "matrix.html").exists()


def test_copied_lines_of_a_shipped_metric_and_of_an_upload_run(ships, monkeypatch, tmp_path) -> None:
    data = arml.load_dataset("iris")
    ships("iris", "nca", Metric.from_components(RNG.normal(size=(4, 4))), data.fingerprint)
    digest = uploaded(blobs().data)
    for dataset, metric, part in (("iris", "nca", "test"), (digest[:12], "euclidean", "train")):
        source, _ = resolve(View(dataset, metric), load_catalogue())
        assert "votes" in run_lines(point_lines(source, Question(part, 1, 3, "l2", False), 0.2), tmp_path, monkeypatch)


def test_the_page_offers_the_lines_and_a_link() -> None:
    app = page(data="iris", k="1")
    app.session_state["inspect_open_copy"] = True
    app.run()
    settled(app)
    link, lines = (found.value for found in app.code)
    assert link.endswith("?data=iris&k=1")
    assert "data = arml.load_dataset('iris')" in lines
    assert "n_neighbors=1" in lines


# beside the page ----------------------------------------------------------------------------------------------------


def test_a_page_does_not_wait_for_long_work_and_says_what_it_waits_for() -> None:
    go = threading.Event()
    desk().ask("work", "blocker", False, lambda task: go.wait(PATIENCE))
    start = time.monotonic()
    app = page(wait=False)
    spent = time.monotonic() - start
    try:
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in app.caption)
        assert not app.metric
        assert spent < 20
    finally:
        go.set()
    assert tile(settled(app), "Answer")


def test_one_visitors_stop_leaves_the_work_to_another_who_waits_for_it(monkeypatch) -> None:
    monkeypatch.setattr(waiting, "STOP_AFTER", 0.0)
    monkeypatch.setattr(desk_module, "LATELY", PATIENCE)  # no matter how slowly the two pages run here
    go = threading.Event()
    desk().ask("work", "blocker", False, lambda task: go.wait(PATIENCE))
    try:
        ann, bob = page(wait=False), page(wait=False)
        ann.button(key="inspect_stop").click().run()
        assert [found.value for found in ann.info] == ["Stopped on request."]
        bob.run()
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in bob.caption)
        ann.button(key="inspect_again").click().run()
        assert any(found.value.startswith("⏳ Waiting for its turn") for found in ann.caption)
    finally:
        go.set()
    assert tile(settled(bob), "Answer") == tile(settled(ann), "Answer")


def test_what_nobody_waits_for_any_more_is_dropped_and_can_be_asked_for_again() -> None:
    found, go, started = Desk(), threading.Event(), threading.Event()

    def slow(task: Task) -> str:
        started.set()
        go.wait(PATIENCE)
        task.say("second half")
        return "finished"

    first = found.ask("work", 1, False, slow, "me", instead=True)
    assert started.wait(PATIENCE)
    second = found.ask("work", 2, False, lambda task: "other", "me", instead=True)
    go.set()
    assert second.wait(PATIENCE)
    assert (second.result, first.dropped, first.result) == ("other", True, None)
    again = found.ask("work", 1, False, slow, "me", instead=True)
    assert again is not first
    assert again.wait(PATIENCE)
    assert again.result == "finished"
    assert found.ask("work", 1, False, slow) is again


def test_what_goes_wrong_is_told_and_may_be_tried_again() -> None:
    found = Desk()

    def fails(task: Task) -> None:
        raise ValueError("the reason")

    task = found.ask("work", 1, False, fails)
    assert task.wait(PATIENCE)
    assert task.problem == "the reason"
    found.forget("work", 1)
    assert found.ask("work", 1, False, lambda task: 7).wait(PATIENCE)


def test_only_one_large_dataset_is_kept_and_it_does_not_hold_up_small_ones() -> None:
    found, go = Desk(), threading.Event()
    large = found.ask("large", "a", True, lambda task: go.wait(PATIENCE))
    small = found.ask("small", "b", False, lambda task: "quick")
    assert small.wait(PATIENCE)
    assert not large.done
    found.ask("large", "c", True, lambda task: None)
    go.set()
    assert found.ask("large", "a", True, lambda task: "read anew") is not large


def test_why_no_other_row_could_be_looked_for_is_never_formatted(monkeypatch) -> None:
    task = SimpleNamespace(wait=lambda seconds: True, problem="column **x** of [a](b) is gone")
    shelf = SimpleNamespace(ask=lambda *arguments, **options: task, forget=lambda *key: None)
    said: list[str] = []
    monkeypatch.setattr(flow, "desk", lambda: shelf)
    monkeypatch.setattr(flow, "session", lambda: "somebody")
    monkeypatch.setattr(flow, "st", SimpleNamespace(session_state={HUNT: True}, warning=said.append))
    source: Any = SimpleNamespace(identity="x", large=False)
    nothing: Any = None
    assert not flow.find_another(View(), source, nothing, Question("train", 0, 1, "l2", own=False))
    assert said == [plain("No other row could be looked for: column **x** of [a](b) is gone.")]
