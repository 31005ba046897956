"""Tolerances: costs and the maximum norm, set together."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel

NAMES = ["length", "width", "mass"]


def fitted():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 3))
    return MahalanobisKNN(3).fit(X, (X[:, 0] > X[:, 1]).astype(int)), rng.normal(size=(5, 3))


def same(one, other):
    for column in ("lower", "upper", "exact", "adversarial"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


METHODS = pytest.mark.parametrize("method", ["votes", "theorem1", "search", "whitebox", "boundary"])


def ask(knn, x, method, threat):
    if method == "boundary":
        return knn.attack(x, method=method, threat=threat, steps=20)
    return (knn.attack if method == "whitebox" else knn.certify)(x, method=method, threat=threat)


@METHODS
def test_they_are_costs_under_the_maximum_norm(method):
    knn, x = fitted()
    given = ThreatModel.tolerances([0.5, 2.0, 0.25])
    assert given == ThreatModel("linf", [2.0, 0.5, 4.0])
    same(ask(knn, x, method, given), ask(knn, x, method, ThreatModel("linf", [2.0, 0.5, 4.0])))


@METHODS
def test_a_tolerance_of_one_for_all_is_the_plain_maximum_norm(method):
    knn, x = fitted()
    same(ask(knn, x, method, ThreatModel.tolerances([1, 1, 1])), ask(knn, x, method, ThreatModel("linf")))


@METHODS
def test_no_tolerance_is_frozen(method):
    knn, x = fitted()
    given = ThreatModel.tolerances({"width": 0, "length": 0.5}, NAMES)
    assert given == ThreatModel("linf", [2.0, 1.0, 1.0], frozen=[1, 2])
    same(ask(knn, x, method, given), ask(knn, x, method, ThreatModel("linf", [2, 1, 1], frozen=[1, 2])))


def test_at_one_every_value_may_be_off_by_its_tolerance():
    resolved = ThreatModel.tolerances([0.5, 2.0, 4.0]).resolve(3)
    assert resolved.size(np.array([[0.5, -2.0, 4.0], [0.5, -2.0, 4.5]])).tolist() == [1.0, 1.125]


def test_tolerances_in_the_units_of_a_file():
    """A step of 1 in the data is 10 units of the first column: 5 units are half a step."""
    assert ThreatModel.tolerances([5, 2, 1], units=[10, 1, 1]) == ThreatModel.tolerances([0.5, 2, 1])
    with pytest.raises(ValueError, match=r"units must be 3 numbers, one for each tolerance; got shape \(2,\)"):
        ThreatModel.tolerances([5, 2, 1], units=[10, 1])
    with pytest.raises(ValueError, match="costs must be positive and finite; feature 0 has 0"):
        ThreatModel.tolerances([5, 2, 1], units=[0, 1, 1])


def test_what_has_another_part_is_not_frozen():
    given = ThreatModel.tolerances({"length": 0.5}, NAMES, free=["mass"], box={"mass": (0, 1)}, switches=[["width"]])
    assert given.frozen is None
    expected = ThreatModel("linf", [2, 1, 1], free=["mass"], box={"mass": (0, 1)}, switches=[["width"]])
    assert given == expected
    mask = ThreatModel.tolerances([1, 1, 0], free=np.array([False, False, True]), box=(0, 1))
    assert (mask.frozen, mask.free) == (None, (2,))
    both = ThreatModel.tolerances([1, 0, 1], frozen=np.array([True, False, False]))
    assert both.frozen == (0, 1)


def test_switches_that_can_be_read_once_are_not_lost():
    assert ThreatModel.tolerances([1, 0, 1], switches=(s for s in [[1]])) == ThreatModel(
        "linf", [1, 1, 1], switches=[[1]]
    )


@pytest.mark.parametrize(
    ("tolerances", "options", "text"),
    [
        ([1, -1], {}, r"a tolerance must be a finite number, at least 0 .* use free and a box; got \[1.0, -1.0\]"),
        ([1, np.inf], {}, "a tolerance must be a finite number"),
        ([1, np.nan], {}, "a tolerance must be a finite number"),
        (2.0, {}, "a tolerance must be a finite number"),
        ({"mass": 1}, {}, "tolerances by name need feature_names"),
        ({"wage": 1}, {"feature_names": NAMES}, "there is no feature 'wage'; there are length, width, mass"),
        ([1, 1], {"norm": 2}, "norm follows from the tolerances"),
        ([1, 1], {"costs": [1, 1]}, "costs follows from the tolerances: leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused(tolerances, options, text):
    with pytest.raises(ValueError, match=text):
        ThreatModel.tolerances(tolerances, **options)


def test_in_words():
    words = "ℓ∞ norm, every value off by up to ε times its own tolerance, all at once"
    assert ThreatModel.tolerances([1, 2]).describe() == words
    assert ThreatModel(2, [1, 0.5]).describe() == "ℓ2 norm, per-feature costs"
