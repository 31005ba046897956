"""Radii over all combinations of switched values: against the truth, and against each version asked alone."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import arml_core as arml
from arml_core import MahalanobisKNN, Radii, ThreatModel
from arml_core import switching as engine
from arml_core.threat import Combinations
from benchmarks.campaign import checks
from benchmarks.campaign.problems import make_switched
from benchmarks.campaign.run import true_radii
from tests.more import seeds

SIDES = ("lower", "upper", "exact", "adversarial", "correct", "predicted")
CERTIFICATES = ("votes", "theorem1", "exact", "search")
ATTACKS = ("whitebox", "boundary")
METHODS = pytest.mark.parametrize("method", [*CERTIFICATES, *ATTACKS])
GROUPS = [[2, 3], [4]]  # of `table`: a category of two 0/1 columns, and one of numbers


def table(n: int = 60, seed: int = 0):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 2, n), rng.integers(0, 3, n)
    X = np.c_[rng.normal(size=(n, 2)), np.eye(2)[first], 0.7 * second]
    y = (X[:, 0] + 0.6 * first + 0.5 * second + 0.3 * rng.normal(size=n) > 0.8).astype(int)
    return X, y


def fitted(method: str = "search", **options) -> tuple[MahalanobisKNN, np.ndarray]:
    X, y = table()
    return MahalanobisKNN(1 if method == "exact" else 3, **options).fit(X, y), table(8, seed=1)[0]


def ask(knn, x, method, threat, **options):
    if method in ATTACKS:
        few = {"steps": 20} if method == "boundary" else {}
        return knn.attack(x, method=method, threat=threat, **few, **options)
    long = {"budget": 20.0} if method == "search" else {}
    return knn.certify(x, method=method, threat=threat, **long, **options)


def assert_same(one: Radii, other: Radii) -> None:
    for column in SIDES:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)


# ---------------------------------------------------------------------------------------------------------------
# the truth


@pytest.mark.parametrize("number", seeds(60))
def test_both_sides_against_the_truth_over_all_combinations(number):
    problem = make_switched(77, number)
    knn = problem.fitted()
    answers = checks.ask(problem, knn)
    assert [str(fault) for fault in checks.violations(problem, knn, answers, true_radii(problem, answers))] == []


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@METHODS
def test_the_least_of_all_versions_each_asked_alone(method, norm):
    knn, x = fitted(method)
    threat = ThreatModel(norm, switches=GROUPS)
    found, alone = ask(knn, x, method, threat), ThreatModel(norm, frozen=[2, 3, 4])
    versions = Combinations.of(x, found.threat.switches, None)
    assert np.bincount(versions.row).tolist() == [6] * 8 == knn.count_combinations(x, threat).tolist()
    each = ask(knn, versions.points, method, alone, y=knn.predict(x)[versions.row])
    for row in range(len(x)):
        mine = versions.row == row
        least = each.upper[mine].min()
        assert found.upper[row] == least
        np.testing.assert_allclose(found.lower[row], each.lower[mine].min(), rtol=1e-6)
        if np.isfinite(found.upper[row]):
            at = np.flatnonzero(mine & (versions.codes == found.switched[row]).all(axis=1))[0]
            np.testing.assert_array_equal(versions.points[at, 2:], found.adversarial[row, 2:])
            size = np.linalg.norm(found.adversarial[row, :2] - x[row, :2], norm)
            assert found.upper[row] == pytest.approx(size, rel=1e-12, abs=1e-12)
        else:
            assert (found.switched[row] == -1).all()
    if method in ("exact", "search"):
        assert found.exact.all()
        assert (found.upper == 0).any()
        assert (found.upper > 0).any()


def test_the_settings_of_an_attack_are_those_of_each_version():
    knn, x = fitted()
    threat, steps = ThreatModel(switches=GROUPS), []
    for options in ({"steps": 5}, {"steps": 60}, {"steps": 60, "random_state": 1}):
        steps.append(knn.attack(x, method="boundary", threat=threat, **options))
    assert (steps[1].upper <= steps[0].upper).all()
    assert (steps[1].upper < steps[0].upper).any()
    assert (steps[1].upper != steps[2].upper).any()
    assert dict(steps[2].settings) == {"steps": 60, "seed": 1}


def test_a_value_that_flips_by_itself_by_hand():
    """Two rows that differ in their category alone: the island decides, and the numbers may be anything."""
    X, y = np.array([[0.0, 1, 0], [0.0, 0, 1]]), ["Adelie", "Gentoo"]
    knn, threat = MahalanobisKNN(1).fit(X, y), ThreatModel(switches=[[1, 2]])
    for method in ("votes", "exact", "search", "whitebox", "boundary"):
        found = ask(knn, X[:1], method, threat)
        assert (found.lower[0], found.upper[0], found.exact[0], found.correct[0]) == (0, 0, True, True)
        assert found.adversarial.tolist() == [[0.0, 0, 1]]
        assert found.switched.tolist() == [[0]]
        assert found.switch_words(["bill", "island=Biscoe", "island=Dream"]) == ["island=Dream"]
    kept = knn.certify(X[:1], method="exact", threat=replace(threat, max_switches=0))
    assert np.isinf(kept.lower[0])


def test_the_radius_that_is_left_after_a_switch_by_hand():
    """x = 0 of class 0. With the other category rows lie at 1 (class 0) and 4 (class 1): 2.5 is left, not 5."""
    X, y = np.array([[0.0, 0], [10.0, 0], [1.0, 9], [4.0, 9]]), [0, 1, 0, 1]
    knn = MahalanobisKNN(1).fit(X, y)
    for norm in (1, 2, np.inf):
        found = knn.certify([[0.0, 0.0]], method="exact", threat=ThreatModel(norm, switches=[[1]]))
        assert found.upper[0] == pytest.approx(2.5, rel=1e-6)
        assert found.lower[0] == pytest.approx(2.5, rel=1e-6)
        assert found.switched.tolist() == [[1]]
        assert found.adversarial[0, 1] == 9
        plain = knn.certify([[0.0, 0.0]], method="exact", threat=ThreatModel(norm, frozen=[1]))
        assert plain.upper[0] == pytest.approx(5, rel=1e-6)


@METHODS
def test_nothing_but_switches(method):
    """All that does not switch is frozen: a combination flips the answer, or nothing does."""
    knn, x = fitted(method)
    threat = ThreatModel(frozen=[0, 1], switches=GROUPS)
    found = ask(knn, x, method, threat)
    versions = Combinations.of(x, found.threat.switches, None)
    flipped = knn.predict(versions.points) != knn.predict(x)[versions.row]
    expected = np.where(np.bincount(versions.row, flipped) > 0, 0.0, np.inf)
    np.testing.assert_array_equal(found.upper, expected)
    np.testing.assert_array_equal(found.lower, np.zeros(len(x)) if method in ATTACKS else expected)
    assert 0 < np.isinf(expected).sum() < len(x)
    np.testing.assert_array_equal(found.exact, np.isfinite(expected))
    reached = np.isfinite(found.upper)
    assert (knn.predict(found.adversarial[reached]) != found.predicted[reached]).all()


# ---------------------------------------------------------------------------------------------------------------
# what changes nothing


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@METHODS
def test_no_switch_at_once_and_a_switch_of_one_value_are_frozen_columns(method, norm):
    knn, x = fitted(method)
    frozen = ask(knn, x, method, ThreatModel(norm, frozen=[2, 3, 4]))
    assert_same(ask(knn, x, method, ThreatModel(norm, switches=GROUPS, max_switches=0)), frozen)
    knn.fit(np.c_[table()[0], np.full(60, 0.25)], table()[1])
    x = np.c_[x, np.full(len(x), 0.25)]
    one = ask(knn, x, method, ThreatModel(norm, frozen=[2, 3, 4], switches=[[5]]))
    assert_same(one, ask(knn, x, method, ThreatModel(norm, frozen=[2, 3, 4, 5])))


@METHODS
def test_an_empty_list_and_endless_limits_change_nothing(method):
    knn, x = fitted(method)
    plain = ask(knn, x, method, ThreatModel())
    assert_same(ask(knn, x, method, ThreatModel(switches=[], max_switches=1, free=[], only_up=[], frozen=[])), plain)
    assert ask(knn, x, method, ThreatModel(switches=[])).switched.shape == (8, 0)
    every = ask(knn, x, method, ThreatModel(switches=GROUPS))
    assert_same(ask(knn, x, method, ThreatModel(switches=GROUPS, max_switches=2)), every)


@METHODS
def test_a_free_column_without_room_changes_nothing_beside_switches(method):
    """Its limits are the row's own value: it is there in every version, and frozen in effect."""
    knn, x = fitted(method)
    x[:, 1] = 0.3
    boxes = {"box": ([-9, 0.3, -9, -9, -9], [9, 0.3, 9, 9, 9])}
    free = ask(knn, x, method, ThreatModel(**boxes, free=[1], switches=GROUPS))
    frozen = ask(knn, x, method, ThreatModel(**boxes, frozen=[1], switches=GROUPS))
    np.testing.assert_allclose(free.lower, frozen.lower, rtol=1e-6)
    np.testing.assert_allclose(free.upper, frozen.upper, rtol=1e-6 if method != "boundary" else 1)


