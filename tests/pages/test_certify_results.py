"""The Certify page with a real worker: verdicts, one row, downloads, the Python lines, and work that ends early."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.datasets.table import apply_layout, read_table, select
from arml_core.jobs import Client
from arml_core.report import changed_csv, verdict_csv
from arml_core.vocabulary import radii_down
from pages.components.certify.choices import READERS, CertifyView
from pages.components.certify.downloads import report_text, settings_of
from pages.components.certify.prepare import prepare
from pages.components.certify.progress import line_of
from pages.components.certify.results import CertifyJobs, Results, certify_jobs, results_of
from pages.components.certify.row_view import row_words
from pages.components.certify.snippet import python_lines
from pages.components.certify.sources import find_sources
from pages.components.certify.verdicts_step import radius_of
from tests.test_report import certified, data_of

from .app import ROOT, address
from .test_certify import SAMPLES, certifiable, page, said

pytestmark = pytest.mark.more

PATIENCE = 120
LABEL = '{"label":"state"}'


@pytest.fixture(scope="module", autouse=True)
def _own_home(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("ARML_SHARED", raising=False)
        st.cache_resource.clear()
        Client().start_worker()
        yield
        Client(start=False).stop_worker()
        st.cache_resource.clear()


def finished(app: AppTest) -> AppTest:
    """The page once its jobs are done."""
    for job in address(app)["jobs"].split("~"):
        assert Client().wait(job, PATIENCE).state == "done", Client().log(job)
    app.run()
    assert not app.exception, app.exception
    return app


def certify(**choices: str) -> AppTest:
    app = page(**choices)
    assert certifiable(app), said(app)
    app.button(key="cf_start").click().run()
    assert not app.exception, app.exception
    return finished(app)


def parts(app: AppTest) -> tuple[CertifyView, object, object, CertifyJobs, Results]:
    """What the page holds, computed from its address."""
    asked = CertifyView(**{name: READERS[name](text) for name, text in address(app).items()})
    sources, _ = find_sources(asked)
    prepared = prepare(asked, sources)
    work = certify_jobs(asked, prepared)
    assert work is not None
    results = results_of(prepared, work)
    assert results is not None
    return asked, sources, prepared, work, results


def counts(app: AppTest) -> dict[str, int]:
    return {metric.label: int(metric.value.split()[0].replace(",", "")) for metric in app.metric}


def test_the_sample_in_one_click() -> None:
    app = page()
    app.button(key="cf_sample_pumps").click().run()
    app = finished(app)
    assert counts(app) == {"Certified": 90, "Undecided": 0, "Attackable": 8}
    assert any(text.value == "#### Line 59" for text in app.markdown)
    assert any(text.value == "**4 · Verdicts**" for text in app.markdown)
    assert not any("4 · Verdicts" in text.value for text in page(**address(app), hide="steps").markdown)
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert sorted(table["line"][:8]) == [22, 26, 50, 53, 54, 59, 64, 71]
    assert table["verdict"][0] == "✖ attackable"
    data, _ = select(read_table(SAMPLES / "pumps.csv").table, label="state")
    knn = arml.MahalanobisKNN(1).fit(data.X, data.y)
    exact = knn.certify(data.X, data.y, "exact", exclude=np.arange(98))
    assert np.allclose(np.sort(table["proved"]), np.sort(exact.lower), rtol=1e-3)
    assert (np.sort(table["proved"]) <= np.sort(exact.lower)).all()


def test_wrong_training_rows_are_counted_for_the_table_the_row_the_csv_and_the_report() -> None:
    app = page()
    app.button(key="cf_sample_pumps").click().run()
    app = finished(app)
    asked, sources, prepared, work, results = parts(app)
    assert results.counting.wait(PATIENCE)
    app.run()
    data, _ = select(read_table(SAMPLES / "pumps.csv").table, label="state")
    found = arml.MahalanobisKNN(1).fit(data.X, data.y).certify_training(data.X, data.y, exclude=np.arange(98))
    by_line = dict(zip(data.lines.tolist(), found.removed.tolist(), strict=True))
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert table["rows removed"].tolist() == [by_line[line] for line in table["line"]]
    assert set(table["wrong labels"]) == set(table["rows added"]) == {1}
    assert any(
        "One wrong label among the training rows could change the answer." in text.value for text in app.markdown
    )
    radius = radius_of(asked, results)
    exported = pd.read_csv(io.StringIO(verdict_csv(results.with_training_rows().rows, radius, results.flips()[1])))
    assert exported["rows removed"].tolist() == found.removed.tolist()
    assert "rows removed" in report_text(asked, sources, prepared, work, results, radius)


def test_a_row_is_attackable_only_by_a_change_that_could_exist() -> None:
    """Line 4 flips beyond 3, halfway between 1 and 5: with whole numbers at 4. The page and the CSV say the same."""
    content = b"count,label\n0,a\n1,a\n2,a\n5,b\n6,b\n7,b\n"
    app = certify(file=Client(start=False).add_file(content, "counts.csv"), use='{"label":"label"}', eps="0.2", row="4")
    results = parts(app)[-1]
    assert results.possible.wait(PATIENCE)
    app.run()
    assert results.rows.radii.verdict(0.2)[2] == "attackable"
    assert results.judged.radii.verdict(0.2)[2] == "undecided"
    exported = pd.read_csv(io.StringIO(verdict_csv(results.rows, 0.2, results.flips()[1])))
    told = exported["verdict at 0.2"].value_counts().to_dict()
    assert {name.lower(): count for name, count in counts(app).items() if count} == told
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    by_line = dict(zip(table["line"], table["verdict"], strict=True))
    assert "undecided" in by_line[4]
    assert any(text.value.endswith("no whole-number change of that size was found.") for text in app.caption)
    assert any("the change shown here takes none and has length **0.28" in text.value for text in app.markdown)


def test_a_page_does_not_wait_for_the_count_and_what_is_taken_away_does(monkeypatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    honest = arml.MahalanobisKNN.certify_training

    def slow(self, *rows, **options):
        began.set()
        assert go_on.wait(PATIENCE)
        return honest(self, *rows, **options)

    monkeypatch.setattr(arml.MahalanobisKNN, "certify_training", slow)
    content = b"x,label\n0,a\n1,a\n2,a\n3,b\n10,b\n11,b\n"
    app = certify(file=Client(start=False).add_file(content, "slow.csv"), use='{"label":"label"}', order="file")
    assert began.is_set()
    assert any(text.value.startswith("⏳ Starting") for text in app.caption)
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert "rows removed" not in table
    results = parts(app)[-1]
    threading.Timer(0.2, go_on.set).start()
    assert results.with_training_rows().rows.training is not None
    app.run()
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert table["rows removed"].tolist() == results.with_training_rows().rows.training.removed.tolist()


def test_radius_verdict_and_row_are_looked_at_without_computing_anew() -> None:
    app = page()
    app.button(key="cf_sample_pumps").click().run()
    app = finished(app)
    jobs = address(app)["jobs"]
    app.slider(key="cf_eps").set_value(0.05).run()
    app.selectbox(key="cf_show").set_value("attackable").run()
    app.selectbox(key="cf_order").set_value("file").run()
    assert (address(app)["jobs"], address(app)["show"], address(app)["order"]) == (jobs, "attackable", "file")
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert table["line"].tolist() == sorted(table["line"])
    assert set(table["verdict"]) == {"✖ attackable"}
    again = page(**{**address(app), "row": "54"})
    assert any(text.value == "#### Line 54" for text in again.markdown)
    (changes,) = [frame.value for frame in again.dataframe if "safe alone" in frame.value.columns]
    safe = changes["safe alone"].to_numpy(dtype=float)
    assert len(safe) == 4
    assert radii_down(safe).tolist() == safe.tolist()  # cut to the four digits that are shown, not left to rounding
    app.selectbox(key="cf_show").set_value("undecided").run()
    assert "No row has this verdict at this ε. Choose another verdict or move ε." in said(app)
    app.number_input(key="cf_k").set_value(3).run()
    assert "jobs" not in address(app)
    assert not app.metric


def test_a_wrong_row_is_an_attackable_one_in_tiles_table_csv_and_report() -> None:
    content = b"x,label\n0,a\n1,b\n2,a\n3,b\n10,b\n11,b\n"
    app = certify(file=Client(start=False).add_file(content, "mixed.csv"), use='{"label":"label"}', order="file")
    asked, sources, prepared, work, results = parts(app)
    wrong = int((~results.rows.radii.correct).sum())
    assert wrong > 1
    assert sum(counts(app).values()) == 6
    assert any(f"{wrong} of the attackable rows are wrong already" in text.value for text in app.caption)
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    radius = radius_of(asked, results)
    flips = results.flips()[1]
    exported = pd.read_csv(io.StringIO(verdict_csv(results.rows, radius, flips)))
    shown = [text.removeprefix("✖ ").removeprefix("✔ ").split(",")[0] for text in table["verdict"]]
    assert shown == list(exported[f"verdict at {radius:g}"])
    assert (table["verdict"] == "✖ attackable, wrong already").sum() == wrong
    report = report_text(asked, sources, prepared, work, results, radius)
    assert f"{wrong} of the attackable rows are wrong already" in report
    no_wrong_rows = '<td class="n">0</td>' * 3
    assert report.count(f"<td>attackable</td>{no_wrong_rows}<td>wrong already</td>") == wrong


def test_without_labels_no_answer_is_wrong_and_an_address_that_asks_for_them_lists_all() -> None:
    app = certify(file="pumps", use=LABEL, labels="0", show="wrong")
    assert app.selectbox(key="cf_show").value == "all"
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert len(table) == 98


def test_a_radius_in_large_units_is_found_again_in_the_address() -> None:
    content = b"mass,label\n" + b"".join(b"%d,%d\n" % (10**11 * k, k >= 4) for k in range(8))
    app = certify(file=Client(start=False).add_file(content, "heavy.csv"), use='{"label":"label"}', size="file")
    app.slider(key="cf_eps").set_value(app.slider(key="cf_eps").max).run()
    assert float(address(app)["eps"]) > 1e9
    assert page(**address(app)).slider(key="cf_eps").value == app.slider(key="cf_eps").value
    assert not page(**{**address(app), "eps": "1e150"}).exception


CASES = {
    "votes and attack": {"file": "few.csv", "use": LABEL, "k": "3", "method": "votes"},
    "theorem 1": {"file": "few.csv", "use": LABEL, "k": "3", "method": "theorem1"},
    "search, frozen": {"file": "few.csv", "use": LABEL, "k": "2", "budget": "0.05", "frozen": '["flow_l_min"]'},
    "raw units": {"file": "pumps", "use": LABEL, "size": "file", "scaling": "standard"},
    "own costs": {"file": "bottles", "use": '{"label":"machine"}', "size": "own", "costs": '{"glass_mm":3}'},
    "own answer": {"file": "pumps", "use": LABEL, "labels": "0"},
    "trained": {"file": "pumps", "use": LABEL, "metric": "lfda"},
    "two files": {"mode": "two", "file": "pumps", "use": LABEL, "query": "few.csv", "k": "3", "method": "votes"},
}


@pytest.fixture
def few(tmp_path, monkeypatch) -> str:
    """A folder with some of the pumps as a file of one's own, uploaded too; the samples are where they always are."""
    content = b"".join((SAMPLES / "pumps.csv").read_bytes().splitlines(keepends=True)[:15])
    (tmp_path / "few.csv").write_bytes(content)
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    return Client(start=False).add_file(content, "few.csv")


