"""The colours of both themes can be told apart, by WCAG's numbers for text and for controls."""

from __future__ import annotations

import tomllib

import pytest

from tests.figures.contrast import contrast

from .app import ROOT

TEXT, CONTROL = 4.5, 3.0
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_and_controls_have_enough_contrast(name: str) -> None:
    theme = THEMES[name]
    assert contrast("#FFFFFF", theme["primaryColor"]) >= TEXT  # primary buttons and chips: Streamlit writes in white
    for ground in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        assert contrast(theme["primaryColor"], ground) >= CONTROL
        assert contrast(theme["textColor"], ground) >= TEXT
        assert contrast(theme["linkColor"], ground) >= TEXT
