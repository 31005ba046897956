"""Certificates and attacks are joined only where both mean the same attacker, classifier and points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arml_core import ThreatModel
from arml_core.comparison import (
    alone,
    canonical_threat,
    evaluation_pairs,
    join,
    refusals,
    setting_of,
    threat_differences,
)
from arml_core.results import Evaluation

from .made_evaluations import made_evaluation as evaluation


def certificate(method: str = "votes", n: int = 4, **changes: object) -> Evaluation:
    lower = np.arange(n) / 10
    exact = np.full(n, method == "exact")
    upper = lower.copy() if method == "exact" else np.full(n, np.inf)
    radii = {"lower": lower, "upper": upper, "exact": exact, "correct": lower > 0, "planned": n}
    return evaluation(**{"method": method, **radii, **changes})


def attack(method: str = "whitebox", n: int = 4, **changes: object) -> Evaluation:
    upper = np.arange(n) / 5
    radii = {"lower": np.zeros(n), "upper": upper, "exact": upper == 0, "correct": upper > 0, "planned": n}
    return evaluation(**{"kind": "attack", "method": method, **radii, **changes})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ThreatModel(costs=[1, 1]), ThreatModel()),
        (ThreatModel(frozen=[]), ThreatModel()),
        (ThreatModel(box=(-np.inf, np.inf)), ThreatModel()),
        (ThreatModel(box=([0, 0], [1, 1])), ThreatModel(box=(0, 1))),
        (ThreatModel(norm="linf"), ThreatModel(norm=np.inf)),
    ],
)
def test_the_same_attacker_in_other_words(one: ThreatModel, other: ThreatModel) -> None:
    assert canonical_threat(one) == canonical_threat(other)
    assert threat_differences(one, other) == ()


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (ThreatModel(), ThreatModel("linf"), "the certificate measures a step in ℓ2, the attack in ℓ∞"),
        (ThreatModel(), ThreatModel(box=(0, 1)), "the certificate allows every step, the attack stays inside [0, 1]"),
        (
            ThreatModel(frozen=[2]),
            ThreatModel(frozen=[0, 1]),
            "the certificate freezes 1 feature, the attack freezes 2 features",
        ),
        (ThreatModel(costs=[1, 2]), ThreatModel(), "they count the features at different costs"),
        (
            ThreatModel(box=([0, 0], [1, 2])),
            ThreatModel(),
            "the certificate stays inside limits of each feature, the attack allows every step",
        ),
    ],
)
def test_different_attackers_are_named_and_refused(one: ThreatModel, other: ThreatModel, words: str) -> None:
    assert threat_differences(one, other) == (words,)
    with pytest.raises(ValueError, match="different attackers"):
        join(certificate(threat=one), attack(threat=other))


@pytest.mark.parametrize("rule", [{"ties": "any"}, {"target": 1}])
def test_what_counts_as_another_answer_is_the_same_on_both_sides(rule: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="what counts as another answer"):
        join(certificate(**rule), attack())
    assert join(certificate(**rule), attack(**rule)).n_points > 0
    assert setting_of(certificate(**rule)) != setting_of(certificate())
    assert setting_of(certificate(**rule)).points_words()


def test_the_rows_both_have_are_joined_in_their_order() -> None:
    some = attack(n=3, index=np.array([1, 3, 7]), upper=np.array([0.1, 0.4, 0.2]))
    found = join(certificate(n=6), some)
    np.testing.assert_array_equal(found.lower, [0.1, 0.3])
    np.testing.assert_array_equal(found.upper, [0.1, 0.4])
    assert found.n_points == 2
    assert found.radii.correct.all()
    with pytest.raises(ValueError, match="no row in common"):
        join(certificate(n=1), attack(n=1, index=np.array([5])))


@pytest.mark.parametrize(
    "changes",
    [{"seed": 9}, {"learner": "nca"}, {"parameters": {"n_epochs": 11}}, {"n_neighbors": 3}, {"fingerprint": "0"}],
)
def test_another_classifier_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="different classifiers"):
        join(certificate(), attack(**changes))


@pytest.mark.parametrize("points", [{"part": "train"}, {"part": "given", "digest": "a"}, {"labels": False}])
def test_other_points_are_refused(points: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="different points"):
        join(certificate(), attack(points={"part": "evaluation", "n": 4, "digest": None, "labels": True} | points))


def test_best_is_the_tightest_that_all_runs_have() -> None:
    runs = {
        "a": [certificate("theorem1"), certificate("votes"), certificate("search"), attack("whitebox")],
        "b": [certificate("theorem1"), certificate("votes"), attack("boundary"), attack("whitebox")],
    }
    found = evaluation_pairs(runs, setting_of(runs["a"][0]))
    assert {name: c.certificate.spec.method for name, c in found.items()} == {"a": "votes", "b": "votes"}
    assert {name: c.attack.spec.method for name, c in found.items()} == {"a": "whitebox", "b": "whitebox"}
    found = evaluation_pairs(runs, setting_of(runs["a"][0]), certificate="search", attack="none")
    assert list(found) == ["a"]
    assert found["a"].attack is None


def test_where_nothing_is_in_common_each_run_has_its_own_best() -> None:
    runs = {"a": [certificate("votes")], "b": [certificate("theorem1")], "c": []}
    found = evaluation_pairs(runs, setting_of(runs["a"][0]))
    assert {name: c.certificate.spec.method for name, c in found.items()} == {"a": "votes", "b": "theorem1"}


def test_exact_radii_need_no_attack_unless_it_is_asked_for() -> None:
    runs = {"a": [certificate("exact"), attack()]}
    setting = setting_of(runs["a"][0])
    found = evaluation_pairs(runs, setting)["a"]
    assert found.exact
    assert found.attack is None
    np.testing.assert_array_equal(found.upper, found.lower)
    asked = evaluation_pairs(runs, setting, attack="whitebox")["a"]
    assert asked.attack is not None
    assert not asked.exact


def test_of_several_evaluations_by_one_method_the_whole_and_larger_one_is_taken() -> None:
    runs = {"a": [certificate(n=3), certificate(n=6), certificate(n=9, planned=20)]}
    assert evaluation_pairs(runs, setting_of(runs["a"][0]))["a"].n_points == 6


def test_a_search_for_all_radii_is_taken_before_a_longer_one_that_was_to_decide_some() -> None:
    runs = {"a": [certificate("search", budget=0.2), certificate("search", budget=5.0, at=(0.1,))]}
    assert evaluation_pairs(runs, setting_of(runs["a"][0]))["a"].certificate is runs["a"][0]
    only = {"a": [certificate("search", budget=b, at=(0.1,)) for b in (0.2, 5.0)]}
    assert evaluation_pairs(only, setting_of(only["a"][0]))["a"].certificate is only["a"][1]


def test_a_search_brings_its_own_upper_side() -> None:
    found = alone(certificate("search", upper=np.array([0.0, 0.2, np.inf, 0.5])))
    assert found.attack_words() == "the search's own attack"
    assert not found.exact
    assert alone(certificate("votes")).upper is None
    assert alone(attack()).lower is None


def test_a_refusal_is_given_only_where_nothing_fits() -> None:
    proof, boxed, plain = certificate(), attack(threat=ThreatModel(box=(0, 1))), attack()
    setting = setting_of(proof)
    only = evaluation_pairs({"a": [proof, boxed]}, setting)["a"]
    assert only.attack is None
    assert refusals([proof, boxed], only, setting) == (
        "the certificate allows every step, the attack stays inside [0, 1]",
    )
    both = evaluation_pairs({"a": [proof, boxed, plain]}, setting)["a"]
    assert refusals([proof, boxed, plain], both, setting) == ()
    hidden = evaluation_pairs({"a": [proof, boxed, plain]}, setting, attack="none")["a"]
    assert refusals([proof, boxed, plain], hidden, setting) == ()
    other = replace(boxed, run=replace(boxed.run, learner="nca"))
    assert refusals([proof, other], only, setting) == ()


def test_settings_in_words() -> None:
    points = {"part": "train", "n": None, "digest": None, "labels": False}
    assert setting_of(certificate()).points_words() == ""
    assert setting_of(certificate(points=points)).points_words() == (
        "training rows, each left out of its own vote; the classifier's own answers, not the labels"
    )
