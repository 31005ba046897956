"""Who looks at the page, and the client for their background work.

On localhost one person owns everything. In shared mode a visitor gets an unguessable key with their first job or
upload; it stands in the address, so that a reload finds their work again, and never in a copied link.
"""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import Client, is_shared, new_key

from .store import open_store

PARAMETER = "key"
_KEY, _OWN_KEY = "visitor_key", "visitor_own_key"
PRIVATE = "This address is private: whoever has it sees your uploads. “Copy link” leaves the key out."
GIVEN = (
    "This address is private: whoever has it sees what you upload here. If somebody gave it to you, take “key=…” out "
    "of it to work under a key of your own. “Copy link” leaves the key out."
)
"""Said about a key that came with the address: it may be one's own from an earlier visit, or the sender's."""


def visitor_key() -> str | None:
    """The key of this visitor, None as long as they have none or need none."""
    if not is_shared():
        return None
    offered = st.query_params.get(PARAMETER)
    if offered is not None and 16 <= len(offered) <= 64:
        st.session_state[_KEY] = offered
    key: str | None = st.session_state.get(_KEY)
    return key


def read_client() -> Client:
    """A client that looks: what this visitor may see."""
    return Client(open_store(), owner=visitor_key())


def write_client() -> Client:
    """A client that asks for work or uploads; in shared mode the visitor gets a key now."""
    if is_shared() and visitor_key() is None:
        st.session_state[_KEY] = st.session_state[_OWN_KEY] = new_key()
    return read_client()


def with_key(query: dict[str, str]) -> dict[str, str]:
    """Address parameters as they stand in this visitor's own address bar."""
    key = visitor_key()
    return query if key is None else {**query, PARAMETER: key}


def without_key(query: dict[str, str]) -> dict[str, str]:
    """Address parameters that may be given to others."""
    return {name: text for name, text in query.items() if name != PARAMETER}


def show_private_notice() -> None:
    """Say that the address is private, where it is, and to whom it may be known already."""
    key = visitor_key()
    if key is not None:
        st.caption(f"🔒 {PRIVATE if key == st.session_state.get(_OWN_KEY) else GIVEN}")
