"""The price of robustness on the Compare page: the marks, their points, and how a front is computed."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pytest

import arml_core as arml
from arml_core.jobs import Client, JobStatus
from arml_core.jobs.front import FrontJobs, FrontModel
from arml_core.references import KMeansPrototypes
from pages.components.compare.front import front_of
from pages.components.compare.front_form import FrontRequest, command_of
from pages.components.compare.snippet import computed_lines, front_lines
from pages.components.dataset_options import dataset_options

from ...job_requests import certify, train
from ...jobs.in_process import compute_all
from ..app import address
from ..train.train_page import status
from .compare_page import N, charts_of, page, words


@pytest.mark.usefixtures("shipped_results")
def test_every_run_is_a_mark_at_its_clean_and_its_robust_error() -> None:
    app = page(view="front", k="1", eps="0.2")
    assert not app.exception
    shown = app.table[0].value.set_index("Model")
    assert list(shown.index) == ["ARML", "Euclidean"]
    assert set(shown["Clean error"]) == {"0.100"}
    assert set(shown["Points it compares with"]) == {"1,000"}  # all training rows of Splice
    (chart,) = charts_of(k=1)
    (euclidean, arml_mark) = front_of(chart, 0.2).points
    for point, pair in zip((euclidean, arml_mark), chart.pairs, strict=True):
        assert point.robust_error == np.mean(pair.radii.lower <= 0.2)
        assert point.n_points == N
    assert list(shown["On the front"]) == ["yes", "no"]


@pytest.mark.usefixtures("shipped_results")
def test_the_view_is_a_choice_that_travels_in_the_address() -> None:
    app = page(k="1")
    app.segmented_control(key="cmp_view").set_value("front").run()
    assert address(app)["view"] == "front"
    assert "Nearer to the lower left corner" in words(app)
    assert [box.label for box in app.expander][:2] == ["Compute the front of a dataset", "The formula"]
    assert not app.sidebar.toggle  # no band and no value of the paper is drawn beside a mark
    assert [box.label for box in app.sidebar.selectbox] == ["Certificate"]
    app.segmented_control(key="cmp_view").set_value("curves").run()
    assert [box.label for box in app.sidebar.toggle] == ["Confidence band", "The paper's values"]
    hidden = page(view="front", k="1", hide="front~view")
    assert "Compute the front of a dataset" not in [box.label for box in hidden.expander]


@pytest.mark.usefixtures("shipped_results")
def test_runs_are_compared_on_the_points_they_share_and_others_are_left_out_with_a_reason() -> None:
    (chart,) = charts_of(k=1)
    first, second = chart.pairs
    half = replace(second.certificate, radii=second.certificate.radii.take(np.arange(N // 2)), planned=N // 2)
    cut = replace(chart, pairs=(first, replace(second, certificate=half, radii=half.radii)))
    found = front_of(cut, 0.2)
    assert {point.n_points for point in found.points} == {N // 2}
    assert found.points[0].robust_error == np.mean(first.radii.lower[: N // 2] <= 0.2)
    assert found.notes == (f"The marks rest on the {N // 2} points that all of them have.",)
    unfinished = replace(half, planned=N)
    partial = replace(chart, pairs=(first, replace(second, certificate=unfinished, radii=half.radii)))
    assert [point.label for point in front_of(partial, 0.2).points] == ["Euclidean"]
    assert front_of(partial, 0.2).notes == ("ARML is not certified to the end, and has no mark.",)


@pytest.mark.usefixtures("shipped_results")
def test_the_python_lines_print_the_same_front(tmp_path, monkeypatch) -> None:
    (chart,) = charts_of(k=1)
    found = front_of(chart, 0.2)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(front_lines(chart, found, 0.2), {})
    for point in found.points:
        assert f"{point.robust_error:.3f}" in printed.getvalue()
    assert (tmp_path / "front.html").exists()


def front_jobs(state: str, all_asked: bool = True) -> FrontJobs:
    def job(kind: str, number: int) -> JobStatus:
        finished = 22.0 if state in ("done", "failed") else None
        content = {"kind": kind, "learner": "robust_prototypes", "seed": 0, "parameters": {}}
        return status(state, id=f"{number:032x}", kind=kind, finished=finished, content=content, reason="no room")

    return FrontJobs((FrontModel(job("train", 1), job("certify", 2)),), all_asked)


@pytest.mark.usefixtures("shipped_results")
def test_a_front_is_asked_for_watched_and_cancelled(monkeypatch) -> None:
    now = [front_jobs("running", all_asked=False)]
    cancelled: list[str] = []
    monkeypatch.setattr(FrontRequest, "ask", lambda self: now[0])
    monkeypatch.setattr(Client, "cancel", lambda self, job: cancelled.append(job))
    app = page(view="front")
    app.button(key="cmp_front").click().run()
    assert not app.exception
    asked = address(app)
    assert (asked["data"], asked["k"], asked["runs"]) == ("splice", "1", "0" * 12)
    assert "multiples of its own" in words(app)
    (bar,) = app.get("progress")
    assert "Front of Splice: 0 of 6 models are done" in bar.proto.text
    app.button(key="cmp_front_cancel").click().run()
    assert cancelled == [f"{1:032x}", f"{2:032x}"]
    assert not app.get("progress")
    app.button(key="cmp_front").click().run()
    now[0] = front_jobs("failed")
    app.run()
    assert "The front is not complete" in app.error[0].value
    assert "no room" in app.error[0].value


def test_the_command_line_is_given_with_the_same_numbers() -> None:
    option = dataset_options(Client())["digits"]
    assert command_of(FrontRequest(option, "robust_prototypes", 5, 300), None) == (
        "python -m arml_core front digits --eps 0.1 --points 300 --beside euclidean --set n_prototypes=5"
    )


def test_prototypes_stand_among_the_curves_and_on_the_front(ships, tmp_path, monkeypatch) -> None:
    ships([])
    client = Client(start=False)
    data = arml.load_dataset("wine")
    learner = KMeansPrototypes(2, random_state=0).fit(data.X_train, data.y_train)
    run, beside = client.add_metric("wine", learner, "Two centres"), train(client, "wine", "euclidean")
    for job in (run, beside):
        certify(client, job.id, 1, "exact")
    compute_all(client)
    app = page(data="wine", k="1", eps="0.3", view="front")
    shown = app.table[0].value.set_index("Model")
    sizes = {name.split(" · ")[0]: size for name, size in shown["Points it compares with"].items()}
    assert sizes == {"Two centres": "6", "Euclidean": f"{len(data.X_train)}"}
    (chart,) = charts_of(data=("wine",), k=1)
    assert len({line.place for line in chart.lines}) == 2
    printed = io.StringIO()
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(printed):
        exec(computed_lines(chart, 0.3), {})
    for point in front_of(chart, 0.3).points:
        assert f"{point.robust_error}" in printed.getvalue()
