"""A Plotly chart that is redrawn in place.

Streamlit's own chart is thrown away and built again whenever anything in it changes (its identity is a hash of the
figure), and it loads all of plotly.js. This one keeps its place, draws only the difference, and loads the part of
plotly.js that has the plane's charts: a third of the size.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.io import to_json

ASSETS = Path(__file__).parent / "assets" / "plotly"
SCRIPT = "plotly-cartesian.min.js"
JS = """
const SVG = 'http://www.w3.org/2000/svg';
const CONFIG = {displayModeBar: false, doubleClick: false, showTips: false};
const read = data => typeof data === 'string' ? data : new TextDecoder().decode(data);

function plotly(address) {
  return window.armlPlotly ??= new Promise((done, failed) => {
    const script = Object.assign(document.createElement('script'), {src: address});
    script.onload = () => done(window.Plotly);
    script.onerror = () => { window.armlPlotly = undefined; failed(Error('The charts could not be loaded.')); };
    document.head.append(script);
  });
}

function fit(box) {
  const width = Math.floor(box.clientWidth);
  if (width && box.figure && width !== box.figure.layout.width) {
    box.figure.layout.width = width;
    draw(box);
  }
}

async function draw(box) {
  const {data, layout} = box.figure;
  const drawn = JSON.stringify([data, layout]);
  if (drawn !== box.drawn) await box.Plotly.react(box.graph, data, {...layout}, CONFIG);
  box.drawn = drawn;
  place(box);
}

function place(box) {  // moving a line over the picture needs no curve drawn again
  const {xaxis, yaxis} = box.graph._fullLayout;
  box.mark.style.display = box.at ? '' : 'none';
  if (!box.at) return;
  const [line, text] = box.mark.children;
  const x = xaxis._offset + xaxis.l2p(box.at.x), top = yaxis._offset;
  const set = (part, values) => Object.entries(values).forEach(([name, value]) => part.setAttribute(name, value));
  set(line, {x1: x, x2: x, y1: top, y2: top + yaxis._length, stroke: box.at.color, 'stroke-width': 1.5,
             'stroke-dasharray': '2,3'});
  set(text, {x, y: top - 5, fill: box.at.color, 'text-anchor': 'middle', 'font-size': 13, 'font-family': 'sans-serif'});
  text.textContent = box.at.text;
}

export default async function ({ data, parentElement }) {
  const text = read(data);
  let box = parentElement.querySelector('.arml-chart');
  if (!box) {
    box = document.createElement('div');
    box.className = 'arml-chart';
    box.graph = document.createElement('div');
    box.mark = document.createElementNS(SVG, 'svg');
    box.mark.classList.add('arml-mark');
    box.mark.append(document.createElementNS(SVG, 'line'), document.createElementNS(SVG, 'text'));
    box.append(box.graph, box.mark);
    parentElement.append(box);
  }
  if (box.text === text) return;
  box.text = text;
  const {alt, figure, address, mark} = JSON.parse(text);
  box.setAttribute('role', 'figure');
  box.setAttribute('aria-label', alt);
  box.style.minHeight = `${figure.layout.height}px`;
  box.Plotly = await plotly(address);
  if (box.text !== text || !box.isConnected) return;  // a newer figure has come meanwhile
  figure.layout.width = Math.floor(box.clientWidth) || undefined;
  box.figure = figure;
  box.at = mark;
  await draw(box);
  if (!box.watch) {
    box.watch = new ResizeObserver(() => fit(box));
    box.watch.observe(box);
  }
  return () => { box.watch.disconnect(); box.Plotly.purge(box.graph); };
}
"""
CSS = """
.arml-chart { position: relative; }
.arml-mark { position: absolute; left: 0; top: 0; width: 100%; height: 100%; overflow: visible; pointer-events: none; }
"""
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


def _packed(spec: dict[str, Any]) -> dict[str, Any]:
    """The same with its arrays in Plotly's binary form: a tenth of the work of writing and reading numbers."""
    return {**spec, "data": [{name: _binary(value) for name, value in trace.items()} for trace in spec["data"]]}


def _binary(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    packed = {"dtype": value.dtype.str[1:], "bdata": base64.b64encode(np.ascontiguousarray(value)).decode()}
    return packed if value.ndim == 1 else {**packed, "shape": ", ".join(map(str, value.shape))}
