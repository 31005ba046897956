"""What a file calls itself is a title and nothing else: no path, no formatting, no length without end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.certify.files import LONGEST_TITLE, clean_title
from pages.components.markdown import escaped


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("../../x.csv", "x.csv"),
        ("C:\\x", "x"),
        ("con", "con"),
        ("/etc/passwd", "passwd"),
        ("a" * 300, "a" * 80),
        ("", "A file"),
        ("../", "A file"),
        ("a\r\nSet-Cookie: b\u202e\x00.csv", "aSet-Cookie: b.csv"),
    ],
)
def test_names_that_would_be_something_else(name: str, title: str) -> None:
    assert clean_title(name) == title


@pytest.mark.fuzz
@given(st.text())
def test_every_name_becomes_a_title_that_formats_nothing(name: str) -> None:
    title = clean_title(name)
    assert 0 < len(title) <= LONGEST_TITLE
    assert title.isprintable()
    assert not set(title) & set("/\\")
    shown = escaped(title)
    for sign in "<>[]`*_$#":
        assert all(shown[i - 1] == "\\" for i, found in enumerate(shown) if found == sign)
