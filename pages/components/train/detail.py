"""One training: its state, live curves, eigenvalues, references, log, file and the lines that repeat it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.figures import (
    eigenvalues_of,
    history_table,
    progress_alt,
    progress_figure,
    spectrum_alt,
    spectrum_figure,
)
from arml_core.jobs import Client, DamagedFile, History, JobStatus, RunSpec, StoreError, is_shared
from arml_core.jobs.front import RADIUS
from arml_core.jobs.learners import offered
from arml_core.jobs.spec import GIVEN
from arml_core.learners.registry import AUTO
from arml_core.learners.storage import save_metric
from arml_core.vocabulary import number

from ..chart import show_chart
from ..csv_out import csv_button
from ..dataset_options import DatasetOption
from ..formula import show_formula
from ..job_words import BADGES, interrupted, name_of, progress_words, state_words, step_word, under_way, word_for_model
from ..markdown import escaped
from ..on_demand import on_demand
from ..theme import current_style
from ..visitor import read_client
from .choices import CHOICES, TrainView
from .quantities import formula_of, quantities_of
from .queue import REFRESH_SECONDS, cancel_button, retry
from .references import show_references, table_of
from .snippet import training_lines

CHART_SECONDS = 1.2
LOG_SECONDS = 2.0


def show_training(job: JobStatus, view: TrainView, dataset: DatasetOption | None) -> None:
    """Header, charts and what can be done with the result."""
    active = under_way(job)
    st.fragment(_header, run_every=REFRESH_SECONDS if active else None)(job.id, active, job.finished)
    st.fragment(_charts, run_every=CHART_SECONDS if active else None)(job.id)
    show_formula(formula_of(run_spec(job)))
    if "data-out" not in view.hide:
        on_demand("The numbers behind the charts (CSV)", "train_open_data", lambda: _data(job))
    on_demand("Log", "train_open_log", lambda: st.fragment(_log, run_every=LOG_SECONDS if active else None)(job.id))
    if "python" not in view.hide:
        on_demand("Copy link and Python", "train_open_python", lambda: _copy(job, dataset))


def run_spec(job: JobStatus) -> RunSpec:
    """What the training was asked for."""
    spec = job.spec
    assert isinstance(spec, RunSpec)
    return spec


def _header(job_id: str, was_active: bool, had_finished: float | None) -> None:
    """State, progress and buttons; at the end of the job the whole page is drawn once more.

    A retry may have failed again before this is read: then only the time tells, and the log shows the new attempt.
    """
    try:
        client = read_client()
        job = client.status(job_id)
        held = job.state == "queued" and client.worker().held
    except (ValueError, StoreError) as reason:
        st.error(escaped(f"This job cannot be read: {reason}"))
        return
    if (was_active, had_finished) != (under_way(job), job.finished):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(name_of(job), width="content")
        st.markdown(BADGES[job.state], width="content")
    if is_shared():
        _whose(job)
    if under_way(job):
        st.progress(job.fraction, text=_progress_text(job))
    _state(job, held)
    _buttons(client, job)


def _progress_text(job: JobStatus) -> str:
    words = progress_words(job)
    return words[0].upper() + words[1:]


def _whose(job: JobStatus) -> None:
    words = "Your job" if job.mine else "Somebody else asked for this job; only they can cancel it"
    sees = "only you see it, because it comes from your upload" if job.private else "everybody here sees it"
    st.caption(f"{words}; {sees}.")


def _state(job: JobStatus, held: bool) -> None:
    words = state_words(job, held)
    if job.state == "failed" or (job.state == "lost" and not interrupted(job)):
        st.error(words)
    elif job.state in ("cancelled", "lost") or held:
        st.warning(words)
    else:
        st.markdown(words)


def _buttons(client: Client, job: JobStatus) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.is_active and job.mine:
            cancel_button(job, "train_cancel", "What is finished is kept: a retry goes on from the last checkpoint.")
        if job.mine and job.state in ("failed", "cancelled", "lost") and not interrupted(job):
            st.button("Retry", key="train_retry", type="primary", on_click=retry, args=(job.id,))
        if job.state == "done":
            st.download_button(
                f"Download the {word_for_model(job)}",
                data=lambda: metric_file(client, job),
                file_name=file_name(job, "npz"),
                mime="application/octet-stream",
                key="train_metric",
                on_click="ignore",
                help=f"One .npz file with {_what_is_in_it(job)} and how it was made; `load_metric` reads it, and so "
                "does this page.",
            )
            st.page_link("pages/compare.py", label="Go to Compare", icon="➡️")


def _what_is_in_it(job: JobStatus) -> str:
    return "G" if run_spec(job).gives == "metric" else "the references, their classes, G"


def metric_file(client: Client, job: JobStatus) -> bytes:
    """The learned metric, with its references where it has any, as the one file that `load_metric` reads."""
    run, spec = client.run(job.id), run_spec(job)
    name, _ = client.dataset_label(job.dataset)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metric.npz"
        save_metric(
            path,
            run,
            learner=spec.learner,
            parameters=spec.parameters,
            dataset=name or None,
            fingerprint=spec.dataset,
            seed=spec.seed,
            class_names=None if spec.gives == "metric" else client.dataset(job.dataset).class_names,
        )
        return path.read_bytes()


def file_name(job: JobStatus, ending: str) -> str:
    """A file name of letters, digits and dashes."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in job.title.lower())
    short = "-".join(part for part in words.split("-") if part and part not in ("on", "for"))[:60]
    return f"{short or 'metric'}-{job.content.get('seed', 0)}.{ending}"


