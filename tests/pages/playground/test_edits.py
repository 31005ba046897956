"""Adding, moving and deleting points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages.components.plane_panel import points_of
from pages.components.playground.edits import add_point, as_tuples, delete_point, fitted, move_point, with_points
from pages.components.playground.view import DEFAULT, PlaygroundView


def test_a_new_point_is_the_chosen_one() -> None:
    view = add_point(DEFAULT, (0.1234, -1.0), 1)
    assert view.points[-1] == (0.123, -1.0, 1)
    assert view.row == 7
    assert len(points_of(view).y) == 8


def test_an_edited_point_takes_the_place_of_a_chosen_place() -> None:
    view = move_point(replace(DEFAULT, row=None, at=(0.0, 0.0)), 4, (1.0, 0.0))
    assert (view.row, view.at) == (4, None)


def test_a_new_class_gets_a_name_and_a_shape() -> None:
    view = add_point(DEFAULT, (0.0, 0.0), 2)
    assert points_of(view).class_names == ("triangle", "square", "circle")


def test_a_moved_point_keeps_its_class() -> None:
    view = move_point(DEFAULT, 4, (1.0, 0.0))
    assert view.points[4] == (1.0, 0.0, 1)
    assert view.points[:4] == as_tuples(points_of(DEFAULT))[:4]


@pytest.mark.parametrize(("deleted", "chosen"), [(0, 5), (6, 5), (5, 5)])
def test_deleting_keeps_a_chosen_row_that_exists(deleted: int, chosen: int) -> None:
    view = delete_point(replace(DEFAULT, row=6), deleted)
    assert len(view.points) == 6
    assert view.row == chosen


@pytest.mark.parametrize("row", [-1, 7, 99])
def test_a_point_that_is_not_there_is_neither_moved_nor_deleted(row: int) -> None:
    with pytest.raises(ValueError, match=f"no point {row} any more: the points are numbered from 0 to 6"):
        move_point(DEFAULT, row, (1.0, 0.0))
    with pytest.raises(ValueError, match=f"no point {row} any more"):
        delete_point(DEFAULT, row)


def test_the_last_points_cannot_be_deleted() -> None:
    three = with_points(DEFAULT, ((0.0, 0.0, 0), (1.0, 0.0, 1), (2.0, 0.0, 1)), 0)
    with pytest.raises(ValueError, match="Keep at least three points and two classes"):
        delete_point(three, 0)


def test_the_last_point_of_a_class_cannot_be_deleted() -> None:
    four = with_points(DEFAULT, ((0.0, 0.0, 0), (1.0, 0.0, 1), (2.0, 0.0, 1), (3.0, 0.0, 1)), 0)
    with pytest.raises(ValueError, match="two classes"):
        delete_point(four, 0)


def test_there_is_room_for_200_points() -> None:
    full = PlaygroundView(data="moons", n=200, row=0)
    with pytest.raises(ValueError, match="at most 200 points"):
        add_point(full, (0.0, 0.0), 0)


def test_coordinates_must_be_finite_and_near() -> None:
    rows = as_tuples(points_of(DEFAULT))
    with pytest.raises(ValueError, match="between -1000 and 1000"):
        with_points(DEFAULT, (*rows, (float("nan"), 0.0, 0)), 0)


def test_k_and_the_chosen_row_are_made_to_fit() -> None:
    few = with_points(replace(DEFAULT, k=6), ((0.0, 0.0, 0), (1.0, 0.0, 1), (2.0, 0.0, 1)), 6)
    assert (few.k, few.row) == (2, 2)
    assert fitted(replace(DEFAULT, k=15)).k == 6
