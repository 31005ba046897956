"""Columns to protect as ordinary jobs, and what jobs do with names, switches and their values."""

import json
from dataclasses import replace

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, columns_to_protect, cross_fit, load_dataset
from arml_core.errors import Cancelled
from arml_core.jobs import EvaluationSpec, PointsSpec
from arml_core.jobs.protection import ask_protection, protection
from arml_core.jobs.spec import key_of
from arml_core.results import read_results, write_results

from ..job_requests import certify, train
from .in_process import compute_all

POINTS = PointsSpec("evaluation", 20)
PETALS = {"petals": ["petal length (cm)", "petal width (cm)"], "sepal": [0]}


@pytest.fixture
def iris(client):
    return load_dataset("iris")


def spec_of(client, iris, **settings):
    run = train(client, iris, "euclidean")
    return EvaluationSpec("certify", run.id, 3, **{"method": "votes", "points": POINTS, **settings})


def same(one, other):
    assert (one.epsilon, one.n_asked, one.n_safe) == (other.epsilon, other.n_asked, other.n_safe)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.before, other.before)
    assert [(c.name, c.features) for c in one.columns] == [(c.name, c.features) for c in other.columns]
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(mine.verdicts, theirs.verdicts)


@pytest.mark.parametrize("columns", [None, PETALS])
def test_the_jobs_say_what_the_function_says(client, iris, columns):
    spec = spec_of(client, iris, threat=ThreatModel("linf", frozen=["sepal width (cm)"]))
    jobs = ask_protection(client, spec, 0.1, columns)
    assert (jobs.done, jobs.at_rest, protection(client, jobs)) == (False, False, None)
    compute_all(client)
    jobs = ask_protection(client, spec, 0.1, columns)
    assert (jobs.done, jobs.at_rest) == (True, True)
    assert len(client.list()) == 1 + len(jobs.evaluations)  # asking again was free
    x, y = iris.evaluation(20)
    knn = MahalanobisKNN(3).fit(iris.X_train, iris.y_train)
    named = {
        name: [iris.feature_names.index(f) if isinstance(f, str) else f for f in fs]
        for name, fs in (columns or {}).items()
    }
    expected = columns_to_protect(
        knn, x, y, eps=0.1, threat=ThreatModel("linf", frozen=[1]), method="votes", columns=named or None
    )
    found = protection(client, jobs)
    assert len(found.rows)
    if columns is None:
        assert [column.name for column in found.columns] == [iris.feature_names[k] for k in (0, 2, 3)]
        found = replace(found, columns=[replace(c, name=f"feature {c.features[0]}") for c in found.columns])
    same(found, expected)


def test_a_search_is_asked_at_this_radius_alone(client, iris):
    jobs = ask_protection(client, spec_of(client, iris, method="search", at=(0.3,), budget=0.1), 0.2)
    assert {evaluation.spec.at for evaluation in jobs.evaluations} == {(0.2,)}


def test_columns_are_read_as_they_are_done_and_one_without_anything_left_needs_no_job(client, iris):
    spec = spec_of(client, iris, threat=ThreatModel(frozen=[1, 2, 3]))
    jobs = ask_protection(client, spec, 0.1)
    assert [column.evaluation for column in jobs.columns] == [None]
    two = ask_protection(client, replace(spec, threat=ThreatModel(frozen=[2, 3])), 0.1)
    client.cancel(two.columns[0].evaluation.id)
    compute_all(client)
    found = protection(client, jobs)
    assert found.columns[0].safe == len(found.rows)
    assert [column.name for column in protection(client, two).columns] == [iris.feature_names[1]]
    assert not ask_protection(client, replace(spec, threat=ThreatModel(frozen=[2, 3])), 0.1).done


def test_a_column_that_was_interrupted_continues(client, iris):
    jobs = ask_protection(client, spec_of(client, iris), 0.1)

    def interrupt(done, total, info):
        raise Cancelled

    with pytest.raises(Cancelled):
        compute_all(client, interrupt)
    compute_all(client)
    assert len(protection(client, jobs).columns) == 4


