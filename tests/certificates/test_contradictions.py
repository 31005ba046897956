"""A proved radius above a perturbation that flips is an error that says so, and never a result that looks sound."""

import numpy as np
import pytest

from arml_core import ContradictionError, MahalanobisKNN, ThreatModel, knn
from arml_core.certificates import exact, search
from arml_core.certificates.branch import BranchAndBound


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 4)) + 2.0 * y[:, None], y


def overstated(monkeypatch, where, name, factor):
    """What the function `name` of a module or class returns, times `factor`."""
    honest = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *args, **options: factor * honest(*args, **options))


def certify(rows, method, k, **options):
    X, y = rows
    wrong_first = np.concatenate([[1 - y[0]], y[1:8]])  # the first one has nothing to certify, and keeps its number
    return MahalanobisKNN(k).fit(X, y).certify(X[:8], wrong_first, method=method, budget=5.0, **options)


def test_votes_above_the_attack_of_a_search(rows, monkeypatch):
    sides = certify(rows, "search", 3)
    false = 1.5 * certify(rows, "votes", 3).lower
    first = int(np.flatnonzero(false > sides.upper)[0])
    assert not sides.correct[0]
    overstated(monkeypatch, knn, "triplet_bound", 1.5)
    with pytest.raises(ContradictionError, match=rf"^point {first}: .* {false[first]:.17g} .*report this as a bug"):
        certify(rows, "search", 3)


def test_branch_and_bound_above_the_attack_of_a_search(rows, monkeypatch):
    honest = BranchAndBound.lower.fget
    monkeypatch.setattr(BranchAndBound, "lower", property(lambda self: 1.5 * honest(self)))
    with pytest.raises(ContradictionError, match=r"^point 1: "):
        certify(rows, "search", 3)


def test_what_is_not_listed_above_the_attack_of_a_search(rows, monkeypatch):
    """No negative seems to be near enough to be listed, so the bound of those that are not is what is proved."""
    honest = search.Screening.candidates

    def far(self, *args, **options):
        found = honest(self, *args, **options)
        found.bound[:], found.rest[:] = 1e3, 1e3
        return found

    monkeypatch.setattr(search.Screening, "candidates", far)
    with pytest.raises(ContradictionError, match=r"^point 1: .* 1000"):
        certify(rows, "search", 3)


@pytest.mark.parametrize("box", [None, (-9.0, 9.0)])
@pytest.mark.parametrize("frozen", [[0, 1], [0, 1, 2]])
def test_lines_and_regions_above_what_was_seen_to_flip(rows, monkeypatch, frozen, box):
    """With two features the lines are said to be far, with one the regions: nothing is found, up to the limit."""
    threat = ThreatModel(frozen=frozen, box=box)
    assert np.isfinite(certify(rows, "search", 3, threat=threat).upper[1:]).any()
    overstated(monkeypatch, search.PointSearch, "_prove", 1.5)
    with pytest.raises(ContradictionError, match=r"^point \d: "):
        certify(rows, "search", 3, threat=threat)


def test_a_dual_bound_above_the_point_of_the_exact_radius(rows, monkeypatch):
    overstated(monkeypatch, exact._GroupSearch, "_dual_bounds", 1 + 1e-8)
    with pytest.raises(ContradictionError, match=r"^point 1: "):
        certify(rows, "exact", 1)


def test_what_rounding_may_do_is_cut_off(rows, monkeypatch):
    honest = certify(rows, "exact", 1)
    overstated(monkeypatch, exact._GroupSearch, "_dual_bounds", (honest.upper[1:] / honest.lower[1:]).max() + 1e-11)
    found = certify(rows, "exact", 1)
    assert (found.lower == found.upper)[found.correct].any()
    assert (found.lower <= found.upper).all()
    assert found.exact.all()
