"""What an evaluation of a run asks for: points, attacker, certificate and attack."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from arml_core.attacks import METHODS as ATTACKS
from arml_core.attacks.boundary import STEPS
from arml_core.certificates import METHODS
from arml_core.comparison import CERTIFICATES, NONE
from arml_core.jobs import EvaluationSpec, JobStatus, PointsSpec, StoreError
from arml_core.threat import ThreatModel
from arml_core.vocabulary import METHOD_WORDS, NO_ATTACK, NORMS, help_list, norm_name

from ..markdown import escaped
from ..visitor import write_client
from .choices import ATTACK_CHOICES, CHOICES, MOST_NEIGHBOURS, MOST_POINTS, MOST_STEPS, WIDGETS, TrainView
from .dataset_options import DatasetOption

FAILED = "train_evaluation_failed"


def supported(n_neighbors: int, norm: str, box: bool) -> list[str]:
    """The certificates that exist for this K, norm and box, the tightest first."""
    wanted = ThreatModel(norm).norm
    return [
        name
        for name in CERTIFICATES
        if METHODS[name].allows(n_neighbors) and wanted in METHODS[name].norms and (METHODS[name].box or not box)
    ]


def certificate_for(view: TrainView, box: bool) -> str:
    """The chosen certificate where it is supported, else the one that always is."""
    return view.certificate if view.certificate in supported(view.k, view.norm, box) else "votes"


def points_spec(view: TrainView, dataset: DatasetOption) -> PointsSpec:
    """The first test points in the paper's order; without a test part, training points, each left out."""
    if dataset.n_test:
        return PointsSpec("evaluation", min(view.points, dataset.n_test))
    return PointsSpec("train", min(view.points, dataset.n_train))


def most_neighbours(dataset: DatasetOption) -> int:
    """The largest K the training points allow, one of them left out if need be."""
    return max(1, min(MOST_NEIGHBOURS, dataset.n_train - (0 if dataset.n_test else 1)))


def show_form(run: JobStatus, view: TrainView, dataset: DatasetOption) -> None:
    """K, norm, points, certificate and attack, and the button that asks for both."""
    view = replace(view, k=min(view.k, most_neighbours(dataset)))
    box = view.box and dataset.unit_scale
    rows = dataset.n_test or dataset.n_train
    first, second, third = st.columns(3)
    with first:
        st.number_input(
            "Neighbours (K)",
            1,
            most_neighbours(dataset),
            **WIDGETS.bind("k", view.k),
            help="How many nearest training points vote. The paper shows 1 and 11.",
        )
    with second:
        norms = {name: norm_name(name) for name in NORMS}
        WIDGETS.segmented_control("Length of a step", "norm", view.norm, norms, width="stretch")
    with third:
        most = min(MOST_POINTS, rows)
        st.number_input(
            "Test points" if dataset.n_test else "Training points",
            1,
            most,
            **WIDGETS.bind("points", min(view.points, most)),
            help=f"Of {rows:,}; the paper takes the first 1,000 in its own order."
            if dataset.n_test
            else "There are no test points: each training point is judged by all the others.",
        )
    first, second, third = st.columns(3)
    with first:
        titles = {name: METHOD_WORDS[name].title for name in supported(view.k, view.norm, box)}
        shown, meaning = certificate_for(view, box), help_list(("exact", "votes", "theorem1", "search"))
        WIDGETS.selectbox("Certificate", "certificate", shown, titles, help=meaning)
    with second:
        titles = {name: NO_ATTACK if name == NONE else METHOD_WORDS[name].title for name in ATTACK_CHOICES}
        WIDGETS.selectbox("Attack", "attack", view.attack, titles, help=help_list(ATTACKS))
    with third:
        _more(view, box, dataset)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Evaluate", type="primary", on_click=_start, args=(run.id, view, dataset), key="train_evaluate")
        if run.state != "done":
            st.caption("It waits until the training is done.", width="content")
    if FAILED in st.session_state:
        st.error(st.session_state.pop(FAILED))


def _more(view: TrainView, box: bool, dataset: DatasetOption) -> None:
    """What only some methods have."""
    if certificate_for(view, box) == "search":
        st.number_input("Seconds a point", 0.05, 60.0, step=0.5, **WIDGETS.bind("budget", view.budget))
    if view.attack == "boundary":
        st.number_input(
            "Steps of the attack",
            1,
            MOST_STEPS,
            step=100,
            **WIDGETS.bind("steps", view.steps),
            help=f"More steps, shorter ways. The default is {STEPS:,}.",
        )
        st.number_input("Seed of the attack", 0, 999_999, **WIDGETS.bind("attack_seed", view.attack_seed))
    if dataset.unit_scale:
        st.toggle(
            "Stay inside [0, 1]",
            **WIDGETS.bind("box", view.box),
            help="The attacker may not leave the range of the scaled features, e.g. of pixel values.",
        )


def _start(run: str, view: TrainView, dataset: DatasetOption) -> None:
    box = view.box and dataset.unit_scale
    threat = ThreatModel(view.norm, box=(0.0, 1.0) if box else None)
    points = points_spec(view, dataset)
    try:
        client = write_client()
        method = certificate_for(view, box)
        asked = client.submit(EvaluationSpec("certify", run, view.k, method, threat, points, view.budget))
        if view.attack != NONE:
            options = {"steps": view.steps} if view.attack == "boundary" else {}
            client.submit(
                EvaluationSpec(
                    "attack", run, view.k, view.attack, threat, points, seed=view.attack_seed, options=options
                )
            )
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = f"It was not started: {escaped(str(reason))}"
        return
    CHOICES.update(job=run, curve=asked.id)
