"""The price of robustness on the Compare page: every run of a chart by its clean and its robust error at ε."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.curves import FrontPoint, front_point
from arml_core.datasets import dataset_info
from arml_core.figures.front import front_alt, front_spec, front_table
from arml_core.jobs import Client, JobStatus, StoreError
from arml_core.jobs.front import RADIUS
from arml_core.numerics.arrays import IntArray
from arml_core.vocabulary import number, share_up

from ..chart import show_chart
from ..csv_out import csv_button
from ..job_words import changed_words, is_drawn
from ..markdown import escaped
from ..theme import current_style
from ..visitor import read_client
from .catalogue import Run
from .chart_export import export_buttons
from .charts import Chart
from .choices import CompareView

HEIGHT = 480
CAPTION = (
    "Nearer to the lower left corner is better: fewer answers are wrong, and fewer can be made wrong by a change of "
    "length ε. The number at a mark is how many points the model compares with; filled marks are on the front: no "
    "other model here has less of one error without more of the other."
)
FORMULA = r"""
The **clean error** is the share of points whose answer is wrong as they are. The **robust error** at $\varepsilon$ is
the share that is not proved to stay right, $\tfrac1n\,\#\{\underline\varepsilon_i \le \varepsilon\}$; it is never below
the clean error. A model is on the **front** if no other has at most as much of both errors and less of one.

Robust prototypes minimise the mean of $[\rho - r(x)]_+$ over the training rows, where $r(x)$ is the certified radius.
A larger target radius $\rho$ gives up close decisions for the sake of wide ones: this is the price of robustness.
"""
COLUMNS = {
    "method": "Model",
    "target radius": "Target radius",
    "references": "Points it compares with",
    "clean error": "Clean error",
    "robust error": "Robust error",
    "on the front": "On the front",
}


@dataclass(frozen=True)
class FrontRun:
    """A run of a chart with what the front needs to know of it."""

    run: Run
    label: str
    size: int
    target_radius: float | None


@dataclass(frozen=True)
class Front:
    """The models of a chart on the points they share, and sentences about those that are left out."""

    runs: tuple[FrontRun, ...]
    points: tuple[FrontPoint, ...]
    notes: tuple[str, ...]

    @property
    def places(self) -> dict[str, int]:
        """Colour and marker of each label: those its first run has among the curves."""
        return {found.label: found.run.place for found in reversed(self.runs)}


def front_of(chart: Chart, epsilon: float) -> Front:
    """Every run of a chart whose certificate is whole, on the rows that all of them have."""
    notes, there = [], []
    for run, pair in zip(chart.runs, chart.pairs, strict=True):
        if pair.certificate is None or not pair.certificate.whole:
            why = "only attacked" if pair.certificate is None else "not certified to the end"
            notes.append(f"{run.label} is {why}, and has no mark.")
            continue
        try:
            there.append((_front_run(run, pair.certificate.learner_title), pair.certificate.radii))
        except (ValueError, StoreError) as reason:
            notes.append(f"{run.label} cannot be read: {reason}.")
    if not there:
        return Front((), (), tuple(notes))
    shared: IntArray = reduce(np.intersect1d, [radii.index for _, radii in there])
    if not len(shared):
        return Front((), (), (*notes, "These runs were certified on different points, and have none in common."))
    if any(len(radii) > len(shared) for _, radii in there):
        notes.append(f"The marks rest on the {len(shared):,} points that all of them have.")
    points = tuple(
        front_point(radii.take(np.isin(radii.index, shared)), epsilon, found.label, found.size, found.target_radius)
        for found, radii in there
    )
    return Front(tuple(found for found, _ in there), points, tuple(notes))


def _front_run(run: Run, title: str) -> FrontRun:
    if run.job is None:
        return FrontRun(run, run.label, dataset_info(run.dataset).n_train, None)
    size, target = _learned(run.job.id, run.job.finished, run.fingerprint, read_client())
    if target is None:
        return FrontRun(run, run.label, size, None)
    return FrontRun(run, f"{title}{_other_changes(run.job)}", size, target)


def _other_changes(job: JobStatus) -> str:
    """Where a training departs from the defaults in more than its target radius, and its seed: a line for each."""
    others = {name: value for name, value in job.content["parameters"].items() if name != RADIUS}
    seed = f", seed {job.content['seed']}" if is_drawn(job) else ""
    return f"{changed_words(str(job.content['learner']), others)}{seed}"


@st.cache_data(max_entries=400, show_spinner=False)
def _learned(run: str, finished: float | None, fingerprint: str, _client: Client) -> tuple[int, float | None]:
    """How many points a finished run compares with, and the radius it was trained for."""
    found = _client.run(run)
    if found.references_ is None:
        return found.size(len(_client.dataset(fingerprint).X_train)), None
    return found.size(0), found.radius_


def show_front(chart: Chart, index: int, epsilon: float, view: CompareView, name: str) -> None:
    """The marks with their caption, exports and table."""
    st.markdown(f"**{escaped(chart.title)}**")
    found = front_of(chart, epsilon)
    if found.points:
        style = current_style()
        show_chart(
            front_spec(found.points, style, epsilon=epsilon, norm=chart.norm, height=HEIGHT, places=found.places),
            key=f"cmp_front{index}",
            alt=front_alt(found.points, epsilon, chart.norm),
        )
        st.caption(CAPTION)
        if "export" not in view.hide:
            _exports(chart, index, found, epsilon, name)
    for note in found.notes:
        st.caption(escaped(note))
    if found.points and "table" not in view.hide:
        table = readable(front_table(found.points))
        st.table(table, border="horizontal", hide_index=True, alt=f"Clean and robust error at ε = {epsilon:g}")


def _exports(chart: Chart, index: int, found: Front, epsilon: float, name: str) -> None:
    style = current_style()
    with st.container(horizontal=True, vertical_alignment="center", key=f"cmp_front_export{index}"):
        export_buttons(f"cmp_front{index}", f"{chart.title} · ε = {epsilon:g}", name, style.paper, style.ink)
        csv_button(
            "CSV",
            lambda: front_table(found.points).assign(epsilon=epsilon),
            file_name=f"{name}.csv",
            key=f"cmp_front_csv{index}",
            help="A row per model: target radius, points it compares with, clean and robust error at this ε.",
        )


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it (Markdown), the lowest robust error first."""
    ordered = table.sort_values(["robust error", "clean error"], kind="stable")
    written: dict[str, Callable[[Any], str]] = {
        "method": lambda text: escaped(str(text)),
        "target radius": lambda radius: "–" if pd.isna(radius) else number(float(radius)),
        "references": lambda count: f"{count:,}",
        "clean error": share_up,
        "robust error": share_up,
        "on the front": lambda best: "yes" if best else "no",
    }
    return pd.DataFrame({title: [written[name](value) for value in ordered[name]] for name, title in COLUMNS.items()})
