"""The Compare page's controls, in the sidebar. Each one changes the view; the script then draws the view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from arml_core.comparison import ATTACKS, BEST, CERTIFICATES, NONE
from arml_core.vocabulary import METHOD_WORDS, NO_ATTACK, NORM_HELP, norm_name

from ..address import keys_of
from .catalogue import RunCatalogue
from .charts import LIMIT_WORDS, Scene
from .choices import CHOICES, CompareView

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
BAND_HELP = (
    "The test points are a sample. With 95 % confidence the curve of all such points stays inside the outer band "
    "(Dvoretzky–Kiefer–Wolfowitz): the fewer points, the wider."
)


bound = keys_of("cmp")


def on_change(name: str, change: Callable[[Any], Any] = lambda value: value) -> Callable[[], None]:
    """A callback that puts the widget's new value into the view."""
    return lambda: CHOICES.update(**{name: change(st.session_state[f"cmp_{name}"])})


def sidebar(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    """Every control that is not hidden by the address."""
    sections: dict[str, Callable[[CompareView, Scene, RunCatalogue], None]] = {
        "data": _data,
        "methods": _methods,
        "runs": _runs,
        "k": _neighbours,
        "norm": _norm,
        "limits": _limits,
        "certificate": _certificate,
        "attack": _attack,
        "band": _band,
        "paper": _paper,
    }
    with st.sidebar:
        for name, section in sections.items():
            if name not in view.hide:
                section(view, scene, catalogue)


def _data(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    st.multiselect(
        "Datasets, side by side",
        list(catalogue.datasets),
        format_func=catalogue.datasets.__getitem__,
        key=bound("data", list(scene.data)),
        on_change=on_change("data", lambda value: tuple(value) or None),
        placeholder="Choose a dataset",
    )


def _methods(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    runs = {run.key: run.label for run in catalogue.shipped if run.dataset in scene.data}
    if not runs:
        return
    shown = [key for key in runs if any(run.key == key for found in scene.chosen.values() for run in found)]
    st.multiselect(
        "Metrics that ship with the project",
        list(runs),
        format_func=runs.__getitem__,
        key=bound("methods", shown),
        on_change=on_change("methods", tuple),
        placeholder="None",
    )


def _runs(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    runs = {run.key: run.label for run in catalogue.own if run.dataset in scene.data}
    if not runs:
        st.caption("Metrics you train or upload on the Train page can be added here.")
        return
    shown = [key for key in runs if any(run.key == key for found in scene.chosen.values() for run in found)]
    st.multiselect(
        "Your metrics (trained, uploaded)",
        list(runs),
        format_func=runs.__getitem__,  # the browser knows options by these words: they must not change with progress
        key=bound("runs", shown),
        on_change=on_change("runs", tuple),
        placeholder="None",
        help="The number after 'run' is the start of the run's id, as on the Train page.",
    )


def _neighbours(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    if len(scene.ks) <= 6:
        st.segmented_control(
            "Neighbours (K)",
            scene.ks,
            required=True,
            key=bound("k", scene.k),
            on_change=on_change("k"),
            width="stretch",
            help="How many nearest training points vote.",
        )
    else:
        st.selectbox("Neighbours (K)", scene.ks, key=bound("k", scene.k), on_change=on_change("k"))


def _norm(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    st.segmented_control(
        "Length of a step",
        scene.norms,
        required=True,
        format_func=norm_name,
        key=bound("norm", scene.norm),
        on_change=on_change("norm"),
        width="stretch",
        help=NORM_HELP,
    )


def _limits(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    if len(scene.limits) < 2 and view.limits is None:
        return
    st.segmented_control(
        "Where a step may lead",
        scene.limits,
        required=True,
        format_func=LIMIT_TITLES.__getitem__,
        key=bound("limits", scene.limit),
        on_change=on_change("limits"),
        width="stretch",
        help="; ".join(f"{LIMIT_TITLES[name]}: {LIMIT_WORDS[name]}" for name in LIMIT_WORDS)
        + ". Radii against different attackers are never drawn on one chart.",
    )


def _certificate(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    offered = [name for name in CERTIFICATE_TITLES if name in (BEST, view.certificate, *scene.certificates)]
    st.selectbox(
        "Certificate (solid)",
        offered,
        format_func=CERTIFICATE_TITLES.__getitem__,
        key=bound("certificate", view.certificate),
        on_change=on_change("certificate"),
        help=CERTIFICATE_HELP,
    )


def _attack(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    offered = [name for name in ATTACK_TITLES if name in (BEST, NONE, view.attack, *scene.attacks)]
    st.selectbox(
        "Attack (dashed)",
        offered,
        format_func=ATTACK_TITLES.__getitem__,
        key=bound("attack", view.attack),
        on_change=on_change("attack"),
        help=ATTACK_HELP,
    )


def _band(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    st.toggle("Confidence band", key=bound("band", view.band), on_change=on_change("band"), help=BAND_HELP)


def _paper(view: CompareView, scene: Scene, catalogue: RunCatalogue) -> None:
    st.toggle(
        "The paper's values",
        key=bound("paper", view.paper),
        on_change=on_change("paper"),
        help="Open markers, where the paper has a value for the same dataset, metric, K and attacker.",
    )