# ---------------------------------------------------------------------------------------------------------------
# in company with everything else


@METHODS
def test_a_box_for_each_row_is_that_of_its_versions(method):
    knn, x = fitted(method)
    rng = np.random.default_rng(3)
    low, high = x - rng.random(x.shape), x + 0.5 * rng.random(x.shape)
    labels = knn.predict(x)
    labels[2] = 1 - labels[2]  # settled from the start: the lines of the others must not move up
    together = ask(knn, x, method, ThreatModel(box=(low, high), switches=GROUPS), y=labels)
    for row in range(len(x)):
        alone = ask(knn, x[[row]], method, ThreatModel(box=(low[row], high[row]), switches=GROUPS), y=labels[[row]])
        np.testing.assert_allclose(together.lower[row], alone.lower[0], rtol=1e-6)
        if method != "boundary":
            np.testing.assert_allclose(together.upper[row], alone.upper[0], rtol=1e-6)
    moved = np.isfinite(together.upper)
    assert (together.adversarial[moved, :2] >= low[moved, :2]).all()
    assert (together.adversarial[moved, :2] <= high[moved, :2]).all()
    with pytest.raises(ValueError, match="a line for each of 8 rows; asked about are 7"):
        ask(knn, x[:7], method, ThreatModel(box=(low, high), switches=GROUPS))
    with pytest.raises(ValueError, match="a line for each of 8 rows; asked about are 7"):
        ask(knn, x[:7], method, ThreatModel(box=(low, high), frozen=[0, 1], switches=GROUPS))


