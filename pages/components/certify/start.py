"""Asking for the work: the training, the certificate, and the attack where the certificate has no upper side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from arml_core.jobs import Client, EvaluationSpec, RunSpec, StoreError

from ..visitor import write_client
from .choices import (
    MOST_SEARCHES,
    CertifyView,
    current,
    open_steps,
    parameters_of,
    update_display,
    update_inputs,
)
from .prepare import PreparedTable, attack_of, certificate_of, decision_of, prepare, threat_of
from .results import CertifyJobs
from .samples import SAMPLES
from .sources import find_sources

REFUSED, UNDECIDABLE = "cf_refused_start", "cf_refused_decision"


def start(prepared: PreparedTable, searches: Sequence[EvaluationSpec] = ()) -> None:
    """Ask for everything at once; work that was done before is there at once. A refusal is kept to be shown.

    `searches` are further ones that were asked for before.
    """
    view = current()
    st.session_state.pop(REFUSED, None)
    try:
        client = write_client()
        jobs = (*_submit_jobs(client, view, prepared), *(client.submit(spec).id for spec in searches))
    except (ValueError, OSError) as error:
        st.session_state[REFUSED] = str(error)
        return
    update_display(jobs=jobs)
    open_steps(False)


def decide(work: CertifyJobs, seconds: float, radius: float) -> None:
    """Search the rows that are open at `radius` for up to so many seconds each; what was found before stays.

    The radius is held: the one the page suggests follows what is proved. Of older searches those that were not
    finished give way, and the oldest where there are too many.
    """
    st.session_state.pop(UNDECIDABLE, None)
    try:
        asked = write_client().submit(decision_of(work.spec, seconds, radius)).id
    except (ValueError, OSError) as error:
        st.session_state[UNDECIDABLE] = str(error)
        return
    older = [job.id for job in work.searches if job.state == "done" and job.id != asked]
    first = [job.id for job in work.jobs if job not in work.searches]
    update_display(jobs=(*first, *[*older, asked][-MOST_SEARCHES:]), eps=radius)


def start_sample() -> None:
    """The sample in one click."""
    update_inputs(mode="one", file="pumps", read={}, use=dict(SAMPLES["pumps"].use), frozen=(), costs={})
    try:
        sources, _ = find_sources(current())
        prepared = prepare(current(), sources)
    except StoreError:  # the page says so itself
        return
    start(prepared)


def _submit_jobs(client: Client, view: CertifyView, prepared: PreparedTable) -> tuple[str, ...]:
    assert prepared.layout is not None
    assert prepared.rows is not None
    rows = prepared.rows
    threat_of(view, prepared.layout)  # refused before anything is asked for
    run = run_of(client, view, prepared)
    spec, attack = certificate_of(view, prepared, run), attack_of(view, prepared, run)
    if prepared.has_query:
        client.add_points(rows.X, rows.y if spec.points.labels else None, f"{len(rows.X):,} query rows")
    certificate = client.submit(spec).id
    return (run, certificate) if attack is None else (run, certificate, client.submit(attack).id)


def run_of(client: Client, view: CertifyView, prepared: PreparedTable) -> str:
    """The run whose metric is certified: a saved one, one trained now, or a saved metric put to these rows."""
    assert prepared.dataset is not None
    if view.mode == "run":
        return view.run
    if view.metric != "run":
        fingerprint = client.add_dataset(prepared.dataset)
        return client.submit(RunSpec(fingerprint, view.metric, parameters_of(view), view.seed)).id
    status = client.status(view.run)
    if status.dataset == prepared.dataset.fingerprint:
        return view.run
    return client.add_metric(prepared.dataset, client.run(view.run), status.title).id
