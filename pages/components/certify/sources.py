"""The files and the run that are chosen, as far as they are here."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from arml_core.datasets import Dataset
from arml_core.jobs import DamagedFile, JobStatus, UnknownJob

from ..visitor import read_client
from .choices import CertifyView
from .files import Loaded, load


@dataclass(frozen=True, eq=False)
class Sources:
    """What step 1 found: the files that could be read without an open question, or a run with its dataset."""

    reference: Loaded | None
    query: Loaded | None
    run: JobStatus | None
    dataset: Dataset | None

    def ready(self, mode: str) -> bool:
        """Whether there are rows that vote: the next step can begin, a query file may come later."""
        return self.dataset is not None if mode == "run" else usable(self.reference)


def usable(loaded: Loaded | None) -> bool:
    return loaded is not None and loaded.table is not None and not loaded.problems.blocking


def find_sources(view: CertifyView) -> tuple[Sources, dict[str, str]]:
    """What is chosen, and a sentence for everything that is not here any more."""
    missing: dict[str, str] = {}

    def found(slot: str, wanted: bool) -> Loaded | None:
        file = getattr(view, slot)
        if not file or not wanted:
            return None
        try:
            return load(file, view.read if slot == "file" else view.qread)
        except (UnknownJob, DamagedFile):
            missing[slot] = "This file is not here, or its time is over. Upload it again."
            return None

    run, dataset = None, None
    if view.mode == "run" and view.run:
        try:
            run = read_client().status(view.run)
            dataset = _dataset(run.dataset, read_client().visitor.tag)
        except (UnknownJob, DamagedFile, ValueError, OSError) as error:
            missing["run"] = str(error)[:1].upper() + str(error)[1:] + "."
    sources = Sources(found("file", view.mode != "run"), found("query", view.mode != "one"), run, dataset)
    return sources, missing


@st.cache_resource(max_entries=4, show_spinner="Loading the run's rows …")
def _dataset(digest: str, owner: str) -> Dataset:
    """Cached for each owner, as files are."""
    return read_client().dataset(digest)
