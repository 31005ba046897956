"""The Paper page's numbers and words, without a browser."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.figures.paper_agreement import agreement_alt, agreement_figure
from arml_core.jobs import Client
from arml_core.jobs.paths import Paths
from arml_core.reproduce import measurements
from arml_core.reproduce.measurements import error_step
from arml_core.reproduce.paper_comparison import (
    compare_rerun,
    comparison_rows,
    coverage,
    dataset_rows,
    runtime_rows,
    spread,
)
from arml_core.reproduce.plan import Effort, figure1, table
from arml_core.reproduce.run import find_jobs, submit
from arml_core.reproduce.tables import Tables
from arml_core.results import FOLDER, Evaluation, read_results, shipped
from pages.components.paper import datasets_and_runtime
from pages.components.paper.choices import SECTIONS, PaperView
from pages.components.paper.differences import marked_difference, signed_difference, with_difference
from pages.components.paper.provenance import provenance
from pages.components.paper.row_recomputation import RowToRecompute, done_words, outcome_table
from pages.components.paper.tables import number_of
from pages.components.store import open_store
from tests.more import more

from ..jobs.conftest import end_worker
from .app import ROOT, address

PAPER = json.loads((ROOT / "data" / "paper_results.json").read_text(encoding="utf-8"))
NAMES = {
    "splice": "Splice",
    "pendigits": "Pendigits",
    "satimage": "Satimage",
    "usps": "USPS",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
}
LEARNERS = {"Euclidean": "euclidean", "NCA": "nca", "LMNN": "lmnn", "ITML": "itml", "LFDA": "lfda", "ARML": "arml"}
CELL = re.compile(r"(\d\.\d{3})(?: (?::orange\[▲\u00a0\+(\d\.\d{3})\]|:blue\[▼\u00a0−(\d\.\d{3})\]|:gray\[(=)\]))?")
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    open_store.clear()
    yield
    end_worker(Paths(tmp_path / "jobs"))


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, text in query.items():
        app.query_params[name] = text
    app.switch_page("pages/paper.py").run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    kinds = (app.caption, app.info, app.markdown, app.warning, app.success, app.error)
    return "\n".join(str(found.value) for kind in kinds for found in kind)


def paper_errors(dataset: str, metric: str, half: str) -> np.ndarray:
    """Straight from the file."""
    if half == "exact":
        return np.array(PAPER["table_1_exact_1nn_robust_error"][NAMES[dataset]][metric])
    return np.array(PAPER["table_2_knn_robust_error"][NAMES[dataset]][metric][half])


def our_radii(dataset: str, learner: str, **wanted) -> np.ndarray | None:
    """Straight from the results file: the side that counts."""
    path = FOLDER / f"{dataset}-{learner}.npz"
    if not path.exists():
        return None
    box = wanted.pop("box")
    found = [
        e
        for e in read_results(path)
        if all(getattr(e.spec, name) == value for name, value in wanted.items())
        and (e.spec.threat.box is not None) == box
        and e.spec.threat.norm == 2
    ]
    if not found:
        return None
    (one,) = found
    return one.bound


ROW = [  # how a row begins, the half of the paper's it stands beside, what it is
    ("ours, exact", "exact", {"method": "exact", "n_neighbors": 1, "box": False}),
    ("ours, Theorem 1", "certified", {"method": "theorem1", "n_neighbors": 11, "box": False}),
    ("ours, votes", None, {"method": "votes", "n_neighbors": 11, "box": False}),
    ("ours, search", None, {"method": "search", "n_neighbors": 11, "box": False}),
    ("ours, boundary attack", "empirical", {"method": "boundary", "n_neighbors": 11}),
    ("ours, white-box attack", None, {"method": "whitebox", "n_neighbors": 11, "box": False}),
]


def check_rows(frame: pd.DataFrame, dataset: str, halves: list[str]) -> int:
    """Every printed number and difference against the two data files; returns how many differences there were."""
    radii = PAPER["table_1_exact_1nn_robust_error"][NAMES[dataset]]["radii"]
    at = [f"ε = {radius:g}" for radius in radii]
    assert list(frame.columns[3:-1]) == at
    metric, half, differences = "", "", 0
    for _, row in frame.iterrows():
        metric = row["Metric"].strip("*") or metric
        cells = [row[column] for column in at]
        if row["Row"].startswith("paper"):
            half = next(h for h in halves if cells == [f"{v:.3f}" for v in paper_errors(dataset, metric, h)])
            assert row["Where"] == ("[0, 1]ᴰ" if half == "empirical" else "ℝᴰ")
            continue
        if "not computed yet" in row["Row"]:
            assert set(cells) == {"–"}
            continue
        _, with_difference, wanted = next(entry for entry in ROW if row["Row"].startswith(entry[0]))
        wanted = {"box": row["Where"] == "[0, 1]ᴰ", **wanted}
        found = our_radii(dataset, LEARNERS[metric], **wanted)
        assert found is not None
        if len(found) < 1000:
            assert f"{len(found)} points" in row["Row"]
        for number, (radius, cell) in enumerate(zip(radii, cells, strict=True)):
            ours, up, down, same = CELL.fullmatch(cell).groups()
            exact = float((found <= radius).mean())
            assert ours == f"{exact:.3f}"
            if with_difference is None:
                assert (up, down, same) == (None, None, None)
                continue
            difference = exact - paper_errors(dataset, metric, with_difference)[number]
            printed = 0.0 if same else float(up) if up else -float(down)
            assert printed == pytest.approx(difference, abs=0.0005 + 1e-9)
            assert bool(same) == (abs(difference) < 0.0005 - 1e-9)
            differences += 1
    return differences


def test_the_summary_opens_and_counts_what_is_there() -> None:
    app = page()
    assert address(app) == {}
    tables = Tables.of(shipped())
    series, there, demanded, close = coverage(tables)
    assert series == 108
    assert f"**{6 * there} of them are here**" in words(app)
    assert f"**{close} of {demanded} rows keep it**" in words(app)
    matrix, observed = (table.value for table in app.table)
    held = sum((d, c) == ("splice", "exact") for d, _, c in tables.evaluations)
    assert matrix[matrix["Row of ours"] == "exact"]["Splice"].item() == f"{held} of 6"
    assert len(observed) == 12
    assert "NCA and LMNN often have a smaller clean error" in observed["The paper says"][0]


@pytest.mark.parametrize("dataset", [*list(NAMES)[:1], *more(*list(NAMES)[1:])])
def test_every_printed_difference_is_ours_less_the_papers(dataset: str) -> None:
    one = page(show="table1", data=dataset)
    two = page(show="table2", data=dataset)
    found = check_rows(one.table[0].value, dataset, ["exact"])
    found += check_rows(two.table[0].value, dataset, ["certified"])
    found += check_rows(two.table[1].value, dataset, ["empirical"])
    if dataset == "splice":
        assert found >= 36
    assert "Two attackers" in words(two)


def test_the_csv_and_the_copied_python_say_the_same() -> None:
    found = comparison_rows(Tables.of(shipped()), ["splice"])
    there = found[found["difference"].notna()]
    assert len(there) >= 36
    np.testing.assert_allclose(there["difference"], there["ours"] - there["paper"], atol=1e-12)
    ours_alone = found["our method"].astype(str).str.startswith(("Votes", "Search", "White-box"))
    assert found[ours_alone]["difference"].isna().all()
    for _, row in found[found["paper column"] == "exact"].iterrows():
        number = PAPER["table_1_exact_1nn_robust_error"]["Splice"]["radii"].index(row["radius"])
        assert row["paper"] == paper_errors("splice", row["metric"], "exact")[number]


@pytest.mark.parametrize("show", ["table1", *more("summary", "table2", "figure1", "figure2", "sensitivity")])
def test_what_has_a_chart_or_a_bound_has_its_formula_folded_away(show) -> None:
    (formula,) = [found for found in page(show=show).expander if found.label == "The formula"]
    assert r"\varepsilon" in formula.markdown[0].value


@pytest.mark.parametrize("show", list(SECTIONS))
def test_each_section_opens_and_its_python_runs_as_printed(show: str) -> None:
    if show == "figure1":
        pytest.skip("drawn in the browser test; its Python is run below")
    app = page(show=show)
    app.session_state[f"paper_open_copy_{show}"] = True
    app.run()
    assert not app.exception
    link, command, python = (code.value for code in app.code[-3:])
    assert link.endswith("" if show == "summary" else f"show={show}")
    assert command.startswith("python -m arml_core reproduce ")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(python, {})
    if show in ("summary", "table1", "table2", "sensitivity"):
        assert "plice" in printed.getvalue()


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page(show="table9", data="cifar", method="svm", size="3", foo="bar")
    for part in ("show=table9", "data=cifar", "method=svm", "size=3", "'foo'"):
        assert part in words(app)
    assert address(app) == {}


def test_choices_go_into_the_address() -> None:
    app = page(show="table2", data="pendigits")
    app.selectbox(key="paper_method").set_value("arml").run()
    app.selectbox(key="paper_column").set_value("votes").run()
    assert address(app) == {"show": "table2", "data": "pendigits", "method": "arml", "column": "votes"}
    again_opened = page(**address(app))
    assert again_opened.selectbox(key="paper_column").value == "votes"


def test_controls_can_be_hidden_for_a_lesson() -> None:
    app = page(show="table1", hide="sections~data~detail~export~python")
    for kind in ("segmented_control", "selectbox", "download_button", "button"):
        assert not app.get(kind)
    assert len(app.table) == 1


def test_what_is_missing_is_said_and_no_number_invented() -> None:
    tables = Tables({})
    found = comparison_rows(tables)
    assert len(found) == 108 * 6
    assert found["ours"].isna().all()
    assert coverage(tables) == (108, 0, 0, 0)
    assert "there yet" in agreement_alt(found)
    number, column = number_of(PaperView(show="table2", data="usps", method="lmnn", column="exact"), "table2", tables)
    assert (column, number.kept) == ("theorem1", None)
    assert number.step.points.n == 1000


def test_results_that_cannot_be_read_are_named(monkeypatch, tmp_path) -> None:
    (tmp_path / "bad.npz").write_text("no archive")
    monkeypatch.setattr("arml_core.results.shipped", lambda folder=tmp_path: tuple(read_results(tmp_path / "bad.npz")))
    app = page(show="table1")
    assert "bad.npz is not a results file" in app.error[0].value.replace("\\", "")  # escaped: shown as it is
    assert "ours: not computed yet" in list(app.table[0].value["Row"])


@pytest.mark.parametrize(
    ("difference", "text", "shown"),
    [
        (0.0214, "+0.021", ":orange[▲\u00a0+0.021]"),
        (-0.0136, "−0.014", ":blue[▼\u00a0−0.014]"),
        (0.0004, "0.000", ":gray[=]"),
        (-0.0004, "0.000", ":gray[=]"),
    ],
)
def test_a_difference_has_a_sign_a_shape_and_a_colour(difference: float, text: str, shown: str) -> None:
    assert signed_difference(difference) == text
    assert marked_difference(difference) == shown


@pytest.mark.parametrize(
    ("ours", "paper", "shown"),
    [
        (0.1505, 0.150, "0.150 :gray[=]"),
        (0.1506, 0.150, "0.151 :orange[▲\u00a0+0.001]"),
        (0.1496, 0.151, "0.150 :blue[▼\u00a0−0.001]"),
    ],
)
def test_a_value_and_its_difference_agree_as_printed(ours: float, paper: float, shown: str) -> None:
    assert with_difference(ours, ours - paper) == shown


def test_the_origin_names_settings_seed_points_steps_date_and_versions() -> None:
    wanted = ("splice", "arml", "exact", 1)
    (found,) = [e for e in shipped() if (e.dataset, e.run.learner, e.spec.method, e.spec.n_neighbors) == wanted]
    text = provenance(found)
    assert "seed 42" in text["Metric"]
    assert "epochs 1000" in text["Metric"]
    assert "first 1,000" in text["Points"]
    assert "torch" in text["Versions"]
    assert text["Computed"].startswith(found.made["date"])
    assert text["Differs from the paper's protocol"] == found.made["deviation"]
    threat = arml.ThreatModel(box=(0, 1))
    attack = replace(found.spec, kind="attack", method="boundary", options={"steps": 500}, seed=3, threat=threat)
    text = provenance(replace(found, spec=attack))
    assert text["Method"] == "Boundary attack, 500 steps, seed 3"
    assert "inside [0, 1]" in text["Attacker"]


def test_the_picture_has_every_number_once() -> None:
    found = comparison_rows(Tables.of(shipped()), ["splice"])
    there = found[found["difference"].notna()]
    figure = agreement_figure(there)
    drawn = [trace for trace in figure.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in drawn) == len(there)
    nca = next(trace for trace in drawn if trace.name == "NCA")
    np.testing.assert_array_equal(nca.y, there[there["metric"] == "NCA"]["ours"])
    assert len({(t.marker.symbol, t.marker.color) for t in drawn}) == len(drawn)
    assert f"{len(there)} robust errors" in agreement_alt(there)


def small(radii: list[float], index: list[int] | None = None) -> Evaluation:
    first = shipped()[0]
    values = np.array(radii)
    radii = replace(
        first.radii.take(np.arange(len(values)) if index is None else index),
        lower=values,
        upper=values,
        exact=np.ones(len(values), bool),
        correct=values > 0,
    )
    return replace(first, radii=radii, planned=4)


def test_a_partial_recomputation_is_compared_on_its_own_points() -> None:
    kept, fresh = small([0.1, 0.2, 0.3, 0.4]), small([0.4, 0.25], [3, 1])
    found = compare_rerun(kept, fresh, np.array([0.0, 0.2, 0.4]))
    np.testing.assert_allclose(found.then, [0, 0.5, 1])
    np.testing.assert_allclose(found.now, [0, 0, 1])
    assert (found.n, found.n_same) == (2, 1)
    assert found.largest == pytest.approx(0.05)
    (step,) = table("table1", ["splice"], ["euclidean"], Effort())
    shown = outcome_table(RowToRecompute(step, kept, np.array([0.0, 0.2, 0.4]), np.array([0.0, 0.4, 1.0])), fresh)
    assert list(shown.iloc[:, 0]) == ["paper", "ours, shipped", "ours, computed here", "computed here − shipped"]
    assert list(shown["ε = 0.2"]) == ["0.400", "0.500", "0.000 :blue[▼\u00a0−0.400]", "−0.500"]


def search_of_splice(**changes) -> Evaluation:
    (found,) = [e for e in shipped() if (e.dataset, e.run.learner, e.spec.method) == ("splice", "arml", "search")]
    return replace(found, **changes)


def test_a_search_is_recomputed_for_the_verdicts_of_the_table_and_what_ships_without_is_still_known() -> None:
    kept = search_of_splice()
    assert kept.spec.at is None
    view = PaperView(show="table2", data="splice", method="arml", column="search")
    number, column = number_of(view, "table2", Tables.of(shipped()))
    assert column == "search"
    assert number.kept is not None
    np.testing.assert_array_equal(number.kept.bound, kept.bound)
    asked = number.step.evaluation("run")
    assert asked.at == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert (asked.budget, asked.points.n) == (kept.spec.budget, len(kept))
    app = page(show="table2", data="splice", method="arml", column="search")
    assert "time is spent on verdicts at the table's radii only" in words(app)
    for other in ("votes", "whitebox"):
        assert "time is spent on verdicts" not in words(page(show="table2", data="splice", column=other))


def test_a_search_for_verdicts_is_compared_with_what_ships_by_its_verdicts() -> None:
    at = np.array([0.0, 0.2, 0.4])
    kept, fresh = small([0.0, 0.25, 0.3, 0.5]), small([0.0, 0.21, 0.39, 0.4])
    found = compare_rerun(kept, fresh, at)
    assert (found.n, found.n_same, found.n_alike) == (4, 1, 3)
    (step,) = table("table2", ["splice"], ["arml"], Effort(), ["search"])
    fresh = replace(fresh, spec=replace(fresh.spec, method="search", budget=0.5, at=tuple(at)))
    job = Client(start=False).add_metric("iris", np.eye(4))
    said = done_words(RowToRecompute(step, kept, at), fresh, job)
    assert "3 of 4 points are proved safe at the same radii of the table as in what ships." in said
    said = done_words(RowToRecompute(step, kept, at[:2]), fresh, job)
    assert "All 4 points are proved safe at the same radii of the table" in said
    said = done_words(RowToRecompute(step, kept, at), replace(fresh, spec=replace(fresh.spec, at=None)), job)
    assert "1 of 4 radii are the shipped ones" in said


def test_the_origin_says_where_the_time_went() -> None:
    kept = search_of_splice()
    assert provenance(kept)["Time"].startswith(f"{kept.made['seconds']:,.1f} s, on average ")
    decided = provenance(replace(kept, spec=replace(kept.spec, at=(0.0, 0.1))))
    assert "s a point, spent on verdicts at ε = 0, 0.1; before that, " in decided["Time"]


def test_the_sizes_of_a_neighbourhood_are_told_apart_by_their_errors() -> None:
    kept = [small([0.1, 0.2, 0.3, 0.4]), small([0.1, 0.1, 0.3, 0.4]), small([0.1, 0.1, 0.1, 0.4])]
    assert spread(kept, np.array([0.0, 0.1, 0.3])) == pytest.approx(0.5)
    assert spread(kept[1:], np.array([0.0, 0.1, 0.3])) == pytest.approx(0.25)


def test_the_small_tables_subtract_and_divide(tmp_path, monkeypatch) -> None:
    sizes = {key: PAPER["datasets"]["Splice"][key] for key in ("features", "classes", "train", "test")}
    about = {"machine": "2-core CPU", "versions": {"numpy": "2"}, "date": "2026-01-01"}
    (tmp_path / "datasets.json").write_text(
        json.dumps({"splice": {**sizes, "error_1nn": 0.3, "error_11nn": 0.29, **about}})
    )
    (tmp_path / "runtime.json").write_text(
        json.dumps({"nca": {"seconds": 240.45, "iterations": 25, "threads": 2, "parameters": {}, **about}})
    )
    found = dataset_rows(tmp_path)
    assert found.loc[0, "difference"] == pytest.approx(0.3 - 0.295)
    assert found["ours"].notna().sum() == 2
    shown = datasets_and_runtime.datasets_table(found)
    assert shown.loc[0, "1-NN error, ours"] == "0.300 :orange[▲\u00a0+0.005]"
    assert shown.loc[0, "Same sizes here"] == "✓"
    assert shown.loc[1, "1-NN error, ours"] == "not computed yet"
    timed = runtime_rows(tmp_path)
    assert timed.loc[2, "ratio"] == pytest.approx(2.0)  # half the seconds for a quarter of the iterations
    assert datasets_and_runtime.runtime_table(timed).loc[2, "Ours / paper, an iteration"] == ":orange[▲ 2.00]"
    assert "On" not in datasets_and_runtime.runtime_table(timed)
    elsewhere = timed.assign(machine=["8-core CPU", *timed["machine"][1:]], threads=4, date="2026-01-02")
    assert datasets_and_runtime.runtime_table(elsewhere).loc[0, "On"] == "8-core CPU, 4 threads, 2026-01-02"
    monkeypatch.setattr(datasets_and_runtime, "FOLDER", tmp_path)
    said = words(page(show="runtime"))
    assert "not measured yet" in said
    assert "Ours were measured on a 2-core CPU, 2 threads, 2026-01-01." in said


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ({"show": "figure2", "network": "sigma-0.2"}, "randomized smoothing, σ = 0.2"),
        ({"show": "runtime", "method": "lmnn"}, "One training of ours, timed again"),
        ({"show": "datasets", "data": "usps", "k": "11"}, "One error of ours, computed again"),
    ],
)
def test_every_figure_and_small_table_offers_to_compute_a_number(query: dict[str, str], offered: str) -> None:
    app = page(**query)
    assert not app.exception
    assert app.button(key="paper_again").label.startswith("Compute it")
    assert any(offered in text for text in [words(app), *(o for box in app.selectbox for o in box.options)])
    hidden = [button.key for button in page(**query, hide="detail").button]
    assert "paper_again" not in hidden


@pytest.mark.more
def test_an_error_of_the_datasets_table_is_that_of_all_test_points(monkeypatch) -> None:
    """As a job: certificates of the whole test part, whose answers are the classifier's."""
    monkeypatch.setenv("ARML_NICE", "0")
    client = Client()
    for k in (1, 11):
        step = error_step("iris", k)
        _, job = submit(client, step)
        assert client.wait(job.id, PATIENCE).state == "done"
        data = arml.load_dataset("iris")
        knn = arml.MahalanobisKNN(k).fit(data.X_train, data.y_train)
        found = client.evaluation(job.id)
        assert found.spec.n_neighbors == k
        np.testing.assert_array_equal(found.radii.correct, knn.predict(data.X_test) == data.y_test)


