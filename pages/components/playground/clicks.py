"""What a click or drag in a picture does, by the tool that is chosen."""

from __future__ import annotations

import streamlit as st

from . import session
from .controls import NEW_CLASS, TOOL
from .edits import add_point, delete_point, move_point
from .picture_clicks import Hit
from .session import MOVING, REFUSED, forget_move


def handle(hit: Hit) -> None:
    """Apply the tool to the clicked place or training row; a refusal is shown above the pictures."""
    st.session_state.pop(REFUSED, None)
    session.touch()
    try:
        _apply(st.session_state.get(TOOL, "Certify"), hit)
    except ValueError as reason:
        st.session_state[REFUSED] = str(reason)


def _apply(tool: str, hit: Hit) -> None:
    view = session.current()
    if hit.dragged and hit.row is not None:
        if "tools" not in view.hide:
            session.update(**move_point(view, hit.row, hit.place).__dict__)
            forget_move()
    elif tool == "Add":
        session.update(**add_point(view, hit.place, st.session_state.get(NEW_CLASS, 0)).__dict__)
    elif tool == "Move":
        _pick_or_drop(hit)
    elif tool == "Delete":
        if hit.row is None:
            raise ValueError("Click on a training point to delete it.")
        session.update(**delete_point(view, hit.row).__dict__)
    elif hit.row is None:
        session.update(at=hit.place, row=None)
    else:
        session.update(row=hit.row, at=None)


def _pick_or_drop(hit: Hit) -> None:
    moving = st.session_state.get(MOVING)
    if moving is not None:
        forget_move()  # also if it is refused: the next click picks up another
        session.update(**move_point(session.current(), moving, hit.place).__dict__)
    elif hit.row is None:
        raise ValueError("Click on a training point first, then on the place where it should go.")
    else:
        st.session_state[MOVING] = hit.row
        session.update(row=hit.row, at=None)
