"""What an evaluation of a run asks for: points, attacker, certificate and attack."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from arml_core.attacks import METHODS as ATTACKS
from arml_core.attacks.boundary import STEPS
from arml_core.certificates import METHODS
from arml_core.comparison import CERTIFICATES, NONE
from arml_core.jobs import Client, EvaluationSpec, JobStatus, PointsSpec, RunSpec, StoreError
from arml_core.threat import ThreatModel
from arml_core.vocabulary import METHOD_WORDS, NO_ATTACK, NORMS, help_list, norm_name

from ..dataset_options import DatasetOption
from ..markdown import escaped
from ..visitor import read_client, write_client
from .choices import ATTACK_CHOICES, CHOICES, MOST_NEIGHBOURS, MOST_POINTS, MOST_STEPS, WIDGETS, TrainView

FAILED = "train_evaluation_failed"
NO_TEST_POINTS = {
    "train": "There are no test points: each training point is judged by all the others.",
    "cross": "There are no test points: each training point is judged by references that were learned without it.",
}


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


def points_spec(view: TrainView, dataset: DatasetOption, run: RunSpec) -> PointsSpec:
    """The first test points in the paper's order; without a test part, training points that the model has not seen."""
    return run.usual_points(dataset.n_test, min(view.points, dataset.n_test or dataset.n_train))


def most_neighbours(dataset: DatasetOption, n_references: int | None = None) -> int:
    """The largest K that the points allow which are compared with, one of them left out if need be."""
    if n_references is not None:
        return max(1, min(MOST_NEIGHBOURS, n_references))
    return max(1, min(MOST_NEIGHBOURS, dataset.n_train - (0 if dataset.n_test else 1)))


def fitting_view(view: TrainView, most: int, has_references: bool) -> TrainView:
    """With a K that is possible: the largest of a metric's, 1 of references, which were learned to answer alone."""
    return view if view.k <= most else replace(view, k=1 if has_references else most)


def _n_references(run: JobStatus, spec: RunSpec) -> int | None:
    """How many points a finished training compares with; None for all training rows, or if it is not known yet."""
    if spec.gives == "metric" or run.state != "done":
        return None
    return _count(run.id, run.finished, read_client())


@st.cache_data(max_entries=256, show_spinner=False)
def _count(run: str, finished: float | None, _client: Client) -> int | None:
    points = _client.run(run).references_
    return None if points is None else len(points)


def show_form(run: JobStatus, view: TrainView, dataset: DatasetOption) -> None:
    """K, norm, points, certificate and attack, and the button that asks for both."""
    spec = run.spec
    assert isinstance(spec, RunSpec)
    try:
        most_k = most_neighbours(dataset, _n_references(run, spec))
    except (ValueError, StoreError) as reason:
        st.warning(escaped(f"{reason}."))
        return
    view = fitting_view(view, most_k, spec.gives != "metric")
    compared = "training points" if spec.gives == "metric" else "references"
    box = view.box and dataset.unit_scale
    rows = dataset.n_test or dataset.n_train
    first, second, third = st.columns(3)
    with first:
        st.number_input(
            "Neighbours (K)",
            1,
            most_k,
            **WIDGETS.bind("k", view.k),
            help=f"How many nearest {compared} vote. "
            + ("The paper shows 1 and 11." if spec.gives == "metric" else "Prototypes are learned for K = 1."),
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
            else NO_TEST_POINTS[points_spec(view, dataset, spec).part],
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
        st.button("Evaluate", type="primary", on_click=_start, args=(run, view, dataset), key="train_evaluate")
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


def _start(job: JobStatus, view: TrainView, dataset: DatasetOption) -> None:
    run, spec = job.id, job.spec
    assert isinstance(spec, RunSpec)
    box = view.box and dataset.unit_scale
    threat = ThreatModel(view.norm, box=(0.0, 1.0) if box else None)
    points = points_spec(view, dataset, spec)
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
