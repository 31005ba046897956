"""A metric from elsewhere becomes a run; and what this visitor has uploaded, with the day it expires."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from arml_core.jobs import Client, StoreError, Upload, is_shared, upload_lifetime

from ..dataset_options import DatasetOption
from ..markdown import escaped
from ..metric_file import LARGEST_MB, read_model
from ..visitor import write_client
from .choices import CHOICES

DONE, FAILED = "train_upload_done", "train_upload_failed"
KINDS = {"dataset": "dataset", "metric": "metric", "points": "query rows", "file": "file"}


def show_upload(datasets: Mapping[str, DatasetOption]) -> None:
    """Choose the dataset, give the file, and it is a finished run."""
    st.markdown(
        "A matrix M (symmetric, positive semi-definite, a row and a column per feature) as `.csv` of plain numbers or "
        f"as `.npz`, or a file from “Download the metric” or “Download the references”. At most {LARGEST_MB} MB."
    )
    preferred = [name for name in CHOICES.current().datasets if name in datasets]
    key = st.selectbox(
        "For the dataset",
        list(datasets),
        index=list(datasets).index(preferred[0]) if preferred else 0,
        format_func=lambda name: datasets[name].title,
        key="train_upload_for",
    )
    st.caption(f"It has {datasets[key].n_features:,} features.")
    file = st.file_uploader("The file", max_upload_size=LARGEST_MB, key="train_upload_file")
    title = st.text_input("Name", max_chars=60, placeholder="what it is called on charts", key="train_upload_title")
    st.button(
        "Add it",
        disabled=file is None,
        on_click=_add,
        args=(datasets[key], title, file),
        key="train_upload_add",
    )
    if FAILED in st.session_state:
        st.error(st.session_state.pop(FAILED))
    if DONE in st.session_state:
        st.success(st.session_state.pop(DONE))
    if is_shared():
        st.caption(f"Only you see it. It is deleted after {upload_lifetime() / 86_400:g} days.")


def _add(dataset: DatasetOption, title: str, file: Any) -> None:
    name = title.strip() or Path(file.name).stem[:60] or "A given metric"
    try:
        model = read_model(file.name, file.getvalue(), dataset.n_features)
        client = write_client()
        source: Any = client.dataset(dataset.key) if dataset.group == "file" else dataset.key
        added = client.add_metric(source, model, name)
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = escaped(str(reason))
        return
    st.session_state[DONE] = f"{escaped(name)} is among the jobs now."
    CHOICES.update(job=added.id, curve="")


def show_uploads(client: Client) -> None:
    """What this visitor uploaded, if anything."""
    uploads = client.uploads()
    if uploads:
        with st.expander(f"Your uploads ({len(uploads)})"):
            for upload in uploads:
                st.markdown(f"- **{escaped(upload.title)}**, {KINDS.get(upload.kind, upload.kind)}; {kept(upload)}")


def kept(upload: Upload) -> str:
    """Until when an upload is kept, in words."""
    if upload.expires is None:
        return "kept on this machine"
    return f"deleted on {time.strftime('%d %B %Y, %H:%M', time.localtime(upload.expires))}"
