"""A real server, a real Chromium, and pages on which nothing may go wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from .dashboard import CHROMIUM, PATIENCE, ROOT, chromium, serve, settle, stop_worker

SCREENSHOTS = ROOT / ".scratch" / "screenshots"
# A page opened by its own address first looks for the server below that address. That is Streamlit's way.
LOOKING_FOR_SERVER = re.compile(r"/\w+/_stcore/(health|host-config)$")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser or asks its server; `make test` has what is marked `smoke`, one test a page."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("smoke") is None:
                item.add_marker(pytest.mark.more)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; without one the tests are skipped, or fail where one is required."""
    if not Path(CHROMIUM).exists():
        reason = f"no Chromium at {CHROMIUM}"
        if os.environ.get("ARML_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def server_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the dashboard."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def server(browser: Any, server_home: Path) -> Iterator[str]:
    """The address of the dashboard, with a data folder of its own."""
    with serve(server_home) as address:
        yield address
    stop_worker(server_home)


@pytest.fixture
def open_page(server: str, server_home: Path, browser: Any) -> Iterator[Any]:
    """A function that opens an address of the dashboard in a fresh browser; at the end nothing may have gone wrong."""
    contexts, problems, pages = [], [], []

    def open_page(path: str = "/", width: int = 1280, height: int = 900, dark: bool = False, chart: bool = True) -> Any:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        pages.append(page)
        _watch(page, problems)
        page.goto(path if path.startswith("http") else f"{server}{path}")
        settle(page, chart=chart)
        return page

    yield open_page
    raised = [page.locator("[data-testid=stException]").all_inner_texts() for page in pages]
    for context in contexts:
        context.close()
    assert not any(raised), (server_home / "server.log").read_text(errors="replace")[-4000:]  # the page hides the cause
    assert not problems, problems


def _watch(page: Any, problems: list[str]) -> None:
    def console(line: Any) -> None:
        if line.type == "error" and not LOOKING_FOR_SERVER.search(line.location.get("url", "")):
            problems.append(f"console: {line.text} ({line.location.get('url')})")

    def request(sent: Any) -> None:
        parts = urlsplit(sent.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("localhost", "127.0.0.1"):
            problems.append(f"request off this machine: {sent.url}")

    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    page.on("console", console)
    page.on("request", request)
