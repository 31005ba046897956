"""The Compare page's controls, in the sidebar. Each one changes the view; the script then draws the view."""

from __future__ import annotations

import streamlit as st

from arml_core.attacks import METHODS as ATTACKS
from arml_core.comparison import BEST, CERTIFICATES, NONE
from arml_core.vocabulary import METHOD_WORDS, NO_ATTACK, NORM_HELP, norm_name

from .catalogue import RunCatalogue
from .charts import LIMIT_WORDS, ResolvedView
from .choices import VIEWS, WIDGETS, CompareView

CERTIFICATE_TITLES = {
    BEST: "Tightest that all have",
    **{name: METHOD_WORDS[name].title_beside_others for name in CERTIFICATES},
}
ATTACK_TITLES = {
    BEST: "Strongest that all have",
    **{name: METHOD_WORDS[name].title_beside_others for name in ATTACKS},
    NONE: NO_ATTACK,
}
LIMIT_TITLES = {"free": "Anywhere", "box": "In a box", "special": "Costs, frozen"}
CERTIFICATE_HELP = (
    "A certificate proves how far a point can move. Theorem 1 is the paper's; Votes and Search prove more; "
    "for K = 1 and ℓ2 the radius is known exactly."
)
ATTACK_HELP = (
    "An attack looks for a small step that changes the answer. White-box knows the training points; Boundary, the "
    "paper's, only asks for answers."
)
PAPER_HELP = "Open markers, where the paper has a value for the same dataset, metric, K and attacker."
RUNS_HELP = "The number after 'run' is the start of the run's id, as on the Train page."
BAND_HELP = (
    "The test points are a sample. With 95 % confidence the curve of all such points stays inside the outer band "
    "(Dvoretzky–Kiefer–Wolfowitz): the fewer points, the wider."
)


def sidebar(view: CompareView, resolved: ResolvedView, catalogue: RunCatalogue) -> None:
    """Every control that is not hidden by the address."""
    with st.sidebar:
        _choose_runs(view, resolved, catalogue)
        _choose_attacker(view, resolved)
        _choose_methods(view, resolved)
        if view.view == "front":  # a mark has no band, no dashed line and no value of the paper beside it
            return
        if "band" not in view.hide:
            st.toggle("Confidence band", **WIDGETS.bind("band", view.band), help=BAND_HELP)
        if "paper" not in view.hide:
            st.toggle("The paper's values", **WIDGETS.bind("paper", view.paper), help=PAPER_HELP)


def choose_view(view: CompareView) -> None:
    """Curves, or the front, above the charts."""
    if "view" not in view.hide:
        WIDGETS.segmented_control("View", "view", view.view, VIEWS, label_visibility="collapsed")


def _choose_runs(view: CompareView, resolved: ResolvedView, catalogue: RunCatalogue) -> None:
    if "data" not in view.hide:
        st.multiselect(
            "Datasets, side by side",
            list(catalogue.datasets),
            format_func=catalogue.datasets.__getitem__,
            **WIDGETS.bind("data", list(resolved.data), lambda value: tuple(value) or None),
            placeholder="Choose a dataset",
        )
    chosen = {run.key for runs in resolved.chosen.values() for run in runs}
    runs = {run.key: run.label for run in catalogue.shipped if run.dataset in resolved.data}
    if runs and "methods" not in view.hide:
        shown = [key for key in runs if key in chosen]
        WIDGETS.multiselect("Metrics that ship with the project", "methods", shown, runs, placeholder="None")
    # the browser knows options by their words: those of a run must not change with its progress
    runs = {run.key: run.label for run in catalogue.own if run.dataset in resolved.data}
    if "runs" in view.hide:
        return
    if runs:
        shown = [key for key in runs if key in chosen]
        WIDGETS.multiselect("Your models (trained, uploaded)", "runs", shown, runs, placeholder="None", help=RUNS_HELP)
    else:
        st.caption("What you train or upload on the Train page can be added here.")


def _choose_attacker(view: CompareView, resolved: ResolvedView) -> None:
    if "k" not in view.hide:
        label, bound = "Neighbours (K)", WIDGETS.bind("k", resolved.k)
        if len(resolved.ks) <= 6:
            meaning = "How many nearest training points vote."
            st.segmented_control(label, resolved.ks, required=True, **bound, width="stretch", help=meaning)
        else:
            st.selectbox(label, resolved.ks, **bound)
    if "norm" not in view.hide:
        norms = {norm: norm_name(norm) for norm in resolved.norms}
        WIDGETS.segmented_control(
            "Length of a step",
            "norm",
            resolved.norm,
            norms,
            width="stretch",
            help=NORM_HELP,
        )
    if "limits" not in view.hide and (len(resolved.limits) > 1 or view.limits is not None):
        limits = {name: LIMIT_TITLES[name] for name in resolved.limits}
        WIDGETS.segmented_control(
            "Where a step may lead",
            "limits",
            resolved.limit,
            limits,
            width="stretch",
            help="; ".join(f"{LIMIT_TITLES[name]}: {LIMIT_WORDS[name]}" for name in LIMIT_WORDS)
            + ". Radii against different attackers are never drawn on one chart.",
        )


def _choose_methods(view: CompareView, resolved: ResolvedView) -> None:
    there = (BEST, NONE, view.certificate, view.attack, *resolved.certificates, *resolved.attacks)
    if "certificate" not in view.hide:
        offered = {name: title for name, title in CERTIFICATE_TITLES.items() if name in there}
        label = "Certificate" if view.view == "front" else "Certificate (solid)"
        WIDGETS.selectbox(label, "certificate", view.certificate, offered, help=CERTIFICATE_HELP)
    if "attack" not in view.hide and view.view != "front":
        offered = {name: title for name, title in ATTACK_TITLES.items() if name in there}
        WIDGETS.selectbox("Attack (dashed)", "attack", view.attack, offered, help=ATTACK_HELP)
