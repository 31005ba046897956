"""The theme the visitor sees, as colours for figures."""

from __future__ import annotations

import streamlit as st

from arml_core.figures import Style, style_for


def current_style() -> Style:
    """The figure colours that fit the visitor's light or dark theme."""
    return style_for(dark=st.context.theme.type == "dark")
