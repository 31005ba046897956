"""The paper's six datasets: scale, order, errors of plain K-NN, and real downloads of the same content."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arml_core.datasets import Dataset, dataset_info, load_dataset
from arml_core.datasets.paper import read_archive
from arml_core.datasets.paper_sets import PAPER_SETS

from .server import idx, libsvm, satimage_source, serving

SMALL = ("splice", "pendigits", "satimage", "usps")
LARGE = ("mnist", "fashion_mnist")
EACH = [*SMALL, *(pytest.param(name, marks=pytest.mark.more) for name in LARGE)]

# Euclidean test errors of 1-NN and 11-NN: on all test rows, and on the first 1000 of the paper's order.
ERRORS = {
    "mnist": ((0.0309, 0.0332), (0.033, 0.031)),
    "fashion_mnist": ((0.1503, 0.1505), (0.145, 0.143)),
    "splice": ((0.2915, 0.2947), (0.318, 0.311)),
    "pendigits": ((0.0226, 0.0266), (0.032, 0.036)),
    "satimage": ((0.1120, 0.1060), (0.108, 0.091)),
    "usps": ((0.0488, 0.0603), (0.045, 0.058)),
}


def errors(dataset: Dataset, x: np.ndarray, y: np.ndarray, ks: tuple[int, ...] = (1, 11)) -> list[float]:
    """K-NN errors by brute force; ties of distance go to the earlier row, ties of votes to the smaller label."""
    train, rows = dataset.scaling.inverse(dataset.X_train), dataset.scaling.inverse(x)
    if dataset.name not in ("satimage", "usps"):
        train, rows = np.rint(train), np.rint(rows)  # whole numbers: distances and their ties are exact
    scaled_square = (train**2).sum(axis=1)
    wrong = np.zeros(len(ks))
    for start in range(0, len(rows), 250):
        part = rows[start : start + 250]
        distances = scaled_square - 2 * part @ train.T + (part**2).sum(axis=1)[:, None]
        limits = np.partition(distances, max(ks) - 1, axis=1)[:, max(ks) - 1]
        for row, limit, label in zip(distances, limits, y[start : start + 250], strict=True):
            near = np.flatnonzero(row <= limit)
            near = near[np.argsort(row[near], kind="stable")]
            votes = [np.bincount(dataset.y_train[near[:k]], minlength=dataset.n_classes) for k in ks]
            wrong += [int(np.argmax(vote)) != label for vote in votes]
    return list(wrong / len(rows))


@pytest.mark.parametrize("name", EACH)
def test_plain_nearest_neighbours_err_as_often_as_published(data_folder: Path, name: str) -> None:
    dataset = load_dataset(name)
    on_all, on_first_1000 = ERRORS[name]
    assert errors(dataset, dataset.X_test, dataset.y_test) == pytest.approx(on_all, abs=5.1e-5)
    assert errors(dataset, *dataset.evaluation(1000)) == pytest.approx(on_first_1000, abs=1e-9)


@pytest.mark.parametrize("name", EACH)
def test_scale_shape_and_names_are_the_papers(data_folder: Path, name: str) -> None:
    dataset, info = load_dataset(name), dataset_info(name)
    assert (len(dataset.X_train), len(dataset.X_test)) == (info.n_train, info.n_test)
    assert dataset.fingerprint == info.fingerprint
    assert info.available
    assert info.location == data_folder / f"{name}.npz"
    assert dataset.X_train.dtype == np.float64
    assert dataset.y_train.dtype == np.int64
    assert (dataset.X_train.min(), dataset.X_train.max()) == (0.0, 1.0)
    assert sorted(set(dataset.y_train.tolist())) == list(range(info.n_classes))
    assert dataset.X_train.shape[1] == info.n_features == len(set(dataset.feature_names))
    if dataset.image_shape:
        assert dataset.image_shape[0] * dataset.image_shape[1] == info.n_features


def test_test_rows_outside_the_unit_box_are_kept(data_folder: Path) -> None:
    satimage, usps = load_dataset("satimage").X_test, load_dataset("usps").X_test
    assert (satimage.min(), satimage.max()) == pytest.approx((-0.0723, 1.0723), abs=5e-5)
    assert (usps.min(), usps.max()) == pytest.approx((-0.000012, 1.2476), abs=5e-5)


@pytest.mark.parametrize("name", ["splice", "pendigits", "satimage", pytest.param("mnist", marks=pytest.mark.more)])
def test_public_files_served_again_give_the_very_same_set(
    data_folder: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public formats, written from the archive, downloaded and converted, end in the same bits."""
    known = PAPER_SETS[name]
    local = load_dataset(name)
    archive = read_archive(data_folder / f"{name}.npz", known)
    parts = []
    for part in ("train", "test"):
        rows, labels = archive[f"X_{part}"], archive[f"y_{part}"]
        if name == "mnist":
            parts += [idx(rows.reshape(-1, 28, 28)), idx(labels)]
        elif name == "satimage":
            parts.append(libsvm(satimage_source(rows, archive["X_train"]), labels + 1))
        else:
            parts.append(libsvm(rows, np.where(labels == 1, "+1", "-1") if name == "splice" else labels))
    files = {file.name: part for file, part in zip(known.files, parts, strict=True)}
    # recompressing changes the gzip bytes, so only the check of the content is left
    unchecked = tuple(replace(file, sha256=None) for file in known.files)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ARML_DATA")
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    with serving(files) as server:
        monkeypatch.setitem(PAPER_SETS, name, replace(known, mirrors=(server.url,), files=unchecked))
        downloaded = load_dataset(name)
    assert dataset_info(name).location == tmp_path / "datasets" / f"{name}.npz"
    assert load_dataset(name).fingerprint == downloaded.fingerprint == local.fingerprint
