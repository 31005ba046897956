"""'Copy Python' gives lines that run and print the numbers on the page."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace

import pytest

from pages.components.plane_panel import panel_of, points_of
from pages.components.playground.edits import add_point
from pages.components.playground.snippet import python_lines
from pages.components.playground.view import DEFAULT, PlaygroundView

VIEWS = {
    "default": DEFAULT,
    "place": replace(DEFAULT, row=None, at=(0.2, 0.3), methods=("euclidean", "lfda")),
    "hand": replace(DEFAULT, methods=("hand", "arml"), epoch=0),
    "epoch": replace(DEFAULT, methods=("euclidean", "arml"), epoch=200),
    "edited": replace(add_point(DEFAULT, (0.0, 1.0), 1), methods=("euclidean", "nca")),
    "k and norm": PlaygroundView(data="moons", n=20, row=3, k=3, norm="linf", methods=("euclidean", "lfda")),
    "prototypes": replace(DEFAULT, methods=("euclidean", "robust_prototypes"), k=3, prototypes=2),
    "prototypes at a place": PlaygroundView(
        data="moons", row=None, at=(0.2, 0.3), norm="linf", methods=("nca", "robust_prototypes"), target=0.3
    ),
    "prototypes at the start": replace(DEFAULT, methods=("euclidean", "robust_prototypes"), prototype_epoch=0),
    "prototypes on their way": replace(
        add_point(DEFAULT, (0.0, 1.0), 3), methods=("robust_prototypes", "robust_prototypes"), prototype_epoch=100
    ),
    "noise": PlaygroundView(data="blobs", n=12, noise=0.5, seed=4, row=3, k=2, methods=("euclidean", "lfda")),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_lines_run_and_print_the_pages_numbers(name: str) -> None:
    view = VIEWS[name]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(python_lines(view), {})
    lines = printed.getvalue().splitlines()
    points = points_of(view)
    for line, method in zip(lines, dict.fromkeys(view.methods), strict=True):
        panel = panel_of(method, view, points)
        title, answer, lower, upper, _ = line.rsplit(" ", 4)
        assert (title, int(answer)) == (panel.title, panel.probe.answer)
        if panel.probe.exact:
            assert float(lower) == pytest.approx(panel.probe.lower, rel=1e-5, abs=1e-9)
        assert float(lower) <= panel.probe.upper * (1 + 1e-6)
        assert panel.probe.lower <= float(upper) * (1 + 1e-6)
