"""The Inspect page's address and its Python lines: a link is the view, a script gives its numbers."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

import arml_core as arml
from arml_core.jobs import Client, new_key
from arml_core.metric import Metric
from pages.components.inspect import sources
from pages.components.inspect.choices import InspectView
from pages.components.inspect.snippet import metric_lines, point_lines
from pages.components.inspect.sources import load_catalogue, resolve
from pages.components.inspect.study import PointQuestion, PreparedSource, certify_in_stages, new_study

from ...job_requests import train
from ..app import address
from .inspect_page import RNG, blobs, charts, page, quiet, settled, tile, uploaded, words


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
    waiting = train(client, "digits", "nca")
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
        view = InspectView("iris", metric)
        source, _ = resolve(view, load_catalogue())
        ask = PointQuestion(part, 5, k, norm, own)
        printed = run_lines(point_lines(source, ask, 0.3), tmp_path, monkeypatch)
        prepared = PreparedSource(*sources.read_source(source, Client(start=False)))
        study = certify_in_stages(prepared, new_study(prepared, ask), 0.3, quiet)
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
        source, _ = resolve(InspectView(dataset, metric), load_catalogue())
        assert "votes" in run_lines(
            point_lines(source, PointQuestion(part, 1, 3, "l2", False), 0.2), tmp_path, monkeypatch
        )


def test_the_page_offers_the_lines_and_a_link() -> None:
    app = page(data="iris", k="1")
    app.session_state["inspect_open_copy"] = True
    app.run()
    settled(app)
    link, lines = (found.value for found in app.code)
    assert link.endswith("?data=iris&k=1")
    assert "data = arml.load_dataset('iris')" in lines
    assert "n_neighbors=1" in lines
