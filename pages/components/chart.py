"""A Plotly chart that is redrawn in place.

Streamlit's own chart is thrown away and built again whenever anything in it changes (its identity is a hash of the
figure), and it loads all of plotly.js. This one keeps its place, draws only the difference, and loads the part of
plotly.js that has the plane's charts: a third of the size.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.io import to_json

ASSETS = Path(__file__).parent / "assets" / "plotly"
SCRIPT = "plotly-cartesian.min.js"
JS = """
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

function parts({data, layout: {shapes, annotations, ...frame}}) {
  return {drawn: JSON.stringify([data, frame]), marks: {shapes: shapes ?? [], annotations: annotations ?? []}};
}

async function draw(box) {
  const {drawn, marks} = parts(box.figure);
  const same = drawn === box.drawn;  // a moved line or arrow needs no curve drawn again
  box.drawn = drawn;
  if (same) await box.Plotly.relayout(box.graph, marks);
  else await box.Plotly.react(box.graph, box.figure.data, {...box.figure.layout}, CONFIG);
}

export default async function ({ data, parentElement }) {
  const text = read(data);
  let box = parentElement.querySelector('.arml-chart');
  if (!box) {
    box = document.createElement('div');
    box.className = 'arml-chart';
    box.graph = document.createElement('div');
    box.append(box.graph);
    parentElement.append(box);
  }
  if (box.text === text) return;
  box.text = text;
  const {alt, figure, address} = JSON.parse(text);
  box.setAttribute('role', 'figure');
  box.setAttribute('aria-label', alt);
  box.style.minHeight = `${figure.layout.height}px`;
  box.Plotly = await plotly(address);
  if (box.text !== text || !box.isConnected) return;  // a newer figure has come meanwhile
  figure.layout.width = Math.floor(box.clientWidth) || undefined;
  box.figure = figure;
  await draw(box);
  if (!box.watch) {
    box.watch = new ResizeObserver(() => fit(box));
    box.watch.observe(box);
  }
  return () => { box.watch.disconnect(); box.Plotly.purge(box.graph); };
}
"""
_library = st.components.v1.declare_component("plotly", path=ASSETS)
_component = st.components.v2.component("arml_chart", js=JS, isolate_styles=False)


def show_chart(figure: go.Figure | dict[str, Any], *, key: str, alt: str) -> None:
    """Draw a figure, or its data and layout, over the width there is; `alt` says in one sentence what it shows."""
    base = st.get_option("server.baseUrlPath").strip("/")
    address = "/".join(["", *([base] if base else []), "component", _library.name, SCRIPT])
    head = json.dumps({"alt": alt, "address": address})
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
