"""The server as a whole: who reaches it, and what it gives away."""

from __future__ import annotations

import re
import socket
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from arml_core.datasets.table import MAX_BYTES

from .dashboard import ROOT, settle
from .scripted_visitor import Visitor

SECRETS = (b"[tool.ruff]", b"st.set_page_config", b"SQLite format 3", b"root:x:0", b"Uvicorn server started")
"""What is in files beside the app, in its data folder and on the machine."""
CLIMBS = (
    "../pyproject.toml",
    "../../../../../../../../etc/passwd",
    "%2e%2e/pyproject.toml",
    "..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%252e%252e%252fpyproject.toml",
    "....//pyproject.toml",
    "..\\pyproject.toml",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "pyproject.toml",
    "app.py",
    "jobs/jobs.sqlite",
    "server.log",
    "x%00.py",
)
ROOTS = ("/", "/static/", "/app/static/", "/media/", "/component/", "/_stcore/", "/_stcore/bidi-components/arml_chart/")


@pytest.mark.smoke
def test_the_settings_that_ship() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["address"] == "localhost"
    assert settings["server"]["enableXsrfProtection"] is True
    assert settings["client"]["allowedOrigins"] == []  # no other site's messages
    assert settings["server"]["maxUploadSize"] == MAX_BYTES >> 20
    assert "enableStaticServing" not in settings["server"]
    assert "enableCORS" not in settings["server"]
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"]["showErrorDetails"] == "none"


def answer(request: urllib.request.Request | str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(request, timeout=20) as found:
            return found.status, found.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def raw(address: str, path: str) -> bytes:
    """Ask for a path exactly as it is written; libraries would tidy it up."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname or "", parts.port or 0), 20) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode("latin-1")
        )
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize("root", ROOTS)
def test_nothing_beside_the_app_is_served(server: str, root: str) -> None:
    for climb in CLIMBS:
        found = raw(server, root + climb)
        assert found.startswith(b"HTTP/1.1 ")
        assert not [secret for secret in SECRETS if secret in found], (root, climb)


@pytest.mark.smoke
def test_it_listens_on_this_machine_alone(server: str) -> None:
    port = f"{urlsplit(server).port:04X}"
    listening = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            local, state = line.split()[1], line.split()[3]
            if local.endswith(f":{port}") and state == "0A":
                listening.append(local.split(":")[0])
    assert listening
    assert set(listening) <= {"0100007F", "00000000000000000000000001000000"}


@pytest.mark.smoke
def test_an_upload_needs_a_token_and_a_session_of_its_own(server: str) -> None:
    place = f"{server}/_stcore/upload_file/00000000-0000-0000-0000-000000000000/x"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="../../x"\r\n\r\nx\r\n--b--\r\n'
    assert answer(urllib.request.Request(place, body, headers, method="PUT"))[0] == 403
    token = Visitor(server)
    try:
        signed = headers | token.credentials
        assert answer(urllib.request.Request(place, body, signed, method="PUT"))[0] == 400
    finally:
        token.close()


@pytest.mark.smoke
def test_a_stranger_cannot_fetch_a_download_by_guessing(server: str) -> None:
    for guess in ("0" * 56 + ".csv", "a" * 64 + ".html", "../" + "0" * 56 + ".csv"):
        assert answer(f"{server}/media/{guess}")[0] in (400, 403, 404)


def test_a_chart_that_could_not_be_loaded_is_asked_for_again(server: str, browser: Any) -> None:
    """A visitor who comes while the server is restarted sees the picture without opening the page again."""
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []

    def refuse_twice(route: Any) -> None:
        if len(refused) < 2:
            refused.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.route(re.compile(r"plotly[^/]*\.js"), refuse_twice)
    page.goto(server)
    settle(page)
    assert len(refused) == 2
    context.close()
