"""`ties="any"`: what every order of equal distances and votes allows. `target=`: the way to one certain class."""

import contextlib
import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN, NotSupportedError, Radii, ThreatModel
from arml_core.certificates import METHODS
from arml_core.neighbors.vote import FlipRule, possible_winners
from tests.attacks.oracles import winners_at
from tests.attacks.problems import Problem, changes_answer, check_adversarial, problems
from tests.more import seeds


def below(a: float, b: float, size: float) -> bool:
    return a <= b * (1 + 1e-7) + 1e-8 * size


# ---------------------------------------------------------------------------------------------------------------
# who can win at a point


def winners_by_orders(inside, tied, k, n_classes) -> list[bool]:
    """Every order of the tied rows, and every class with the most votes then."""
    found = set()
    for order in itertools.permutations(tied):
        votes = Counter([*inside, *order][:k])
        found |= {c for c, n in votes.items() if n == max(votes.values())}
    return [c in found for c in range(n_classes)]


def test_possible_winners_are_those_of_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        n_classes, n_tied = int(rng.integers(2, 5)), int(rng.integers(0, 6))
        inside = rng.integers(n_classes, size=int(rng.integers(0, 6))).tolist()
        tied = rng.integers(n_classes, size=n_tied).tolist()
        slots = int(rng.integers(1, n_tied + 1)) if n_tied else 0
        k = len(inside) + slots
        if k == 0:
            continue
        counts = [np.bincount(np.array(rows, dtype=int), minlength=n_classes)[None] for rows in (inside, tied)]
        assert possible_winners(*counts, k)[0].tolist() == winners_by_orders(inside, tied, k, n_classes)


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("metric", ["identity", "diagonal", "full"])
def test_ties_at_a_point_are_found_without_rounding(seed, metric):
    """On a grid, with more tied rows than the screen lists, far from 0, rows left out, in both precisions."""
    rng = np.random.default_rng([seed, len(metric)])
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    n, n_classes = int(rng.integers(40, 120)), int(rng.integers(2, 5))
    away = (0.0, 1e6)[seed % 2]
    X = rng.integers(-2, 3, size=(n, d)) + away
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    G = {"identity": np.eye(d), "diagonal": np.diag([1.0, 3.0, 0.5][:d]), "full": np.triu(np.ones((d, d)))}[metric]
    knn = MahalanobisKNN(k, G.T @ G).fit(X, y)
    points = np.vstack([rng.integers(-5, 6, size=(20, d)) / 2, rng.normal(size=(10, d)).round(2)]) + away
    exclude = rng.integers(-1, n, size=(len(points), 2)) if seed % 3 else None
    for b, found in enumerate(knn.possible_answers(points, exclude)):
        gone = () if exclude is None else exclude[b][exclude[b] >= 0].tolist()
        real = winners_at(knn.metric_.components, X, y, points[b], k, gone)
        assert set(np.flatnonzero(found)) == real, (b, points[b])


def test_a_tie_that_only_rounding_hides_is_a_tie_and_one_that_only_rounding_makes_is_none():
    """0.1 + 0.2 is not 0.3: the rows -0.2 and 0.2 are equally far from 0, 0.1 - 0.3 and 0.2 are not."""
    X, y = np.array([[-0.2], [0.2]]), np.array([0, 1])
    tied = MahalanobisKNN(1).fit(X, y).certify([[0.0]], ties="any")
    assert (tied.lower[0], tied.upper[0]) == (0, 0)
    nearly = np.array([[0.1 - 0.3], [0.2]])
    assert nearly[0, 0] != -0.2
    found = MahalanobisKNN(1).fit(nearly, y).certify([[0.0]], ties="any", method="exact")
    assert 0 < found.upper[0] < 1e-8


# ---------------------------------------------------------------------------------------------------------------
# against the exhaustive oracle


def ask_all(problem: Problem, knn: MahalanobisKNN, budget=2.0) -> dict[str, Radii]:
    x, options = problem.x[None], problem.options
    answers = {"votes": knn.certify(x, method="votes", **options)}
    answers["search"] = knn.certify(x, method="search", budget=budget, **options)
    if problem.k == 1 and problem.threat.norm == 2 and problem.threat.box is None:
        answers["exact"] = knn.certify(x, method="exact", **options)
    if problem.k % 2 and problem.target is None:
        with contextlib.suppress(ValueError):  # too few rows of a class
            answers["theorem1"] = knn.certify(x, method="theorem1", **options)
    answers["whitebox"] = knn.attack(x, method="whitebox", **options)
    answers["boundary"] = knn.attack(x, method="boundary", steps=30, **options)
    return answers


