"""The job store of this server."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import Store


@st.cache_resource(show_spinner=False)
def open_store() -> Store:
    """The one open job store of this server."""
    return Store()
