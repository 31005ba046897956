"""A chart as a file, PNG or SVG, made in the visitor's browser from the chart on the page.

Plotly's own export to a file needs a second browser on the server. The chart on the page is drawn as SVG already:
it is copied with a title and a background, and for PNG painted at three times its size.
"""

from __future__ import annotations

import streamlit as st

HTML = """<div><button data-format="png">PNG</button><button data-format="svg">SVG</button></div>"""
CSS = """
div {display: flex; gap: 0.5rem;}
button {
  font: inherit; font-size: 0.875rem; line-height: 1.6; padding: 0.25rem 0.75rem; min-height: 2.5rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.4rem);
}
button:hover, button:focus-visible {
  border-color: var(--st-primary-color); color: var(--st-primary-color); outline: none;
}
"""
JS = """
const TITLE = 34, SCALE = 3, NAMESPACE = 'http://www.w3.org/2000/svg';

function picture(graph, title, paper, ink) {
  const frame = graph.querySelector('.main-svg');
  const width = frame.clientWidth || frame.getBoundingClientRect().width;
  const height = frame.clientHeight || frame.getBoundingClientRect().height;
  const whole = document.createElementNS(NAMESPACE, 'svg');
  const put = (name, attributes, text) => {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    whole.appendChild(made);
    return made;
  };
  whole.setAttribute('width', width);
  whole.setAttribute('height', height + TITLE);
  whole.setAttribute('viewBox', `0 0 ${width} ${height + TITLE}`);
  put('rect', {width, height: height + TITLE, fill: paper});
  put('text', {x: 12, y: 22, fill: ink, 'font-family': 'sans-serif', 'font-size': 15, 'font-weight': 600}, title);
  for (const layer of graph.parentElement.querySelectorAll('.main-svg, .arml-mark')) {
    const copy = layer.cloneNode(true);
    copy.querySelectorAll('.draglayer, .hoverlayer').forEach(part => part.remove());
    copy.removeAttribute('style');
    copy.setAttribute('y', TITLE);
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    whole.appendChild(copy);
  }
  const text = new XMLSerializer().serializeToString(whole).replace(/vector-effect: *non-scaling-stroke;?/g, '');
  return {text, width, height: height + TITLE};
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function painted({text, width, height}) {
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = SCALE * width;
  canvas.height = SCALE * height;
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/png'));
}

export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll('button')) {
    const format = button.dataset.format;
    button.title = `Save “${data.title}” as ${format.toUpperCase()}`;
    button.onclick = async () => {
      const graph = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
      if (!graph) return;
      const drawn = picture(graph, data.title, data.paper, data.ink);
      const blob = format === 'svg' ? new Blob([drawn.text], {type: 'image/svg+xml'}) : await painted(drawn);
      save(blob, `${data.name}.${format}`);
    };
  }
}
"""
_component = st.components.v2.component("arml_save_picture", html=HTML, css=CSS, js=JS)


def export_buttons(chart: str, title: str, name: str, paper: str, ink: str) -> None:
    """Two buttons that save the chart with the element key `chart`."""
    _component(
        key=f"{chart}_picture",
        data={"chart": chart, "title": title, "name": name, "paper": paper, "ink": ink},
        width="content",
        height="content",
    )