@pytest.mark.parametrize("name", CASES)
def test_changed_rows_flip_and_the_python_lines_print_the_pages_numbers(name: str, few: str) -> None:
    app = certify(**{key: few if text == "few.csv" else text for key, text in CASES[name].items()})
    asked, sources, prepared, work, results = parts(app)
    rows, flips = results.flips()
    assert len(rows) == results.planned == results.attacked
    # the downloaded rows, fed to predict, really flip
    table, _ = read_table(changed_csv(rows, flips).encode())
    back, found = apply_layout(rows.layout, table)
    assert back is not None, found
    known = np.flatnonzero(flips.known)
    assert len(known) == rows.radii.correct.sum()
    metric = Client().run(work.run.id)
    knn = arml.MahalanobisKNN(asked.k, metric=metric).fit(prepared.dataset.X_train, prepared.dataset.y_train)
    answers = knn.predict(back.X, exclude=known if prepared.leave_one_out else None)
    assert (answers != rows.radii.predicted[known]).all()
    assert (answers == flips.answers[known]).all()
    size = rows.radii.threat.resolve(rows.X.shape[1]).size(back.X - rows.X[known])
    assert (size <= rows.radii.upper[known] * (1 + 1e-5)).all()
    assert (rows.radii.lower <= rows.radii.upper * (1 + 1e-9)).all()
    # the lines run as they are printed
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(python_lines(asked, sources, work), {})
    lines = [line.split() for line in printed.getvalue().splitlines()]
    assert [int(line[0]) for line in lines] == rows.lines.tolist()
    lower = np.array([float(line[2]) for line in lines])
    assert (lower <= rows.radii.upper * (1 + 1e-6)).all()
    if work.spec.method != "search":
        assert np.allclose(lower, rows.radii.lower, rtol=1e-6, atol=1e-9)
        assert np.allclose([float(line[3]) for line in lines], rows.radii.upper, rtol=1e-5)


