"""The pages' own JavaScript, called as Streamlit calls it, in the orders that only happen now and then."""

from __future__ import annotations

import json

import plotly.graph_objects as go

from pages.components import chart
from pages.components.playground import picture_clicks

LOADED = "const script = await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));"
DRAW_AGAIN = f"""async ([source, data]) => {{
  {LOADED}
  const parentElement = document.body.appendChild(document.createElement('div'));
  const later = () => new Promise(done => setTimeout(done, 50));
  const isDrawn = () => parentElement.querySelector('.main-svg') !== null;
  const seen = [];
  const cleanUp = await script.default({{data, parentElement}});
  seen.push(isDrawn());
  cleanUp();
  await script.default({{data, parentElement}});
  await later();
  seen.push(isDrawn());
  const box = parentElement.querySelector('.arml-chart');
  parentElement.remove();
  cleanUp();
  await later();
  seen.push(box.graph._fullLayout === undefined);
  return seen;
}}"""
PRESS_RUN_RELEASE = f"""async source => {{
  {LOADED}
  const picture = document.body.appendChild(document.createElement('div'));
  picture.className = 'st-key-pg_chart0';
  const box = picture.appendChild(document.createElement('div'));
  box.className = 'arml-chart';
  box.graph = box;
  box.view = {{left: 0, top: 0, wide: 100, high: 100, from: (across, along) => [across / 100, along / 100]}};
  box.nearest = () => null;
  Object.assign(picture.style, {{position: 'fixed', left: '0', top: '0', width: '100px', height: '100px'}});
  const sent = [];
  const run = () => script.default({{setTriggerValue: (name, value) => sent.push([name, value.x, value.y])}});
  const pointer = kind => box.dispatchEvent(
    new PointerEvent(kind, {{bubbles: true, button: 0, clientX: 25, clientY: 50}}));
  run();
  pointer('pointerdown');
  run();
  pointer('pointerup');
  return sent;
}}"""


def test_a_chart_that_is_cleaned_up_and_called_again_is_still_drawn(open_page) -> None:
    page = open_page("/compare")  # where Plotly is served
    address = page.evaluate("[...document.scripts].map(script => script.src).find(src => src.includes('plotly-cart'))")
    figure = json.loads(go.Figure(go.Scatter(x=[0, 1], y=[1, 0]), {"height": 200, "width": 300}).to_json())
    data = json.dumps({"alt": "A line", "address": address, "mark": None, "figure": figure})
    assert page.evaluate(DRAW_AGAIN, [chart.JS, data]) == [True, True, True]


def test_a_click_is_not_lost_when_a_run_ends_between_pressing_and_letting_go(open_page) -> None:
    page = open_page("/compare")
    assert page.evaluate(PRESS_RUN_RELEASE, picture_clicks.JS) == [["hit", 0.25, 0.5]]
