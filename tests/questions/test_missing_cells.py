"""Rows with missing cells: against the truth over all fills, and what must change nothing."""

import itertools

import numpy as np
import pandas as pd
import pytest

from arml_core import Cancelled, MahalanobisKNN, ThreatModel, attack_missing, certify_missing
from arml_core.certificates.support import METHODS
from tests import oracles
from tests.attacks.oracles import truth
from tests.more import seeds

from .problems import ISLAND, NAMES, SEX, VALUES, fitted, table

NORMS = (1.0, 2.0, np.inf)
CATEGORIES = [ISLAND, SEX]


def start_of(X, x, categories=()):
    """The row that stands for x: lower medians, and the most frequent patterns."""
    filled = x.copy()
    for places in categories:
        if np.isnan(x[list(places)]).any():
            patterns, counts = np.unique(X[:, list(places)], axis=0, return_counts=True)
            filled[list(places)] = patterns[counts.argmax()]
    gaps = np.isnan(filled)
    filled[gaps] = np.sort(X, axis=0)[(len(X) - 1) // 2][gaps]
    return filled


def real_radius(M, X, y, x, k, norm, categories=(), frozen=()):
    """The smallest true radius over all values of missing categories, with missing numbers at no cost."""
    gaps, start = np.isnan(x), start_of(X, x, categories)
    label = oracles.predict(M, X, y, start, k)
    broken = [places for places in categories if gaps[list(places)].any()]
    whole = {place for places in broken for place in places}
    numbers = [place for place in np.flatnonzero(gaps) if place not in whole]
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    low[numbers], high[numbers] = X[:, numbers].min(axis=0), X[:, numbers].max(axis=0)
    threat = oracles.Threat(norm, None, tuple({*frozen, *whole}), (low, high), at_no_cost=tuple(numbers))
    best = np.inf
    for picked in itertools.product(*(VALUES[places] for places in broken)):
        at = start.copy()
        for places, value in zip(broken, picked, strict=True):
            at[list(places)] = value
        if oracles.predict(M, X, y, at, k) != label:
            return label, 0.0
        best = min(best, truth(M, X, y, at, label, k, threat).closed)
    return label, best


@pytest.mark.parametrize("seed", seeds(20))
def test_against_the_truth_over_all_fills(seed):
    k, norm = 1 + seed % 3, NORMS[seed % 3]
    knn, M, X, y = fitted(200 + seed, k, n=8)
    asked = table(300 + seed, 4)
    asked[0, 0] = np.nan
    asked[1, 2:5] = np.nan
    asked[2, [1, 5]] = np.nan
    threat = ThreatModel(norm, frozen=[3])
    given = {"threat": threat, "categories": CATEGORIES}
    votes = certify_missing(knn, asked, **given)
    both = certify_missing(knn, asked, method="search", budget=1.0, **given)
    attack = attack_missing(knn, asked, **given)
    for b, x in enumerate(asked):
        label, real = real_radius(M, X, y, x, k, norm, CATEGORIES, (3,))
        for found in (votes, both, attack):
            assert found.predicted[b] == label
            assert found.lower[b] <= real * (1 + 1e-7) + 1e-9
            assert found.upper[b] >= real * (1 - 1e-7) - 1e-9
            if np.isfinite(found.upper[b]):
                at, known = found.adversarial[b], ~np.isnan(x)
                assert oracles.predict(M, X, y, at, k) != label
                assert np.linalg.norm((at - x)[known & (np.arange(6) != 3)], norm) <= found.upper[b] * (1 + 1e-9)
        if real == 0:
            assert both.upper[b] == attack.upper[b] == 0
            assert votes.upper[b] in (0, np.inf)
            assert both.lower[b] == votes.lower[b] == 0


@pytest.mark.parametrize("method", ["votes", "search"])
def test_no_fill_breaks_what_is_proved(method):
    """Rows filled at random within the ranges, moved by less than the radius, keep the answer."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5))
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    knn, asked = MahalanobisKNN(3).fit(X, y), 1.5 * rng.normal(size=(40, 5))
    asked[rng.random(asked.shape) < 0.25] = np.nan
    found = certify_missing(knn, asked, method=method, budget=0.05)
    safe = np.flatnonzero(found.lower > 0)
    assert 5 < len(safe) < 40
    for b in safe:
        gaps = np.isnan(asked[b])
        points = np.tile(asked[b], (300, 1))
        points[:, gaps] = rng.uniform(X.min(axis=0), X.max(axis=0), (300, 5))[:, gaps]
        points[:2, gaps] = X.min(axis=0)[gaps], X.max(axis=0)[gaps]
        if np.isfinite(found.lower[b]):
            step = rng.normal(size=(300, (~gaps).sum()))
            points[:, ~gaps] += 0.999 * found.lower[b] * step / np.linalg.norm(step, axis=1, keepdims=True)
        assert (knn.predict(points) == found.predicted[b]).all()


@pytest.mark.parametrize("method", ["votes", "theorem1", "search"])
def test_rows_without_missing_cells_give_what_certify_gives_bit_for_bit(method):
    knn, _, _, _ = fitted(31, 3, n=30)
    asked, y = table(31, 12), np.arange(12) % 2
    threat = ThreatModel("linf", box=(asked - 2, asked + 1), only_up=[0], frozen=[4])
    given = {"method": method, "threat": threat, "budget": 30.0, "exclude": [[b, b + 1] for b in range(12)]}
    expected = knn.certify(asked, y, **given)
    broken = asked.copy()
    broken[::3, 1] = np.nan
    whole = np.flatnonzero(~np.isnan(broken).any(axis=1))
    for found, rows in (
        (certify_missing(knn, asked, y, **given), np.arange(12)),
        (certify_missing(knn, broken, y, **given), whole),
    ):
        for name in ("lower", "upper", "exact", "correct", "predicted", "adversarial"):
            np.testing.assert_array_equal(getattr(found, name)[rows], getattr(expected, name)[rows])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_range_of_one_value_is_a_known_value_bit_for_bit(dtype):
    knn, _, X, _ = fitted(32, 3, n=30)
    knn = MahalanobisKNN(3).fit(X.astype(dtype), np.arange(30) % 2)
    asked = table(32, 12).astype(dtype)
    broken, filled = asked.copy(), asked.copy()
    broken[::2, 1], filled[::2, 1] = np.nan, 0.25
    ranges = {1: (0.25, 0.25)}
    for threat in (None, ThreatModel(frozen=[1]), ThreatModel("l1", box=(-3, 3), only_down=[1])):
        found = certify_missing(knn, broken, threat=threat, ranges=ranges)
        expected = knn.certify(filled, threat=threat)
        np.testing.assert_array_equal(found.lower, expected.lower)
        np.testing.assert_array_equal(found.predicted, expected.predicted)
        assert "missing" not in found.settings


def test_a_column_with_one_value_in_training_and_a_category_with_one_are_known():
    knn, _, X, _ = fitted(33, 3, n=30)
    X = X.copy()
    X[:, 1], X[:, 2:5] = 0.5, [0.0, 1.0, 0.0]
    knn = MahalanobisKNN(3).fit(X, np.arange(30) % 2)
    broken, filled = X[:6].copy() + 0.0, X[:6].copy()
    broken[:, 1:5] = np.nan
    np.testing.assert_array_equal(certify_missing(knn, broken, categories=[ISLAND]).lower, knn.certify(filled).lower)


def test_a_missing_value_that_changes_the_answer_is_shown():
    """x is nearest to row 0 unless its second feature is at least 1; the median of that column is 0."""
    X, y = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 0.0]]), [0, 1, 0]
    knn, x = MahalanobisKNN(1).fit(X, y), np.array([[0.0, np.nan]])
    for method in METHODS:
        found = certify_missing(knn, x, method=method)
        assert (found.lower[0], found.upper[0], found.exact[0], found.correct[0]) == (0.0, 0.0, True, True)
        assert found.adversarial[0, 0] == 0
        assert 1 <= found.adversarial[0, 1] <= 2
        narrow = certify_missing(knn, x, method=method, ranges={1: (0.0, 0.9)})
        assert narrow.lower[0] > 0
    assert attack_missing(knn, x).upper[0] == 0


@pytest.mark.parametrize("method", METHODS)
def test_where_nothing_known_can_move_the_fills_decide(method):
    X, y = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 0.0]]), [0, 1, 0]
    knn = MahalanobisKNN(1).fit(X, y)
    for x, threat in (([0.0, np.nan], ThreatModel(frozen=[0])), ([np.nan, np.nan], None)):
        for top, lower in ((2.0, 0.0), (0.9, np.inf)):
            found = certify_missing(knn, [x], threat=threat, ranges={0: (-0.1, 0.1), 1: (0, top)}, method=method)
            assert found.lower[0] == lower
            assert found.upper[0] == (0.0 if lower == 0 else np.inf)
    only = ThreatModel(frozen=[0])
    found = certify_missing(knn, [[0.0, np.nan]], threat=only, categories=[[1]], method=method)
    assert (found.lower[0], found.upper[0], found.adversarial[0, 1]) == (0.0, 0.0, 2.0)
    far = certify_missing(knn, [[9.0, np.nan]], threat=only, categories=[[1]], method=method)
    assert (far.lower[0], far.upper[0]) == (np.inf, np.inf)


def test_a_frozen_column_does_not_make_its_missing_cells_known():
    """Freezing says that known values stay; otherwise a column without a tolerance would be taken for its median."""
    knn, _, _, _ = fitted(34, 3, n=30)
    broken = table(34, 10)
    broken[:, 1] = np.nan
    frozen = certify_missing(knn, broken, threat=ThreatModel(frozen=[1]))
    np.testing.assert_array_equal(frozen.lower, certify_missing(knn, broken).lower)
    off = ThreatModel.tolerances({"a": 0.5}, NAMES)
    np.testing.assert_array_equal(
        certify_missing(knn, broken, threat=off).lower,
        certify_missing(knn, broken, threat=ThreatModel("linf", [2, 1, 1, 1, 1, 1], frozen=[2, 3, 4, 5])).lower,
    )


def test_a_wider_range_never_proves_more():
    knn, _, _, _ = fitted(35, 3, n=30)
    broken = table(35, 15)
    broken[:, 1] = np.nan
    sides = [certify_missing(knn, broken, ranges={1: (-w, w)}) for w in (0.1, 0.5, 2.0)]
    kept = np.ones(15, dtype=bool)
    for narrow, wide in itertools.pairwise(sides):
        kept &= narrow.predicted == wide.predicted
        assert (wide.lower <= narrow.lower * (1 + 1e-9))[kept].all()
    assert kept.sum() > 5


def test_a_category_that_switches_is_tried_whole_and_counts_for_no_switch():
    """Missing island, one switch of sex allowed: each island, and each sex with it."""
    knn, M, X, y = fitted(36, 1)
    asked = table(36, 6)
    broken = asked.copy()
    broken[:, 2:5] = np.nan
    threat = ThreatModel(switches=[ISLAND, SEX], max_switches=1)
    found = certify_missing(knn, broken, threat=threat, method="search", budget=5.0)
    for b, x in enumerate(broken):
        start = start_of(X, x, [ISLAND])
        label, best = oracles.predict(M, X, y, start, 1), np.inf
        for island, sex in itertools.product(VALUES[ISLAND], VALUES[SEX]):
            at = np.array([*x[:2], *island, *sex])
            own = oracles.predict(M, X, y, at, 1)
            held = oracles.Threat(frozen=(2, 3, 4, 5))
            best = min(best, 0.0 if own != label else truth(M, X, y, at, label, 1, held).closed)
        assert found.predicted[b] == label
        assert found.lower[b] <= best * (1 + 1e-7) + 1e-9
        assert found.upper[b] >= best * (1 - 1e-7) - 1e-9
        if np.isfinite(found.upper[b]):
            assert tuple(found.adversarial[b, 2:5]) in VALUES[ISLAND]


def test_known_cells_of_a_category_leave_only_what_agrees_with_them():
    knn, _, _, _ = fitted(37, 3)
    whole, part, certain = table(37, 3), table(37, 3), table(37, 3)
    part[:, 2:5] = [0.0, np.nan, np.nan]
    certain[:, 2:5] = [np.nan, 1.0, np.nan]
    whole[:, 2:5] = [0.0, 1.0, 0.0]
    found = certify_missing(knn, part, categories=[ISLAND])
    assert not found.adversarial[:, 2].any() or np.isnan(found.adversarial[:, 2]).any()
    np.testing.assert_array_equal(certify_missing(knn, certain, categories=[ISLAND]).lower, knn.certify(whole).lower)
    part[0, 2:5] = [1.0, 1.0, np.nan]
    with pytest.raises(ValueError, match=r"row 0 has missing cells in features .*, and no training row"):
        certify_missing(knn, part, categories=[ISLAND])


def test_labels_a_wrong_start_and_names():
    _, M, X, y = fitted(38, 3, n=30)
    broken = table(38, 12)
    broken[::2, 0] = np.nan
    named = MahalanobisKNN(3, M).fit(pd.DataFrame(X, columns=NAMES), y)
    frame = pd.DataFrame(broken, columns=NAMES)
    labels = np.arange(12) % 2
    found = certify_missing(named, frame, labels, ranges={"a": (-1, 1)}, method="search", budget=0.2)
    own = certify_missing(named, frame, ranges={0: (-1, 1)}, method="search", budget=0.2)
    np.testing.assert_array_equal(found.correct, own.predicted == labels)
    assert (found.lower[~found.correct] == 0).all()
    assert (found.upper[~found.correct] == 0).all()
    assert not np.isnan(found.adversarial[~found.correct]).any()


def test_what_is_refused_in_words():
    knn, _, X, y = fitted(39)
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        MahalanobisKNN(3).fit(broken, y)
    with pytest.raises(ValueError, match="the range of feature 1 must be two finite numbers"):
        certify_missing(knn, broken, ranges={1: (2, 1)})
    with pytest.raises(ValueError, match="the range of feature 1 must be"):
        certify_missing(knn, broken, ranges={1: 3})
    with pytest.raises(ValueError, match="there is no feature 'age'"):
        certify_missing(knn, broken, ranges={"age": (0, 1)})
    with pytest.raises(ValueError, match="feature 3 is in two categories"):
        certify_missing(knn, broken, categories=[[2, 3], [3, 4]])
    with pytest.raises(ValueError, match="infinity"):
        certify_missing(knn, np.where(np.isnan(broken), np.inf, broken))
    with pytest.raises(ValueError, match=r"label 7 .* was not in training"):
        certify_missing(knn, broken, [7] * len(broken))


def test_too_many_fills_are_refused():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    knn = MahalanobisKNN(1).fit(X, np.arange(40) % 2)
    with pytest.raises(ValueError, match="the missing categories of row 1 have 1,600 combinations of values"):
        certify_missing(knn, [[0, 0, 0], [np.nan, np.nan, 0]], categories=[[0], [1]])


def test_progress_reaches_its_end_and_a_callback_stops_it():
    knn, _, _, _ = fitted(40, 3, n=30)
    broken = table(40, 20)
    broken[::3, 0], broken[1::3, 2:5] = np.nan, np.nan
    seen = []
    certify_missing(knn, broken, categories=[ISLAND], callback=lambda done, total, info: seen.append(done / total))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    def stop(done, total, info):
        if done > total / 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        certify_missing(knn, broken, categories=[ISLAND], callback=stop)
