"""Files, datasets and query rows that jobs refer to by content: public ones once, uploads per owner."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..datasets import Dataset, DatasetInfo, Scaling, list_datasets, load_dataset
from ..datasets.base import content_hash
from ..progress import Callback
from .errors import DamagedFile, StoreError, UnknownJob
from .files import Arrays, read_arrays, set_aside, write_arrays
from .model import LearnedModel
from .owners import DAY, PUBLIC, UPLOADS_PER_KEY, Visitor, upload_lifetime
from .paths import Paths
from .store.content_table import ContentTable
from .store.database import Database, Row


@dataclass(frozen=True)
class Upload:
    """A file somebody uploaded; `expires` is a time in seconds since 1970, None for never."""

    digest: str
    kind: str
    title: str
    created: float
    expires: float | None


class Uploads:
    """Puts and gets; what has expired is not there any more, even before its file is collected."""

    def __init__(self, paths: Paths, database: Database) -> None:
        self._paths, self._rows = paths, ContentTable(database)

    def put_dataset(self, dataset: Dataset, visitor: Visitor) -> str:
        """Remember a dataset and return its scope: the visitor's for a file, else public.

        The paper's sets are found again by name; all others are small enough to keep.
        """
        private = dataset.group == "file"
        scope = visitor.private_scope() if private else PUBLIC
        name = dataset.name if dataset.group == "paper" else ""
        arrays = None if name else dataset_arrays(dataset)
        self._put(dataset.fingerprint, scope, "dataset", name, dataset.title, arrays, visitor)
        return scope

    def put_named(self, about: DatasetInfo, visitor: Visitor) -> str:
        """Remember one of the paper's sets, which may not be on this machine yet, and return its scope."""
        self._put(about.fingerprint, PUBLIC, "dataset", about.name, about.title, None, visitor)
        return PUBLIC

    def put_points(self, X: ArrayLike, y: ArrayLike | None, visitor: Visitor, title: str) -> tuple[str, str]:
        """Remember the rows of a query file; returns their hash and scope."""
        digest, arrays = points_content(X, y)
        scope = visitor.private_scope()
        self._put(digest, scope, "points", "", title, arrays, visitor)
        return digest, scope

    def put_model(self, model: LearnedModel, visitor: Visitor, title: str) -> tuple[str, str]:
        """Remember a metric, or references with it, that came from elsewhere; returns its hash and scope."""
        digest, scope = model_digest(model), visitor.private_scope()
        self._put(digest, scope, "metric", "", title, model.arrays(), visitor)
        return digest, scope

    def get_model(self, digest: str, scope: str) -> LearnedModel:
        """What :meth:`put_model` kept."""
        return LearnedModel.from_arrays(self._read(self._row(digest, scope, "metric")))

    def put_file(self, content: bytes, visitor: Visitor, title: str) -> str:
        """Remember an uploaded file as it came; returns its hash. Its name is a title and nothing else."""
        arrays = {"bytes": np.frombuffer(content, dtype=np.uint8)}
        digest = content_hash(arrays.values(), ["file"])
        self._put(digest, visitor.private_scope(), "file", "", title, arrays, visitor)
        return digest

    def get_file(self, digest: str, scope: str) -> tuple[str, bytes]:
        """The title and the content of an uploaded file."""
        row = self._row(digest, scope, "file")
        return str(row["title"]), self._read(row)["bytes"].tobytes()

    def file_title(self, digest: str, scope: str) -> str:
        """The title of an uploaded file, without reading it."""
        return str(self._row(digest, scope, "file")["title"])

    def get_dataset(self, digest: str, scope: str, callback: Callback | None = None) -> Dataset:
        """The dataset with this fingerprint; it is checked against it. `callback` reports a download."""
        row = self._row(digest, scope, "dataset")
        if not row["name"]:
            return dataset_from(self._read(row))
        dataset = load_dataset(row["name"], callback=callback)
        if dataset.fingerprint != digest:
            raise ValueError(
                f"the dataset {row['name']} is no longer the one this job was asked for: its file has changed. "
                "Ask again with the dataset as it is now"
            )
        return dataset

    def dataset_title(self, digest: str, scope: str) -> str:
        """The title of a dataset, without reading it."""
        return str(self._row(digest, scope, "dataset")["title"])

    def label(self, digest: str, scope: str) -> tuple[str, str]:
        """The name for `load_dataset`, empty for a file, and the title of a dataset, without reading it."""
        row = self._row(digest, scope, "dataset")
        if row["name"] or scope != PUBLIC:
            return str(row["name"]), str(row["title"])
        return next((about.name for about in list_datasets() if about.title == row["title"]), ""), str(row["title"])

    def get_points(self, digest: str, scope: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
        arrays = self._read(self._row(digest, scope, "points"))
        return arrays["X"], arrays.get("y")

    def uploads(self, visitor: Visitor) -> list[Upload]:
        """What this visitor uploaded, newest first."""
        rows = self._rows.uploads(visitor)
        return [Upload(r["digest"], r["kind"], r["title"], r["created"], r["expires"]) for r in rows]

    def find_scope(self, digest: str, visitor: Visitor) -> str:
        """Where this visitor finds a content: their own copy first, then the public one."""
        scope = self._rows.find_scope(digest, visitor)
        if scope is None:
            raise UnknownJob("this dataset is not here, or its time is over; upload it again")
        return scope

    def _put(
        self,
        digest: str,
        scope: str,
        kind: str,
        name: str,
        title: str,
        arrays: Arrays | None,
        visitor: Visitor,
    ) -> None:
        expires = time.time() + upload_lifetime() if visitor.shared and scope != PUBLIC else None
        path = self._paths.content(scope, digest)
        if self._rows.is_entered(digest, scope) and (arrays is None or path.exists()):
            if scope != PUBLIC:  # its owner has it again: under the name it has now, for as long as a new one
                self._rows.renew(digest, scope, title, expires)
            return
        if arrays is not None and expires is not None:
            self._check_limit(path.parent, sum(array.nbytes for array in arrays.values()))
        sha256 = None if arrays is None else write_arrays(path, arrays)
        self._rows.enter(digest, scope, kind, name, title, sha256, expires)

    def _check_limit(self, folder: Path, more: int) -> None:
        """Refuse what would take an owner's folder beyond its limit."""
        used = sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
        if used + more > UPLOADS_PER_KEY:
            raise StoreError(
                f"your uploads take {used / 2**20:,.1f} MB and this would add {more / 2**20:,.1f} MB; the limit is "
                f"{UPLOADS_PER_KEY / 2**20:,.0f} MB. Each is deleted {upload_lifetime() / DAY:g} days after it came"
            )

    def _row(self, digest: str, scope: str, kind: str) -> Row:
        row = self._rows.find(digest, scope, kind)
        if row is None:
            raise UnknownJob("this dataset is not here, or its time is over; upload it again")
        return row

    def _read(self, row: Row) -> Arrays:
        path = self._paths.content(row["scope"], row["digest"])
        try:
            return read_arrays(path, row["sha256"])
        except DamagedFile as error:
            set_aside(path, self._paths.damaged)
            raise DamagedFile(f"{error}. It was set aside; load or upload {row['title']} again") from error


def model_digest(model: LearnedModel) -> str:
    """The hash of a metric, or of references with it, that came from elsewhere."""
    return content_hash(replace(model, radius_=None).arrays().values(), [model.gives])


def points_content(X: ArrayLike, y: ArrayLike | None) -> tuple[str, Arrays]:
    """The hash of the rows of a query file, and the arrays that are kept of them."""
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype not in (np.float64, np.float32):
        rows = np.asarray(X, dtype=np.float64)
    arrays = {"X": rows} if y is None else {"X": rows, "y": np.asarray(y)}
    if any(array.dtype == object for array in arrays.values()) or rows.ndim != 2:
        raise ValueError("query points must be a table of numbers, and labels numbers or text")
    return content_hash(arrays.values(), arrays), arrays


def dataset_arrays(dataset: Dataset) -> Arrays:
    """A dataset as plain arrays; text is stored as text, not as objects."""
    return {
        "X_train": dataset.X_train,
        "y_train": dataset.y_train,
        "X_test": dataset.X_test,
        "y_test": dataset.y_test,
        "feature_names": np.array(dataset.feature_names, dtype=np.str_),
        "class_names": np.array(dataset.class_names, dtype=np.str_),
        "scaling_kind": np.array(dataset.scaling.kind),
        "scaling_offset": dataset.scaling.offset,
        "scaling_scale": dataset.scaling.scale,
        "image_shape": np.array(dataset.image_shape or (), dtype=np.int64),
        "about": np.array([dataset.name, dataset.title, dataset.group]),
    }


def dataset_from(arrays: Arrays) -> Dataset:
    """The inverse of :func:`dataset_arrays`."""
    name, title, group = (str(text) for text in arrays["about"])
    shape = [int(side) for side in arrays["image_shape"]]
    return Dataset(
        name=name,
        title=title,
        group=cast(Any, group),
        X_train=arrays["X_train"],
        y_train=arrays["y_train"],
        X_test=arrays["X_test"],
        y_test=arrays["y_test"],
        feature_names=tuple(str(text) for text in arrays["feature_names"]),
        class_names=tuple(str(text) for text in arrays["class_names"]),
        scaling=Scaling(cast(Any, str(arrays["scaling_kind"])), arrays["scaling_offset"], arrays["scaling_scale"]),
        image_shape=(shape[0], shape[1]) if shape else None,
    )
