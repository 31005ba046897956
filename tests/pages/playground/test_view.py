"""A view survives the address, and nonsense in an address never does harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.plane_models import EPOCH_STEP
from pages.components.plane_panel import LAYERS
from pages.components.playground.lessons import LESSONS, base_view
from pages.components.playground.view import (
    DEFAULT,
    HIDEABLE,
    METHODS,
    NORMS,
    PRESETS,
    PlaygroundView,
    from_query,
    rounded,
    to_query,
)

pytestmark = pytest.mark.fuzz

coordinate = st.floats(-1000, 1000).map(rounded)
point = st.tuples(coordinate, coordinate, st.integers(0, 3))
points = st.lists(point, min_size=1, max_size=20).map(lambda found: ((0.0, 0.0, 0), (1.0, 1.0, 1), *found))
views = st.builds(
    PlaygroundView,
    data=st.sampled_from(PRESETS),
    n=st.integers(6, 200),
    noise=st.none() | st.floats(0, 1).map(rounded),
    seed=st.integers(0, 9999),
    points=st.none() | points,
    methods=st.lists(st.sampled_from(METHODS), min_size=2, max_size=4).map(tuple),
    k=st.integers(1, 15),
    norm=st.sampled_from(list(NORMS)),
    row=st.integers(0, 199),
    hand=st.tuples(st.floats(0.1, 5).map(rounded), st.floats(0.1, 5).map(rounded), st.floats(-90, 90).map(rounded)),
    epoch=st.integers(0, 100).map(lambda tens: tens * EPOCH_STEP),
    prototypes=st.just("auto") | st.integers(1, 20),
    target=st.just("auto") | st.floats(0.001, 1000).map(rounded),
    prototype_epoch=st.just("end") | st.integers(0, 1000),
    layers=st.sets(st.sampled_from(LAYERS)).map(lambda chosen: tuple(sorted(chosen))),
    hide=st.sets(st.sampled_from(HIDEABLE)).map(lambda chosen: tuple(sorted(chosen))),
)


@given(views)
def test_a_view_comes_back_from_its_address(view: PlaygroundView) -> None:
    assert from_query(to_query(view)) == (view, [])


@given(st.tuples(coordinate, coordinate))
def test_a_chosen_place_comes_back_from_its_address(place: tuple[float, float]) -> None:
    view = PlaygroundView(row=None, at=place)
    assert from_query(to_query(view)) == (view, [])


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("step", range(1, 6))
def test_a_lessons_step_needs_only_its_name(lesson: str, step: int) -> None:
    base = base_view(lesson, step)
    query = to_query(base, base)
    assert query == {"lesson": lesson, "step": str(step)}
    assert from_query(query, base) == (base, [])


def test_the_default_view_has_a_bare_address() -> None:
    assert to_query(DEFAULT) == {}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("k", "banana", "whole number from 1 to 15"),
        ("k", "0", "whole number from 1 to 15"),
        ("k", "999999999999999999999", "whole number from 1 to 15"),
        ("k", "²", "whole number from 1 to 15"),
        ("norm", "l7", "one of l1, l2, linf"),
        ("methods", "arml", "2 to 4 of euclidean"),
        ("methods", "arml~svm", "2 to 4 of euclidean"),
        ("at", "1_nan", "number from -1000 to 1000"),
        ("at", "1", "two numbers such as 0.5_1.2"),
        ("points", "1_2", "x1_x2_class"),
        ("points", "0_0_0~1_1_0~2_2_0", "at least two classes"),
        ("points", "0_0_0~1_1_9~2_2_0", "x1_x2_class"),
        ("hand", "1_2", "two scales and an angle such as 2_1_30"),
        ("prototypes", "0", "whole number from 1 to 20"),
        ("target", "0", "number from 0.001 to 1000"),
        ("prototype_epoch", "auto", "whole number from 0 to"),
        ("hide", "everything", "lesson, data"),
        ("data", "<script>", "one of seven_points"),
    ],
)
def test_nonsense_is_left_out_with_a_sentence(name: str, text: str, reason: str) -> None:
    view, notices = from_query({name: text})
    assert view == DEFAULT
    assert len(notices) == 1
    shown = notices[0].replace("\\", "")  # escaped, so that it is shown as it is
    assert f"{name}={text[:24]}" in shown
    assert reason in shown


def test_an_unknown_setting_is_named() -> None:
    assert from_query({"colour": "red"}) == (
        DEFAULT,
        ["The address has 'colour', which is not a setting here; it was left out."],
    )


@given(st.dictionaries(st.sampled_from([*to_query(PlaygroundView(points=((0, 0, 0),))), "k", "at", "hide"]), st.text()))
def test_no_text_in_the_address_raises(query: dict[str, str]) -> None:
    from_query(query)
