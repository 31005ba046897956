"""`at=`: a search that only wants verdicts gives the same ones, proves no less there, and stops earlier."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates.search import PointSearch
from tests.more import seeds
from tests.point_sets import point_set, triplets_of


def problem(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + y[:, None]
    return MahalanobisKNN(5).fit(X, y), X[:6] + 0.1 * rng.normal(size=(6, 4))


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("seed", seeds(4))
def test_the_verdicts_are_those_of_a_whole_search(seed, norm):
    knn, x = problem(seed)
    threat = ThreatModel(norm)
    whole = knn.certify(x, method="search", threat=threat, budget=30.0)
    found = np.sort(whole.lower[whole.lower > 0])
    for at in ([found[0] / 2], [found[0], found[-1]], [2 * found[-1]], list(found * 0.999)):
        some = knn.certify(x, method="search", threat=threat, budget=30.0, at=at)
        assert (some.lower <= whole.upper).all()
        assert (some.upper >= whole.lower).all()
        for radius in at:
            decided = whole.verdict(radius) != "undecided"
            np.testing.assert_array_equal(some.verdict(radius)[decided], whole.verdict(radius)[decided])


def test_a_point_that_is_certified_from_the_start_is_not_attacked():
    knn, x = problem(0)
    votes = knn.certify(x)
    some = knn.certify(x, method="search", at=votes.lower.max() / 2)
    safe = votes.lower > votes.lower.max() / 2
    assert safe.any()
    np.testing.assert_array_equal(some.lower[safe], votes.lower[safe])
    assert np.isinf(some.upper[safe]).all()


def test_a_radius_that_is_just_proved_is_still_open():
    """Certified means that nothing up to the radius flips, the radius included."""
    knn, x = problem(2)
    votes, whole = knn.certify(x), knn.certify(x, method="search", budget=30.0)
    member = int(np.argmax(whole.lower - votes.lower))
    assert whole.lower[member] > votes.lower[member] > 0
    radius = float(knn.certify(x[[member]]).lower[0])  # alone, as below: products of another shape differ in bits
    found = knn.certify(x[[member]], method="search", budget=30.0, at=radius)
    assert found.verdict(radius) == ["certified"]


def test_nothing_is_refined_beyond_the_largest_open_radius():
    knn, x = problem(1)
    triplets, points = triplets_of(knn, ThreatModel()), point_set(knn, x)
    lower = knn.certify(x).lower
    for member in range(len(x)):
        whole, some = (
            PointSearch(triplets, points, member, lambda *_: None, float(lower[member]), at) for at in (None, (0.4,))
        )
        whole.run(30.0)
        some.run(30.0)
        assert some.lower <= whole.lower
        assert (some.lower > 0.4) == (whole.lower > 0.4)
        assert some.lower <= max(lower[member], np.nextafter(0.4, 1))


@pytest.mark.parametrize(
    ("method", "at", "words"),
    [("votes", [0.1], "at= tells 'search'"), ("search", [], "one or more"), ("search", [-1.0], "at least 0"),
     ("search", [np.nan], "at least 0")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(method, at, words):
    knn, x = problem(0)
    with pytest.raises(ValueError, match=words):
        knn.certify(x, method=method, at=at)