def _charts(job_id: str) -> None:
    try:
        client = read_client()
        job = client.status(job_id)
        history = _history(client, job)
        run = client.run(job_id) if job.state == "done" else None
        components = None if run is None else run.components_
        references = None if run_spec(job).gives == "metric" else client.live_references(job_id)
    except DamagedFile as reason:
        st.warning(escaped(f"{reason}."))
        return
    except (ValueError, StoreError) as reason:
        st.error(escaped(f"The curves cannot be read: {reason}"))
        return
    curves = [name for name in quantities_of(run_spec(job)) if len(history.values.get(name, ()))]
    spectrum, first = _spectrum(job, history, components) if _learns_metric(run_spec(job), components) else (None, None)
    if not curves and spectrum is None and references is None:
        st.caption(_no_curves(job))
        return
    charts: list[Any] = [lambda name=name: _curve(name, job, history) for name in curves]
    if spectrum is not None:
        charts.append(lambda: _eigenvalues(spectrum, first))
    charts.append(lambda: _settings(job, None if run is None else run.radius_))
    for row in range(0, len(charts), 2):
        for column, chart in zip(st.columns(2), charts[row : row + 2], strict=False):
            with column:
                chart()
    if references is not None:
        show_references(client, job, references)


def _learns_metric(spec: RunSpec, components: Any) -> bool:
    """Whether there is a metric to look at: references may be compared in the Euclidean one."""
    if spec.gives == "metric":
        return True
    entry = offered(spec.learner)
    if entry is not None:
        return bool(entry.build(spec.parameters).learns_its_metric)
    return components is not None and not np.array_equal(components, np.eye(components.shape[1]))


def _no_curves(job: JobStatus) -> str:
    if under_way(job):
        return "The curves appear here with the first report."
    return "Nothing was reported before it ended, so there is no curve."


def _history(client: Client, job: JobStatus) -> History:
    """What was reported so far; of a running job only the news is read, and added to what this browser has seen."""
    if not under_way(job):
        return client.history(job.id)
    kept: dict[str, tuple[str, History]] = st.session_state.setdefault("train_history", {})
    attempt = f"{job.attempt}-{job.started}"
    known = kept.get(job.id)
    if known is None or known[0] != attempt or known[1].last > max(job.done, 1):
        whole = client.history(job.id)
    else:
        whole = _joined(known[1], client.history(job.id, after=known[1].last))
    kept.clear()
    kept[job.id] = (attempt, whole)
    return whole


def _joined(before: History, fresh: History) -> History:
    steps, values = dict(before.steps), dict(before.values)
    for name, found in fresh.values.items():
        steps[name] = np.concatenate([steps[name], fresh.steps[name]]) if name in steps else fresh.steps[name]
        values[name] = np.concatenate([values[name], found]) if name in values else found
    return History(steps, values, fresh.last)


