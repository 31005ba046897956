"""Whose answer depends on sensitive columns: against every combination by hand, with bounds of the share."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from arml_core import Cancelled, MahalanobisKNN, ThreatModel, fairness
from arml_core.curves import share_bounds
from tests import oracles
from tests.more import seeds

from .problems import ISLAND, NAMES, SEX, fitted, least_truth, table, versions_of


@pytest.mark.parametrize("seed", seeds(20))
def test_against_every_combination(seed):
    """Which answers depend, on what and into what; and the radius that is left, from the truth of each version."""
    k, norm = 1 + seed % 4, (1.0, 2.0, np.inf)[seed % 3]
    knn, M, X, y = fitted(seed, k, classes=2 + seed % 2)
    groups, most = ([SEX], [ISLAND], [ISLAND, SEX])[seed % 3], (None, 1)[seed % 2]
    asked = table(50 + seed, 6)
    threat = ThreatModel(norm)
    found = fairness(knn, asked, groups, threat=threat, method="search", budget=5.0, max_switches=most)
    frozen = [feature for group in groups for feature in group]
    for b, x in enumerate(asked):
        own = oracles.predict(M, X, y, x, k)
        versions = versions_of(x, groups, most)
        others = {oracles.predict(M, X, y, v, k) for v in versions}
        assert found.predicted[b] == own
        assert found.depends[b] == (others != {own})
        real = least_truth(M, X, y, versions, own, k, norm, frozen)
        assert found.radii.lower[b] <= real * (1 + 1e-7) + 1e-9
        assert found.radii.upper[b] >= real * (1 - 1e-7) - 1e-9
        assert (found.radii.upper[b] == 0) == found.depends[b]
        changed = x.copy()
        for switch, code in zip(found.sensitive, found.codes[b], strict=True):
            if code >= 0:
                changed[list(switch.features)] = switch.values[code]
        assert oracles.predict(M, X, y, changed, k) == found.answers[b]
        assert (found.answers[b] != own) == found.depends[b]
    assert found.share == found.depends.mean()


def test_rows_are_counted_with_the_fewest_switches_that_change_them():
    """Sex decides between two places that island does not touch; only sex is named, in both directions."""
    X = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]], dtype=float)
    y = X[:, 5].astype(int)
    knn = MahalanobisKNN(1, np.diag([1.0, 1.0, 0.1, 0.1, 0.1, 9.0])).fit(X, y)
    found = fairness(knn, X, [ISLAND, SEX], y)
    assert [(c.codes, c.before, c.after, c.rows) for c in found.changes] == [((-1, 0), 1, 0, 2), ((-1, 1), 0, 1, 2)]
    assert found.value_words(NAMES) == ["sex = 1", "sex = 0", "sex = 1", "sex = 0"]
    assert found.describe(NAMES, ["no", "yes"]) == [
        "Of these 4 rows the answer of 4 (100.0 %) depends on island or sex; at 95 % confidence between 39.7 % and "
        "100 % of rows drawn like these.",
        "With sex = 0 instead, 2 rows would be answered no, not yes.",
        "With sex = 1 instead, 2 rows would be answered yes, not no.",
    ]
    assert found.correct.all()
    frame = found.to_frame()
    assert list(frame.columns) == ["predicted", "correct", "depends", "value", "answer", "lower", "upper", "exact"]


def test_what_depends_does_not_hang_on_method_budget_or_threat():
    knn, _, _, _ = fitted(3)
    asked = table(7, 40)
    first = fairness(knn, asked, [ISLAND, SEX])
    others = [
        fairness(knn, asked, [ISLAND, SEX], method="search", budget=0.0),
        fairness(knn, asked, [ISLAND, SEX], threat=ThreatModel("l1", frozen=[0, *ISLAND])),
        fairness(knn, asked, [ISLAND, SEX], threat=ThreatModel(frozen=[0, 1])),
    ]
    assert 0 < first.count < 40
    for other in others:
        np.testing.assert_array_equal(other.depends, first.depends)
        np.testing.assert_array_equal(other.codes, first.codes)
    nothing_else = others[-1].radii
    np.testing.assert_array_equal(nothing_else.lower, np.where(first.depends, 0.0, np.inf))


def test_the_radii_are_those_of_the_threat_with_switches():
    knn, _, _, _ = fitted(4)
    asked = table(8, 10)
    threat = ThreatModel("linf", switches=[ISLAND], max_switches=1)
    found = fairness(knn, asked, [SEX], threat=threat)
    both = knn.certify(asked, threat=ThreatModel("linf", switches=[SEX, ISLAND], max_switches=1))
    np.testing.assert_array_equal(found.radii.lower, both.lower)
    assert [switch.features for switch in found.sensitive] == [SEX]
    assert (found.radii.upper[found.depends] == 0).all()


def test_labels_only_say_which_answers_are_right():
    knn, _, _, _ = fitted(5)
    asked, y = table(9, 20), np.arange(20) % 2
    found, without = fairness(knn, asked, [SEX], y), fairness(knn, asked, [SEX])
    np.testing.assert_array_equal(found.correct, knn.predict(asked) == y)
    np.testing.assert_array_equal(found.depends, without.depends)
    np.testing.assert_array_equal(found.radii.lower, without.radii.lower)
    assert without.correct is None


def test_a_row_is_left_out_of_every_version_of_itself():
    knn, M, X, y = fitted(6, k=1)
    found = fairness(knn, X, [SEX], exclude=range(len(X)))
    for b, x in enumerate(X):
        answers = {oracles.predict(M, X, y, v, 1, [b]) for v in versions_of(x, [SEX])}
        assert found.depends[b] == (len(answers) > 1)


def test_names_of_a_table_and_given_values():
    knn, M, X, y = fitted(7)
    named = MahalanobisKNN(3, M).fit(pd.DataFrame(X, columns=NAMES), y)
    asked = table(10, 15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fairness(named, pd.DataFrame(asked, columns=NAMES), [list(NAMES[2:5]), ["sex"]])
    expected = fairness(knn, asked, [ISLAND, SEX])
    np.testing.assert_array_equal(found.depends, expected.depends)
    given = fairness(knn, asked, [{"features": SEX, "values": [0, 1, 2]}])
    assert set(np.flatnonzero(fairness(knn, asked, [SEX]).depends)) <= set(np.flatnonzero(given.depends))


def test_a_value_that_every_row_has_changes_nothing():
    knn, _, _, _ = fitted(8)
    asked = table(11, 10)
    asked[:, 5] = 0.0
    found = fairness(knn, asked, [{"features": SEX, "values": [0.0]}])
    plain = knn.certify(asked, threat=ThreatModel(frozen=SEX))
    assert found.count == 0
    assert found.changes == ()
    np.testing.assert_array_equal(found.radii.lower, plain.lower)


@pytest.mark.parametrize(("count", "n"), [(0, 1), (0, 30), (3, 30), (30, 30), (7, 8)])
def test_the_bounds_of_a_share_are_those_of_clopper_and_pearson(count, n):
    """At each bound the binomial gives a count as far off as this one half of the 5 %."""
    low, high = share_bounds(count, n, 0.95)
    assert low <= count / n <= high
    if count:
        assert binom.sf(count - 1, n, low) == pytest.approx(0.025)
    else:
        assert low == 0
    if count < n:
        assert binom.cdf(count, n, high) == pytest.approx(0.025)
    else:
        assert high == 1


def test_what_is_refused_in_words():
    knn, _, X, _ = fitted(9)
    with pytest.raises(ValueError, match="name at least one sensitive column"):
        fairness(knn, X, [])
    with pytest.raises(ValueError, match="feature 5 is sensitive and in the threat's switches"):
        fairness(knn, X, [SEX], threat=ThreatModel(switches=[SEX]))
    for role in ("only_up", "free"):
        with pytest.raises(ValueError, match=f"feature 5 is sensitive and in the threat's {role}"):
            fairness(knn, X, [SEX], threat=ThreatModel(box=(-9, 9), **{role: [5]}))
    with pytest.raises(ValueError, match="feature 5 is in two switches"):
        fairness(knn, X, [SEX, SEX])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        fairness(knn, X, [SEX], confidence=95)
    with pytest.raises(ValueError, match="'sex' is the name of a feature, and the data has no names"):
        fairness(knn, X, [["sex"]])
    with pytest.raises(ValueError, match="exclude must have one entry per row, 12 in all; got 2"):
        fairness(knn, X, [SEX], exclude=[0, 1])


def test_progress_reaches_its_end():
    knn, _, _, _ = fitted(10)
    asked, seen = table(12, 30), []
    fairness(knn, asked, [SEX], callback=lambda done, total, info: seen.append((done, total)))
    shares = [done / total for done, total in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("limit", [0, 30, 31])
def test_a_callback_stops_it_while_combinations_are_tried_and_after(limit):
    knn, _, _, _ = fitted(10)

    def stop(done, total, info):
        if done >= limit:
            raise Cancelled

    with pytest.raises(Cancelled):
        fairness(knn, table(12, 30), [SEX], callback=stop)