@METHODS
def test_rows_that_are_left_out_are_left_out_of_all_versions(method):
    """Leave-one-out, with one row more for some: as if the classifier had been fitted without them."""
    X, y = table()
    k = 1 if method == "exact" else 3
    knn, gone = MahalanobisKNN(k).fit(X, y), [[0, 7], [1], [2, 3], [3]]
    threat = ThreatModel(switches=GROUPS)
    together = ask(knn, X[:4], method, threat, exclude=gone)
    given = ThreatModel(switches=[{"features": s.features, "values": s.values} for s in together.threat.switches])
    for row, out in enumerate(gone):
        without = MahalanobisKNN(k).fit(np.delete(X, out, axis=0), np.delete(y, out))
        alone = ask(without, X[[row]], method, given)
        np.testing.assert_allclose(together.lower[row], alone.lower[0], rtol=1e-6)
        if method != "boundary":
            np.testing.assert_allclose(together.upper[row], alone.upper[0], rtol=1e-6)


def test_a_wrong_row_has_no_radius_and_is_not_switched():
    knn, x = fitted()
    labels = knn.predict(x)
    labels[[0, 3]] = 1 - labels[[0, 3]]
    found = knn.certify(x, labels, method="search", threat=ThreatModel(switches=GROUPS))
    for row in (0, 3):
        assert (found.lower[row], found.upper[row], found.exact[row], found.correct[row]) == (0, 0, True, False)
        assert found.switched[row].tolist() == [-1, -1]
        np.testing.assert_array_equal(found.adversarial[row], x[row])
    others = knn.certify(x, method="search", threat=ThreatModel(switches=GROUPS))
    right = found.correct
    np.testing.assert_array_equal(found.upper[right], others.upper[right])


