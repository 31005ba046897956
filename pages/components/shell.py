"""The navigation, and the way into it for a link that opens a page directly."""

from __future__ import annotations

import streamlit as st

OPENED = "shell_opened"
PAGES = (("start", "Start"), ("playground", "Playground"))


def navigation() -> st.Page:
    """All pages, along the top; the first is the default."""
    st.session_state[OPENED] = True
    pages = [st.Page(f"pages/{name}.py", title=title, default=name == PAGES[0][0]) for name, title in PAGES]
    return st.navigation(pages, position="top")


def narrow_margins() -> None:
    """Give the room beside the page to the pictures."""
    st.html(
        "<style>[data-testid=stMainBlockContainer] {padding-left: clamp(1rem, 2.5vw, 3rem); "
        "padding-right: clamp(1rem, 2.5vw, 3rem);}</style>"
    )


def require_shell() -> None:
    """Run the page inside the navigation.

    Until `st.navigation` has been called once in a server's life, Streamlit takes the folder `pages/` for its older
    kind of app and runs a directly opened page alone, without page settings. Declaring the navigation ends that.
    """
    if OPENED not in st.session_state:
        navigation()
        st.rerun()
