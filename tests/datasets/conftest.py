"""Where the paper's archives are, if they are."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_folder() -> Path:
    """The folder ARML_DATA; tests that need the paper's archives are skipped without it."""
    named = os.environ.get("ARML_DATA")
    if not named:
        pytest.skip("ARML_DATA is not set: the paper's archives are not at hand")
    return Path(named)
