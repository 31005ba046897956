"""The points a training learns to compare with, while it runs and after: pictures of image data, else their number."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from arml_core.figures.prototypes import MOST_IN_CLASS, prototypes_alt, prototypes_figure, references_table
from arml_core.jobs import Client, JobStatus, RunSpec
from arml_core.jobs.workspace import LiveReferences

from ..chart import show_chart
from ..job_words import step_word, under_way
from ..markdown import escaped
from ..theme import current_style
from ..visitor import read_client

PICTURES = (
    "Each picture is a point that rows are compared with; a new row gets the class of the nearest. Look for the parts "
    "that tell a class from the others."
)
KEPT_ROWS = "Each picture is a training row that was kept; a new row gets the class of the nearest."


@st.cache_data(max_entries=64, show_spinner=False)
def _about(digest: str, _client: Client) -> tuple[tuple[int, int] | None, tuple[str, ...], tuple[str, ...]]:
    """The shape of its pictures, the classes and the features of a dataset; a digest stands for one content."""
    data = _client.dataset(digest)
    return data.image_shape, data.class_names, data.feature_names


def show_references(client: Client, job: JobStatus, found: LiveReferences) -> None:
    """Pictures with a line for each class, or how many points there are."""
    shape, names, _ = _about(job.dataset, client)
    spec = job.spec
    assert isinstance(spec, RunSpec)
    what = "Rows that are kept" if spec.gives == "rows" else "Prototypes"
    now = f" after {step_word(job)} {found.step:,}" if under_way(job) and found.step else ""
    st.markdown(f"**{what}{now}**: {counts_words(found, names)}")
    if shape is None:
        return
    show_chart(
        prototypes_figure(found.points, found.labels, shape, current_style(), names),
        key="train_chart_prototypes",
        alt=prototypes_alt(found.labels, names),
    )
    counts = Counter(found.labels.tolist())
    first = f" The first {MOST_IN_CLASS} of each class are drawn." if max(counts.values()) > MOST_IN_CLASS else ""
    st.caption((KEPT_ROWS if spec.gives == "rows" else PICTURES) + first)


def counts_words(found: LiveReferences, names: tuple[str, ...]) -> str:
    """How many references there are, in all and in each class (Markdown)."""
    counts = Counter(int(label) for label in found.labels)
    sizes = {counts.get(code, 0) for code in range(len(names))}
    if len(sizes) == 1:
        return f"{len(found.labels):,}, {sizes.pop():,} in each class."
    each = ", ".join(f"{escaped(name)}: {counts.get(code, 0):,}" for code, name in enumerate(names))
    return f"{len(found.labels):,} in all ({each})."


def table_of(job: JobStatus) -> pd.DataFrame:
    """The references of a training as a table."""
    client = read_client()
    found = client.live_references(job.id)
    if found is None:
        return pd.DataFrame({"class": []})
    _, names, features = _about(job.dataset, client)
    return references_table(found.points, found.labels, features, names)
