"""The form: datasets × methods × seeds, the methods' parameters, the device, the cost, and "Start"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from arml_core.device import device_name, list_devices
from arml_core.jobs import StoreError
from arml_core.jobs.learners import entries, entry_of, entry_problems
from arml_core.learners.estimation import memory_available
from arml_core.learners.registry import AUTO, LearnerEntry, Parameter
from arml_core.vocabulary import duration, gigabytes

from ..dataset_options import DatasetOption, describe
from ..markdown import escaped
from ..visitor import write_client
from .choices import (
    CHOICES,
    LARGEST_SETTING,
    WIDGETS,
    TrainView,
    parameters_of,
    read_seeds,
    with_setting,
    write_seeds,
)
from .plan import Plan, make_plan, start

SEEDS_REFUSED, STARTED, KNOWN = "train_seeds_refused", "train_started", "train_known"
FAILED = "train_start_failed"
GROUPS = {
    "methods": ("Metrics: how to compare", "No metric"),
    "references": ("References: which points to compare with", "None: compare with every training row"),
}
"""The widgets that choose methods, each with its label and what it says while it is empty."""


def show_form(view: TrainView, datasets: Mapping[str, DatasetOption]) -> None:
    """Everything up to the Start button."""
    st.subheader("New trainings")
    _datasets(view, datasets)
    _methods(view)
    for problem in entry_problems():
        st.warning(f"{problem} Whoever started the app can mend it; the other methods work.")
    _seeds_and_device(view)
    problems = _parameters(view)
    _cost_and_start(view, datasets, problems)


def _datasets(view: TrainView, datasets: Mapping[str, DatasetOption]) -> None:
    WIDGETS.multiselect(
        "Datasets",
        "datasets",
        view.datasets,
        {key: _label(dataset) for key, dataset in datasets.items()},
        placeholder="Choose at least one dataset",
        help="⬇️ marks one that is not on this machine yet; 📄 is your own upload.",
    )
    for key in view.datasets:
        st.caption(describe(datasets[key]))


def _methods(view: TrainView) -> None:
    """The methods in two groups; both are one choice."""
    for group, (label, placeholder) in GROUPS.items():
        there = {name: entry for name, entry in entries().items() if entry.gives_references == (group == "references")}
        st.multiselect(
            label,
            list(there),
            format_func=lambda name: entry_of(name).title,
            key=WIDGETS.key(group, [name for name in view.methods if name in there]),
            on_change=_choose_methods,
            placeholder=placeholder,
            help="\n".join(f"- **{entry.title}**: {entry.summary}" for entry in there.values()),
        )


def _choose_methods() -> None:
    CHOICES.update(methods=tuple(name for group in GROUPS for name in WIDGETS.value(group)))


def _label(dataset: DatasetOption) -> str:
    if dataset.group == "file":
        return f"📄 {dataset.title}"
    return dataset.title if dataset.here else f"{dataset.title} ⬇️"


def _seeds_and_device(view: TrainView) -> None:
    left, right = st.columns(2)
    refused = st.session_state.get(SEEDS_REFUSED)
    with left:
        st.text_input(
            "Seeds",
            key=WIDGETS.key("seeds", write_seeds(view.seeds).replace("~", ", ") if refused is None else refused[0]),
            on_change=_choose_seeds,
            help="Each seed is a training of its own: 0, 1, 2 or 0-4. Methods without chance run once.",
        )
    with right:
        found = list_devices()
        titles = {name: _device_title(name) for name in found}
        offered = {"auto": f"Automatic: {titles[found[0]]}"} | {n: t[0].upper() + t[1:] for n, t in titles.items()}
        WIDGETS.selectbox(
            "Device",
            "device",
            view.device,
            offered,
            help="No CUDA or Apple GPU was found on this machine; everything works, slower."
            if found == ["cpu"]
            else "Found on this machine: " + ", ".join(titles.values()) + ".",
        )
    if refused is not None:
        st.warning(f"Seeds: {refused[1]}.")


def _device_title(name: str) -> str:
    title = device_name(name)
    return title if name == "cpu" else f"{title} ({name})"


def _choose_seeds() -> None:
    text = WIDGETS.value("seeds")
    try:
        CHOICES.update(seeds=read_seeds(text))
        st.session_state.pop(SEEDS_REFUSED, None)
    except ValueError as reason:
        st.session_state[SEEDS_REFUSED] = (text, str(reason))


def _parameters(view: TrainView) -> list[str]:
    """The paper's parameters of every chosen method, the rest under "Advanced"; returns what is out of range."""
    problems: list[str] = []
    learners = [entry_of(name) for name in view.methods]
    for entry in learners:
        _inputs(view, entry, [p for p in entry.parameters if not p.advanced], len(learners) > 1, problems)
    if any(p.advanced for entry in learners for p in entry.parameters):
        changed = sum(entry_of(m).parameter(n).advanced for m, n, _ in view.settings if m in view.methods)
        with st.expander("Advanced" + (f" ({changed} changed)" if changed else ""), key="train_advanced"):
            st.caption("The paper, or the method, keeps these fixed; the values shown are the usual ones.")
            for entry in learners:
                _inputs(view, entry, [p for p in entry.parameters if p.advanced], True, problems)
            if view.settings:
                st.button("Back to the defaults", on_click=lambda: CHOICES.update(settings=()))
    return problems


