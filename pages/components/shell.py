"""The navigation, and the way into it for a link that opens a page directly."""

from __future__ import annotations

import gc

import streamlit as st

from arml_core.jobs import upload_lifetime
from arml_core.jobs.capacity import Limits

from .markdown import escaped
from .page_styles import HEADING, page_css
from .theme import current_style

APP = "ARML Explorer"
OPENED, PAGE = "shell_opened", "shell_page"
PAGES = (
    ("start", "Start"),
    ("playground", "Playground"),
    ("train", "Train"),
    ("compare", "Compare"),
    ("certify", "Certify"),
    ("inspect", "Inspect"),
    ("paper", "Paper"),
)


def navigation() -> st.Page:
    """All pages, along the top; the first is the default."""
    st.session_state[OPENED] = True
    pages = [st.Page(f"pages/{name}.py", title=title, default=name == PAGES[0][0]) for name, title in PAGES]
    return st.navigation(pages, position="top")


def tab_title(page: st.Page) -> str:
    """What the browser's tab and its bookmarks call a page."""
    return APP if page.title == PAGES[0][1] else f"{page.title} – {APP}"


@st.cache_resource(show_spinner=False)
def spare_imports_from_collection() -> None:
    """Take everything imported so far out of garbage collection, once per server.

    Streamlit collects after every run of a script. With torch, pandas and plotly loaded that is a fifth of a second
    of looking at objects that live as long as the server; without them it is a few milliseconds.
    """
    gc.collect()
    gc.freeze()


def style_page() -> None:
    """Send the rules that Streamlit's theme has no words for."""
    st.html(f"<style>{page_css(current_style())}</style>")


def enter_page(page: str) -> bool:
    """Run the page inside the navigation; true if the visitor was on this page already.

    Until `st.navigation` has been called once in a server's life, Streamlit takes the folder `pages/` for its older
    kind of app and runs a directly opened page alone, without page settings. Declaring the navigation ends that.
    """
    if OPENED not in st.session_state:
        navigation()
        st.rerun()
    _refuse_bad_settings()
    if page != PAGES[0][0]:  # the first has a heading for everybody
        st.html(f'<h1 class="{HEADING}">{dict(PAGES)[page]}</h1>')
    stayed = st.session_state.get(PAGE) == page
    st.session_state[PAGE] = page
    return stayed


def _refuse_bad_settings() -> None:
    """Say what is wrong with the environment before a page, or the worker it starts, stumbles over it."""
    try:
        Limits.default()
        upload_lifetime()
    except ValueError as reason:
        st.error(escaped(f"{reason}. Set it right, or unset it, and start the app again."))
        st.stop()