def check_all(problem: Problem) -> None:
    """The intervals hold the truth and, where at most two features move or K = 1, are as narrow as they can be."""
    knn = problem.fitted()
    predicted = knn.predict(problem.x[None], exclude=problem.options["exclude"])[0]
    assume(predicted == problem.label)
    real, size = problem.truth(), problem.size
    answers = ask_all(problem, knn)
    for method, answer in answers.items():
        lower, upper = answer.lower[0], answer.upper[0]
        assert answer.predicted[0] == predicted
        assert below(lower, real.ruled, size), (method, lower, real)
        assert below(real.closed, upper, size), (method, upper, real)
        check_adversarial(problem, knn, upper, answer.adversarial[0])
        if answer.exact[0]:
            assert upper - lower <= 1e-6 * upper + 1e-8 * size
        if upper == 0:  # an answer that is tied, or already the target
            assert (lower, answer.exact[0], answer.correct[0]) == (0, True, True)
            assert (answer.adversarial[0] == problem.x).all()
        elif knn.metric_.is_diagonal:
            assert not changes_answer(problem, knn, problem.x, problem.label)
    if len(problem.x) - len(problem.threat.frozen) <= 2:
        far = 10 * problem.spread  # so far the plane is always searched
        assert min(real.closed, far) <= answers["search"].lower[0] * (1 + 1e-5) + 1e-8 * size, real
        if real.open < far:
            assert answers["search"].upper[0] <= real.open * (1 + 1e-5) + 1e-8 * size, real
    if "exact" in answers and real.open == real.closed < np.inf:
        assert answers["exact"].exact[0]
        assert below(real.closed, answers["exact"].lower[0], size)


def radius_on_a_line(rows, labels, x, label, k, ties, target) -> Fraction | None:
    """ε* of a point on a line, in fractions; None where nothing flips.

    Between the middles of pairs of rows the neighbours stay the same: it is enough to look at these places and between
    them. An interval that flips is as near as its nearer end.
    """
    rows, x = [Fraction(float(r)) for r in rows], Fraction(float(x))
    middles = sorted({(a + b) / 2 for a in rows for b in rows} | {x})
    places = [(m, m) for m in [middles[0] - 1, *middles, middles[-1] + 1]]
    places += [((a + b) / 2, a if abs(a - x) < abs(b - x) else b) for a, b in itertools.pairwise(middles)]
    places += [(middles[0] - 1, middles[0]), (middles[-1] + 1, middles[-1])]
    found = []
    for place, nearest in places:
        order = sorted(range(len(rows)), key=lambda r: (abs(rows[r] - place), r))
        if ties == "any":
            winners = winners_at(np.eye(1), np.array(rows)[:, None], labels, [place], k)
        else:
            votes = Counter(labels[r] for r in order[:k])
            winners = {min(c for c, n in votes.items() if n == max(votes.values()))}
        if winners - {label} if target is None else target in winners:
            found.append(abs(nearest - x))
    return min(found, default=None)


@pytest.mark.parametrize("seed", seeds(60))
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_no_radius_on_a_line_is_too_large_by_a_single_bit(norm, seed):
    """Everything is a fraction here, so nothing is tolerated."""
    rng = np.random.default_rng([seed, int(min(norm, 3))])
    n, n_classes = int(rng.integers(3, 11)), int(rng.integers(2, 5))
    rows = rng.integers(-4, 5, size=n).astype(float) if seed % 3 else rng.normal(size=n).round(1)
    labels = rng.integers(n_classes, size=n)
    labels[:2] = 0, 1
    k, x = int(rng.integers(1, n + 1)), float(rng.integers(-9, 10)) / 2
    knn, threat = MahalanobisKNN(k).fit(rows[:, None], labels), ThreatModel(norm)
    label = knn.predict([[x]])[0]
    targets = [None, *np.unique(labels).tolist()]
    for ties, target in itertools.product(("order", "any"), targets):
        real = radius_on_a_line(rows, labels.tolist(), x, label, k, ties, target)
        rule = {"threat": threat, "ties": ties, "target": target}
        both = knn.certify([[x]], method="search", **rule)
        answers = [both, knn.certify([[x]], **rule), knn.attack([[x]], **rule)]
        if k == 1 and norm == 2:
            answers.append(knn.certify([[x]], method="exact", **rule))
        for answer in answers:
            if real is None:
                assert answer.upper[0] == np.inf, (ties, target)
            else:
                assert Fraction(answer.lower[0]) <= real, (ties, target)
                assert answer.upper[0] == np.inf or Fraction(answer.upper[0]) >= real, (ties, target)
        if real is not None and not (seed % 3 and ties == "any"):  # on a grid a tie may be all there is of a flip
            assert both.lower[0] == pytest.approx(float(real), abs=1e-7), (ties, target)