def test_a_version_with_an_own_value_that_is_not_among_the_values():
    knn, x = fitted()
    x[0, 4] = 0.2
    threat = ThreatModel(switches=[{"features": [4], "values": [0.0, 0.7]}])
    assert knn.count_combinations(x[:1], threat).tolist() == [3]
    found = knn.certify(x[:1], method="search", threat=threat)
    assert found.adversarial[0, 4] in (0.0, 0.2, 0.7)


def test_float32_rows_stay_float32_and_values_are_rounded_to_them():
    X, y = table()
    knn = MahalanobisKNN(3).fit(X, y)
    x = table(8, seed=1)[0].astype(np.float32)
    found = knn.certify(x, method="search", threat=ThreatModel(switches=GROUPS))
    assert found.adversarial.dtype == np.float32
    values = np.array([value for (value,) in found.threat.switches[1].values])
    reached = found.adversarial[np.isfinite(found.upper)]
    assert np.isin(reached[:, 4], values.astype(np.float32)).all()
    assert (knn.count_combinations(x, ThreatModel(switches=GROUPS)) == 6).all()


@pytest.mark.parametrize("references", [lambda X, y: (X[::3] + 0.01, y[::3]), lambda X, y: arml.KMeansPrototypes(2)])
def test_values_are_those_of_the_training_rows_whatever_is_compared_with(references):
    X, y = table()
    knn = MahalanobisKNN(1, references=references(X, y)).fit(X, y)
    x = table(8, seed=1)[0]
    found = knn.certify(x, method="exact", threat=ThreatModel(switches=GROUPS))
    assert found.threat.switches[0].values == ((0.0, 1.0), (1.0, 0.0))
    assert [value for (value,) in found.threat.switches[1].values] == np.unique(X[:, 4]).tolist()
    flipped = np.isfinite(found.upper)
    assert (knn.predict(found.adversarial[flipped]) != found.predicted[flipped]).all()


def test_without_the_training_rows_values_must_be_given(monkeypatch):
    X, y = table()
    monkeypatch.setattr("arml_core.knn.MOST_KEPT", 10)
    knn, x = MahalanobisKNN(1, references=(X[::3], y[::3])).fit(X, y), X[:2]
    with pytest.raises(ValueError, match="give the values of each switch"):
        knn.certify(x, threat=ThreatModel(switches=GROUPS))
    given = ThreatModel(switches=[{"features": [4], "values": [0, 0.7]}])
    assert knn.certify(x, threat=given).lower.shape == (2,)


@pytest.mark.parametrize("again", [lambda knn: pickle.loads(pickle.dumps(knn)), clone])  # noqa: S301 its own bytes
def test_a_classifier_that_was_pickled_or_cloned_answers_the_same(again):
    knn, x = fitted()
    copy = again(knn)
    if not hasattr(copy, "classes_"):
        copy.fit(*table())
    threat = ThreatModel(switches=GROUPS)
    assert_same(copy.certify(x, method="search", threat=threat), knn.certify(x, method="search", threat=threat))


