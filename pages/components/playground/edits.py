"""Adding, moving and deleting points: from one view to the next, or a sentence why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..plane_panel import MOST_CLASSES, Point, Points, points_of
from .view import FARTHEST, MOST_POINTS, PlaygroundView, rounded

TOO_FEW = "Keep at least three points and two classes: a classifier needs something to tell apart."


def as_tuples(points: Points) -> tuple[Point, ...]:
    return tuple(
        (rounded(x), rounded(y), int(c)) for (x, y), c in zip(points.X.tolist(), points.y.tolist(), strict=True)
    )


def add_point(view: PlaygroundView, place: tuple[float, float], code: int) -> PlaygroundView:
    """The view with one more point, which is then the chosen one."""
    old = as_tuples(points_of(view))
    if len(old) >= MOST_POINTS:
        raise ValueError(f"The playground holds at most {MOST_POINTS} points; delete one first.")
    return with_points(view, (*old, (rounded(place[0]), rounded(place[1]), code)), chosen=len(old))


def move_point(view: PlaygroundView, row: int, place: tuple[float, float]) -> PlaygroundView:
    """The view with training row `row` at another place."""
    old = list(as_tuples(points_of(view)))
    _check_row(row, len(old))
    old[row] = (rounded(place[0]), rounded(place[1]), old[row][2])
    return with_points(view, tuple(old), chosen=row)


def delete_point(view: PlaygroundView, row: int) -> PlaygroundView:
    """The view without training row `row`."""
    old = as_tuples(points_of(view))
    _check_row(row, len(old))
    chosen = view.row
    if chosen is not None:
        chosen = max(0, chosen - 1) if row <= chosen else chosen
    return with_points(view, old[:row] + old[row + 1 :], chosen)


def _check_row(row: int, n_points: int) -> None:
    """A click may be about a picture that has changed meanwhile."""
    if not 0 <= row < n_points:
        raise ValueError(f"There is no point {row} any more: the points are numbered from 0 to {n_points - 1}.")


def with_points(view: PlaygroundView, points: tuple[Point, ...], chosen: int | None) -> PlaygroundView:
    """The view on other points, checked."""
    if len(points) > MOST_POINTS:
        raise ValueError(f"The playground holds at most {MOST_POINTS} points; this would be {len(points)}.")
    if len(points) < 3 or len({c for _, _, c in points}) < 2:
        raise ValueError(TOO_FEW)
    if any(not 0 <= c < MOST_CLASSES for _, _, c in points):
        raise ValueError(f"Classes are numbered from 0 to {MOST_CLASSES - 1}.")
    if any(not np.isfinite((x, y)).all() or max(abs(x), abs(y)) > FARTHEST for x, y, _ in points):
        raise ValueError(f"Coordinates must be numbers between {-FARTHEST:g} and {FARTHEST:g}.")
    at = view.at if chosen is None else None
    return fitted(replace(view, points=points, row=chosen, at=at))


def fitted(view: PlaygroundView) -> PlaygroundView:
    """The view with K and the chosen row made to fit the number of points."""
    n = len(view.points) if view.points is not None else len(points_of(view).y)
    row = view.row if view.row is None else min(view.row, n - 1)
    if row is None and view.at is None:
        row = 0
    return replace(view, k=min(view.k, most_neighbours(n)), row=row)


def fitting_notices(view: PlaygroundView) -> list[str]:
    """A sentence for each thing that :func:`fitted` changes."""
    fit, n = fitted(view), len(points_of(view).y)
    words = []
    if view.row is not None and fit.row != view.row:
        words.append(
            f"There is no row {view.row}: there are {n} points, numbered from 0. Row {fit.row} is shown instead."
        )
    if fit.k != view.k:
        words.append(f"K = {view.k} is more than the {fit.k} points that can vote; K = {fit.k} is shown instead.")
    return words


def most_neighbours(n_points: int) -> int:
    """The largest K when one of the points may be left out."""
    return max(1, min(15, n_points - 1))
