"""The command end to end, with real processes: it computes, keeps, goes on where it stopped, and says what failed."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, load_dataset, load_metric
from arml_core.cli import main
from arml_core.jobs import Client, PointsSpec
from arml_core.learners.storage import save_metric
from arml_core.neural import NetworkCurve
from arml_core.reproduce import figure2
from arml_core.reproduce.figure2 import NetworkRequest
from arml_core.reproduce.plan import PlanStep
from arml_core.reproduce.report import DOCUMENT
from arml_core.reproduce.result_files import kept_metric
from arml_core.reproduce.run import compute, find_jobs, submit
from arml_core.results import read_results, write_results

ROOT = Path(__file__).parents[2]


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A store of its own, whose worker ends with the test."""
    for name in ("ARML_DASK", "ARML_SHARED", "ARML_JOBS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARML_NICE", "0")
    client = Client()
    yield client
    client.stop_worker()


class Recorder:
    """Keeps the lines that stay."""

    def __init__(self):
        self.lines = []

    def print_line(self, line):
        self.lines.append(line)

    def print_status(self, line):
        """Nobody looks."""


@pytest.mark.more
def test_networks_are_jobs_too(client, tmp_path):
    """Asked for twice, computed once; the radii are those of the same network trained here."""
    curves = [
        NetworkRequest(NetworkCurve(sigma, hidden=(8,), epochs=2, samples=50, seed=3), 12) for sigma in (None, 0.3)
    ]
    data = load_dataset("iris")
    x, y = data.evaluation(12)
    for curve in curves:
        assert curve.find_job(client, "iris") is None
        job = curve.submit(client, "iris")
        assert client.wait(job.id, 120).state == "done"
        found = curve.find_job(client, "iris")
        assert found is not None
        assert (found.id, found.kind, curve.submit(client, "iris").finished) == (job.id, "network", found.finished)
        evaluation = client.evaluation(job.id)
        network = curve.network.train(data.X_train, data.y_train)
        lower, correct, answers = curve.network.certify(network, x, y)
        np.testing.assert_allclose(evaluation.radii.lower, lower, rtol=1e-5, atol=1e-9)
        np.testing.assert_array_equal(evaluation.radii.correct, correct)
        np.testing.assert_array_equal(client.radii(job.id).predicted, answers)
        assert (evaluation.run.learner, evaluation.spec.n_neighbors, evaluation.run.seed) == ("network", 0, 3)
        assert evaluation.spec.options == curve.network.options
        write_results(tmp_path / "network.npz", [evaluation])  # in the form of every other result
        assert read_results(tmp_path / "network.npz")[0].describe_method() == evaluation.describe_method()


@pytest.mark.more
def test_figure_2_keeps_what_it_computes_and_goes_on(client, tmp_path, monkeypatch):
    monkeypatch.setattr(figure2, "DATASETS", ("iris",))
    display = Recorder()
    wanted = figure2.curves(quick=True)
    assert figure2.compute(client, tmp_path, ["iris", "wine"], wanted, display) == []
    kept = read_results(tmp_path / "iris-network.npz")
    assert {e.spec.method for e in kept} == {"crown", "smoothing"}
    assert [len(e) for e in kept] == [10, 10, 10]
    assert all("the paper does not describe its networks; 10 points" in e.made["deviation"] for e in kept)
    display = Recorder()
    assert figure2.compute(client, tmp_path, ["iris"], wanted, display) == []
    assert len(display.lines) == 3
    assert all("kept already" in line for line in display.lines)


@pytest.mark.more
def test_a_plan_is_computed_kept_and_not_computed_again(client, tmp_path):
    points = PointsSpec("evaluation", 12)
    steps = [
        PlanStep("iris", "arml", "exact", points, {"n_epochs": 20}),
        PlanStep("iris", "arml", "boundary-box", points, {"n_epochs": 20}, steps=30),
        PlanStep("iris", "euclidean", "theorem1", points),
    ]
    display = Recorder()
    assert compute(client, steps, tmp_path / "out", display) == []
    assert sum(line.startswith("training of") for line in display.lines) == 2
    exact, boundary = read_results(tmp_path / "out" / "iris-arml.npz")
    assert (exact.spec.n_neighbors, len(exact), exact.run.seed) == (1, 12, 42)
    assert boundary.spec.options == {"steps": 30}
    assert "30 steps instead of 25,000" in boundary.made["deviation"]
    assert {"machine", "versions", "date", "seconds", "version"} <= set(exact.made)
    data = load_dataset("iris")
    x, y = data.evaluation(12)
    metric = load_metric(tmp_path / "out" / "metrics" / "iris-arml.npz").metric
    knn = MahalanobisKNN(1, metric=metric).fit(data.X_train, data.y_train)
    np.testing.assert_allclose(exact.radii.lower, knn.certify(x, y, method="exact").lower, rtol=1e-6, atol=1e-9)
    finished = {status.id: status.finished for status in client.list()}
    assert compute(client, steps, tmp_path / "again", Recorder()) == []
    assert {status.id: status.finished for status in client.list()} == finished
    np.testing.assert_array_equal(read_results(tmp_path / "again" / "iris-arml.npz")[0].radii.lower, exact.radii.lower)