@given(problems(max_n=9, max_d=3))
def test_any_order_holds_the_truth(problem):
    check_all(replace(problem, ties="any"))


@given(problems(max_n=9, max_d=2, ties=True, norms=(2.0,)))
def test_any_order_holds_the_truth_on_a_grid(problem):
    check_all(replace(problem, ties="any"))


@given(problems(max_n=9, max_d=3), st.integers(0, 3), st.sampled_from(["order", "any"]))
def test_a_target_holds_the_truth(problem, target, ties):
    labels = np.unique(problem.y)
    check_all(replace(problem, target=int(labels[target % len(labels)]), ties=ties))


@given(problems(max_n=9, max_d=3, max_k=1, norms=(2.0,)), st.integers(0, 3), st.sampled_from(["order", "any"]))
def test_a_target_of_the_nearest_neighbour_is_exact(problem, target, ties):
    labels = np.unique(problem.y)
    check_all(replace(problem, target=int(labels[target % len(labels)]), ties=ties))


@given(problems(max_n=8, max_d=2, max_classes=4))
def test_the_nearest_target_is_the_ordinary_radius(problem):
    knn = problem.fitted()
    x, options = problem.x[None], problem.options
    predicted = knn.predict(x, exclude=options["exclude"])[0]
    assume(predicted == problem.label)
    rivals = [c for c in np.unique(problem.y) if c != predicted]
    whole = knn.certify(x, method="search", **options)
    parts = [knn.certify(x, method="search", target=c, **options) for c in rivals]
    nearest_upper, nearest_lower = (min(getattr(p, side)[0] for p in parts) for side in ("upper", "lower"))
    assert below(whole.lower[0], nearest_upper, problem.size)
    assert below(nearest_lower, whole.upper[0], problem.size)
    votes = knn.certify(x, **options).lower[0]
    assert votes <= min(knn.certify(x, target=c, **options).lower[0] for c in rivals)


@pytest.mark.parametrize("seed", seeds(20))
def test_any_order_is_never_safer_than_training_order(seed):
    """With many rows, so that lists of candidates and products come in; duplicates of other classes abound."""
    rng = np.random.default_rng(seed)
    d, k, n = int(rng.integers(2, 6)), int(rng.integers(1, 7)), int(rng.integers(60, 300))
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    y = np.where(rng.random(n) < 0.1, rng.integers(3, size=n), (X[:, 0] > 1.5).astype(int))
    y[:3] = np.arange(3)
    points = rng.integers(0, 7, size=(12, d)) / 2
    exclude = rng.integers(-1, n, size=12) if seed % 2 else None
    threat = ThreatModel((1, 2, np.inf)[seed % 3])
    knn = MahalanobisKNN(k).fit(X, y)
    strict, tied = (knn.certify(points, threat=threat, exclude=exclude, ties=ties) for ties in ("order", "any"))
    assert (tied.lower <= strict.lower).all()
    found = knn.attack(points, threat=threat, exclude=exclude, ties="any")
    assert (tied.lower <= found.upper).all()
    for b, point in enumerate(found.adversarial):
        gone = () if exclude is None or exclude[b] < 0 else (int(exclude[b]),)
        if np.isfinite(found.upper[b]):
            assert winners_at(np.eye(d), X, y, point, k, gone) - {found.predicted[b]}


# ---------------------------------------------------------------------------------------------------------------
# by hand


def on_a_line(rows, labels, k, **options):
    """Certify and attack the point 0 on a line."""
    knn = MahalanobisKNN(k).fit(np.array(rows, dtype=float)[:, None], labels)
    return knn.certify([[0.0]], method="search", **options)


def test_a_twin_of_another_class_is_decided_by_nothing():
    """Training order keeps the answer of the first twin up to 5; any order loses it where the twins become nearest."""
    strict = on_a_line([0.5, 2, 2, 12], [0, 0, 1, 1], 1)
    tied = on_a_line([0.5, 2, 2, 12], [0, 0, 1, 1], 1, ties="any")
    assert strict.lower[0] == pytest.approx(7.0)
    assert tied.lower[0] == pytest.approx(1.25)
    assert tied.upper[0] == pytest.approx(1.25)
    assert tied.exact[0]


def test_a_flip_that_is_nothing_but_a_tie_ends_what_is_proved():
    """Only half way between both places can one row of each class be the three neighbours, against training order."""
    knn = MahalanobisKNN(3).fit([[4.0]] * 3 + [[1.0]] * 4, [0, 0, 0, 2, 1, 1, 1])
    found = knn.certify([[0.0]], method="search", ties="any", target=2)
    assert knn.possible_answers([[2.5]]).tolist() == [[True, True, True]]
    assert found.lower[0] <= 2.5
    assert found.lower[0] == pytest.approx(2.5)


