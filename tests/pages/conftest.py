"""Pages start workers that outlive them; those of a test end with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.dashboard import stop_worker


@pytest.fixture(autouse=True)
def _no_worker_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    home = Path(os.environ.get("ARML_HOME", "/nonexistent"))
    if home.is_relative_to(tmp_path):  # a folder that several tests share is cleaned up by its own fixture
        stop_worker(home)