def _inputs(
    view: TrainView, entry: LearnerEntry, parameters: list[Parameter], heading: bool, problems: list[str]
) -> None:
    if not parameters:
        return
    if heading:
        st.markdown(f"**{entry.title}**")
    values = parameters_of(view, entry.name)
    for start_at in range(0, len(parameters), 2):
        for column, parameter in zip(st.columns(2), parameters[start_at : start_at + 2], strict=False):
            with column:
                _input(entry.name, parameter, values.get(parameter.name, parameter.default), problems)


def _input(method: str, parameter: Parameter, value: Any, problems: list[str]) -> None:
    """One widget, built from the parameter's description."""
    name = f"p_{method}_{parameter.name}"
    label = parameter.label
    shared: dict[str, Any] = {
        "key": WIDGETS.key(name, None if parameter.automatic and value == AUTO else value),
        "on_change": _set_parameter,
        "args": (method, parameter.name),
        "help": parameter.help,
    }
    if parameter.kind == "choice":
        st.selectbox(label, parameter.choices, **shared)
        return
    whole = parameter.kind == "int"
    kind = int if whole else float
    if parameter.optional or parameter.automatic:
        shared |= {"value": None, "placeholder": "automatic"}
    st.number_input(
        label,
        min_value=kind(parameter.low),
        max_value=kind(LARGEST_SETTING if parameter.high is None else parameter.high),
        step=1 if whole else 0.001,
        format="%d" if whole else "%g",
        **shared,
    )
    try:
        parameter.check(value)
    except ValueError as reason:
        problems.append(str(reason))


def _set_parameter(method: str, name: str) -> None:
    value = WIDGETS.value(f"p_{method}_{name}")
    parameter = entry_of(method).parameter(name)
    if value is None and not parameter.optional:
        value = AUTO if parameter.automatic else parameter.default
    CHOICES.update(settings=with_setting(CHOICES.current(), method, name, value))


def _cost_and_start(view: TrainView, datasets: Mapping[str, DatasetOption], problems: list[str]) -> None:
    for problem in problems:
        st.error(f"{problem[0].upper()}{problem[1:]}.")
    plan = None
    if not view.datasets or not view.methods:
        st.info("Choose at least one dataset and one method.")
    elif not problems:
        plan = make_plan(view, datasets, memory_available())
        _show_cost(plan, view.device)
    ready = plan is not None and plan.count > 0 and plan.too_many is None and SEEDS_REFUSED not in st.session_state
    count = plan.count if plan is not None else 0
    st.button(
        f"Start {count} trainings" if count > 1 else "Start training",
        type="primary",
        width="stretch",
        disabled=not ready,
        on_click=_start,
        args=(plan, view.device),
        key="train_start",
    )
    for key, show in ((STARTED, st.toast), (KNOWN, st.success), (FAILED, st.error)):  # the list shows a job, too
        if key in st.session_state:
            show(st.session_state.pop(key))


def _show_cost(plan: Plan, device: str) -> None:
    if plan.too_many:
        st.warning(plan.too_many)
        return
    for training in plan.refused:
        st.error(
            f"{escaped(training.title)} cannot run here: {training.refused}. "
            "Choose a smaller dataset, or a smaller batch under “Advanced”."
        )
    if not plan.accepted:
        return
    gpu = device != "cpu" and list_devices() != ["cpu"]
    st.markdown(plan.summary() + (" Estimated for the CPU; a GPU is usually faster." if gpu else ""))
    if len(plan.accepted) > 1:
        with st.expander("The estimate of each"):
            rows = [
                {
                    "training": training.title,
                    "seeds": len(training.seeds),
                    "time of one": "unknown" if training.cost is None else f"about {duration(training.cost.seconds)}",
                    "memory": "unknown" if training.cost is None else gigabytes(training.cost.memory),
                }
                for training in plan.accepted
            ]
            st.dataframe(
                pd.DataFrame(rows), hide_index=True, width="stretch", alt="Seeds, time and memory of each training"
            )
    if plan.available is not None and plan.memory > plan.available:
        st.warning(
            "Together they may need more memory than is free. Start fewer, or set ARML_JOBS=1 before starting the app."
        )


def _start(plan: Plan, device: str) -> None:
    try:
        asked = start(write_client(), plan, device)
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = f"Nothing more was started: {escaped(str(reason))}"
        return
    fresh = [job for job in asked if job.state != "done"]
    known = len(asked) - len(fresh)
    if fresh:
        st.session_state[STARTED] = (
            "The training is in the queue." if len(fresh) == 1 else f"{len(fresh)} trainings are in the queue."
        )
    if known:
        st.session_state[KNOWN] = (
            "It was trained before; here is the result."
            if len(asked) == 1
            else f"{known} of the {len(asked)} {'was' if known == 1 else 'were'} trained before."
        )
    CHOICES.update(job=(fresh or asked)[0].id, curve="")
