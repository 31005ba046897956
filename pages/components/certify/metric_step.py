"""Step 3: the metric or the references, the neighbours, the length of a change, and the certificate."""

from __future__ import annotations

from typing import Any

import streamlit as st

from arml_core.certificates import METHODS
from arml_core.comparison import CERTIFICATES
from arml_core.datasets.table import Remedy
from arml_core.jobs import RunSpec
from arml_core.learners.registry import AUTO, Parameter
from arml_core.vocabulary import METHOD_WORDS, NORM_HELP, NORMS, norm_name, verdicts_at

from ..markdown import escaped
from ..metric_file import LARGEST_MB, read_metric
from ..visitor import write_client
from .choices import (
    LARGEST_RADIUS,
    LARGEST_SETTING,
    MOST_FOLDS,
    WIDGETS,
    CertifyView,
    current,
    parameters_of,
    update_inputs,
)
from .files import clean_title
from .models import MODELS, VOTERS, cross_words, model_title
from .prepare import PreparedTable, method_of, neighbour_problems, points_of, references_refused, threat_of
from .problems import show_problems
from .saved_runs import gives_metric, pick_run, saved_runs
from .start import REFUSED, start

METHOD_TITLES = {
    "auto": "Best that is quick",
    **{name: METHOD_WORDS[name].offer for name in CERTIFICATES},
}
UPLOAD_REFUSED = "cf_refused_metric"


def summary(view: CertifyView, n_rows: int) -> str:
    """The step in a few words, for its heading."""
    metric = "the saved run's" if "run" in (view.mode, view.metric) else MODELS[view.metric].title
    method = method_of(view, n_rows)
    decided = f", {verdicts_at((view.at,))}" if method == "search" and view.at is not None else ""
    return f"{metric}, K = {view.k}, {norm_name(view.norm)}, {method}{decided}"


def show_metric_step(view: CertifyView, prepared: PreparedTable) -> None:
    """The choices of this step, what stands against them, and the button."""
    assert prepared.rows is not None
    assert prepared.layout is not None
    columns = st.columns([1.4, 0.7, 0.8, 1.6], gap="medium")
    with columns[0]:
        _show_metric(view)
    with columns[1]:
        st.number_input(
            "Neighbours (K)",
            1,
            999,
            key=WIDGETS.key("k", view.k),
            on_change=_set_k,
            help=f"How many nearest {VOTERS[prepared.gives]} vote. The smallest class number wins a tied vote.",
        )
    with columns[2]:
        WIDGETS.selectbox(
            "Length of a change",
            "norm",
            view.norm,
            {name: norm_name(name) for name in NORMS},
            help=NORM_HELP,
        )
    with columns[3]:
        _show_method(view, len(prepared.rows.X))
    if view.metric == "run" and view.mode != "run":
        _show_saved_metrics(view, prepared)
    elif view.mode != "run":
        _show_parameters(view, prepared)
    if prepared.rows.y is not None:
        WIDGETS.segmented_control(
            "What must not change?",
            "labels",
            view.labels,
            {True: "The right answer", False: "The answer, right or wrong"},
            help="With the right answer, a row that is classified wrongly has radius 0.",
        )
    if _is_allowed(view, prepared):
        n = len(prepared.rows.X)
        st.button(
            f"Certify {n:,} {'row' if n == 1 else 'rows'}",
            key="cf_start",
            type="primary",
            on_click=start,
            args=(prepared,),
        )
    if st.session_state.get(REFUSED):
        st.error(escaped(st.session_state[REFUSED]))


def _is_allowed(view: CertifyView, prepared: PreparedTable) -> bool:
    """Whether it can be started; says why not."""
    assert prepared.layout is not None
    try:
        threat_of(view, prepared.layout)
    except ValueError as reason:
        words = str(reason)
        st.error(escaped(words[:1].upper() + words[1:] + "."))
        return False
    if view.metric == "run" and view.mode != "run" and not _is_metric(view.run):
        return False
    refused = references_refused(view, prepared)
    if refused:
        st.error(escaped(refused))
        return False
    found = neighbour_problems(view, prepared)
    show_problems(found, "metric", lambda remedy: None)
    if found:
        with st.container(horizontal=True):
            for remedy in found[0].remedies:
                key = f"cf_k_{'_'.join(remedy.options)}"
                st.button(escaped(remedy.words), key=key, on_click=_mend, args=(remedy,))
    return not found


def _is_metric(run: str) -> bool:
    """Whether a saved run is chosen whose metric can be put to the rows of a file."""
    if run and not gives_metric(run):
        st.error(
            "This run has learned prototypes, and these rows may have taught them. Certify a query file with it (step "
            "1, “A saved run and a query file”), or choose prototypes as the model here: they are then cross-fitted."
        )
        return False
    return bool(run)


def _mend(remedy: Remedy) -> None:
    """Carry out what the problem of too few rows offers."""
    names = {"n_neighbors": "k", "method": "method"}
    update_inputs(**{names[option]: value for option, value in remedy.options.items()})


def _set_k() -> None:
    """A certificate that the new K does not allow gives way to the best one."""
    view, k = current(), int(WIDGETS.value("k"))
    fits = view.method == "auto" or METHODS[view.method].allows(k)
    update_inputs(k=k, method=view.method if fits else "auto")


def _show_metric(view: CertifyView) -> None:
    if view.mode == "run":
        st.text_input("Model", "That of the saved run", disabled=True, key="cf_metric_of_run")
        return
    WIDGETS.selectbox(
        "Model",
        "metric",
        view.metric,
        {name: model_title(name) for name in (*MODELS, "run")},
        {"params": {}},
        help="What a row is compared with, and how. A metric says how near two rows are; prototypes are a few learned "
        "points that stand for all rows. Both can be trained here so that small changes flip fewer rows.",
    )