def noisy() -> str:
    """A file whose classes overlap, uploaded: at ε = 0.2 neither votes nor an attack decide four of its forty rows."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 5))
    above = points[:, 0] + 0.7 * points[:, 1] + rng.normal(0, 0.5, 40) > 0
    lines = [
        ",".join([*(f"{value:.4f}" for value in row), "ab"[int(up)]]) for row, up in zip(points, above, strict=True)
    ]
    content = "\n".join([",".join([*(f"x{k}" for k in range(5)), "label"]), *lines, ""])
    return Client(start=False).add_file(content.encode(), "noisy.csv")


def judged(results: Results, radius: float) -> dict[int, str]:
    return dict(zip(results.rows.lines.tolist(), results.rows.radii.verdict(radius).tolist(), strict=True))


def test_undecided_rows_are_searched_on_request_and_what_was_known_stays(monkeypatch, tmp_path) -> None:
    file = noisy()
    app = certify(file=file, use='{"label":"label"}', k="5", method="votes", eps="0.2")
    before = parts(app)[-1]
    open_rows = [line for line, word in judged(before, 0.2).items() if word == "undecided"]
    assert len(open_rows) == counts(app)["Undecided"] == 4
    assert app.button(key="cf_decide").label == "Decide the 4 undecided rows at ε = 0.2"
    assert any("up to 1 s for each of them, at most 4 s" in text.value for text in app.caption)
    app.button(key="cf_decide").click().run()
    app = finished(app)
    assert counts(app)["Undecided"] == 0
    assert not [button for button in app.button if button.key == "cf_decide"]
    asked, sources, prepared, work, after = parts(app)
    (search,) = work.search_specs
    assert (search.method, search.at, search.budget) == ("search", (0.2,), 1.0)
    knn = arml.MahalanobisKNN(5).fit(prepared.dataset.X_train, prepared.dataset.y_train)
    truth = knn.certify(after.rows.X, after.rows.labels, "search", exclude=range(40), budget=1.0)
    for radius in (0.0, 0.05, 0.2, 0.3, 0.5):  # never wrong, at no radius; and never less than before
        truly = dict(zip(after.rows.lines.tolist(), truth.verdict(radius).tolist(), strict=True))
        for line, word in judged(after, radius).items():
            assert word in (truly[line], "undecided") or truly[line] == "undecided", (line, radius)
            assert judged(before, radius)[line] in (word, "undecided")
    assert (after.rows.radii.upper <= before.rows.radii.upper).all()
    assert np.isfinite(after.rows.radii.upper).all()
    settings = settings_of(asked, sources, prepared, work)
    assert ("Further search", "search, 1 s a row, verdicts at ε = 0.2") in settings
    script = python_lines(asked, sources, work)
    assert "budget=1.0, at=[0.2])" in script
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noisy.csv").write_bytes(Client().file(file)[1])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(script, {})
    interval = np.array([[float(part) for part in line.split()[2:]] for line in printed.getvalue().splitlines()])
    verdicts = arml.radii.verdicts(*interval.T, 0.2)
    assert verdicts.tolist() == list(judged(after, 0.2).values())
    # the address has it all; another radius may be open, and is offered too
    again = page(**address(app))
    assert counts(again) == counts(app)
    again.slider(key="cf_eps").set_value(0.3).run()
    assert counts(again)["Undecided"] == list(judged(after, 0.3).values()).count("undecided")


def test_a_search_for_one_radius_leaves_others_open_and_says_where_its_time_went() -> None:
    app = certify(file=noisy(), use='{"label":"label"}', k="5", at="0.05", order="robust")
    asked, sources, prepared, work, results = parts(app)
    assert work.spec.at == (0.05,)
    assert app.slider(key="cf_eps").value == radius_of(asked, results) == 0.05
    assert counts(app)["Undecided"] == 0
    assert dict(settings_of(asked, sources, prepared, work))["Certificate"] == (
        "search, 0.2 s a row, verdicts at ε = 0.05"
    )
    words = "A larger change was not looked for: time was spent on verdicts at ε = 0.05 only."
    assert any(text.value.endswith(words) for text in app.markdown)
    app.slider(key="cf_eps").set_value(0.2).run()
    verdicts = list(judged(results, 0.2).values())
    assert counts(app)["Undecided"] == verdicts.count("undecided") > 4
    where = "Time was spent on verdicts at ε = 0.05 only: at another ε more rows may be undecided, "
    assert any(text.value.startswith(where) for text in app.caption)
    app.button(key="cf_decide").click().run()
    app = finished(app)
    assert counts(app)["Undecided"] == 0
    work = parts(app)[3]
    assert work.decided_radii == (0.05, 0.2)
    assert work.seconds_spent(0.2) == 1.0
    assert work.seconds_spent(0.1) == 0.0


def test_each_further_search_takes_longer_and_what_is_left_then_stays_open(monkeypatch) -> None:
    """As if a search could decide nothing."""
    monkeypatch.setattr(arml.Radii, "narrow", lambda self, other: self)
    app = certify(file=noisy(), use='{"label":"label"}', k="5", method="votes", eps="0.2")
    for seconds in (1, 5, 30):
        assert any(f"takes up to {seconds} s" in text.value for text in app.caption)
        app.button(key="cf_decide").click().run()
        app = finished(app)
    assert [spec.budget for spec in parts(app)[3].search_specs] == [1.0, 5.0, 30.0]
    assert not [button for button in app.button if button.key == "cf_decide"]
    assert any("Rows that 30 s a row did not decide stay undecided here." in text.value for text in app.caption)


def test_a_search_that_was_stopped_is_taken_up_with_all_the_rest(monkeypatch) -> None:
    app = certify(file=noisy(), use='{"label":"label"}', k="7", method="votes", eps="0.15")
    Client().stop_worker()
    monkeypatch.setattr("arml_core.jobs.client.start_worker", lambda paths: None)
    app.button(key="cf_decide").click().run()
    assert "Certifying (verdicts at ε = 0.15): waiting, place 1" in [bar.text for bar in app.get("progress")]
    jobs = address(app)["jobs"]
    app.button(key="cf_cancel").click().run()
    app.run()
    assert any(text.startswith("Certifying (verdicts at ε = 0.15) was cancelled.") for text in said(app))
    assert counts(app)["Undecided"] == 4
    monkeypatch.undo()
    app.button(key="cf_again").click().run()
    assert address(app)["jobs"] == jobs
    assert counts(finished(app))["Undecided"] == 0


def test_a_search_about_other_rows_or_neighbours_narrows_nothing_here() -> None:
    file = noisy()
    mine, other = (address(certify(file=file, use='{"label":"label"}', k=k, method="votes")) for k in ("5", "3"))
    run, *_ = other["jobs"].split("~")
    foreign = Client().submit(replace(Client().status(other["jobs"].split("~")[1]).spec, method="search", at=(0.2,)))
    assert page(**mine).metric
    assert not page(**{**mine, "jobs": f"{mine['jobs']}~{foreign.id}"}).metric
    assert not page(**{**mine, "jobs": f"{mine['jobs']}~{run}"}).metric


def test_a_saved_run_with_a_query_file_gives_python_lines_that_run(monkeypatch) -> None:
    first = certify(file="pumps", use=LABEL, metric="lfda")
    run = address(first)["jobs"].split("~")[0]
    app = certify(mode="run", run=run, query="pumps", quse=LABEL)
    asked, sources, _, work, results = parts(app)
    assert results.rows.labels is not None
    printed = io.StringIO()
    monkeypatch.chdir(ROOT)
    with contextlib.redirect_stdout(printed):
        exec(python_lines(asked, sources, work), {})
    lower = [float(line.split()[2]) for line in printed.getvalue().splitlines()]
    assert np.allclose(lower, results.rows.radii.lower, rtol=1e-6)


def test_the_report_has_everything_it_takes_to_repeat_it() -> None:
    names = [f"x{k}" for k in range(40)]
    rows = [",".join(["r" if i % 3 else "g", *(str((i * k) % 7) for k in range(40)), "ab"[i % 2]]) for i in range(12)]
    content = "\n".join([";".join(["colour", *names, "state"]), *(row.replace(",", ";") for row in rows)])
    file = Client(start=False).add_file(content.encode(), "wide.csv")
    app = certify(
        file=file,
        read='{"separator":";"}',
        use='{"label":"state","drop":["x0"],"one_hot":["colour"]}',
        size="own",
        costs='{"x39":2.5}',
        frozen='["x0","x1"]',
        metric="arml",
        params='{"n_epochs":7}',
        seed="4",
    )
    asked, sources, prepared, work, results = parts(app)
    found = dict(settings_of(asked, sources, prepared, work))
    assert found["File"] == "wide.csv; separator = ';'"
    assert found["Label column"] == "state"
    assert found["Columns left out"] == "x0"
    assert found["Encoded as categories"] == "colour"
    assert found["Features"].split(", ") == ["colour=g", "colour=r", *names[1:]]
    assert found["Change"].endswith(", frozen: x1")
    assert found["Costs"].endswith("x38: 1.0, x39: 2.5")
    assert "n_epochs = 7, " in found["Parameters"]
    assert found["Parameters"].endswith("seed = 4")
    text = report_text(asked, sources, prepared, work, results, 0.3)
    assert all(escape(part) in text for pair in found.items() for part in pair)


def test_the_python_lines_look_for_a_sample_in_its_folder_and_for_a_file_beside_them(few: str) -> None:
    asked, sources, _, work, _ = parts(certify(mode="two", file="pumps", use=LABEL, query=few))
    lines = python_lines(asked, sources, work)
    assert "read_table('data/samples/pumps.csv'" in lines
    assert "read_table('few.csv'" in lines


def test_the_report_of_the_page_names_how_it_was_made() -> None:
    app = certify(file="pumps", use=LABEL)
    asked, sources, prepared, work, results = parts(app)
    text = report_text(asked, sources, prepared, work, results, 0.3)
    for part in ("Robustness of pumps.csv", "leave-one-out", "Euclidean", "K = 1", "ℓ2 norm", "minmax"):
        assert part in text


@pytest.mark.parametrize(("learner", "unit"), [("arml", "epochs"), ("lmnn", "iterations")])
def test_the_progress_of_a_training_is_counted_as_on_the_train_page(learner: str, unit: str) -> None:
    job = Client(start=False).add_metric("moons", np.eye(2))
    running = replace(job, state="running", done=3, total=50, content={**job.content, "learner": learner})
    assert line_of(running) == f"Training the metric: 3 of 50 {unit}"


def test_cancelled_work_says_so_and_goes_on() -> None:
    app = page(file="pumps", use=LABEL, metric="arml", params='{"n_epochs":1000000}')
    app.button(key="cf_start").click().run()
    assert any(re.match(r"Training the metric: ", bar.text) for bar in app.get("progress"))
    app.button(key="cf_cancel").click().run()
    for job in address(app)["jobs"].split("~"):
        Client().wait(job, PATIENCE)
    app.run()
    assert any("Training the metric was cancelled." in box.value for box in app.warning)
    app.button(key="cf_again").click().run()
    assert any(b.key == "cf_cancel" for b in app.button)
    app.button(key="cf_cancel").click().run()


def enter_state(job: str, state: str, finished: float | None) -> None:
    with Client().store.database.writing() as connection:
        connection.execute("UPDATE jobs SET state = ?, finished = ? WHERE id = ?", (state, finished, job))


def test_work_whose_worker_died_is_shown_as_going_on(monkeypatch) -> None:
    chosen = address(certify(file="pumps", use=LABEL, k="7", method="votes"))
    certificate = chosen["jobs"].split("~")[1]
    enter_state(certificate, "running", None)
    with monkeypatch.context() as patch:
        patch.setattr("arml_core.jobs.client.worker_pid", lambda paths: None)
        patch.setattr("arml_core.jobs.client.start_worker", lambda paths: None)
        app = page(**chosen)
    enter_state(certificate, "done", 1.0)
    assert "Certifying: interrupted, it goes on by itself" in [bar.text for bar in app.get("progress")]
    assert any(b.key == "cf_cancel" for b in app.button)
    assert not any("was interrupted" in box.value for box in app.warning)
    assert page(**chosen).metric


def test_a_training_that_fails_gives_its_reason() -> None:
    lonely = Client(start=False).add_file(b"x,label\n1,a\n2,b\n4,c\n", "lonely.csv")
    app = page(file=lonely, use='{"label":"label"}', metric="arml")
    app.button(key="cf_start").click().run()
    for job in address(app)["jobs"].split("~"):
        Client().wait(job, PATIENCE)
    app.run()
    assert any(text.startswith("Training the metric failed: ") for text in said(app)), said(app)


def test_a_damaged_result_is_said_and_computed_again() -> None:
    chosen = address(certify(file="pumps", use=LABEL, k="5", method="votes"))
    client = Client()
    certificate = chosen["jobs"].split("~")[1]
    client.store.paths.result(certificate).write_bytes(b"cut off")
    st.cache_resource.clear()
    app = page(**chosen)
    assert any(text.startswith("A result cannot be read: ") for text in said(app)), said(app)
    assert client.wait(certificate, PATIENCE).state == "done"
    assert page(**chosen).metric


def test_jobs_of_other_choices_are_not_shown_under_these() -> None:
    chosen = address(certify(file="pumps", use=LABEL, metric="lfda"))
    assert page(**chosen).metric
    for other in (
        {"k": "3"},
        {"norm": "linf"},
        {"frozen": '["flow_l_min"]'},
        {"size": "file"},
        {"method": "votes"},
        {"labels": "0"},
        {"metric": "euclidean"},
        {"params": '{"k":3}'},
    ):
        app = page(**{**chosen, **other})
        assert not app.metric, other
        assert certifiable(app)


def test_jobs_of_another_query_file_are_not_shown(few: str) -> None:
    chosen = address(certify(mode="two", file="pumps", use=LABEL, query=few))
    assert page(**chosen).metric
    assert not page(**{**chosen, "query": "pumps"}).metric


def test_a_saved_metric_of_other_rows_is_known_again(few: str) -> None:
    run, _ = address(certify(file="pumps", use=LABEL, metric="lfda"))["jobs"].split("~")
    chosen = address(certify(file=few, use=LABEL, metric="run", run=run))
    assert page(**chosen).metric
    other, _ = address(certify(file=few, use=LABEL))["jobs"].split("~")
    assert not page(**{**chosen, "run": other}).metric


def test_jobs_of_other_rows_are_not_shown() -> None:
    app = certify(file="pumps", use=LABEL)
    other = page(file="bottles", use='{"label":"machine"}', jobs=address(app)["jobs"])
    assert not other.metric
    assert certifiable(other)


def test_a_change_that_grew_in_the_files_units_is_named_with_the_length_it_has() -> None:
    """Time stamps with fractions of seconds are 2⁻²² apart as floats: a change is rounded to the next one."""
    steps = [0, 3, 7, 8, 12, 20, 21, 25, 31, 40]
    text = "\n".join(["t,state", *(f"{1_700_000_000 + k / 2**22!r},{'ab'[k > 15]}" for k in steps)])
    rows, flips, _ = certified(data_of(text.encode(), "state"))
    move = rows.layout.from_units(flips.raw) - rows.X
    grown = np.flatnonzero(flips.known & (np.abs(move[:, 0]) > 1.01 * rows.radii.upper))
    assert len(grown)
    at = grown[:1]
    some = rows.take(at)
    shown = replace(some, radii=replace(some.radii, exact=np.array([False])))
    words = row_words(shown, replace(flips, raw=flips.raw[at], answers=flips.answers[at]))
    length = float(re.findall(r"\*\*([\d.]+)\*\*", words)[-1])
    assert abs(move[at[0], 0]) <= length <= 1.01 * abs(move[at[0], 0])
