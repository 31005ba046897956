"""What a click or drag in a picture does, by the tool that is chosen."""

from __future__ import annotations

import streamlit as st

from . import session
from .controls import NEW_CLASS, TOOL
from .edits import add_point, delete_point, move_point
from .picture_clicks import PictureClick
from .session import MOVING, REFUSED, forget_move


def handle_click(click: PictureClick) -> None:
    """Apply the tool to the clicked place or training row; a refusal is shown above the pictures."""
    st.session_state.pop(REFUSED, None)
    session.mark_changed()
    try:
        _apply(st.session_state.get(TOOL, "Certify"), click)
    except ValueError as reason:
        st.session_state[REFUSED] = str(reason)


def _apply(tool: str, click: PictureClick) -> None:
    view = session.current()
    if click.dragged and click.row is not None:
        if "tools" not in view.hide:
            session.update(**move_point(view, click.row, click.place).__dict__)
            forget_move()
    elif tool == "Add":
        session.update(**add_point(view, click.place, st.session_state.get(NEW_CLASS, 0)).__dict__)
    elif tool == "Move":
        _pick_or_drop(click)
    elif tool == "Delete":
        if click.row is None:
            raise ValueError("Click on a training point to delete it.")
        session.update(**delete_point(view, click.row).__dict__)
    elif click.row is None:
        session.update(at=click.place, row=None)
    else:
        session.update(row=click.row, at=None)


def _pick_or_drop(click: PictureClick) -> None:
    moving = st.session_state.get(MOVING)
    if moving is not None:
        forget_move()  # also if it is refused: the next click picks up another
        session.update(**move_point(session.current(), moving, click.place).__dict__)
    elif click.row is None:
        raise ValueError("Click on a training point first, then on the place where it should go.")
    else:
        st.session_state[MOVING] = click.row
        session.update(row=click.row, at=None)
