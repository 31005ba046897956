"""What is remembered is told apart by content, handed out as it is, and cannot be changed by accident."""

from dataclasses import dataclass

import numpy as np
import pytest

from pages.components.content_cache import cached_by_content


@dataclass(frozen=True)
class Picture:
    values: np.ndarray
    parts: tuple[np.ndarray, str]


def counted(most):
    calls = []

    @cached_by_content(most)
    def picture(x, k, name=None):
        calls.append(k)
        if k < 0:
            raise ValueError("no")
        return Picture(x * k, (x + k, "words"))

    return picture, calls


def test_equal_arrays_are_the_same_question():
    picture, calls = counted(8)
    first = picture(np.array([1.0, 2.0]), 3)
    assert picture(np.array([1.0, 2.0]), 3) is first
    assert calls == [3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((np.array([1.0, 2.0]), 3), (np.array([1.0, 2.5]), 3)),
        ((np.array([1.0, 2.0]), 3), (np.array([[1.0, 2.0]]), 3)),
        ((np.array([0.0]), 3), (np.array([0]), 3)),
        ((np.array([1.0]), 1), (np.array([1.0]), True)),
        ((np.array([1.0]), 1), (np.array([1.0]), 1.0)),
        ((np.array([1.0]), 1, None), (np.array([1.0]), 1, "none")),
    ],
    ids=["value", "shape", "type", "bool", "float", "name"],
)
def test_other_content_is_another_question(one, other):
    picture, calls = counted(8)
    assert picture(*one) is not picture(*other)
    assert len(calls) == 2


def test_the_least_used_is_forgotten_first_and_failures_at_once():
    picture, calls = counted(2)
    x = np.ones(2)
    picture(x, 1), picture(x, 2), picture(x, 1), picture(x, 3)
    picture(x, 1)
    assert calls == [1, 2, 3]
    picture(x, 2)
    assert calls == [1, 2, 3, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            picture(x, -1)
    assert calls[-2:] == [-1, -1]


def test_nobody_changes_what_everybody_sees():
    picture, _ = counted(2)
    found = picture(np.ones(2), 1)
    for array in (found.values, found.parts[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
