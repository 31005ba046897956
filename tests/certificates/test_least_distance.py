"""The smallest move in ℓ1 and ℓ∞: as short as a general solver finds it, and proved by its own multipliers."""

import numpy as np
import pytest

from arml_core.certificates import least_distance
from arml_core.certificates.least_distance import least_distance_by_highs, least_distance_by_program
from arml_core.certificates.program_kernels import ASTRAY, INFEASIBLE, OPTIMAL, least_move

NORMS = (1.0, np.inf)
KINDS = ("any", "whole", "repeated", "ordered", "coarse")


def program(rng: np.random.Generator, kind: str):
    """Rows, offsets and room: half of them with a box, some features that no row knows."""
    n, width = int(rng.integers(1, 13)), int(rng.choice([3, 5, 16, 64], p=[0.3, 0.3, 0.3, 0.1]))
    if kind == "any":
        normals, offsets = rng.normal(size=(n, width)), rng.normal(size=n) + 0.5
    elif kind == "whole":
        normals, offsets = rng.integers(-2, 3, size=(n, width)).astype(float), rng.integers(-2, 4, size=n).astype(float)
    elif kind == "repeated":  # also the other way round, and longer
        few = rng.normal(size=(max(1, n // 2), width))
        factor = rng.choice([1.0, -1.0, 2.0], size=(n, 1), p=[0.6, 0.1, 0.3])
        normals = np.vstack([few, few[rng.integers(0, len(few), n)] * factor])
        offsets = rng.normal(size=len(normals))
    elif kind == "ordered":  # "j ahead of i", as in a search
        front, back, x = rng.random((n, width)), rng.random((n, width)), rng.random(width)
        j, i = rng.integers(0, n, size=(2, 2 * n))
        normals, offsets = front[j] - back[i], (((front[j] - x) ** 2).sum(1) - ((back[i] - x) ** 2).sum(1)) / 2
    else:
        normals, offsets = np.round(rng.random((n, width)) * 4) / 4 - 0.5, rng.integers(-1, 3, size=n) / 2
    if rng.random() < 0.3:
        normals = normals * (rng.random(width) < 0.6)
    x = np.round(rng.random(width) * 2) / 2
    rooms = (None, None, (x, 1 - x), (np.zeros(width), np.full(width, np.inf)), tuple(rng.random((2, width)) * 2))
    return normals, offsets, rooms[rng.integers(len(rooms))]


def sides(room, width):
    return (np.full(width, np.inf),) * 2 if room is None else room


def walked(normals, offsets, norm, room, free=None):
    width = normals.shape[1]
    free = np.zeros(width, dtype=bool) if free is None else free
    return least_move(normals, offsets, norm, *sides(room, width), np.inf, free)


def owed(normals, offsets, multipliers, room, norm, size):
    """How much more than any δ of the size within the room gives, the merged constraint asks for."""
    merged = multipliers @ normals
    down, up = sides(room, normals.shape[1])
    reach = np.where(merged > 0, up, down)
    if norm == 1:  # the largest entries first
        best, left = 0.0, size
        for k in np.argsort(-np.abs(merged)):
            step = min(reach[k], left)
            best, left = best + abs(merged[k]) * step, left - step
            if left <= 0:
                break
        return multipliers @ offsets - best
    return multipliers @ offsets - np.abs(merged) @ np.minimum(reach, size)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_as_short_as_a_general_solver_finds_it(kind, norm):
    rng = np.random.default_rng(KINDS.index(kind))
    astray = 0
    for _ in range(200):
        normals, offsets, room = program(rng, kind)
        delta, multipliers, outcome = walked(normals, offsets, norm, room)
        expected, _, feasible = least_distance_by_highs(normals, offsets, norm, room)
        if outcome == ASTRAY:
            astray += 1
            continue
        assert (outcome == OPTIMAL) == feasible
        assert (multipliers >= 0).all()
        if feasible:
            size, best = np.linalg.norm(delta, norm), np.linalg.norm(expected, norm)
            assert size == pytest.approx(best, rel=1e-8, abs=1e-8)
            assert (normals @ delta >= offsets - 1e-8 * (1 + size)).all()
            down, up = sides(room, normals.shape[1])
            assert (delta <= up).all()
            assert (delta >= -down).all()
            if size > 0:  # nothing that is noticeably shorter meets the merged constraint
                assert owed(normals, offsets, multipliers, room, norm, size * (1 - 1e-6)) > 0
    assert astray <= 2


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_free_features_do_not_count(kind, norm):
    """As short as a general solver finds it, by what counts; it may go astray where free features do it all."""
    rng = np.random.default_rng(50 + KINDS.index(kind))
    seen = astray = 0
    for _ in range(150):
        normals, offsets, _ = program(rng, kind)
        width = normals.shape[1]
        free = np.arange(width) < rng.integers(1, width)
        room = tuple(np.where(free, side, np.inf) for side in 0.2 * rng.random((2, width)))
        delta, _, outcome = walked(normals, offsets, norm, room, free)
        expected, _, feasible = least_distance_by_highs(normals, offsets, norm, room, free)
        if outcome == ASTRAY:
            astray += bool(feasible and np.linalg.norm(expected[~free], norm) > 1e-9)
            continue
        assert (outcome == OPTIMAL) == feasible
        if feasible:
            size, best = (np.linalg.norm(found[~free], norm) for found in (delta, expected))
            seen += size > 0
            assert size == pytest.approx(best, rel=1e-8, abs=1e-8)
            assert (normals @ delta >= offsets - 1e-8 * (1 + size)).all()
            assert (delta <= room[1]).all()
            assert (delta >= -room[0]).all()
    assert seen > 25
    assert astray <= 10  # no single row needs a move, and all of them together do


@pytest.mark.parametrize("norm", NORMS)
def test_many_rows_and_features(norm):
    rng = np.random.default_rng(5)
    normals = rng.normal(size=(48, 300)) + 0.1
    offsets = rng.random(48) + 0.5
    delta, multipliers, feasible = least_distance_by_program(normals, offsets, norm)
    expected, _, _ = least_distance_by_highs(normals, offsets, norm)
    assert feasible
    assert np.count_nonzero(multipliers) > 10
    assert np.linalg.norm(delta, norm) == pytest.approx(np.linalg.norm(expected, norm), rel=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_multipliers_of_a_contradiction_prove_it(norm):
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(300):
        normals, offsets, room = program(rng, "repeated")
        _, multipliers, outcome = walked(normals, offsets, norm, room)
        if outcome == INFEASIBLE:
            seen += 1
            assert owed(normals, offsets, multipliers, room, norm, 1e6) > 0
    assert seen > 50


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1.0, 1e9, 1e120])
def test_the_scale_of_offsets_and_rows_does_not_matter(norm, scale):
    rng = np.random.default_rng(2)
    normals, offsets = rng.normal(size=(6, 9)), rng.random(6)
    delta, _, _ = least_distance_by_program(normals, offsets, norm)
    lengths = 10.0 ** rng.integers(-20, 20, size=6)
    scaled, _, feasible = least_distance_by_program(normals * lengths[:, None], offsets * lengths * scale, norm)
    assert feasible
    assert scaled / scale == pytest.approx(delta, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_named_edge_cases(norm):
    nothing_asked = least_distance_by_program(np.array([[1.0, 2.0]]), np.array([-1.0]), norm)
    assert (nothing_asked[0] == 0).all()
    assert nothing_asked[2]
    row_of_zeros = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert not least_distance_by_program(row_of_zeros, np.array([1.0, 1e-9]), norm)[2]
    assert least_distance_by_program(row_of_zeros, np.array([1.0, 0.0]), norm)[2]
    no_room = (np.zeros(2), np.zeros(2))
    assert not least_distance_by_program(np.array([[1.0, 2.0]]), np.array([1.0]), norm, no_room)[2]
    one_way = (np.zeros(2), np.array([0.25, 10.0]))
    delta, _, feasible = least_distance_by_program(np.array([[2.0, 1.0]]), np.array([1.0]), norm, one_way)
    assert feasible
    assert delta == pytest.approx([0.25, 0.5])  # all the room the cheap one has, the rest from the other


@pytest.mark.parametrize("norm", NORMS)
def test_views_and_whole_numbers_are_taken_too(norm):
    normals = np.array([[3, 1, 7], [1, 3, 7]])[:, :2]
    delta, _, feasible = least_distance_by_program(normals, np.array([4, 4]), norm)
    assert feasible
    assert normals @ delta == pytest.approx([4, 4])


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_beyond_the_limit_is_not_finished_and_what_is_within_is(norm):
    rng = np.random.default_rng(7)
    for _ in range(200):
        normals, offsets, room = program(rng, "ordered")
        delta, _, feasible = least_distance_by_program(normals, offsets, norm, room)
        size = np.linalg.norm(delta, norm)
        if not feasible or size == 0:
            continue
        within, _, found = least_distance_by_program(normals, offsets, norm, room, limit=size)
        assert found
        assert within == pytest.approx(delta)
        _, multipliers, found = least_distance_by_program(normals, offsets, norm, room, limit=0.9 * size)
        assert not found
        assert owed(normals, offsets, multipliers, room, norm, 0.9 * size) > 0


@pytest.mark.parametrize("norm", NORMS)
def test_a_program_that_leads_astray_is_left_to_the_general_solver(norm, monkeypatch):
    normals, offsets = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])
    expected, _, _ = least_distance_by_program(normals, offsets, norm)
    monkeypatch.setattr(least_distance, "least_move", lambda *_: (np.zeros(2), np.zeros(2), ASTRAY))
    found, multipliers, feasible = least_distance_by_program(normals, offsets, norm)
    assert feasible
    assert found == pytest.approx(expected)
    assert (multipliers > 0).any()
    assert not least_distance_by_program(normals, offsets, norm, limit=0.5)[2]
