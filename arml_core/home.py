"""Where this project keeps what it makes on this machine: downloads, jobs and runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

HOME_VARIABLE = "ARML_HOME"


def home() -> Path:
    """The folder named by ``ARML_HOME``, or a per-user data folder. It is not created here."""
    named = os.environ.get(HOME_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_data_dir("arml-explorer", appauthor=False))
