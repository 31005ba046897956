"""What an evaluation of a run asks for: points, attacker, certificate and attack."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from arml_core.attacks.boundary import STEPS
from arml_core.certificates import METHODS
from arml_core.comparison import ATTACKS, CERTIFICATES, NONE
from arml_core.jobs import EvaluationSpec, JobStatus, PointsSpec, StoreError
from arml_core.threat import ThreatModel
from arml_core.vocabulary import METHOD_WORDS, NO_ATTACK, NORMS, help_list, norm_name

from ..markdown import escaped
from ..visitor import write_client
from .catalog import Offer
from .choices import ATTACK_CHOICES, MOST_NEIGHBOURS, MOST_POINTS, MOST_STEPS, Chosen, bound, choices, set_field

FAILED = "train_evaluation_failed"


def supported(n_neighbors: int, norm: str, box: bool) -> list[str]:
    """The certificates that exist for this K, norm and box, the tightest first."""
    wanted = ThreatModel(norm).norm
    return [
        name
        for name in CERTIFICATES
        if METHODS[name].allows(n_neighbors) and wanted in METHODS[name].norms and (METHODS[name].box or not box)
    ]


def certificate_for(chosen: Chosen, box: bool) -> str:
    """The chosen certificate where it is supported, else the one that always is."""
    return chosen.certificate if chosen.certificate in supported(chosen.k, chosen.norm, box) else "votes"


def points_spec(chosen: Chosen, offer: Offer) -> PointsSpec:
    """The first test points in the paper's order; without a test part, training points, each left out."""
    if offer.n_test:
        return PointsSpec("evaluation", min(chosen.points, offer.n_test))
    return PointsSpec("train", min(chosen.points, offer.n_train))


def most_neighbours(offer: Offer) -> int:
    """The largest K the training points allow, one of them left out if need be."""
    return max(1, min(MOST_NEIGHBOURS, offer.n_train - (0 if offer.n_test else 1)))


def show_form(run: JobStatus, chosen: Chosen, offer: Offer) -> None:
    """K, norm, points, certificate and attack, and the button that asks for both."""
    chosen = replace(chosen, k=min(chosen.k, most_neighbours(offer)))
    box = chosen.box and offer.unit_scale
    rows = offer.n_test or offer.n_train
    first, second, third = st.columns(3)
    with first:
        st.number_input(
            "Neighbours (K)",
            1,
            most_neighbours(offer),
            key=bound("k", chosen.k),
            on_change=set_field("k"),
            help="How many nearest training points vote. The paper shows 1 and 11.",
        )
    with second:
        st.segmented_control(
            "Length of a step",
            list(NORMS),
            required=True,
            format_func=norm_name,
            key=bound("norm", chosen.norm),
            on_change=set_field("norm"),
            width="stretch",
        )
    with third:
        most = min(MOST_POINTS, rows)
        st.number_input(
            "Test points" if offer.n_test else "Training points",
            1,
            most,
            key=bound("points", min(chosen.points, most)),
            on_change=set_field("points"),
            help=f"Of {rows:,}; the paper takes the first 1,000 in its own order."
            if offer.n_test
            else "There are no test points: each training point is judged by all the others.",
        )
    first, second, third = st.columns(3)
    with first:
        st.selectbox(
            "Certificate",
            supported(chosen.k, chosen.norm, box),
            format_func=lambda name: METHOD_WORDS[name].title,
            key=bound("certificate", certificate_for(chosen, box)),
            on_change=set_field("certificate"),
            help=help_list(("exact", "votes", "theorem1", "search")),
        )
    with second:
        st.selectbox(
            "Attack",
            ATTACK_CHOICES,
            format_func=lambda name: NO_ATTACK if name == NONE else METHOD_WORDS[name].title,
            key=bound("attack", chosen.attack),
            on_change=set_field("attack"),
            help=help_list(ATTACKS),
        )
    with third:
        _more(chosen, box, offer)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Evaluate",
            type="primary",
            on_click=_start,
            args=(run.id, chosen, offer),
            key="train_evaluate",
        )
        if run.state != "done":
            st.caption("It waits until the training is done.", width="content")
    if FAILED in st.session_state:
        st.error(st.session_state.pop(FAILED))


def _more(chosen: Chosen, box: bool, offer: Offer) -> None:
    """What only some methods have."""
    if certificate_for(chosen, box) == "search":
        st.number_input(
            "Seconds a point", 0.05, 60.0, step=0.5, key=bound("budget", chosen.budget), on_change=set_field("budget")
        )
    if chosen.attack == "boundary":
        st.number_input(
            "Steps of the attack",
            1,
            MOST_STEPS,
            step=100,
            key=bound("steps", chosen.steps),
            on_change=set_field("steps"),
            help=f"More steps, shorter ways. The default is {STEPS:,}.",
        )
        st.number_input(
            "Seed of the attack",
            0,
            999_999,
            key=bound("attack_seed", chosen.attack_seed),
            on_change=set_field("attack_seed"),
        )
    if offer.unit_scale:
        st.toggle(
            "Stay inside [0, 1]",
            key=bound("box", chosen.box),
            on_change=set_field("box"),
            help="The attacker may not leave the range of the scaled features, e.g. of pixel values.",
        )


def _start(run: str, chosen: Chosen, offer: Offer) -> None:
    box = chosen.box and offer.unit_scale
    threat = ThreatModel(chosen.norm, box=(0.0, 1.0) if box else None)
    points = points_spec(chosen, offer)
    try:
        client = write_client()
        method = certificate_for(chosen, box)
        asked = client.submit(EvaluationSpec("certify", run, chosen.k, method, threat, points, chosen.budget))
        if chosen.attack != NONE:
            options = {"steps": chosen.steps} if chosen.attack == "boundary" else {}
            client.submit(
                EvaluationSpec(
                    "attack", run, chosen.k, chosen.attack, threat, points, seed=chosen.attack_seed, options=options
                )
            )
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = f"It was not started: {escaped(str(reason))}"
        return
    choices.update(job=run, curve=asked.id)
