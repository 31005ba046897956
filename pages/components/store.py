"""The job store of this server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from arml_core.jobs import Store

PATIENCE_SECONDS = 5.0
"""How long a visitor waits for a store that another process writes to, before the page says so and goes on."""
WAITING = "Waiting for the job store: another process is writing to it …"


@st.cache_resource(show_spinner=False)
def open_store() -> Store:
    """The one open job store of this server."""
    return Store(patience=PATIENCE_SECONDS, waiting=_say_waiting)


@contextmanager
def _say_waiting() -> Iterator[None]:
    """A toast: it is seen wherever the page is scrolled to. Threads beside the pages have nobody to tell."""
    if get_script_run_ctx(suppress_warning=True) is not None:
        with suppress(StreamlitAPIException):  # where nothing may be drawn, the write still has to go on
            st.toast(WAITING, icon=":material/hourglass_top:", duration=int(PATIENCE_SECONDS))
    yield
