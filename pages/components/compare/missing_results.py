"""Keeping the page up to date while jobs run, and asking for results that are missing."""

from __future__ import annotations

import streamlit as st

from arml_core.comparison import BEST, NONE
from arml_core.jobs import EvaluationSpec, JobStatus, PointsSpec, RunSpec, StoreError
from arml_core.threat import ThreatModel

from ..markdown import escaped
from ..visitor import read_client, write_client
from .catalogue import LISTED, Run, signature_of
from .charts import Chart, ResolvedView
from .choices import CHOICES, CompareView

REFRESH_SECONDS = 2
POINTS = 200
SIGNATURE, ASKED = "cmp_signature", "cmp_asked"


@st.fragment(run_every=REFRESH_SECONDS)
def watch_store() -> None:
    """Draw the page again as soon as a job has begun, moved on or ended."""
    try:
        now = signature_of(read_client().list(limit=LISTED))
    except StoreError:
        return
    if now != st.session_state.get(SIGNATURE, now):
        st.session_state[SIGNATURE] = now
        st.rerun()


def show_evaluate_buttons(view: CompareView, resolved: ResolvedView, charts: list[Chart]) -> None:
    """For chosen runs without results in this setting: a button that asks for them."""
    for name, runs in resolved.chosen.items():
        there = {run.key for chart in charts if chart.dataset == name for run in chart.runs}
        for run in runs:
            if run.job is not None and run.job.state == "done" and run.key not in there:
                chart = next((chart for chart in charts if chart.dataset == name), None)
                _evaluate_button(run, view, resolved, chart)
    for message in st.session_state.pop(ASKED, []):
        st.info(escaped(message))


def _evaluate_button(run: Run, view: CompareView, resolved: ResolvedView, chart: Chart | None) -> None:
    k = resolved.k or 1
    norm = resolved.norm or "l2"
    certificate, attack = methods_for(view, k, norm, chart)
    points = chart.pairs[0].n_points if chart is not None else POINTS
    n = min(points, 1000)
    words = f"{certificate} certificate" + ("" if attack is None else f" and {attack} attack")
    st.button(
        f"Evaluate {escaped(run.label)} for K = {k}",
        key=f"cmp_evaluate_{run.key}",
        on_click=_evaluate,
        args=(run, k, norm, certificate, attack, n, chart),
        help=f"Starts jobs in the background: {words} on {n:,} points. The curves appear here as they are computed.",
    )


def methods_for(view: CompareView, k: int, norm: str, chart: Chart | None) -> tuple[str, str | None]:
    """The certificate and attack that fit the chart, or the usual ones."""
    proofs = [c.certificate.spec.method for c in chart.pairs if c.certificate is not None] if chart else []
    hits = [c.attack.spec.method for c in chart.pairs if c.attack is not None] if chart else []
    usual = "exact" if k == 1 and norm == "l2" else "votes"
    certificate = view.certificate if view.certificate != BEST else proofs[0] if proofs else usual
    if view.attack == NONE or (certificate == "exact" and view.attack == BEST):
        return certificate, None
    return certificate, view.attack if view.attack != BEST else hits[0] if hits else "whitebox"


def _points(job: JobStatus, n: int, chart: Chart | None, n_test: int) -> PointsSpec:
    """Those of the chart, but no training rows that the run's own points were learned from."""
    spec = job.spec
    assert isinstance(spec, RunSpec)
    usual = spec.usual_points(n_test, n)
    if chart is None or chart.setting.part == "given" or (chart.setting.part == "train" and spec.gives == "references"):
        return usual
    if chart.setting.part == "cross":
        return PointsSpec("cross", n, folds=chart.setting.folds, seed=chart.setting.fold_seed)
    return PointsSpec(chart.setting.part, n)


def _evaluate(run: Run, k: int, norm: str, certificate: str, attack: str | None, n: int, chart: Chart | None) -> None:
    assert run.job is not None
    threat = chart.setting.threat if chart is not None else ThreatModel(norm)
    client = write_client()
    messages = []
    try:
        points = _points(run.job, n, chart, len(client.dataset(run.job.dataset).X_test))
        client.submit(EvaluationSpec("certify", run.job.id, k, certificate, threat, points))
        if attack is not None:
            client.submit(EvaluationSpec("attack", run.job.id, k, attack, threat, points))
        shown = CHOICES.current().runs
        if shown is not None and run.key not in shown:
            CHOICES.update(runs=(*shown, run.key))
    except (ValueError, StoreError) as reason:
        messages.append(f"{run.label} cannot be evaluated so: {reason}")
    st.session_state[ASKED] = messages
