"""A file between the browser and the engine: uploads and samples, kept by content, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from arml_core.datasets.table import MAX_BYTES, Problems, Table, read_table_apart
from arml_core.datasets.table.problems import too_large

from ..visitor import read_client, write_client
from .choices import open_steps, update_inputs
from .samples import FOLDER, SAMPLES

LONGEST_TITLE = 80
PASTED = "pasted"
"""The title of pasted text."""
KEPT_SECONDS = 3600
"""How long a file that was read stays in memory; then it is read again, if it has not expired."""
KEPT_FILES = 2
"""How many: a reference and a query file. A file of 50 MB takes about 380 MB as a table, rows and dataset; those of
other visitors are read again, which takes some hundredths of a second for a file of 100 KB, half a second for 4 MB."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A file that was read: its title, its size, the table (None if there is none) and what was found."""

    title: str
    n_bytes: int
    table: Table | None
    problems: Problems


def load(file: str, options: Mapping[str, Any]) -> Loaded:
    """The file of this visitor, read with these options. ValueError if it is not here (any more)."""
    title = f"{file}.csv" if file in SAMPLES else read_client().file_title(file)
    return _load(file, read_client().visitor.tag, title, json.dumps(options, sort_keys=True))


@st.cache_resource(max_entries=KEPT_FILES, ttl=KEPT_SECONDS, show_spinner="Reading the file …")
def _load(file: str, owner: str, title: str, options: str) -> Loaded:
    """Cached for each owner: what somebody uploaded is found by nobody else, not even by its digest."""
    content = (FOLDER / f"{file}.csv").read_bytes() if file in SAMPLES else read_client().file(file)[1]
    table, problems = read_table_apart(content, **json.loads(options))
    return Loaded(title, len(content), table, problems)


def take_upload(slot: str, key: str) -> None:
    """Keep what was just uploaded; refused by its size before it is looked at. Its name is only a title."""
    upload = st.session_state.get(key)
    st.session_state.pop(f"cf_refused_{slot}", None)
    if upload is None:
        return
    if upload.size > MAX_BYTES:
        st.session_state[f"cf_refused_{slot}"] = too_large(upload.size, MAX_BYTES)
        return
    _keep(slot, upload.getvalue(), clean_title(upload.name))


def take_pasted(slot: str, key: str) -> None:
    """Keep pasted text as a file; from there on it is one."""
    content = str(st.session_state.get(key) or "").encode(errors="replace")
    st.session_state.pop(f"cf_refused_{slot}", None)
    if not content.strip():
        st.session_state[f"cf_refused_{slot}"] = "There is no text yet: paste a table first, its column names included."
    elif len(content) > MAX_BYTES:
        st.session_state[f"cf_refused_{slot}"] = too_large(len(content), MAX_BYTES)
    else:
        _keep(slot, content, PASTED)


def _keep(slot: str, content: bytes, title: str) -> None:
    try:
        digest = write_client().add_file(content, title)
    except OSError as error:
        st.session_state[f"cf_refused_{slot}"] = str(error)
        return
    choose_file(slot, digest)


def clean_title(name: str) -> str:
    """A file's name as a title: printable, without folders, of bearable length."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c for c in last if c.isprintable())[:LONGEST_TITLE] or "A file"


def choose_file(slot: str, file: str, use: Mapping[str, Any] | None = None) -> None:
    """Make a file the (reference) file or the query file; what was said about the one before is forgotten."""
    open_steps(True)
    if slot == "file":
        update_inputs(file=file, read={}, use=dict(use or {}), frozen=(), costs={})
    else:
        update_inputs(query=file, qread={}, quse=dict(use or {}))
