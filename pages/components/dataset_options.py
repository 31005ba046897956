"""The datasets a visitor can train on: those that come with the project, the paper's, and the visitor's own uploads."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from arml_core.datasets import list_datasets
from arml_core.jobs import Client, StoreError, Upload

from .markdown import escaped

GROUPS = ("bundled", "paper", "file", "toy")


@dataclass(frozen=True)
class DatasetOption:
    """A dataset by its key (a name, or the fingerprint of an upload) with what must be known before training."""

    key: str
    title: str
    group: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    unit_scale: bool
    here: bool = True
    download_bytes: int = 0
    source: str = ""
    terms: str = ""

    @property
    def size(self) -> str:
        return f"{self.n_train:,} training points, {self.n_features:,} features, {self.n_classes} classes"


def dataset_options(client: Client) -> dict[str, DatasetOption]:
    """Every dataset this visitor may use, by key: small ones first, then the paper's, uploads and toys."""
    found = [
        DatasetOption(
            key=about.name,
            title=about.title,
            group=about.group,
            n_train=about.n_train,
            n_test=about.n_test,
            n_features=about.n_features,
            n_classes=about.n_classes,
            unit_scale=about.group != "toy",
            here=about.available,
            download_bytes=about.download_bytes,
            source=about.source,
            terms=about.terms,
        )
        for about in list_datasets()
    ]
    found += [dataset for upload in client.uploads() if (dataset := _of_upload(client, upload)) is not None]
    return {dataset.key: dataset for group in GROUPS for dataset in found if dataset.group == group}


def option_of(client: Client, datasets: dict[str, DatasetOption], digest: str) -> DatasetOption | None:
    """The dataset a job was trained on; None if it is not here any more."""
    try:
        name, _ = client.dataset_label(digest)
    except ValueError:
        return None
    return datasets.get(name or digest)


def _of_upload(client: Client, upload: Upload) -> DatasetOption | None:
    """An uploaded dataset; None for other kinds of uploads and for a file that cannot be read any more."""
    if upload.kind != "dataset":
        return None
    try:
        n_train, n_test, n_features, n_classes, unit_scale = _facts(upload.digest, client)
    except (ValueError, StoreError):
        return None
    return DatasetOption(upload.digest, upload.title, "file", n_train, n_test, n_features, n_classes, unit_scale)


@st.cache_data(max_entries=256, show_spinner=False)
def _facts(digest: str, _client: Client) -> tuple[int, int, int, int, bool]:
    """Sizes of a dataset; the same digest is the same content, and only its owner gets here."""
    data = _client.dataset(digest)
    return len(data.X_train), len(data.X_test), data.n_features, data.n_classes, data.scaling.kind == "minmax"


def describe(dataset: DatasetOption) -> str:
    """One line (Markdown) about a chosen dataset; what is not here comes with size, source and terms."""
    line = f"**{escaped(dataset.title)}**: {dataset.size}."
    if dataset.group == "file":
        return f"{line} Your upload; only you see it and what comes of it."
    if dataset.here:
        return line
    megabytes = dataset.download_bytes / 1e6
    return (
        f"{line} Not on this machine: the job downloads {megabytes:.1f} MB first. "
        f"Source: {dataset.source}. Terms: {dataset.terms}."
    )