def test_equal_votes_are_enough_for_a_rival():
    """K = 2: one row of each class keeps class 0 by the smallest label; with ties as sets it does not."""
    strict = on_a_line([0, 0.5, 3, 3.5], [0, 0, 1, 1], 2)
    tied = on_a_line([0, 0.5, 3, 3.5], [0, 0, 1, 1], 2, ties="any")
    assert strict.lower[0] == pytest.approx(2.0)  # 0.5 and 3.5 are as far from 2
    assert tied.lower[0] == pytest.approx(1.5)
    assert tied.upper[0] == pytest.approx(1.5)


@pytest.mark.parametrize("rows", [[-1, 1, 5], [0, 0, 5]])
def test_a_tied_answer_has_radius_0_and_is_still_correct(rows):
    knn = MahalanobisKNN(1).fit(np.array(rows, dtype=float)[:, None], [0, 1, 1])
    for method in METHODS:
        found = knn.certify([[0.0]], [0], method=method, ties="any")
        assert (found.lower[0], found.upper[0], found.exact[0], found.correct[0]) == (0, 0, True, True)
        assert found.adversarial[0, 0] == 0
    assert knn.certify([[0.0]], [1], ties="any").correct[0] == np.False_


def test_a_third_class_in_the_way_makes_a_target_farther():
    """Class 2 begins at 3.5, behind class 1: the way to class 1 ends at 1, the way to class 2 at 3.5."""
    rows, labels = [0, 2, 5], [0, 1, 2]
    assert on_a_line(rows, labels, 1).upper[0] == pytest.approx(1.0)
    near, far = (on_a_line(rows, labels, 1, target=c) for c in (1, 2))
    assert near.lower[0] == pytest.approx(1.0)
    assert far.lower[0] == pytest.approx(3.5)
    assert far.upper[0] == pytest.approx(3.5)


def test_a_target_that_can_never_win_is_infinitely_far():
    found = on_a_line([0, 1, 2, 3, 9], [0, 0, 1, 1, 2], 3, target=2)
    assert found.lower[0] == np.inf
    assert found.upper[0] == np.inf
    assert not found.exact[0]


def test_a_target_is_measured_from_the_answer_whatever_the_label():
    knn = MahalanobisKNN(1).fit([[0.0], [2.0], [5.0]], ["a", "b", "c"])
    x = [[0.0], [2.0], [5.0]]
    found = knn.certify(x, ["b", "b", "b"], method="exact", target="c")
    np.testing.assert_allclose(found.lower, [3.5, 1.5, 0.0])
    assert found.correct.tolist() == [False, True, False]
    assert found.predicted.tolist() == ["a", "b", "c"]
    assert knn.predict(found.adversarial).tolist() == ["c"] * 3
    assert found.settings == {"target": "c"}


def test_a_result_states_its_question(tmp_path):
    knn = MahalanobisKNN(1).fit([[0.0], [2.0], [5.0]], [0, 1, 2])
    found = knn.attack([[0.0]], method="boundary", steps=20, ties="any", target=np.int64(2))
    assert found.settings == {"steps": 20, "seed": 0, "ties": "any", "target": 2}
    assert found.describe() == "boundary attack (steps 20, seed 0, ties any, target 2)"
    found.save(tmp_path / "radii.npz")
    assert dict(Radii.load(tmp_path / "radii.npz").settings) == found.settings
    assert knn.certify([[0.0]]).settings == {}


def test_what_is_not_known_is_refused_in_words():
    knn = MahalanobisKNN(1).fit([[0.0], [2.0], [5.0]], [0, 1, 2])
    with pytest.raises(ValueError, match="ties must be 'order' or 'any'; got 'set'"):
        knn.certify([[0.0]], ties="set")
    with pytest.raises(ValueError, match=r"target 7 was not in training; the classes are \[0, 1, 2\]"):
        knn.attack([[0.0]], target=7)
    with pytest.raises(NotSupportedError, match="'theorem1' counts the rows of all other classes together"):
        knn.certify([[0.0]], method="theorem1", target=1)


def test_the_rule_counts_votes_as_the_definition_says():
    for ties, target, label in itertools.product((False, True), (None, 0, 1, 2), range(3)):
        if target == label:
            continue
        rule = FlipRule(ties, target)
        for votes in itertools.product(range(4), repeat=3):
            if not any(votes):
                continue
            most = {c for c in range(3) if votes[c] == max(votes)}
            winners = most if ties else {min(most)}
            expected = bool(winners - {label}) if target is None else target in winners
            assert bool(rule.flips(np.array(votes), label)) == expected