def _curve(name: str, job: JobStatus, history: History) -> None:
    title, caption = quantities_of(run_spec(job))[name]
    steps, values = history.steps[name], history.values[name]
    st.markdown(f"**{title}**")
    show_chart(
        progress_figure(steps, values, current_style(), y_title=title.lower(), x_title=step_word(job)),
        key=f"train_chart_{name}",
        alt=progress_alt(title, steps, values, step_word(job)),
    )
    st.caption(caption)


def _spectrum(job: JobStatus, history: History, components: Any) -> tuple[Any, tuple[str, Any] | None]:
    """The eigenvalues now, of a finished run all of them, and those of the first record, with its step."""
    recorded = history.values.get("eigenvalues", np.empty((0, 0)))
    first = None
    if len(recorded) > 1:
        first = f"after {step_word(job)} {history.steps['eigenvalues'][0]}", recorded[0]
    if components is not None:
        return _all_eigenvalues(components), first
    return (recorded[-1], first) if len(recorded) else (None, None)


@st.cache_data(max_entries=32, show_spinner=False)
def _all_eigenvalues(components: Any) -> Any:
    return eigenvalues_of(components)


def _eigenvalues(eigenvalues: Any, first: tuple[str, Any] | None) -> None:
    st.markdown("**Eigenvalues of M**")
    show_chart(
        spectrum_figure(eigenvalues, current_style(), first),
        key="train_chart_spectrum",
        alt=spectrum_alt(eigenvalues),
    )
    st.caption("A flat line treats all directions alike; a steep one lets few directions decide.")


def _settings(job: JobStatus, found_radius: float | None) -> None:
    """How the run was asked for: the paper's settings, and in bold what is not a default.

    `found_radius` is what an automatic radius turned out to be.
    """
    spec = run_spec(job)
    if spec.learner == GIVEN:
        return
    st.markdown("**Settings**")
    entry = offered(spec.learner)
    if entry is None:
        st.caption(
            f"The method {escaped(spec.learner)} is offered here no longer. Seed {spec.seed}, device {spec.device}."
        )
        return
    words = []
    for parameter in entry.parameters:
        value = spec.parameters[parameter.name]
        written = "automatic" if value in (None, AUTO) else escaped(str(value))
        if value == AUTO and parameter.name == RADIUS and found_radius is not None:
            written = f"automatic ({number(found_radius)})"
        text = f"{parameter.label.lower()} {written}"
        if value != parameter.default:
            words.append(f"**{text}**")
        elif not parameter.advanced:
            words.append(text)
    if entry.on_device:
        words.append(f"device {spec.device}")
    st.caption(f"{', '.join([*words, 'everything else at its default'])}." if words else "This method has no settings.")


def _data(job: JobStatus) -> None:
    def table() -> pd.DataFrame:
        history = read_client().history(job.id)
        return history_table(history.steps, history.values)

    st.caption("A row per reported step: the quantities of the charts and the largest eigenvalues where recorded.")
    csv_button("Download as CSV", table, file_name=file_name(job, "csv"), key="train_csv")
    if run_spec(job).gives != "metric":
        st.caption("A row per reference: its class and its features, as they are now.")
        csv_button(
            "The references as CSV",
            lambda: table_of(job),
            file_name=file_name(job, "csv").replace(".csv", "-references.csv"),
            key="train_references_csv",
        )


def _log(job_id: str) -> None:
    try:
        text = read_client().log(job_id)
    except (ValueError, StoreError) as reason:
        st.error(escaped(str(reason)))
        return
    if text.strip():
        st.code(text, language=None, wrap_lines=True, height=260)
    else:
        st.caption("Nothing was written yet.")


def _copy(job: JobStatus, dataset: DatasetOption | None) -> None:
    spec = run_spec(job)
    st.markdown("This link opens the same view in any browser that reaches this dashboard:")
    st.code(CHOICES.link(), language=None, wrap_lines=True)
    if job.private and is_shared():
        st.caption("Others will not see this job: it comes from your upload.")
    given = spec.learner == GIVEN
    what = word_for_model(job)
    st.markdown(f"These lines load the {what} from the file:" if given else f"These lines learn the same {what}:")
    st.code(training_lines(spec, dataset), language="python", wrap_lines=True)
