"""Projection onto "these ahead of those" against programs that prove their own answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core.attacks.projection import Neighbourhood

from .oracles import least, least_point, normalised, slack
from .problems import NORMS


def constraints(place: Neighbourhood, orders, margin: float = 0.0):
    """Each of `front` nearer than each of `back`, by `margin`: keys are d - 2hᵀδ."""
    rows, offsets = [], []
    for front, back in orders:
        for a in front:
            for b in back:
                rows.append(2 * (place.h[a] - place.h[b]))
                offsets.append(place.d[a] - place.d[b] + margin)
    return normalised(np.array(rows), np.array(offsets))


@st.composite
def situations(draw, boxed: bool):
    """Points on or off a grid, disjoint or overlapping orders; d is not always a distance, so anything can happen."""
    n, width = draw(st.integers(2, 10)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    whole = draw(st.booleans())
    points = rng.integers(-2, 3, size=(n, width)).astype(float) if whole else rng.normal(size=(n, width))
    x = rng.integers(-2, 3, size=width) / 2 if whole else rng.normal(size=width)
    h, d = points - x, np.sum((points - x) ** 2, axis=1)
    if draw(st.integers(0, 3)) == 0:  # a metric that sees less, or offsets that contradict each other
        h[:, 0] = 0.0
    room = None
    if boxed:
        room = rng.integers(0, 3, size=width) / 2, rng.integers(0, 3, size=width) / 2
    orders = []
    for _ in range(draw(st.integers(1, 2))):
        shuffled = rng.permutation(n)
        cut = int(rng.integers(1, n))
        orders.append((shuffled[:cut][:4], shuffled[cut:]))
    norm = draw(st.sampled_from(NORMS))
    place = Neighbourhood(h, d, np.zeros(n, dtype=np.intp), np.arange(n), np.arange(n), room, norm)
    return place, orders


def check(place: Neighbourhood, orders, margin: float) -> None:
    A, b = constraints(place, orders, margin)
    room = None if place.room is None else np.stack([-place.room[0], place.room[1]], axis=1)
    delta = place.project(orders, margin)
    loose = slack(A, b, np.zeros(len(A), dtype=bool), room)
    if loose < -1e-6:
        assert delta is None
        return
    if loose < -1e-9 or slack(A, b, np.ones(len(A), dtype=bool), room) < 1e-6:
        return  # on the edge of the impossible either answer is fine
    assert delta is not None
    scale = 1.0 + float(np.abs(b).max()) + float(np.abs(delta).max())
    B, c = constraints(place, orders)
    assert np.min(B @ delta - c) >= -1e-12 * scale, "what was asked for does not hold"
    if room is not None:
        assert np.all(delta >= room[:, 0] - 1e-9 * scale)
        assert np.all(delta <= room[:, 1] + 1e-9 * scale)
    smallest = least(B, c, place.norm, room)
    enough = least(A, b, place.norm, room)
    assert np.linalg.norm(delta, place.norm) == pytest.approx(place.size(delta))
    assert smallest - 1e-7 * scale <= place.size(delta) <= enough + 1e-7 * scale


@given(situations(boxed=False), st.sampled_from([1e-9, 1e-3]))
def test_projection_is_the_smallest_move(situation, margin):
    check(*situation, margin)


@given(situations(boxed=True), st.sampled_from([1e-9, 1e-3]))
def test_projection_is_the_smallest_move_inside_a_box(situation, margin):
    check(*situation, margin)


@pytest.mark.parametrize("norm", NORMS)
def test_contradicting_orders_have_no_projection(norm):
    h = np.array([[1.0, 0.0], [-1.0, 0.5]])
    place = Neighbourhood(h, np.array([1.0, 1.25]), np.zeros(2, dtype=np.intp), np.arange(2), np.arange(2), None, norm)
    first, second = np.array([0]), np.array([1])
    assert place.project([(first, second), (second, first)], 1e-3) is None


@pytest.mark.parametrize("norm", NORMS)
def test_a_box_in_the_way_has_no_projection(norm):
    h = np.array([[3.0, 0.0], [-1.0, 0.0]])  # the middle is 1 to the right; the box ends at 0.9
    room = np.array([5.0, 5.0]), np.array([0.9, 5.0])
    place = Neighbourhood(h, np.array([9.0, 1.0]), np.zeros(2, dtype=np.intp), np.arange(2), np.arange(2), room, norm)
    orders = [(np.array([0]), np.array([1]))]
    assert place.project(orders, 1e-9) is None
    free = Neighbourhood(h, np.array([9.0, 1.0]), np.zeros(2, dtype=np.intp), np.arange(2), np.arange(2), None, norm)
    assert free.size(free.project(orders, 1e-9)) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_nothing_larger_than_the_limit_is_returned(norm):
    rng = np.random.default_rng(3)
    h = rng.normal(size=(8, 3))
    place = Neighbourhood(h, np.sum(h**2, axis=1), np.zeros(8, dtype=np.intp), np.arange(8), np.arange(8), None, norm)
    orders = [(np.argsort(-place.d)[:1], np.argsort(-place.d)[1:])]
    size = place.size(place.project(orders, 1e-9))
    assert size > 0
    assert place.project(orders, 1e-9, limit=0.99 * size) is None
    assert place.size(place.project(orders, 1e-9, limit=1.01 * size)) == pytest.approx(size)


def test_the_oracle_finds_the_corner_of_a_box():
    """x ≤ 0.5, x + y ≥ 2: (0.5, 1.5) in ℓ2."""
    A, b = normalised(np.array([[1.0, 1.0]]), np.array([2.0]))
    z = least_point(A, b, 2.0, np.array([[-1.0, 0.5], [-9.0, 9.0]]))
    np.testing.assert_allclose(z, [0.5, 1.5])
