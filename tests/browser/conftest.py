"""A real server, a real Chromium, and a page that remembers what went wrong on it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / ".scratch" / "screenshots"
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
STARTUP_SECONDS = 60


@dataclass
class Watched:
    """A browser page and everything on it that should not have happened."""

    page: object
    base: str
    problems: list[str] = field(default_factory=list)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _missing(reason: str) -> None:
    if os.environ.get("ARML_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the dashboard, started as `make app` starts it, with a data folder of its own."""
    port = free_port()
    home = tmp_path_factory.mktemp("home")
    log = home / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    environment = {**os.environ, "ARML_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        address = f"http://localhost:{port}"
        _wait_until_healthy(address, process, log)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the dashboard did not start:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Debian's Chromium through Playwright; without one the tests are skipped, or fail where one is required."""
    if not Path(CHROMIUM).exists():
        _missing(f"no Chromium at {CHROMIUM}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("the package playwright is not installed")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(server: str, browser):
    """A function that opens an address of the dashboard in a fresh browser; at the end nothing may have gone wrong."""
    contexts, opened = [], []

    def open_page(path: str = "/", width: int = 1280, height: int = 900, dark: bool = False):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        watched = Watched(page, server)
        opened.append(watched)
        page.on("pageerror", lambda error: watched.problems.append(f"page error: {error}"))
        page.on("console", lambda line: line.type == "error" and watched.problems.append(f"console: {line.text}"))
        page.on("request", lambda request: _note_if_remote(request.url, watched))
        page.goto(f"{server}{path}")
        settle(page)
        return page

    yield open_page
    problems = [problem for watched in opened for problem in watched.problems]
    raised = [w.page.locator("[data-testid=stException]").all_inner_texts() for w in opened]
    for context in contexts:
        context.close()
    assert not any(raised), raised
    assert not problems, problems


def _note_if_remote(url: str, watched: Watched) -> None:
    parts = urlsplit(url)
    if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("localhost", "127.0.0.1"):
        watched.problems.append(f"request off this machine: {url}")


def settle(page, seconds: float = 30) -> None:
    """Wait until the app has run to the end and shows a chart."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=seconds * 1000)
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=seconds * 1000)