# ---------------------------------------------------------------------------------------------------------------
# budget, verdicts, progress


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_at_radii_are_those_of_the_whole_radius(seed):
    """Versions above all radii, or of a row that is breakable at all of them, are not asked: lower stays a proof."""
    X, y = table(seed=seed)
    knn, x = MahalanobisKNN(3).fit(X, y), table(12, seed=10 + seed)[0]
    threat = ThreatModel(switches=GROUPS)
    whole = knn.certify(x, method="search", budget=20.0, threat=threat)
    assert whole.exact.all()
    between = np.sort(whole.upper[whole.upper > 0])
    for at in ([0.0], [0.2], [0.05, 0.4], [100.0], [float(between[0]) * 0.999, float(between[-1]) * 1.001]):
        found = knn.certify(x, method="search", budget=20.0, threat=threat, at=at)
        assert (found.lower <= whole.upper).all()
        assert (found.upper >= whole.upper * (1 - 1e-9)).all()
        for radius in at:
            assert (found.verdict(radius) == whole.verdict(radius)).all()


def test_budgets_are_for_each_row_and_shared_by_its_versions(monkeypatch):
    knn, x = fitted()
    given = []
    honest = MahalanobisKNN.certify

    def watched(self, X, y=None, **question):
        if question.get("method") == "search" and not question["threat"].switches:
            given.append((len(X), np.broadcast_to(question["budget"], len(X)).copy()))
        return honest(self, X, y, **question)

    seconds = np.where(np.arange(8) < 4, 2.0, 0.0)
    monkeypatch.setattr(MahalanobisKNN, "certify", watched)
    found = honest(knn, x, method="search", budget=seconds, threat=ThreatModel(switches=GROUPS))
    assert sum(share.sum() for _, share in given) <= seconds.sum() * (1 + 1e-12)
    assert max(share.max() for _, share in given) <= 2.0
    assert min(share.min() for _, share in given) == 0.0
    assert found.exact[:4].all()
    given.clear()
    endless = honest(knn, x, method="search", budget=np.inf, threat=ThreatModel(switches=GROUPS))
    assert all(np.isinf(share).all() for _, share in given)
    assert endless.exact.all()


@METHODS
@pytest.mark.parametrize("at_once", [engine.AT_ONCE, 12])  # all rows in one part, and two at a time
def test_progress_is_monotone_in_rows_and_ends(method, at_once, monkeypatch):
    monkeypatch.setattr(engine, "AT_ONCE", at_once)
    knn, x = fitted(method)
    labels = knn.predict(x)
    labels[1] = 1 - labels[1]
    seen = []
    found = ask(
        knn,
        x,
        method,
        ThreatModel(switches=GROUPS),
        y=labels,
        callback=lambda done, total, _: seen.append((done, total)),
    )
    assert {total for _, total in seen} == {8}
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert done[0] >= 0
    assert done[-1] == 8
    monkeypatch.setattr(engine, "AT_ONCE", 10**6)
    np.testing.assert_allclose(
        ask(knn, x, method, ThreatModel(switches=GROUPS), y=labels).lower, found.lower, rtol=1e-9
    )


@METHODS
@pytest.mark.parametrize("calls", [1, 4])
def test_a_callback_stops_the_work(method, calls):
    knn, x = fitted(method)
    seen = []

    def stop(done, total, info):
        seen.append(done)
        if len(seen) >= calls:
            raise arml.Cancelled

    with pytest.raises(arml.Cancelled):
        ask(knn, x, method, ThreatModel(switches=GROUPS), callback=stop)
    assert len(seen) == calls


def test_a_version_that_is_proved_further_away_than_it_is_is_a_contradiction(monkeypatch):
    import arml_core.knn as classifier

    knn, x = fitted()
    honest = classifier.triplet_bound
    monkeypatch.setattr(classifier, "triplet_bound", lambda *a, **o: honest(*a, **o) * 1.5 + 1e-3)
    with pytest.raises(arml.ContradictionError, match="no perturbation smaller than"):
        knn.attack(x, threat=ThreatModel(switches=GROUPS))


