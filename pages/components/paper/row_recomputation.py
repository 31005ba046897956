"""One row of radii computed again: the steps that the reproduce command takes, and what came out beside what ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from arml_core.jobs import Client, DamagedFile, JobStatus, StoreError, UnknownJob
from arml_core.jobs.states import DONE
from arml_core.reproduce.figure2 import NetworkRequest
from arml_core.reproduce.paper_comparison import compare_rerun
from arml_core.reproduce.plan import PlanStep
from arml_core.reproduce.run import find_jobs, seconds_of, submit
from arml_core.results import Evaluation
from arml_core.vocabulary import duration

from ..job_words import clause
from ..visitor import read_client
from .differences import signed_difference, with_difference
from .recomputation import Jobs, Recomputation, download_words, show_recomputation

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowToRecompute:
    """What is computed again: the step, what ships for it, and the paper's errors at `radii` where it has them."""

    step: PlanStep
    kept: Evaluation | None
    radii: Floats
    paper: Floats | None = None

    @property
    def dataset(self) -> str:
        return self.step.dataset

    def ask(self, client: Client) -> Any:
        return submit(client, self.step)

    def find(self, client: Client) -> Jobs | None:
        return find_jobs(client, self.step)


@dataclass(frozen=True, eq=False)
class NetworkToRecompute:
    """The same for a curve that a neural network makes."""

    curve: NetworkRequest
    dataset: str
    kept: Evaluation | None
    radii: Floats
    paper: Floats | None = None

    def ask(self, client: Client) -> Any:
        return self.curve.submit(client, self.dataset)

    def find(self, client: Client) -> Jobs | None:
        found = self.curve.find_job(client, self.dataset)
        return None if found is None else (found,)


def show_recompute(number: RowToRecompute | NetworkToRecompute) -> None:
    """The button, then the progress, then the result."""
    kept, dataset = number.kept, number.dataset
    outcome = partial(show_radii, number)
    expected = " ".join(filter(None, [expectation(kept, dataset), _less_time(number)]))
    show_recomputation(Recomputation(number.ask, number.find, label_of(kept is not None), expected, outcome))


def label_of(kept: bool) -> str:
    return "Compute it again here" if kept else "Compute it here"


def expectation(kept: Evaluation | None, dataset: str) -> str:
    """How long it may take, and whether data has to be downloaded."""
    made: Mapping[str, Any] = {} if kept is None else kept.made
    parts = ["How long it takes is not known yet."]
    if "seconds" in made:
        spent = float(made["seconds"]) + float(made.get("train_seconds") or 0.0)
        parts = [f"It took {duration(spent)} on a {made.get('machine', 'machine')}."]
    return " ".join([*parts, download_words(dataset)]).strip()


def _less_time(number: RowToRecompute | NetworkToRecompute) -> str:
    """Why a search takes less time than the one that ships; empty where nothing is known of that."""
    if not isinstance(number, RowToRecompute) or number.step.at is None or number.kept is None:
        return ""
    if number.kept.spec.at is not None:
        return ""
    return "Computed again it should take less: time is spent on verdicts at the table's radii only."


def evaluation_of(job: JobStatus) -> Evaluation | None:
    """The radii so far; None, with a warning where there is a reason, if there are none."""
    try:
        return read_client().evaluation(job.id)
    except (UnknownJob, StoreError, DamagedFile) as reason:
        st.warning(clause(str(reason)))
        return None


def computed_words(job: JobStatus, date: str) -> str:
    return f"Computed here on {date} in {duration(seconds_of(job))}."


def show_radii(number: RowToRecompute | NetworkToRecompute, job: JobStatus) -> None:
    """How many radii are the shipped ones, and the errors at the radii of the table."""
    fresh = evaluation_of(job)
    if fresh is None:
        return
    if job.state == DONE:
        st.success(done_words(number, fresh, job))
    else:
        st.caption(f"So far {len(fresh):,} of {fresh.planned:,} points.")
    if len(number.radii):
        st.table(outcome_table(number, fresh), border="horizontal", hide_index=True, alt="The number computed again")


def done_words(number: RowToRecompute | NetworkToRecompute, fresh: Evaluation, job: JobStatus) -> str:
    """When it was computed, and how much of it is what ships."""
    when = computed_words(job, fresh.made.get("date", "this machine"))
    if number.kept is None:
        return f"{when} Nothing ships for it yet."
    found = compare_rerun(number.kept, fresh, number.radii)
    if found.n_same == found.n:
        return f"{when} The radius of every one of the {found.n:,} points is the shipped one."
    if fresh.spec.at is not None:
        alike = f"{'All' if found.n_alike == found.n else f'{found.n_alike:,} of'} {found.n:,} points"
        return (
            f"{when} {alike} are proved safe at the same radii of the table as in what ships. Time was spent on these "
            "verdicts only, so other radii may differ; and a search depends on how fast the machine is."
        )
    why = " A search depends on how fast the machine is." if fresh.spec.budget is not None else ""
    return (
        f"{when} {found.n_same:,} of {found.n:,} radii are the shipped ones; the largest difference is "
        f"{found.largest:.3g}.{why}"
    )


def outcome_table(number: RowToRecompute | NetworkToRecompute, fresh: Evaluation) -> pd.DataFrame:
    """The paper's errors, what ships and what was computed here, over the same points."""
    rows: dict[str, list[str]] = {}
    if number.paper is not None:
        rows["paper"] = [f"{value:.3f}" for value in number.paper]
    found = compare_rerun(number.kept if number.kept is not None else fresh, fresh, number.radii)
    less = [None] * len(found.now) if number.paper is None else list(found.now - number.paper)
    if number.kept is not None:
        rows["ours, shipped"] = [f"{value:.3f}" for value in found.then]
    rows["ours, computed here"] = [with_difference(value, d) for value, d in zip(found.now, less, strict=True)]
    if number.kept is not None:
        rows["computed here − shipped"] = [signed_difference(d) for d in found.now - found.then]
    frame = pd.DataFrame({f"ε = {r:g}": [row[i] for row in rows.values()] for i, r in enumerate(number.radii)})
    frame.insert(0, f"{found.n:,} points", list(rows))
    return frame
