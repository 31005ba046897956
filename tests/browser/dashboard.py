"""Starting the dashboard and driving it in Chromium: shared by the browser tests and the latency measurements."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arml_core.jobs import worker_process
from arml_core.jobs.paths import Paths
from arml_core.jobs.store.database import Database

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
STARTUP_SECONDS = 120
PATIENCE = 180_000
"""Milliseconds until a test gives up on a page. Waiting ends with what is waited for, so this costs nothing; the first
visitor of a server waits until it has imported the engine, which takes half a minute on a busy machine."""

CHART = ".arml-chart[data-drawn]"
PLACE_ON_SCREEN = """([chart, x, y]) => {
  const {graph, view} = document.querySelectorAll('.arml-chart')[chart];
  graph.scrollIntoView({block: 'center'});
  const box = graph.getBoundingClientRect(), [across, along] = view.at(x, y);
  return [box.left + view.left + across, box.top + view.top + along];
}"""
TRACE = """([chart, name]) => {
  const {graph, figure} = document.querySelectorAll('.arml-chart')[chart];
  const trace = (graph._fullData ?? figure.data).find(t => t.name === name);  // Plotly unpacks numbers itself
  return trace ? {x: Array.from(trace.x), y: Array.from(trace.y)} : null;
}"""
MARGIN = """chart => {
  const {figure} = document.querySelectorAll('.arml-chart')[chart];
  const {bdata} = figure.data.find(trace => trace.type === 'contour').z;
  const values = new Float32Array(Uint8Array.from(atob(bdata), c => c.charCodeAt(0)).buffer);
  return values.reduce((a, b) => a + b, 0);
}"""

NOTHING_LOADS = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid=stSkeleton]')"""
"""The script has ended, and no element still waits for the code that shows it: tables come with code of their own."""
STANDS_STILL = """() => {
  const charts = [...document.querySelectorAll('.arml-chart')];
  const boxes = charts.map(chart => chart.getBoundingClientRect());
  const before = window.chartPlaces, now = JSON.stringify(boxes);
  window.chartPlaces = now;
  const state = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
  const drawn = charts.every(chart => 'drawn' in chart.dataset || !chart.checkVisibility());
  return now === before && drawn && state === 'notRunning';
}"""
"""Asked every 100 ms: nothing is on its way, every chart is drawn and none has moved since; a click hits its aim."""


@contextmanager
def serve(home: Path) -> Iterator[str]:
    """The address of a dashboard started as `make app` starts it, with `home` as its data folder."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    log = home / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    environment = {**os.environ, "ARML_HOME": str(home), "ARML_NICE": "0"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        address = f"http://localhost:{port}"
        _wait_until_healthy(address, process, log)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the dashboard did not start:\n{log.read_text(errors='replace')[-3000:]}")


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))
        yield browser
        browser.close()


def settle(page: Any, seconds: float = PATIENCE / 1000, chart: bool = True) -> None:
    """Wait until the app has run to the end and, unless the page has none, shows a chart."""
    page.wait_for_function(NOTHING_LOADS, polling=50, timeout=seconds * 1000)
    if chart:
        page.wait_for_selector(CHART, timeout=seconds * 1000)
        page.wait_for_function(STANDS_STILL, polling=100, timeout=seconds * 1000)
        page.wait_for_function(NOTHING_LOADS, polling=50, timeout=seconds * 1000)


def stop_worker(home: Path) -> None:
    """End the worker that a dashboard has started for its data folder: it outlives the server on purpose."""
    paths = Paths(home / "jobs")
    if paths.database.exists():
        worker_process.stop_worker(paths, Database(paths.database))


def click_place(page: Any, chart: int, x: float, y: float) -> None:
    """Click a picture at data coordinates, as a hand does: move there, then press."""
    left, top = page.evaluate(PLACE_ON_SCREEN, [chart, x, y])
    page.mouse.move(left - 4, top - 3)
    page.mouse.move(left, top)
    page.mouse.click(left, top)


def trace(page: Any, chart: int, name: str) -> dict[str, list[float]] | None:
    """The coordinates of a named trace of a chart on the page, None if it is not drawn."""
    found: dict[str, list[float]] | None = page.evaluate(TRACE, [chart, name])
    return found


def wait_for_mark(page: Any, chart: int, name: str, x: float, y: float, within: float = 0.03) -> None:
    """Wait until the first point of a named trace is drawn at a place: the picture is the new one then."""
    page.wait_for_function(
        """([chart, name, x, y, within]) => {
          const trace = document.querySelectorAll('.arml-chart')[chart]?.figure?.data.find(t => t.name === name);
          return trace && Math.hypot(trace.x[0] - x, trace.y[0] - y) < within;
        }""",
        arg=[chart, name, float(x), float(y), within],
        timeout=PATIENCE,
    )
    settle(page)


def wait_for_length(page: Any, name: str, length: int) -> None:
    """Wait until a named trace of the first picture has so many points."""
    page.wait_for_function(
        """([name, length]) => {
          const figure = document.querySelector('.arml-chart')?.figure;
          return figure?.data.find(t => t.name === name)?.x.length === length;
        }""",
        arg=[name, length],
        timeout=PATIENCE,
    )
    settle(page)


def margin_sum(page: Any, chart: int) -> float:
    """The sum of the drawn boundary function: it changes when the boundary does."""
    return float(page.evaluate(MARGIN, chart))


def drag(page: Any, chart: int, start: Any, end: Any) -> None:
    """Drag from one place of a picture to another."""
    left, top = page.evaluate(PLACE_ON_SCREEN, [chart, float(start[0]), float(start[1])])
    to_left, to_top = page.evaluate(PLACE_ON_SCREEN, [chart, float(end[0]), float(end[1])])
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + to_left) / 2, (top + to_top) / 2)
    page.mouse.move(to_left, to_top)
    page.mouse.up()
