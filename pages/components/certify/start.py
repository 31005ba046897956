"""Asking for the work: the training, the certificate, and the attack where the certificate has no upper side."""

from __future__ import annotations

import streamlit as st

from arml_core.jobs import Client, RunSpec, StoreError

from ..visitor import write_client
from .choices import Asked, change, current, look, open_steps, parameters_of
from .prepare import PreparedTable, attack_of, certificate_of, points_title, prepare, threat_of
from .samples import SAMPLES
from .sources import find_sources

REFUSED = "cf_refused_start"


def start(prepared: PreparedTable) -> None:
    """Ask for everything at once; work that was done before is there at once. A refusal is kept to be shown."""
    asked = current()
    st.session_state.pop(REFUSED, None)
    try:
        jobs = _ask(write_client(), asked, prepared)
    except (ValueError, OSError) as error:
        st.session_state[REFUSED] = str(error)
        return
    look(jobs=jobs)
    open_steps(False)


def start_sample() -> None:
    """The sample in one click."""
    change(mode="one", file="pumps", read={}, use=dict(SAMPLES["pumps"].use), frozen=(), costs={})
    try:
        sources, _ = find_sources(current())
        prepared = prepare(current(), sources)
    except StoreError:  # the page says so itself
        return
    start(prepared)


def _ask(client: Client, asked: Asked, prepared: PreparedTable) -> tuple[str, ...]:
    assert prepared.layout is not None
    assert prepared.rows is not None
    rows = prepared.rows
    threat_of(asked, prepared.layout)  # refused before anything is asked for
    run = run_of(client, asked, prepared)
    spec, attack = certificate_of(asked, prepared, run), attack_of(asked, prepared, run)
    if not prepared.leave_one_out:
        client.add_points(rows.X, rows.y if spec.points.labels else None, points_title(rows))
    certificate = client.submit(spec).id
    return (run, certificate) if attack is None else (run, certificate, client.submit(attack).id)


def run_of(client: Client, asked: Asked, prepared: PreparedTable) -> str:
    """The run whose metric is certified: a saved one, one trained now, or a saved metric put to these rows."""
    assert prepared.dataset is not None
    if asked.mode == "run":
        return asked.run
    if asked.metric != "run":
        fingerprint = client.add_dataset(prepared.dataset)
        return client.submit(RunSpec(fingerprint, asked.metric, parameters_of(asked), asked.seed)).id
    status = client.status(asked.run)
    if status.dataset == prepared.dataset.fingerprint:
        return asked.run
    return client.add_metric(prepared.dataset, client.run(asked.run), status.title).id
