"""Where the paper's archives are, if they are; a local server with a small stand-in for Pendigits."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arml_core.datasets.formats import archive_hash
from arml_core.datasets.paper_sets import PAPER_SETS, PaperSet, SourceFile

from .server import Server, serving
from .tiny import ARCHIVE, FILES


@pytest.fixture
def data_folder() -> Path:
    """The folder ARML_DATA; tests that need the paper's archives are skipped without it."""
    named = os.environ.get("ARML_DATA")
    if not named:
        pytest.skip("ARML_DATA is not set: the paper's archives are not at hand")
    return Path(named)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(dict(FILES)) as running:
        yield running


@pytest.fixture
def known(server: Server) -> PaperSet:
    """A small stand-in for Pendigits, on the local server."""
    files = tuple(SourceFile(name, len(c), hashlib.sha256(c).hexdigest()) for name, c in FILES.items())
    return replace(
        PAPER_SETS["pendigits"],
        n_train=300,
        n_test=200,
        files=files,
        mirrors=(server.url,),
        content=archive_hash(ARCHIVE),
    )
