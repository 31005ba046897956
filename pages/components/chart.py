"""A Plotly chart that is redrawn in place.

Streamlit's own chart is thrown away and built again whenever anything in it changes (its identity is a hash of the
figure), and it loads all of plotly.js. This one keeps its place, draws only the difference, and loads the part of
plotly.js that has our charts: a third of the size. Pictures of the plane and stacked bars it draws by itself, without
Plotly: they are the first thing a visitor waits for, or change with every step of a slider.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.io import to_json

ASSETS = Path(__file__).parent / "assets" / "plotly"
SCRIPT = "plotly-cartesian.min.js"
SCRIPTS = ("svg_shapes.js", "regions.js", "plane.js", "bars.js", "chart.js")
JS = "\n".join((Path(__file__).parent / "assets" / name).read_text("utf-8") for name in SCRIPTS)
PADDING_CSS = """
[data-testid=stMainBlockContainer] { padding-left: clamp(1rem, 2.5vw, 3rem); padding-right: clamp(1rem, 2.5vw, 3rem); }
"""
"""The room beside the page is the pictures'. It comes with the first of them, too: a page that gave it later would move
them."""
CSS = (
    PADDING_CSS
    + """.arml-chart { position: relative; }
.arml-mark { position: absolute; left: 0; top: 0; width: 100%; height: 100%; overflow: visible; pointer-events: none; }
.arml-plane { display: block; user-select: none; }
.arml-tip { position: absolute; padding: 4px 8px; border: 1px solid currentColor; border-radius: 4px; font-size: 13px;
  white-space: pre; pointer-events: none; z-index: 1; }
"""
)
DRAWN = "chart_drawn"
FIRST_SECONDS, AGAIN_SECONDS, MOMENT = 0.6, 0.12, 0.01
"""A browser that has only just come first loads what it needs to show anything."""
_library = st.components.v1.declare_component("plotly", path=ASSETS)
_component = st.components.v2.component("arml_chart", js=JS, css=CSS, isolate_styles=False)


@dataclass(frozen=True)
class Mark:
    """A dashed vertical line at `x`, with words above it: it moves without the chart being drawn again."""

    x: float
    text: str
    color: str


def show_chart(figure: go.Figure | dict[str, Any], *, key: str, alt: str, mark: Mark | None = None) -> None:
    """Draw a figure, or its data and layout, over the width there is; `alt` says in one sentence what it shows."""
    base = st.get_option("server.baseUrlPath").strip("/")
    address = "/".join(["", *([base] if base else []), "component", _library.name, SCRIPT])
    head = json.dumps({"alt": alt, "address": address, "mark": None if mark is None else asdict(mark)})
    spec = to_json(figure if isinstance(figure, go.Figure) else _packed(figure), validate=False)
    _component(key=key, data=f'{head[:-1]}, "figure": {spec}}}'.encode(), height="content")


def wait_for_drawing() -> None:
    """Leave the browser the time to draw the charts sent so far, before anything else is sent.

    It takes in what has come, element by element, before it draws; the charts would wait for the last button of the
    page, and that button would come no sooner. A visitor who does something else meanwhile ends the run here.
    """
    seconds = AGAIN_SECONDS if st.session_state.get(DRAWN) else FIRST_SECONDS
    st.session_state[DRAWN] = True
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(MOMENT)
        st.session_state.get(DRAWN)  # Streamlit ends a run that is out of date where it asks for the state


def _packed(spec: dict[str, Any]) -> dict[str, Any]:
    """The same with its arrays in Plotly's binary form: a tenth of the work of writing and reading numbers."""
    traces = [{name: _binary(value) for name, value in trace.items()} for trace in spec["data"]]
    return {**spec, "data": traces}


def _binary(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    packed = {"dtype": value.dtype.str[1:], "bdata": base64.b64encode(value.tobytes()).decode()}
    return packed if value.ndim == 1 else {**packed, "shape": ", ".join(map(str, value.shape))}
