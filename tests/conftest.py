"""Shared by all tests: how many examples a property is tried on, and where the paper's datasets are.

`make test` tries few examples, `make test-more` many, both the same ones every time; `make fuzz` tries new ones.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=15, database=None)
settings.register_profile("wide", derandomize=True, deadline=None, max_examples=150, database=None)
settings.register_profile("fuzz", deadline=None, max_examples=400, database=None, print_blob=True)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def paper_data() -> str:
    """The folder of the paper's datasets; tests that need it are skipped without it."""
    folder = os.environ.get("ARML_DATA")
    if not folder:
        pytest.skip("ARML_DATA is not set: the paper's datasets are not here")
    return folder
