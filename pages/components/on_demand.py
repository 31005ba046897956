"""Parts of a page that cost nothing until somebody opens them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


def on_demand(label: str, key: str, content: Callable[[], object]) -> None:
    """An expander whose content is computed and sent only while it is open."""
    box = st.expander(label, key=key, on_change="rerun")
    if box.open:
        with box:
            content()