@pytest.mark.more
def test_the_time_of_a_training_is_that_of_its_job(monkeypatch) -> None:
    monkeypatch.setenv("ARML_NICE", "0")
    monkeypatch.setattr(measurements, "RUNTIME_SET", "iris")
    client = Client()
    assert measurements.find_runtime(client, "arml") is None
    job = measurements.submit_runtime(client, "arml")
    assert client.wait(job.id, PATIENCE).state == "done"
    (found,) = measurements.find_runtime(client, "arml")
    assert (found.id, found.total) == (job.id, 100)


@pytest.mark.more
def test_a_toy_row_is_asked_for_found_again_and_equals_the_shipped_one(monkeypatch) -> None:
    monkeypatch.setenv("ARML_NICE", "0")
    (step,) = [step for step in figure1() if step.learner == "euclidean"]
    client = Client()
    assert find_jobs(client, step) is None
    run, evaluation = submit(client, step)
    assert client.wait(evaluation.id, PATIENCE).state == "done"
    assert find_jobs(client, step) is not None
    assert [job.id for job in find_jobs(client, step)] == [run.id, evaluation.id]
    (kept,) = [e for e in shipped(FOLDER / "figure1") if e.run.learner == "euclidean"]
    found = compare_rerun(kept, client.evaluation(evaluation.id), np.array([0.5]))
    assert found.n == found.n_same == 7


def test_the_first_table_says_what_it_counts_at_radius_0() -> None:
    shown = "\n".join(text.value for text in page(show="table1", data="splice").markdown)
    assert "At ε = 0 a point on a tie counts too" in shown
