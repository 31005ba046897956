"""Metric and references in one file: what is written comes back, and what is hostile is refused in words."""

import json

import numpy as np
import pytest

import arml_core as arml
from arml_core.learners import storage
from arml_core.learners.storage import load_metric, save_metric
from arml_core.neighbors.chosen import classifier_arguments
from arml_core.references import AdversarialPruning, KMeansPrototypes, RobustPrototypes

from .data import blobs

LEARNERS = [
    RobustPrototypes(3, n_epochs=1, random_state=0),
    KMeansPrototypes(2, random_state=0),
    AdversarialPruning(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_saved_model_certifies_like_the_learner(tmp_path, learner):
    X, y = blobs()
    fitted = learner.fit(X, y)
    save_metric(tmp_path / "m.npz", fitted, class_names=["a", "b", "c"])
    saved = load_metric(tmp_path / "m.npz", n_features=5)
    np.testing.assert_array_equal(saved.references_, fitted.references_)
    np.testing.assert_array_equal(saved.reference_labels_, fitted.reference_labels_)
    assert (saved.reference_rows_ is None) == (fitted.reference_rows_ is None)
    assert (saved.info["learner"], saved.info["class_names"]) == (type(learner).__name__, ["a", "b", "c"])
    expected, found = (
        arml.MahalanobisKNN(references=model).fit(X, y).certify(X, y, method="exact") for model in (fitted, saved)
    )
    np.testing.assert_array_equal(found.lower, expected.lower)


def test_kept_rows_can_be_left_out_after_loading(tmp_path):
    X, y = blobs()
    fitted = AdversarialPruning().fit(X, y)
    save_metric(tmp_path / "m.npz", fitted)
    row = int(fitted.reference_rows_[0])
    knn = arml.MahalanobisKNN(references=load_metric(tmp_path / "m.npz")).fit(X, y)
    assert knn.certify(X[[row]], y[[row]], exclude=[row]).lower[0] != knn.certify(X[[row]], y[[row]]).lower[0]


@pytest.mark.parametrize("dtype", [str, object, np.float64, bool])
def test_labels_of_every_plain_kind(tmp_path, dtype):
    X, y = blobs(sizes=(15, 15))
    labels = np.array(["no", "yes"])[y] if dtype in (str, object) else y
    fitted = KMeansPrototypes(2, random_state=0).fit(X, labels.astype(dtype))
    save_metric(tmp_path / "m.npz", fitted)
    saved = load_metric(tmp_path / "m.npz")
    assert saved.reference_labels_.dtype != object
    np.testing.assert_array_equal(
        saved.reference_labels_, fitted.reference_labels_.astype(saved.reference_labels_.dtype)
    )
    assert (arml.MahalanobisKNN(references=saved).fit(X, labels.astype(dtype)).predict(X) == labels).mean() > 0.8


def test_labels_that_are_objects_are_not_saved(tmp_path):
    fitted = KMeansPrototypes(2, random_state=0).fit(*blobs())
    fitted.reference_labels_ = np.array([(1,)] * len(fitted.references_) + [None], dtype=object)[:-1]
    with pytest.raises(ValueError, match="numbers or text"):
        save_metric(tmp_path / "m.npz", fitted)
    assert list(tmp_path.iterdir()) == []


def test_references_are_not_taken_for_a_metric_nor_a_metric_for_references(tmp_path):
    X, y = blobs()
    save_metric(tmp_path / "r.npz", RobustPrototypes(3, n_epochs=1, random_state=0).fit(X, y))
    save_metric(tmp_path / "m.npz", np.eye(5))
    both, alone = load_metric(tmp_path / "r.npz"), load_metric(tmp_path / "m.npz")
    with pytest.raises(ValueError, match="give them as references="):
        arml.MahalanobisKNN(metric=both).fit(X, y)
    with pytest.raises(ValueError, match="give it as metric="):
        arml.MahalanobisKNN(references=alone).fit(X, y)
    with pytest.raises(ValueError, match="a metric of their own"):
        arml.MahalanobisKNN(metric=alone, references=both).fit(X, y)
    assert classifier_arguments(both) == {"references": both}
    assert classifier_arguments(alone) == {"metric": alone}
    assert classifier_arguments(None) == {"metric": None}
    arml.MahalanobisKNN(metric=both.metric).fit(X, y)


G, POINTS, LABELS = np.eye(2), np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 1])


def info(version=2) -> np.ndarray:
    return np.array(json.dumps({"format": "arml-metric", "format_version": version, "version": "9"}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"references": None}, "no array references"),
        ({"reference_labels": None}, "no array reference_labels"),
        ({"references": POINTS.T[0]}, "rows of 2 features"),
        ({"references": np.ones((2, 3))}, "rows of 2 features"),
        ({"references": np.empty((0, 2)), "reference_labels": np.empty(0)}, "rows of 2 features"),
        ({"references": np.array([["a", "b"], ["c", "d"]])}, "made of real numbers"),
        ({"references": np.array([[0.0, np.inf], [1.0, 2.0]])}, "not finite"),
        ({"references": np.array([[0.0, np.nan], [1.0, 2.0]])}, "not finite"),
        ({"reference_labels": np.array([0, 1, 2])}, "needs 2 numbers or texts"),
        ({"reference_labels": np.array([b"a", b"b"])}, "needs 2 numbers or texts"),
        ({"reference_labels": np.array([0.0, np.nan])}, "labels is not finite"),
        ({"reference_rows": np.array([0])}, "no places"),
        ({"reference_rows": np.array([0, -1])}, "no places"),
        ({"reference_rows": np.array([0, 2**64 - 1], dtype=np.uint64)}, "no places"),
        ({"reference_rows": np.array([0.0, 1.0])}, "no places"),
        ({"reference_rows": np.array([1, 1])}, "the same training row"),
    ],
)
def test_hostile_references_are_refused(tmp_path, changes, message):
    arrays = {"components": G, "references": POINTS, "reference_labels": LABELS, "info": info()} | changes
    np.savez(tmp_path / "m.npz", **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(ValueError, match=f"m.npz: .*{message}"):
        load_metric(tmp_path / "m.npz")


def test_a_file_of_the_older_format_has_none(tmp_path):
    np.savez(tmp_path / "m.npz", components=G, info=info(1))
    assert load_metric(tmp_path / "m.npz").references_ is None


def test_references_that_would_fill_the_memory(tmp_path, monkeypatch):
    arrays = {"components": G, "reference_labels": LABELS, "info": info()}
    np.savez_compressed(tmp_path / "m.npz", references=np.zeros((2**18, 2)), **arrays)
    with pytest.raises(ValueError, match="needs 262144 numbers"):
        load_metric(tmp_path / "m.npz", n_features=2)
    monkeypatch.setattr(storage, "REFERENCES_BYTES", 2**20)
    with pytest.raises(ValueError, match="too large for 2 features"):
        load_metric(tmp_path / "m.npz", n_features=2)


def test_small_numbers_count_as_what_they_become_in_memory(tmp_path, monkeypatch):
    arrays = {"components": G, "info": info(), "reference_labels": np.zeros(2**17, dtype=bool)}
    np.savez_compressed(tmp_path / "m.npz", references=np.zeros((2**17, 2), dtype=np.int8), **arrays)
    assert len(load_metric(tmp_path / "m.npz", n_features=2).references_) == 2**17
    monkeypatch.setattr(storage, "REFERENCES_BYTES", 2**19)
    with pytest.raises(ValueError, match="too large for 2 features"):
        load_metric(tmp_path / "m.npz", n_features=2)
