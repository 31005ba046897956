"""Branch and bound reaches the true radius, and pair weights are the smallest joint move."""

from types import SimpleNamespace

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates import branch, relaxation_kernels, search
from arml_core.certificates.branch import BranchAndBound, HalfSpaces
from arml_core.certificates.pairs import PairGraph
from arml_core.certificates.search import PointSearch
from arml_core.certificates.triplet_rows import TripletRows
from tests import oracles
from tests.attacks.oracles import least, normalised, slack, truth
from tests.more import more, seeds
from tests.point_sets import point_set, triplets_of


def binary_problem(seed: int, n: int, d: int):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(2, size=n - 2)])
    X = rng.normal(size=(n, d)) + 1.5 * y[:, None] * np.eye(d)[0]
    if seed % 3 == 1:
        X = np.round(2 * X) / 2
    if seed % 3 == 2:
        X[n // 2 :] = X[: n - n // 2]  # everything twice, whatever the labels
    G = np.eye(d) if seed % 2 else np.round(rng.normal(size=(d, d)))
    return G.T @ G if G.any() else np.eye(d), X, y, rng.normal(size=d)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(12))
def test_without_a_limit_the_lower_side_of_two_classes_is_the_truth(seed, norm):
    d, k = 3 + seed % 3, 1 + (2 * seed) % 5
    M, X, y, x = binary_problem(seed, n=14, d=d)
    knn = MahalanobisKNN(k, M).fit(X, y)
    found = knn.certify(x[None], method="search", threat=ThreatModel(norm=norm), budget=60.0)
    real = truth(M, X, y, x, found.predicted[0], k, oracles.Threat(norm))
    assert found.lower[0] <= real.ruled * (1 + 1e-7) + 1e-9
    assert found.upper[0] >= real.closed * (1 - 1e-7) - 1e-9
    assert found.lower[0] >= min(real.closed, found.upper[0]) * (1 - 1e-6) - 1e-7


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(12))
def test_without_an_attack_the_lower_side_of_two_classes_is_the_truth(seed, norm):
    """Nothing from above hides a bound that is too high."""
    d, k = 3 + seed % 3, 2 + seed % 4
    M, X, y, x = binary_problem(100 + seed, n=12, d=d)
    knn = MahalanobisKNN(k, M).fit(X, y)
    threat = ThreatModel(norm=norm)
    votes = knn.certify(x[None], threat=threat)
    label = int(votes.predicted[0])
    points = point_set(knn, x[None], threat)
    search = PointSearch(triplets_of(knn, threat), points, 0, lambda *_: None, float(votes.lower[0]))
    search.run(60.0)
    real = truth(M, X, y, x, label, k, oracles.Threat(norm))
    assert search.lower <= real.ruled * (1 + 1e-7) + 1e-9
    if np.sum(y == label) >= k:  # with fewer, a flip may leave all of them inside, and only `votes` speaks
        assert search.lower >= min(real.closed, 1e3) * (1 - 1e-6) - 1e-7


