"""What one more half-space proves beside those that bind, and what a node decides with it."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates import relaxation_kernels as kernels
from arml_core.certificates.branch import HalfSpaces
from tests import oracles
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
