"""Clicks and drags in the pictures, sent to Python with the place in the data's coordinates.

Streamlit's own chart selection only reports drawn markers. A grid of invisible markers would make every place
clickable, but drawing it costs 80 ms per picture; listening to the page costs nothing and is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from .view import rounded

KEY = "pg_clicks"
JS = """
const PICTURE = '[class*="st-key-pg_chart"]', DRAGGED = 8;

function hit(event, picture) {
  const chart = picture?.querySelector('.arml-chart'), view = chart?.view;
  if (!view) return null;
  const frame = chart.graph.getBoundingClientRect();
  const across = event.clientX - frame.left - view.left, along = event.clientY - frame.top - view.top;
  if (across < 0 || along < 0 || across > view.wide || along > view.high) return null;
  const [x, y] = view.from(across, along), row = chart.nearest(across, along)?.row ?? null;
  return {x, y, row, left: event.clientX, top: event.clientY, picture};
}

export default function ({ setTriggerValue }) {
  window.armlPictureClicks?.abort();
  const listening = window.armlPictureClicks = new AbortController();
  // What was pressed is kept outside: a run of the page may end before it is let go, and this is called again.
  const listen = (kind, react) => window.addEventListener(kind, react, {capture: true, signal: listening.signal});
  listen('pointerdown', event => {
    window.armlPressed = event.button === 0 ? hit(event, event.target.closest?.(PICTURE)) : null;
  });
  listen('pointerup', event => {
    const from = window.armlPressed, to = from && hit(event, from.picture);
    window.armlPressed = null;
    if (!to) return;
    const dragged = Math.hypot(to.left - from.left, to.top - from.top) > DRAGGED;
    if (dragged && from.row === null) return;
    setTriggerValue('hit', {x: to.x, y: to.y, row: dragged ? from.row : to.row, dragged});
  });
  return () => listening.abort();
}
"""
CSS = f"""
.st-key-{KEY} {{ position: absolute; width: 0; overflow: hidden; }}
"""
"""It shows nothing and takes no room. (In one line Streamlit would take it for the name of a file.)"""
_component = st.components.v2.component("arml_picture_clicks", js=JS, css=CSS, isolate_styles=False)


@dataclass(frozen=True)
class PictureClick:
    """A place in a picture, and the training row there (or, if dragged, the row that was dragged there)."""

    place: tuple[float, float]
    row: int | None
    dragged: bool


def listen(react: Callable[[PictureClick], None]) -> None:
    """Call `react` for every click or drag in a picture, before the page runs again."""

    def callback() -> None:
        click = read_click(st.session_state[KEY].get("hit"))
        if click is not None:
            react(click)

    _component(key=KEY, on_hit_change=callback, height=1)


def read_click(sent: Any) -> PictureClick | None:
    """What the browser sent, checked."""
    if not isinstance(sent, dict) or not all(isinstance(sent.get(name), (int, float)) for name in ("x", "y")):
        return None
    row = sent.get("row")
    place = (rounded(sent["x"]), rounded(sent["y"]))
    return PictureClick(place, row if isinstance(row, int) else None, bool(sent.get("dragged")))