@pytest.mark.parametrize("norm", [2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(24))
def test_without_an_attack_the_lower_side_of_several_classes_is_not_above_the_truth(seed, norm):
    """Neighbours of a third class may fill the places that the winner leaves."""
    rng = np.random.default_rng(200 + seed)
    k, y = 3 + seed % 4, np.arange(12) % (3 + seed % 2)
    X, x = rng.normal(size=(12, 3)), rng.normal(size=3)
    knn, threat = MahalanobisKNN(k).fit(X, y), ThreatModel(norm=norm)
    votes = knn.certify(x[None], threat=threat)
    label = int(votes.predicted[0])
    search = PointSearch(
        triplets_of(knn, threat), point_set(knn, x[None], threat), 0, lambda *_: None, float(votes.lower[0])
    )
    search.run(60.0)
    real = truth(np.eye(3), X, y, x, label, k, oracles.Threat(norm))
    assert votes.lower[0] <= search.lower <= real.ruled * (1 + 1e-7) + 1e-9


def without_attack(knn, x, threat, upper=np.inf):
    """What branch and bound proves alone, from the triplets' bound: nothing from above hides what is too high."""
    votes = knn.certify(x[None], threat=threat)
    triplets, points = triplets_of(knn, threat), point_set(knn, x[None], threat)
    search = PointSearch(triplets, points, 0, lambda *_: None, float(votes.lower[0]), upper=upper)
    search.run(60.0)
    return search.lower, int(votes.predicted[0])


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(18))
def test_any_number_of_classes_in_and_out_of_a_box(seed, norm, boxed, monkeypatch):
    """Both what is proved and that nothing is left to prove, with costs, ties and duplicates too.

    For every other problem but one positive is there at first: the others have to come in.
    """
    if seed % 2:
        monkeypatch.setattr(branch, "FIRST_POSITIVES", 1)
    rng = np.random.default_rng(300 + seed)
    k, n_classes, d = 1 + seed % 5, 2 + seed % 3, 3 + seed % 2
    y = np.arange(11) % n_classes
    X, x = rng.normal(size=(11, d)), 0.5 * rng.normal(size=d)
    if seed % 3 == 1:
        X, x = np.round(2 * X) / 2, np.round(4 * x) / 4
    M = np.eye(d) if seed % 4 else np.diag(rng.uniform(0.2, 3, d))
    costs = rng.uniform(0.5, 2, d) if seed % 2 else None
    box = (-1.2, 1.1) if boxed else None
    lower, label = without_attack(MahalanobisKNN(k, M).fit(X, y), x, ThreatModel(norm, costs=costs, box=box))
    real = truth(M, X, y, x, label, k, oracles.Threat(norm, costs, (), box))
    assert lower <= real.ruled * (1 + 1e-7) + 1e-9
    assert lower >= min(real.closed, 1e3) * (1 - 1e-6) - 1e-7


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(18))
def test_short_lists_only_lower_what_is_proved(seed, norm, boxed, monkeypatch):
    """Rows come in late, or not at all, and hardly any negative is looked at: what is proved still holds."""
    rng = np.random.default_rng(500 + seed)
    k, d = 1 + seed % 5, 3 + seed % 2
    X, x, y = rng.normal(size=(11, d)), 0.5 * rng.normal(size=d), np.arange(11) % (2 + seed % 3)
    if seed % 3 == 1:
        X, x = np.round(2 * X) / 2, np.round(4 * x) / 4
    for module, name, value in (
        (branch, "FIRST_POSITIVES", 1),
        (branch, "MORE_POSITIVES", 1),
        (branch, "MOST_POSITIVES", 1 + seed % 5),
        (search, "MOST_NEGATIVES", 2 + seed % 7),
        (search, "LIST_WIDTH", 2 + seed % 7),
        (search, "MOST_SCREENED", 3 + seed % 7),
    ):
        monkeypatch.setattr(module, name, value)
    box = (-1.2, 1.1) if boxed else None
    lower, label = without_attack(MahalanobisKNN(k).fit(X, y), x, ThreatModel(norm, box=box))
    real = truth(np.eye(d), X, y, x, label, k, oracles.Threat(norm, None, (), box))
    assert lower <= real.ruled * (1 + 1e-7) + 1e-9


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(6))
def test_a_box_that_cannot_matter_changes_nothing(seed, norm):
    M, X, y, x = binary_problem(seed, n=40, d=5)
    knn = MahalanobisKNN(3, M).fit(X, y)
    plain, boxed = (
        knn.certify(x[None], method="search", threat=ThreatModel(norm, box=box), budget=20.0)
        for box in (None, (-100, 100))
    )
    assert boxed.lower[0] >= plain.lower[0] * (1 - 1e-6)
    assert boxed.lower[0] == pytest.approx(plain.lower[0], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("scale", [1e-12, 1e12, *more(1e-10, 1e-6, 1e6)])
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_metric_in_other_units_proves_the_same(norm, scale, seed):
    """Distances shrink by the factor, radii do not; tiny coefficients must not look like none."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 10)), int(rng.integers(2, 5))
    X, y = np.round(4 * rng.normal(size=(n, 3))), rng.integers(0, 3, n)
    x = np.round(1e5 * rng.normal(size=(1, 3)))
    threat = ThreatModel(norm=norm)
    label = oracles.predict(np.eye(3), X, y, x[0], k)
    real = truth(np.eye(3), X, y, x[0], label, k, oracles.Threat(float(norm)))
    found = MahalanobisKNN(k, scale * np.eye(3)).fit(X, y).certify(x, method="search", threat=threat, budget=5.0)
    assert found.lower[0] <= real.ruled * (1 + 1e-7)
    assert found.upper[0] >= real.closed * (1 - 1e-7)


def graph_of(X, y, x, M=None):
    """All negatives of x in one graph, with the half-spaces it must agree with."""
    knn = MahalanobisKNN(1, M).fit(X, y)
    triplets = triplets_of(knn, ThreatModel())
    rows = TripletRows(triplets, x[None].astype(np.float64), 0, None)
    references = triplets.references
    place = np.flatnonzero(references.label[references.order] != 0)
    depth = int(np.sum(y == 0))
    return PairGraph(triplets, rows, 0, place, depth, np.inf), references.order[place]


def joint_move(M, X, x, positive, negatives) -> float:
    """The smallest move that brings all `negatives` at least as near as `positive`."""
    rows = np.array([2 * M @ (X[j] - X[positive]) for j in negatives])
    offsets = np.array([(X[positive] - X[j]) @ M @ (2 * x - X[positive] - X[j]) for j in negatives])
    A, b = normalised(rows, offsets)
    if slack(A, b, np.zeros(len(A), dtype=bool)) < -1e-9:
        return np.inf
    return least(A, b, 2.0)


def check_weights(M, X, y, x, tight: bool = True) -> PairGraph:
    graph, index = graph_of(X, y, x, M)
    positives = np.flatnonzero(y == 0)
    for a, j in enumerate(index):
        for b, other in enumerate(index):
            real = -np.sort(-np.array([joint_move(M, X, x, i, [j, other]) for i in positives]))
            got = graph.weight[a, b]
            assert np.all(got <= real * (1 + 1e-7) + 1e-9), (a, b, got, real)
            assert np.all(np.diff(got) <= 1e-12), "fewer positives behind cannot cost more"
            sure = np.isfinite(real) & (real < 1e3) if tight else np.zeros(len(real), dtype=bool)
            assert np.all(got[sure] >= real[sure] * (1 - 1e-6) - 1e-8), (a, b, got, real)
    np.testing.assert_allclose(graph.weight, graph.weight.transpose(1, 0, 2), rtol=1e-9)
    return graph


@pytest.mark.parametrize("seed", range(8))
def test_pair_weights_are_the_smallest_joint_moves(seed):
    rng = np.random.default_rng(seed)
    d = 2 + seed % 4
    X, x = rng.normal(size=(9, d)), 0.3 * rng.normal(size=d)  # negatives on all sides: obtuse and acute angles
    y = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    G = rng.normal(size=(d, d))
    check_weights(np.eye(d) if seed % 2 else G.T @ G, X, y, x)


def test_a_half_space_with_room_to_spare_keeps_its_sign():
    """j is already ahead of i by far; clamping that to "just ahead" would overstate what the pair costs."""
    X = np.array([[4.0, 0.0], [1.0, 3.0], [-1.0, 0.2], [5.0, -4.0]])
    y = np.array([0, 0, 1, 1])
    check_weights(np.eye(2), X, y, np.array([0.0, 0.0]))


def test_opposite_half_spaces_cost_more_than_either_and_may_be_impossible():
    """On a line: i between j and j'. Both cannot be nearer than i."""
    X = np.array([[0.0], [-2.0], [3.0]])
    graph = check_weights(np.eye(1), X, np.array([0, 1, 1]), np.array([0.1]), tight=False)
    assert graph.weight[0, 1, 0] >= max(graph.weight[0, 0, 0], graph.weight[1, 1, 0])


def test_parallel_half_spaces_cost_what_the_farther_one_costs():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 0.0], [3.0, 0.0]])
    graph = check_weights(np.eye(2), X, np.array([0, 1, 1, 1]), np.array([-1.0, 0.3]))
    singles = np.diag(graph.weight[:, :, 0])
    np.testing.assert_allclose(graph.weight[:, :, 0], np.maximum(singles[:, None], singles), rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_pair_weights_survive_duplicates_and_a_singular_metric(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(8, 3)).astype(float)
    g = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    M = g.T @ g
    y = np.array([0, 1, 0, 1, 0, 1, 1, 0])
    x = rng.integers(-2, 3, size=3) / 2
    graph, _ = graph_of(X, y, x, M)
    assert not np.isnan(graph.weight).any()
    assert np.all(graph.weight >= 0)


@pytest.mark.parametrize(
    "multipliers",
    [[np.inf, 0.0], [np.inf, np.inf], [np.nan, 1.0], [1e300, 1e300], [0.0, 0.0]],
    ids=["one infinite", "both infinite", "not a number", "overflow", "nothing"],
)
def test_multipliers_that_overflow_prove_nothing(multipliers):
    """A bound that is not a number must not be taken for a large one."""
    far = np.array([[1e200, 0.0], [-1e200, 1.0]])
    local = HalfSpaces(
        far, np.zeros((1, 2)), np.array([4.0, 2.0]), np.array([4.0, 2.0]), np.zeros(1), np.zeros(2), np.zeros(1), 2.0
    )
    graph = SimpleNamespace(rest=np.inf, weight=np.zeros((2, 2, 1)), classes=np.ones(2, dtype=np.intp))
    search = BranchAndBound(local, graph, [], np.inf)
    assert 0 <= search.dual_bound([(0, 2), (1, 2)], np.array(multipliers)) < 1e-180  # far below the truth
    one = search.dual_bound([(0, 2)], np.array([1e-200]))
    assert one == pytest.approx(2e-200, rel=1e-9)  # n / 2 over the length of the normal


@pytest.mark.parametrize("norm", [2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(6))
def test_a_search_that_outgrows_its_room_finds_the_same(monkeypatch, seed, norm):
    """The compiled loops do not look where they write: nodes that do not fit would be lost, or worse."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 3
    X = rng.normal(size=(40, 4)) + 0.5 * y[:, None]
    knn, threat = MahalanobisKNN(7).fit(X, y), ThreatModel(norm=norm)
    points, triplets = point_set(knn, X[:2] + 0.05, threat), triplets_of(knn, threat)
    lower = knn.certify(X[:2] + 0.05, threat=threat).lower
    found = []
    for room in (4096, 1):
        monkeypatch.setattr("arml_core.certificates.branch.FIRST_ROOM", room)
        for member in range(2):
            search = PointSearch(triplets, points, member, lambda *_: None, float(lower[member]))
            search.run(60.0, max_nodes=300)
            found.append(search.lower)
    assert found[:2] == found[2:]


def test_more_ways_to_flip_than_there_was_room_for(monkeypatch):
    """Every class and every number of positives inside is a way of its own."""
    monkeypatch.setattr("arml_core.certificates.branch.FIRST_ROOM", 1)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 12
    X = rng.normal(size=(120, 3)) + y[:, None]
    found = MahalanobisKNN(9).fit(X, y).certify(X[:2], method="search", budget=0.5)
    votes = MahalanobisKNN(9).fit(X, y).certify(X[:2])
    assert (found.lower >= votes.lower).all()
    assert (found.lower <= found.upper).all()


def test_what_all_but_contradicts_itself_is_not_called_impossible():
    """Two half-spaces that look away from each other meet far out: what looks like a contradiction is none."""
    negative_h, nothing = np.array([[1.0, 0.0], [-1.0, 1e-7]]), np.zeros((1, 2))
    local = HalfSpaces(
        negative_h, nothing, np.full(2, 2.0), np.full(2, 2.0), np.zeros(1), np.zeros(2), np.zeros(1), 2.0
    )
    pairs, front, back = np.zeros((relaxation_kernels.MOST_PAIRS, 2), dtype=np.int16), np.empty(2), np.empty(3)
    for settled in (1e9, np.inf):
        both = np.arange(2), np.array([2])
        space, multipliers = local.space(np.zeros(1, dtype=np.intp)), np.zeros(relaxation_kernels.MOST_PAIRS)
        _, lower, _ = relaxation_kernels.relax(space, *both, settled, pairs, 0, multipliers, front, back)
        assert lower <= 2e7 * (1 + 1e-6)  # (1, 2e7) is in both


def on_a_line(places, classes, k):
    """Rows on a line in three dimensions; the other two change nothing."""
    X = np.zeros((len(places), 3))
    X[:, 0] = places
    return MahalanobisKNN(k).fit(X, np.array(classes))


def test_rows_of_other_classes_hold_each_other_back():
    """Two of five neighbours agree; for more of class 1 to come in, those of classes 2 and 3 have to go out."""
    places, classes = [0.1, -0.1, 0.2, -0.2, 0.3, 2.0, 2.4], [0, 0, 1, 2, 3, 1, 1]
    knn = on_a_line(places, classes, 5)
    x = np.zeros((1, 3))
    found = knn.certify(x, method="search", budget=20.0)
    moves = np.linspace(-3, 3, 60_001)
    flips = knn.predict(np.column_stack([moves, 0 * moves, 0 * moves])) != knn.predict(x)[0]
    truth = np.abs(moves[flips]).min()
    assert truth > 0.5
    assert 0 < knn.certify(x, method="votes").lower[0] <= truth
    assert found.lower[0] == pytest.approx(truth, abs=1e-4)
    assert found.lower[0] <= truth


def test_a_verdict_at_radius_0_is_a_radius_above_0():
    knn = on_a_line([0.1, -0.1, 0.2, -0.2, 0.3, 2.0, 2.4, 3.0, 3.2, 3.4], [0, 0, 1, 2, 3, 1, 1, 0, 0, 0], 5)
    found = knn.certify(np.zeros((1, 3)), method="search", at=[0.0], budget=20.0)
    assert found.lower[0] > 0


def test_with_every_positive_inside_no_negative_may_be_left_out(monkeypatch):
    """What holds a negative back then are other negatives: a list without all of them proves nothing."""
    knn = on_a_line([0.1, -0.1, 0.2, -0.2, 0.3, 2.0, 2.4], [3, 3, 1, 2, 0, 1, 1], 5)
    x = np.zeros((1, 3))
    moves = np.linspace(-3, 3, 60_001)
    truth_here = np.abs(moves[knn.predict(np.column_stack([moves, 0 * moves, 0 * moves])) != 3]).min()
    for most in (1, 2, 3, 4):
        monkeypatch.setattr(search, "MOST_NEGATIVES", most)
        assert without_attack(knn, x[0], ThreatModel())[0] <= truth_here


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(10))
def test_many_classes_on_a_line(seed, norm):
    """Every tie and every order of up to six classes, against the truth on a fine grid."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(8, 14)), int(rng.integers(3, 7))
    places, classes = np.round(rng.normal(size=n), 1), rng.integers(0, n_classes, n)
    knn = on_a_line(places, classes, int(rng.integers(2, 7)))
    x = np.zeros((1, 3))
    found = knn.certify(x, method="search", threat=ThreatModel(norm), budget=5.0)
    moves = np.arange(-6000, 6001) / 1000.0  # changes of order lie at multiples of 0.05
    between = np.concatenate([moves, moves + 0.0005])
    flips = knn.predict(np.column_stack([between, 0 * between, 0 * between])) != knn.predict(x)[0]
    truth = np.abs(between[flips]).min(initial=np.inf)
    assert found.lower[0] <= truth + 1e-9
    if np.isfinite(truth):
        assert found.lower[0] >= truth - 0.001
