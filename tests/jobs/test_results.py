"""Results of older versions: what they lack is taken from the job's spec."""

import json

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Radii, ThreatModel
from arml_core.jobs import EvaluationSpec
from arml_core.jobs.results import with_question
from arml_core.jobs.spec import NetworkSpec
from arml_core.radii import COLUMNS


@pytest.fixture(scope="module")
def found() -> Radii:
    X = np.random.default_rng(0).normal(size=(20, 2))
    knn = MahalanobisKNN(3).fit(X, np.arange(20) % 2)
    return knn.attack(X[:4], method="boundary", threat=ThreatModel("linf", box=(-3, 3)), steps=10, random_state=5)


def without_question(radii: Radii) -> Radii:
    return Radii(**{name: getattr(radii, name) for name in COLUMNS})


def test_the_question_of_an_evaluation_is_the_one_that_was_asked(found: Radii) -> None:
    spec = EvaluationSpec("attack", "0" * 32, 3, "boundary", found.threat, seed=5, options={"steps": 10}).normalised()
    again = with_question(without_question(found), {"spec": json.dumps(spec.content())})
    assert (again.method, again.threat, again.settings) == (found.method, found.threat, found.settings)
    assert again.upper is found.upper


def test_a_result_that_has_its_question_keeps_it(found: Radii) -> None:
    assert with_question(found, {"spec": "not looked at"}) is found


def test_a_network_is_named_by_its_certificate(found: Radii) -> None:
    spec = NetworkSpec("f" * 64, 4, None, (8,), 1, 10)
    assert with_question(without_question(found), {"spec": json.dumps(spec.content())}).method == "crown"