def _show_method(view: CertifyView, n_rows: int) -> None:
    norm = NORMS[view.norm].p
    allowed = [name for name, support in METHODS.items() if support.allows(view.k) and norm in support.norms]
    options = {name: title for name, title in METHOD_TITLES.items() if name in ("auto", *allowed)}
    if view.method not in options:
        update_inputs(method="auto")
        view = current()
    chosen = method_of(view, n_rows)
    WIDGETS.selectbox("Certificate", "method", view.method, options, help=f"Now: {METHOD_WORDS[chosen].effect}.")
    if chosen == "search":
        _show_search(view)


def _show_search(view: CertifyView) -> None:
    """How long a row is searched, and for which verdicts."""
    seconds, radius = st.columns(2, gap="small")
    with seconds:
        st.number_input(
            "Seconds a row",
            0.01,
            60.0,
            step=0.1,
            format="%.2f",
            **WIDGETS.bind("budget", view.budget),
            help="More time narrows the interval between what is proved and what was found.",
        )
    with radius:
        st.number_input(
            "Verdicts at ε",
            0.0,
            LARGEST_RADIUS,
            None,
            step=0.05,
            format="%g",
            **WIDGETS.bind("at", view.at),
            placeholder="any",
            help="If you know how large a change you fear: time is then spent only on rows whose verdict at this ε is "
            "open, and no change is looked for that flips a row beyond it. Verdicts at another ε stay right, but more "
            "rows may be undecided there. Leave it empty to narrow the interval of every row.",
        )


def _show_parameters(view: CertifyView, prepared: PreparedTable) -> None:
    """The parameters people change; the rest is on the Train page."""
    entry = MODELS[view.metric]
    common = [parameter for parameter in entry.parameters if not parameter.advanced]
    if entry.name == "euclidean":
        return
    st.caption(f"{entry.summary} Trained in the background; all settings are on the Train page.")
    with st.container(horizontal=True):
        for parameter in common:
            _show_parameter(view, parameter)
        if prepared.cross_fitted:
            st.number_input(
                "Folds",
                2,
                MOST_FOLDS,
                **WIDGETS.bind("folds", view.folds),
                help="The rows are dealt into so many parts; each part is answered by what the others teach.",
                width=160,
            )
        if entry.seeded or prepared.cross_fitted:
            st.number_input("Seed", 0, 9999, **WIDGETS.bind("seed", view.seed), width=160)
    if prepared.cross_fitted:
        assert prepared.dataset is not None
        run = RunSpec(prepared.dataset.fingerprint, view.metric, parameters_of(view), view.seed)
        st.caption(cross_words(points_of(view, prepared), run))


def _show_parameter(view: CertifyView, parameter: Parameter) -> None:
    value = parameters_of(view).get(parameter.name, parameter.default)
    label, name = parameter.label, f"param_{parameter.name}"
    shared: dict[str, Any] = {
        "on_change": _set_parameter,
        "args": (parameter.name,),
        "help": parameter.help,
        "width": 200,
    }
    if parameter.kind == "choice":
        st.selectbox(label, parameter.choices, key=WIDGETS.key(name, value), **shared)
        return
    whole = parameter.kind == "int"
    kind = int if whole else float
    empty = value is None or (parameter.automatic and value == AUTO)
    st.number_input(
        label,
        min_value=kind(parameter.low),
        max_value=kind(LARGEST_SETTING if parameter.high is None else parameter.high),
        step=1 if whole else 0.1,
        key=WIDGETS.key(name, None if empty else kind(value)),
        placeholder="automatic" if parameter.optional or parameter.automatic else None,
        **shared,
    )


def _set_parameter(name: str) -> None:
    view = current()
    default: Any = MODELS[view.metric].parameter(name).default
    value = WIDGETS.value(f"param_{name}")
    params = {key: kept for key, kept in view.params.items() if key != name}
    update_inputs(params={**params, **({} if value is None or value == default else {name: value})})


def _show_saved_metrics(view: CertifyView, prepared: PreparedTable) -> None:
    """Runs of this visitor and of public datasets that learned a metric alone, or M from a file."""
    runs = saved_runs("metric")
    left, right = st.columns(2, gap="medium")
    with left:
        pick_run(
            "Saved metric",
            runs,
            view,
            "It must have been made for the same features in the same order. Saved prototypes go with a query file: "
            "step 1, “A saved run and a query file”.",
        )
    with right:
        st.file_uploader(
            "… or upload M (.npz or .csv, a square matrix for the scaled features)",
            key="cf_upload_metric",
            on_change=_take_metric,
            args=(prepared,),
            max_upload_size=LARGEST_MB,
        )
        if st.session_state.get(UPLOAD_REFUSED):
            st.error(escaped(st.session_state[UPLOAD_REFUSED]))


def _take_metric(prepared: PreparedTable) -> None:
    """Check an uploaded M and enter it as a finished run."""
    upload = st.session_state.get("cf_upload_metric")
    st.session_state.pop(UPLOAD_REFUSED, None)
    if upload is None or prepared.dataset is None:
        return
    try:
        title = clean_title(upload.name)
        metric = read_metric(title, upload.getvalue(), prepared.dataset.n_features)
        job = write_client().add_metric(prepared.dataset, metric, title)
    except (ValueError, OSError) as reason:
        st.session_state[UPLOAD_REFUSED] = str(reason)
        return
    update_inputs(metric="run", run=job.id)