@pytest.mark.more
def test_a_search_finished_without_radii_to_decide_is_an_answer_too(client, tmp_path):
    points, at = PointsSpec("evaluation", 6), (0.0, 0.05, 0.1)
    whole = PlanStep("iris", "euclidean", "search", points, budget=0.05)
    planned = replace(whole, at=at)
    run, job = submit(Client(start=False), whole)
    assert find_jobs(Client(start=False), planned) is None  # not an answer yet
    client.start_worker()
    assert client.wait(job.id, 120).state == "done"
    assert [found.id for found in find_jobs(client, planned)] == [run.id, job.id]
    assert compute(client, [planned], tmp_path, Recorder()) == []
    assert sorted(status.id for status in client.list()) == sorted([run.id, job.id])
    (kept,) = read_results(tmp_path / "iris-euclidean.npz")
    assert kept.spec.at is None
    other = replace(planned, budget=0.1)
    assert compute(client, [other], tmp_path, Recorder()) == []
    (kept,) = read_results(tmp_path / "iris-euclidean.npz")
    assert (kept.spec.at, kept.spec.budget) == (at, 0.1)


@pytest.mark.more
def test_a_kept_metric_is_evaluated_under_its_name_and_not_trained_again(client, tmp_path):
    """Also where training it again would give another one: results that are there stay."""
    points, few = PointsSpec("evaluation", 12), {"n_epochs": 20}
    exact = PlanStep("iris", "arml", "exact", points, few)
    assert compute(client, [exact], tmp_path, Recorder()) == []
    path = tmp_path / "metrics" / "iris-arml.npz"
    learned = load_metric(path)
    other = 2 * learned.components_  # as if from another machine
    info = {name: learned.info[name] for name in ("learner", "parameters", "dataset", "fingerprint", "seed")}
    save_metric(path, Metric.from_components(other), **info)
    written = path.stat().st_mtime_ns
    before = {status.id for status in client.list()}
    display = Recorder()
    votes, changed = (
        PlanStep("iris", "arml", "votes", points, few),
        PlanStep("iris", "arml", "votes", points, {"n_epochs": 10}),
    )
    assert compute(client, [votes], tmp_path, display, from_kept=True) == []
    new = [status for status in client.list() if status.id not in before]
    assert sorted(status.kind for status in new) == ["certify", "train"]
    assert [status.content["learner"] for status in new if status.kind == "train"] == ["given"]
    (found,) = read_results(tmp_path / "iris-arml.npz")  # the first was of another metric
    assert (found.spec.method, found.run.learner, found.learner_title, found.run.seed) == ("votes", "arml", "ARML", 42)
    assert found.run.parameters == learned.info["parameters"]
    data = load_dataset("iris")
    x, y = data.evaluation(12)
    knn = MahalanobisKNN(11, metric=Metric.from_components(other)).fit(data.X_train, data.y_train)
    np.testing.assert_allclose(found.radii.lower, knn.certify(x, y, method="votes").lower, rtol=1e-6, atol=1e-9)
    assert path.stat().st_mtime_ns == written  # a file that holds this metric is not written anew
    assert kept_metric(tmp_path, "iris", changed.training(data.fingerprint)) is None


@pytest.mark.more
def test_what_fails_is_named_and_the_rest_goes_on(client, tmp_path):
    """Theorem 1 needs six points on each side, which a class of seven points' toy does not have."""
    steps = [
        PlanStep("seven_points", "euclidean", "theorem1", PointsSpec("train")),
        PlanStep("seven_points", "euclidean", "exact", PointsSpec("train")),
    ]
    failures = compute(client, steps, tmp_path, Recorder())
    assert len(failures) == 1
    assert "theorem1" in failures[0]
    assert "failed" in failures[0]
    assert len(read_results(tmp_path / "seven_points-euclidean.npz")) == 1


@pytest.mark.more
def test_from_a_shell_on_splice(client, paper_data, tmp_path):
    """A clean start: nothing but the checkout, the data and an empty home."""
    command = [sys.executable, "-m", "arml_core", "reproduce", "table2", "--quick", "--dataset", "splice"]
    command += ["--method", "arml", "--column", "theorem1", "whitebox", "--points", "5", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Splice, ARML, n_epochs = 30: theorem1, K = 11: 5 points" in done.stdout
    found = {e.spec.method: e for e in read_results(tmp_path / "out" / "splice-arml.npz")}
    assert (found["theorem1"].radii.lower <= found["whitebox"].radii.upper).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["figure2", "--dataset", "splice"], "figure2 has nothing for splice; it has mnist, fashion_mnist"),
        (["runtime", "--method", "euclidean"], "runtime has nothing for euclidean; it has lmnn, itml, nca, arml"),
        (["sensitivity", "--dataset", "usps"], "sensitivity has nothing for usps; it has splice, satimage"),
    ],
)
def test_what_it_does_not_have_is_said(arguments, words, tmp_path, capsys):
    assert main(["reproduce", *arguments, "--out", str(tmp_path)]) != 0
    assert words in capsys.readouterr().err


def test_a_report_on_other_results_is_written_beside_them(tmp_path, capsys):
    before = DOCUMENT.read_text(encoding="utf-8")
    assert main(["reproduce", "report", "--out", str(tmp_path)]) == 0
    assert (tmp_path / DOCUMENT.name).exists()
    assert DOCUMENT.read_text(encoding="utf-8") == before


def test_a_column_that_is_not_there_is_refused(capsys):
    assert main(["reproduce", "table1", "--column", "votes"]) == 2
    assert "table1 has no column 'votes'; it has exact" in capsys.readouterr().err
    assert main(["reproduce", "sensitivity", "--dataset", "usps"]) == 2
    assert "sensitivity has nothing" in capsys.readouterr().err
