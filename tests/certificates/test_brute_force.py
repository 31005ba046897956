"""Screened certificates equal the closed forms over all pairs, on problems of every awkward kind."""

import numpy as np
import pytest

from tests import oracles
from tests.more import RARELY, seeds

from .cases import LAYOUTS, METRICS, Case, assert_between, make_case

ROUND = len(METRICS) * len(LAYOUTS)  # seeds that meet every metric with every layout once


def check_against_oracle(case: Case, method: str) -> None:
    """The same radius to 1e-6; where the metric's scales are 1e12 apart, down to it by the stated rounding."""
    certificates = case.certify(method)
    oracle = {"theorem1": oracles.theorem1, "votes": oracles.votes}[method]
    for b, x in enumerate(case.points):
        label = certificates.predicted[b]
        arguments = (case.M, case.X, case.y, x, label, case.k, case.threat, case.left_out(b))
        expected = least = oracle(*arguments)
        if np.linalg.norm(case.M, 2) > 1e5:
            least = oracle(*arguments, allowance=case.allowance)
        assert_between(certificates.lower[b], least, expected, case.scale)
        assert np.isposinf(certificates.upper[b])
        assert certificates.correct[b]


def has_enough_for_theorem1(case: Case, label, exclude) -> bool:
    k = (case.k + 1) // 2
    kept = np.delete(case.y, exclude)
    return np.sum(kept == label) >= k <= np.sum(kept != label)


@pytest.mark.parametrize("seed", seeds(2 * ROUND))
def test_votes_equals_all_pairs_odd_k(seed):
    check_against_oracle(make_case(seed), "votes")


@pytest.mark.parametrize("seed", seeds(2 * ROUND, 10_000))
def test_votes_equals_all_pairs_even_k(seed):
    check_against_oracle(make_case(seed, even_k=True), "votes")


@pytest.mark.parametrize("seed", seeds(2 * ROUND, 20_000))
def test_theorem1_equals_all_pairs(seed):
    check_theorem1(make_case(seed, max_k=9))


def check_theorem1(case: Case) -> None:
    predicted = case.fitted().predict(case.points, exclude=case.exclude)
    if all(has_enough_for_theorem1(case, label, case.left_out(b)) for b, label in enumerate(predicted)):
        check_against_oracle(case, "theorem1")
    else:
        with pytest.raises(ValueError, match=r"this certificate needs \d+ for K = \d+\. Use 'votes'"):
            case.certify("theorem1")


@pytest.mark.parametrize("seed", seeds(12, 30_000, every=RARELY))
@pytest.mark.parametrize("method", ["theorem1", "votes"])
def test_many_training_points_equal_all_pairs(seed, method):
    """More negatives than the first candidate list holds, so that the screen really rules some out."""
    case = make_case(seed, n=240, n_points=2)
    case.exclude, case.k = None, 1 + 2 * (seed % 5)
    if seed % 2:  # one crowded place: hundreds of negatives at nearly the same distance
        case.X[60:] = case.X[60] + 1e-3 * np.random.default_rng(seed).normal(size=case.X[60:].shape)
    label = int(np.bincount(case.y).argmax())
    case.y[:60] = np.where(np.arange(60) % 2, case.y[:60], label)
    check_against_oracle(case, "votes") if method == "votes" else check_theorem1(case)


@pytest.mark.parametrize("seed", range(40_000, 40_000 + ROUND))
def test_votes_is_never_below_theorem1_and_equals_it_for_two_classes(seed):
    case = make_case(seed, max_k=7)
    case.exclude = None
    if seed % 2:
        case.y = (case.y > 0).astype(int)
    predicted = case.fitted().predict(case.points)
    if not all(has_enough_for_theorem1(case, label, []) for label in predicted):
        pytest.skip("theorem1 refuses classes this small")
    by_votes, by_theorem = case.certify("votes").lower, case.certify("theorem1").lower
    assert np.all(by_votes >= by_theorem * (1 - 1e-9))
    if seed % 2:
        np.testing.assert_allclose(by_votes, by_theorem, rtol=1e-9)


@pytest.mark.parametrize("seed", range(50_000, 50_000 + ROUND))
def test_predict_equals_a_plain_loop(seed):
    """Where two distances or two vote counts are close in floats, either answer is fine; elsewhere only one is."""
    case = make_case(seed, even_k=bool(seed % 2))
    predicted = case.fitted().predict(case.points, exclude=case.exclude)
    for b, x in enumerate(case.points):
        kept = [r for r in range(len(case.X)) if r not in case.left_out(b)]
        d = np.array([oracles.distance(case.M, x, case.X[r]) for r in kept])
        ranked = np.sort(d)
        clear = case.k == len(kept) or ranked[case.k] - ranked[case.k - 1] > 1e-9 * ranked[-1]
        whole = all(np.array_equal(a, np.round(a)) for a in (x, case.X, np.sqrt(np.diag(case.M))))
        diagonal = np.array_equal(case.M, np.diag(np.diag(case.M)))
        if clear or (whole and diagonal):  # small whole numbers: floats are exact, ties are ties
            assert predicted[b] == oracles.predict(case.M, case.X, case.y, x, case.k, case.left_out(b))
