"""What one more half-space proves beside those that bind, and what a node decides with it."""

from fractions import Fraction

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates import relaxation_kernels as kernels
from arml_core.certificates.branch import HalfSpaces
from tests import oracles
from tests.attacks.oracles import truth
from tests.certificates.test_branch import without_attack
from tests.more import seeds


def space_of(rng, n_negatives=4, n_positives=5, d=3):
    negative_h, positive_h = rng.normal(size=(n_negatives, d)), rng.normal(size=(n_positives, d))
    n, p = 1 + rng.random(n_negatives), rng.random(n_positives)
    none = np.zeros(n_negatives), np.zeros(n_positives)
    return HalfSpaces(negative_h, positive_h, n, n, p, *none, 2.0).space(np.arange(n_positives))


def least(space, pairs) -> float:
    j, i = np.array(pairs).T
    return oracles.least_norm(space.front_h[j] - space.rear_h[i], (space.n[j] - space.p[i]) / 2, 2.0)


def bound_with(space, pairs, multipliers, j, i) -> float:
    listed, merged = np.reshape(np.array(pairs, dtype=np.int16), (-1, 2)), np.empty(space.front_h.shape[1])
    so_far = kernels.merge(space, listed, len(pairs), np.asarray(multipliers, dtype=float), merged)
    return kernels.bound_with(space, so_far, merged, len(pairs), j, i)


@pytest.mark.parametrize("seed", seeds(60))
def test_no_weights_prove_more_than_all_half_spaces_together(seed):
    rng = np.random.default_rng(seed)
    space = space_of(rng)
    pairs = [(int(rng.integers(4)), int(4 + rng.integers(5))) for _ in range(int(rng.integers(0, 4)))]
    new = int(rng.integers(4)), int(4 + rng.integers(5))
    multipliers = rng.random(len(pairs)) * 10.0 ** rng.integers(-6, 7, len(pairs))
    assert bound_with(space, pairs, multipliers, *new) <= least(space, [*pairs, new]) * (1 + 1e-9)


@pytest.mark.parametrize("seed", seeds(30))
def test_beside_one_it_is_the_distance_to_both(seed):
    space = space_of(np.random.default_rng(100 + seed))
    one, other = (0, 4), (1, 5)
    alone, both = (least(space, some) for some in ([one], [one, other]))
    found = bound_with(space, [one], [0.7], *other)
    if both > alone * (1 + 1e-9):
        assert found == pytest.approx(both, rel=1e-8)
    else:
        assert found <= both
    assert bound_with(space, [], [], *one) == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("multipliers", [[np.nan], [np.inf], [-1.0], [0.0]])
def test_multipliers_that_prove_nothing_count_for_nothing(multipliers):
    space = space_of(np.random.default_rng(0))
    assert bound_with(space, [(0, 4)], multipliers, 1, 5) <= least(space, [(1, 5)])


@pytest.mark.parametrize("seed", seeds(16))
def test_what_is_settled_on_the_way_does_not_change_the_radius(seed):
    """Several classes, K = 5 and 6: the loop inside a box, which settles nothing on the way, finds the same."""
    rng = np.random.default_rng(400 + seed)
    y, X, x = np.arange(30) % (2 + seed % 3), rng.normal(size=(30, 4)), 0.3 * rng.normal(size=4)
    knn = MahalanobisKNN(5 + seed % 2).fit(X, y)
    found = without_attack(knn, x, ThreatModel())[0]
    slow = without_attack(knn, x, ThreatModel(box=(-1e3, 1e3)))[0]  # no upper side: the box is kept, and its own loop
    assert found == pytest.approx(slow, rel=1e-6)


@pytest.mark.parametrize("above", [1.02, 1.2])
@pytest.mark.parametrize("seed", seeds(16))
def test_only_what_costs_as_much_as_the_upper_side_is_settled(seed, above):
    """With an upper side that is too large, what is decided a little below it would show as a bound above the truth."""
    rng = np.random.default_rng(500 + seed)
    k, y, X, x = 3 + seed % 3, np.arange(12) % (2 + seed % 2), rng.normal(size=(12, 4)), 0.5 * rng.normal(size=4)
    knn = MahalanobisKNN(k).fit(X, y)
    real = truth(np.eye(4), X, y, x, int(knn.predict(x[None])[0]), k, oracles.Threat(2)).closed
    found = without_attack(knn, x, ThreatModel(), upper=above * real)[0]
    assert found == pytest.approx(real, rel=1e-6)


@pytest.mark.parametrize("seed", seeds(40))
def test_normals_may_be_off_by_their_slack(seed):
    """The worst they can be: all of them longer in the direction of the move that enters every half-space."""
    rng = np.random.default_rng(200 + seed)
    space = space_of(rng)
    pairs, new = [(0, 4), (2, 6)][: seed % 3], (1, 5)
    j, i = np.array([*pairs, new]).T
    normals, offsets = space.front_h[j] - space.rear_h[i], (space.n[j] - space.p[i]) / 2
    move = np.linalg.lstsq(normals, offsets)[0]
    real = oracles.least_norm(normals + 0.3 * move / np.linalg.norm(move), offsets, 2.0)
    loose = space._replace(front_slack=space.front_slack + 0.1, rear_slack=space.rear_slack + 0.2)
    assert bound_with(loose, pairs, rng.random(len(pairs)), *new) <= real * (1 + 1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_normals_that_all_but_cancel(seed):
    """What is left of two opposite ones has lost its digits; the truth comes from fractions."""
    rng = np.random.default_rng(300 + seed)
    space = space_of(rng, 2, 2)
    v, w = rng.normal(size=(2, 3))
    space = space._replace(front_h=np.stack([v, 1e-12 * w - v]), rear_h=np.zeros((4, 3)))
    pairs = (0, 2), (1, 3)
    normals = [[Fraction(entry) for entry in space.front_h[j].tolist()] for j, _ in pairs]
    a, b = (Fraction(float(space.n[j]) - float(space.p[i])) / 2 for j, i in pairs)
    aa, ab, bb = (sum(s * t for s, t in zip(normals[j], normals[k], strict=True)) for j, k in ((0, 0), (0, 1), (1, 1)))
    square = (a * a * bb - 2 * a * b * ab + b * b * aa) / (aa * bb - ab * ab)
    found = bound_with(space, pairs[:1], [1.0], *pairs[1])
    assert found > 0
    assert Fraction(found) ** 2 <= square
