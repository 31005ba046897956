"""Asking for the work: the training, the certificate, and the attack where the certificate has no upper side."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import Client, RunSpec, StoreError

from ..visitor import write_client
from .choices import CertifyView, current, open_steps, parameters_of, update_display, update_inputs
from .prepare import PreparedTable, attack_of, certificate_of, prepare, threat_of
from .samples import SAMPLES
from .sources import find_sources

REFUSED = "cf_refused_start"


def start(prepared: PreparedTable) -> None:
    """Ask for everything at once; work that was done before is there at once. A refusal is kept to be shown."""
    view = current()
    st.session_state.pop(REFUSED, None)
    try:
        jobs = _submit_jobs(write_client(), view, prepared)
    except (ValueError, OSError) as error:
        st.session_state[REFUSED] = str(error)
        return
    update_display(jobs=jobs)
    open_steps(False)


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
    if not prepared.leave_one_out:
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