def test_too_many_combinations_are_refused_before_anything_is_asked():
    X, y = table()
    knn = MahalanobisKNN(3).fit(X, y)
    threat = ThreatModel(switches=[[0], [1], GROUPS[0], GROUPS[1]])
    for call in (knn.count_combinations, lambda x, threat: knn.certify(x, threat=threat)):
        with pytest.raises(ValueError, match="allow 21,600 combinations for a row; at most 1,000"):
            call(X[:2], threat)
    assert knn.count_combinations(X[:2], ThreatModel()).tolist() == [1, 1]
    assert knn.count_combinations(X[:2], replace(threat, max_switches=1)).tolist() == [1 + 59 + 59 + 1 + 2] * 2


def test_what_does_not_fit_the_data_is_refused_also_where_nothing_moves():
    knn, x = fitted()
    for threat, text in (
        (ThreatModel(frozen=[0, 1], costs=[1, 1], switches=GROUPS), "is for 2 features; the data has 5"),
        (ThreatModel(frozen=[0, 9], switches=GROUPS), "frozen feature 9 does not exist; the data has 5 features"),
        (ThreatModel(switches=[{"features": [5], "values": [1]}]), "switched feature 5 does not exist"),
    ):
        with pytest.raises(ValueError, match=text):
            knn.certify(x, threat=threat)


# ---------------------------------------------------------------------------------------------------------------
# results


@pytest.fixture(scope="module")
def found() -> Radii:
    knn, x = fitted()
    return knn.certify(x, method="search", threat=ThreatModel(switches=GROUPS))


def test_what_was_switched_is_stored_and_read_again(found, tmp_path):
    found.save(tmp_path / "radii.npz")
    again = Radii.load(tmp_path / "radii.npz")
    assert_same(again, found)
    np.testing.assert_array_equal(again.switched, found.switched)
    assert again.threat == found.threat
    assert again.switch_words() == found.switch_words()
    assert "switched" not in fitted()[0].certify(fitted()[1]).arrays()


def test_what_was_switched_goes_with_its_row(found):
    assert (found.switched >= 0).any()
    part = found.take([5, 0])
    np.testing.assert_array_equal(part.switched, found.switched[[5, 0]])
    whole = Radii.concatenate([found.take([1, 4, 6]), found.take([0, 2, 3, 5, 7])])
    np.testing.assert_array_equal(whole.switched, found.switched)
    frame = found.to_frame()
    assert frame["switched"].tolist() == found.switch_words()
    assert "switched" not in fitted()[0].certify(fitted()[1]).to_frame()


def test_the_value_goes_with_the_point_when_results_meet(found):
    knn, x = fitted()
    threat = ThreatModel(switches=GROUPS)
    votes, attack = knn.certify(x, threat=threat), knn.attack(x, threat=threat)
    joined = votes.join(attack)
    np.testing.assert_array_equal(joined.switched, attack.switched)
    np.testing.assert_array_equal(joined.adversarial, attack.adversarial)
    narrowed = votes.narrow(found)
    nearer = found.upper < votes.upper
    np.testing.assert_array_equal(narrowed.switched[nearer], found.switched[nearer])
    np.testing.assert_array_equal(narrowed.switched[~nearer], votes.switched[~nearer])
    assert nearer.any()


def test_what_an_adversarial_point_has_switched_in_words(found):
    names = ["a", "b", "island=Biscoe", "island=Dream", "sex"]
    for words, codes in zip(found.switch_words(names), found.switched, strict=True):
        expected = []
        if codes[0] >= 0:
            expected.append(["island=Dream", "island=Biscoe"][codes[0]])
        if codes[1] >= 0:
            expected.append(f"sex = {found.threat.switches[1].values[codes[1]][0]:g}")
        assert words == ", ".join(expected)