def test_what_is_refused_in_words(client, iris):
    spec = spec_of(client, iris)
    with pytest.raises(ValueError, match="an attack proves no row safe"):
        ask_protection(client, replace(spec, kind="attack", method="whitebox"), 0.1)
    with pytest.raises(ValueError, match="there is no feature 'age'"):
        ask_protection(client, spec, 0.1, {"age": ["age"]})
    with pytest.raises(ValueError, match="there is no feature 'age'"):
        client.submit(replace(spec, threat=ThreatModel(frozen=["age"])))
    base = certify(client, spec.run, 1)
    with pytest.raises(ValueError, match="is not a training"):
        ask_protection(client, replace(spec, run=base.id), 0.1)
    assert sorted(job.kind for job in client.list()) == ["certify", "train"]  # nothing else was asked


def test_a_question_by_name_is_the_question_by_place(client, iris):
    spec = spec_of(client, iris)
    width = "petal width (cm)"
    for named, placed in (
        (ThreatModel(frozen=[width]), ThreatModel(frozen=[3])),
        (ThreatModel(box={width: (0, 1)}), ThreatModel(box=([-np.inf] * 3 + [0], [np.inf] * 3 + [1]))),
        (ThreatModel(costs={width: 2}), ThreatModel(costs=[1, 1, 1, 2])),
        (ThreatModel(switches=[[width]]), ThreatModel(switches=[[3]])),
    ):
        assert client.submit(replace(spec, threat=named)).id == client.submit(replace(spec, threat=placed)).id
        assert not client.submit(replace(spec, threat=named)).spec.threat.has_names


def test_specs_with_switches_round_trip_and_old_ones_keep_their_keys():
    threat = ThreatModel("l1", switches=[[0, 1], {"features": ["a"], "values": [0, 1]}], max_switches=1)
    spec = EvaluationSpec("certify", "0" * 32, 3, threat=threat, points=POINTS).normalised()
    assert EvaluationSpec.from_content(json.loads(json.dumps(spec.content()))) == spec
    old = EvaluationSpec("certify", "0" * 32, 3, threat=ThreatModel("linf", frozen=[1], box=(0, 1)), points=POINTS)
    assert set(old.content()["threat"]) == {"norm", "costs", "frozen", "box"}
    assert key_of(EvaluationSpec("certify", "0" * 32), "public") == "fd7ebcd927970637789bcf3271a9735d"


def test_what_is_switched_is_stored_and_read_back(client, iris, tmp_path):
    """In a result, in the parts of a job, and in a results file; the codes refer to values of all training rows."""
    threat = ThreatModel(switches=[{"features": [3], "values": [0.0, 0.5, 1.0]}])
    spec = spec_of(client, iris, threat=threat)
    job = client.submit(spec)
    compute_all(client)
    found, (x, y) = client.evaluation(job.id), iris.evaluation(20)
    expected = MahalanobisKNN(3).fit(iris.X_train, iris.y_train).certify(x, y, threat=threat)
    np.testing.assert_array_equal(found.radii.switched, expected.switched)
    assert found.radii.threat == expected.threat
    assert (found.radii.switched >= 0).any()
    write_results(tmp_path / "a.npz", [found])
    (again,) = read_results(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.radii.switched, expected.switched)
    assert again.radii.switch_words() == expected.switch_words()
    assert again.spec.threat == found.spec.threat


def test_codes_mean_the_same_in_every_fold(client):
    """Without each fold the column has other values; the codes are places among those of all rows."""
    iris = load_dataset("iris")
    few = replace(iris, X_train=np.round(iris.X_train[::3], 1), y_train=iris.y_train[::3])
    threat = ThreatModel(switches=[[2]])
    run = train(client, few, "euclidean")
    job = certify(client, run.id, 3, "votes", threat=threat, points=PointsSpec("cross"))
    compute_all(client)
    found = client.radii(job.id)
    crossed = cross_fit(None, few.X_train, few.y_train, n_neighbors=3).certify(threat=threat)
    values = np.unique(few.X_train[:, 2])
    for radii in (found, crossed):
        np.testing.assert_array_equal(np.ravel(radii.threat.switches[0].values), values)
        at = np.flatnonzero((radii.switched[:, 0] >= 0) & radii.correct)
        assert len(at)
        np.testing.assert_array_equal(radii.adversarial[at, 2], values[radii.switched[at, 0]])
    np.testing.assert_array_equal(found.lower, crossed.lower)
    np.testing.assert_array_equal(found.switched, crossed.switched)
