"""Ask for the price of robustness on a dataset: one learner for several target radii, as jobs in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from arml_core.jobs import JobStatus, RunSpec, StoreError
from arml_core.jobs.front import MULTIPLES, FrontJobs, ask_front, front_learners, front_points
from arml_core.jobs.learners import entry_of
from arml_core.learners.estimation import estimate
from arml_core.vocabulary import duration

from ..address_keys import KEY_LENGTH
from ..dataset_options import DatasetOption, dataset_options, describe
from ..job_words import progress_words, under_way
from ..markdown import escaped
from ..visitor import read_client, write_client
from .charts import ResolvedView
from .choices import CHOICES

ASKED, SHOWN, FAILED = "cmp_front_asked", "cmp_front_shown", "cmp_front_failed"
REFRESH_SECONDS = 1.0
MOST_POINTS, USUAL_POINTS = 10_000, 1_000
SEED = 0
ABOUT = (
    "One method is trained for several target radii: multiples of the one it would choose itself, "
    f"{', '.join(f'{multiple:g}' for multiple in MULTIPLES)} times. Each model is certified exactly at K = 1, and so "
    "is Euclidean 1-NN beside them."
)


@dataclass(frozen=True)
class FrontRequest:
    """What was asked for: a dataset, a learner with its parameters, and on how many points."""

    dataset: DatasetOption
    learner: str
    n_prototypes: int | None
    n: int

    def ask(self) -> FrontJobs:
        """Ask for what is not asked for yet, and say where everything stands."""
        client = write_client()
        option = self.dataset
        fingerprint = client.add_dataset(client.dataset(option.key) if option.group == "file" else option.key)
        changed = {} if self.n_prototypes is None else {"n_prototypes": self.n_prototypes}
        base = RunSpec(fingerprint, self.learner, changed, SEED)
        beside = [RunSpec(fingerprint, "euclidean")]
        return ask_front(client, base, front_points(option.n_test, self.n), beside=beside)

    @property
    def address_name(self) -> str:
        """How Compare calls the dataset in its address."""
        return self.dataset.key[:KEY_LENGTH] if self.dataset.group == "file" else self.dataset.key


def show_front_form(resolved: ResolvedView, epsilon: float | None) -> None:
    """The form, what runs, and what went wrong; folded away once there are marks, at the radius ε."""
    try:
        datasets = dataset_options(read_client())
    except StoreError as reason:
        st.warning(escaped(f"The job store cannot be read: {reason}"))
        return
    if ASKED in st.session_state:
        st.fragment(_progress, run_every=REFRESH_SECONDS)(resolved.own_keys)
    if FAILED in st.session_state:
        st.error(st.session_state.pop(FAILED))
    with st.expander("Compute the front of a dataset", expanded=epsilon is None and ASKED not in st.session_state):
        st.caption(ABOUT)
        _form(datasets, resolved, epsilon)


def _form(datasets: Mapping[str, DatasetOption], resolved: ResolvedView, epsilon: float | None) -> None:
    first, second = st.columns(2)
    names = list(datasets)
    shown = next((i for i, name in enumerate(names) if name[:KEY_LENGTH] in resolved.data or name in resolved.data), 0)
    with first:
        key = st.selectbox(
            "Dataset", names, index=shown, format_func=lambda name: datasets[name].title, key="cmp_front_dataset"
        )
    with second:
        learner = st.selectbox(
            "Method", front_learners(), format_func=lambda name: entry_of(name).title, key="cmp_front_learner"
        )
    option, entry = datasets[key], entry_of(learner)
    rows = option.n_test or option.n_train
    first, second = st.columns(2)
    with first:
        n = st.number_input(
            "Test points" if option.n_test else "Training points, cross-fitted",
            1,
            min(MOST_POINTS, rows),
            min(USUAL_POINTS, rows),
            key=f"cmp_front_points_{key}",
            help=f"Of {rows:,}; results that ship with the project have the first 1,000.",
        )
    prototypes = None
    with second:
        if any(parameter.name == "n_prototypes" for parameter in entry.parameters):
            prototypes = st.number_input(
                "Prototypes in each class",
                1,
                value=None,
                placeholder="automatic",
                key="cmp_front_prototypes",
                help=entry.parameter("n_prototypes").help,
            )
    st.caption(describe(option))
    request = FrontRequest(option, learner, prototypes, int(n))
    st.markdown(_cost(request))
    st.button("Compute the front", type="primary", on_click=_start, args=(request, resolved.own_keys), key="cmp_front")
    st.caption("The same on the command line, as CSV:")
    st.code(command_of(request, epsilon), language="bash", wrap_lines=True)


def _cost(request: FrontRequest) -> str:
    """How long the trainings take, one after the other."""
    entry, option = entry_of(request.learner), request.dataset
    if entry.work is None:
        return f"{len(MULTIPLES)} trainings; there is no estimate of their time."
    changed = {} if request.n_prototypes is None else {"n_prototypes": request.n_prototypes}
    cost = estimate(entry, option.n_train, option.n_features, option.n_classes, changed)
    return f"{len(MULTIPLES)} trainings of about **{duration(cost.seconds)}** each, and their certificates."


def command_of(request: FrontRequest, epsilon: float | None) -> str:
    """The command that prints the same front, at ε or a usual radius."""
    name = "your-file.csv --label your-label-column" if request.dataset.group == "file" else request.dataset.key
    some = "" if request.n_prototypes is None else f" --set n_prototypes={request.n_prototypes}"
    method = "" if request.learner == "robust_prototypes" else f" --learner {request.learner}"
    return (
        f"python -m arml_core front {name} --eps {0.1 if epsilon is None else epsilon:g} --points {request.n} "
        f"--beside euclidean{method}{some}"
    )


def _start(request: FrontRequest, own: tuple[str, ...]) -> None:
    try:
        jobs = request.ask()
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = f"It was not started: {escaped(str(reason))}"
        return
    st.session_state[ASKED], st.session_state[SHOWN] = request, _keys(jobs)
    runs = (*own, *_keys(jobs)) if request.address_name in (CHOICES.current().data or ()) else _keys(jobs)
    CHOICES.update(
        data=(request.address_name,), k=1, norm="l2", limits="free", certificate="best", runs=tuple(dict.fromkeys(runs))
    )


def _keys(jobs: FrontJobs) -> tuple[str, ...]:
    return tuple(model.run.id[:KEY_LENGTH] for model in jobs.models)


def _progress(own: tuple[str, ...]) -> None:
    """Where the jobs stand; as soon as the automatic radius is known, the others are asked for and shown."""
    request: FrontRequest | None = st.session_state.get(ASKED)
    if request is None:
        return
    try:
        jobs = request.ask()
    except (ValueError, StoreError) as reason:
        st.session_state.pop(ASKED)
        st.session_state[FAILED] = f"The front is not complete: {escaped(str(reason))}"
        st.rerun()
    fresh = [key for key in _keys(jobs) if key not in st.session_state[SHOWN]]
    if jobs.at_rest:
        st.session_state.pop(ASKED)
        if not jobs.done:
            st.session_state[FAILED] = "The front is not complete: " + _why(jobs)
    if fresh:
        st.session_state[SHOWN] = _keys(jobs)
        CHOICES.update(runs=tuple(dict.fromkeys((*own, *fresh))))
    if fresh or jobs.at_rest:
        st.rerun()
    total = len(MULTIPLES) + 1
    done = sum(model.done for model in jobs.models)
    steps = sum(model.run.fraction + model.evaluation.fraction for model in jobs.models)
    active = [job for model in jobs.models for job in (model.run, model.evaluation) if under_way(job)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, steps / (2 * total)), text=_words(request, done, total, active), width="stretch")
        st.button("Cancel", key="cmp_front_cancel", on_click=_cancel, args=([job.id for job in active if job.mine],))
    if not jobs.all_asked:
        st.caption(
            "Keep this page open until the first model is done: the other target radii are multiples of its own."
        )


def _words(request: FrontRequest, done: int, total: int, active: list[JobStatus]) -> str:
    first = f"; {escaped(active[0].title)}: {progress_words(active[0])}" if active else ""
    return f"Front of {escaped(request.dataset.title)}: {done} of {total} models are done{first}"


def _why(jobs: FrontJobs) -> str:
    for model in jobs.models:
        for job in (model.run, model.evaluation):
            if job.state != "done":
                reason = f": {escaped(job.reason)}" if job.reason else ""
                return f"{escaped(job.title)} is {job.state}{reason}. Retry it on the Train page, or compute it again."
    return "some models are missing. Compute it again."


def _cancel(jobs: list[str]) -> None:
    st.session_state.pop(ASKED, None)
    client = read_client()
    for job in jobs:
        try:
            client.cancel(job)
        except (ValueError, StoreError) as reason:
            st.session_state[FAILED] = escaped(str(reason))
