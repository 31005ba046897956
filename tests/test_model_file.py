"""A classifier in a file: it answers bit for bit the same there, and what is no such file is refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import arml_core as arml
from arml_core import model_file
from arml_core.datasets.table import read_table, select

ROOT = Path(__file__).parents[1]


def rows(dtype: type = np.float64, labels: str = "int") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(m, 1, (25, 4)) for m in (0, 1.5, 3)]).astype(dtype)
    y = np.repeat([0, 1, 2], 25)
    kinds = {"int": y, "text": np.array(["ash", "oak", "fir"])[y], "object": np.array(["b", "a", "ü"], dtype=object)[y]}
    return x, kinds[labels]


def same(first: arml.MahalanobisKNN, second: arml.MahalanobisKNN, x: np.ndarray) -> None:
    """Predictions, distances and both sides of radii, to the last bit."""
    predicted = first.predict(x)
    assert predicted.dtype == second.predict(x).dtype
    assert (predicted == second.predict(x)).all()
    for ours, theirs in zip(first.kneighbors(x), second.kneighbors(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    threat = arml.ThreatModel(switches=[{"features": [3], "values": [0.0, 1.0]}], max_switches=1)
    for question in (
        {"threat": None},
        {"threat": threat},
        {"threat": arml.ThreatModel("inf", frozen=[0]), "method": "votes"},
    ):
        ours, theirs = (knn.certify(x, predicted, **question) for knn in (first, second))
        for column in ("lower", "upper", "exact", "predicted", "adversarial"):
            np.testing.assert_array_equal(getattr(ours, column), getattr(theirs, column))
    np.testing.assert_array_equal(first.attack(x).upper, second.attack(x).upper)


MODELS: dict[str, Callable[[], arml.MahalanobisKNN]] = {
    "all rows": lambda: arml.MahalanobisKNN(3).fit(*rows()),
    "float32": lambda: arml.MahalanobisKNN(3).fit(*rows(np.float32)),
    "text labels": lambda: arml.MahalanobisKNN(1).fit(*rows(labels="text")),
    "object labels": lambda: arml.MahalanobisKNN(2).fit(*rows(labels="object")),
    "fractions": lambda: arml.MahalanobisKNN(2).fit(rows()[0], rows()[1] + 0.0),
    "diagonal": lambda: arml.MahalanobisKNN(1, metric=np.diag([1.0, 2.0, 0.3, 0.0])).fit(*rows()),
    "learned": lambda: arml.MahalanobisKNN(1, metric=arml.ARML(2, random_state=0).fit(*rows())).fit(*rows()),
    "low rank": lambda: arml.MahalanobisKNN(1, metric=arml.ARML(2, n_components=2, random_state=0).fit(*rows())).fit(
        *rows()
    ),
    "prototypes": lambda: arml.MahalanobisKNN(references=arml.KMeansPrototypes(3, random_state=0)).fit(*rows()),
    "kept rows": lambda: arml.MahalanobisKNN(references=arml.AdversarialPruning(0.1)).fit(*rows()),
    "own points": lambda: arml.MahalanobisKNN(references=(rows()[0][::5], rows()[1][::5])).fit(*rows()),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_loaded_model_answers_the_same(tmp_path: Path, model: Callable[[], arml.MahalanobisKNN]) -> None:
    knn = model()
    knn.save(tmp_path / "m.npz")
    again = arml.load_model(tmp_path / "m.npz")
    x = rows(knn.references_.dtype.type)[0][::4] + knn.references_.dtype.type(0.3)
    same(knn, again, x)
    again.save(tmp_path / "again.npz")
    same(knn, arml.load_model(tmp_path / "again.npz"), x)


def test_training_rows_are_still_known(tmp_path: Path) -> None:
    x, _ = rows()
    for model in ("all rows", "kept rows"):
        knn = MODELS[model]()
        knn.save(tmp_path / "m.npz")
        again, own = arml.load_model(tmp_path / "m.npz"), np.arange(len(x))
        np.testing.assert_array_equal(again.predict(x, exclude=own), knn.predict(x, exclude=own))
        ours, theirs = (k.certify_training(x, exclude=own).removed for k in (knn, again))
        np.testing.assert_array_equal(ours, theirs)
        patterns = arml.ThreatModel(switches=[[0]], max_switches=1)
        np.testing.assert_array_equal(
            knn.count_combinations(x[:2], patterns), again.count_combinations(x[:2], patterns)
        )


def test_names_of_columns_come_back(tmp_path: Path) -> None:
    x, y = rows()
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    knn = arml.MahalanobisKNN(1).fit(frame, y)
    knn.save(tmp_path / "m.npz")
    again = arml.load_model(tmp_path / "m.npz")
    threat = arml.ThreatModel(frozen=["b"])
    np.testing.assert_array_equal(again.certify(frame, threat=threat).lower, knn.certify(frame, threat=threat).lower)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a", "c", "d"]])


def test_the_layout_of_a_file_comes_back(tmp_path: Path) -> None:
    table, _ = read_table(ROOT / "data" / "samples" / "pumps.csv")
    assert table is not None
    data, _ = select(table, label="state", scaling="standard")
    assert data is not None
    assert data.y is not None
    knn = arml.MahalanobisKNN(3).fit(data.X, data.y)
    knn.save(tmp_path / "m.npz", layout=data.layout)
    again = arml.load_model(tmp_path / "m.npz")
    assert again.layout_ is not None
    assert again.layout_.to_json() == data.layout.to_json()
    again.save(tmp_path / "again.npz")
    assert arml.load_model(tmp_path / "again.npz").layout_ is not None
    assert again.fit(data.X, data.y).layout_ is None
    with pytest.raises(ValueError, match="the layout is for 4 features; the model has 2"):
        arml.MahalanobisKNN(3).fit(data.X[:, :2], data.y).save(tmp_path / "other.npz", layout=data.layout)
    assert not (tmp_path / "other.npz").exists()


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other arrays; a dictionary under `info` changes the description, None takes an array away."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    info = json.loads(str(arrays["info"])) | changes.pop("info", {})
    arrays |= {"info": np.array(json.dumps(info))} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


NAN = np.full((75, 4), np.nan)
DAMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "newer": ({"info": {"format_version": 2, "version": "9.9"}}, "it has format 2; .* written by version 9.9"),
    "another format": ({"info": {"format": "arml-metric"}}, "not a saved model"),
    "no points": ({"references": None}, "no array references"),
    "points that are no numbers": ({"references": NAN}, "not finite"),
    "another width": ({"components": np.eye(3)}, "for 3 features; its references have 4"),
    "an unknown label": ({"reference_labels": np.full(75, 7)}, "label 7"),
    "one class": ({"classes": np.array([1])}, "two or more"),
    "K": ({"info": {"n_neighbors": 76}}, "between 1 and the 75"),
    "K that is no number": ({"info": {"n_neighbors": "3"}}, "must be an integer"),
    "rows": ({"info": {"n_train": 5}}, "fitted to 5 rows"),
    "names": ({"info": {"feature_names": ["a"]}}, "not 4 texts"),
    "layout": ({"info": {"layout": "{}"}}, "not a stored layout"),
    "rows of another set": (
        {"info": {"own_references": True}, "reference_rows": np.full(75, 3)},
        "no places in a training set",
    ),
}


@pytest.mark.parametrize(("changes", "words"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = tmp_path / "m.npz"
    MODELS["all rows"]().save(path)
    with pytest.raises(ValueError, match=rf"m\.npz: .*{words}"):
        arml.load_model(rewritten(path, **changes))


def test_a_foreign_file_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    with pytest.raises(ValueError, match="there is no such file"):
        arml.load_model(path)
    path.write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"m\.npz: it is not a \.npz file"):
        arml.load_model(path)
    arml.save_metric(path, np.eye(3))
    with pytest.raises(ValueError, match="not a saved model"):
        arml.load_model(path)
    MODELS["all rows"]().save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="damaged"):
        arml.load_model(path)


def test_what_unpacks_to_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MODELS["all rows"]().save(tmp_path / "m.npz")
    monkeypatch.setattr(model_file, "LARGEST_FILE", 1000)
    with pytest.raises(ValueError, match="it unpacks to"):
        arml.load_model(tmp_path / "m.npz")


def test_the_file_holds_no_pickle_and_labels_that_need_one_are_refused(tmp_path: Path) -> None:
    MODELS["object labels"]().save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as stored:
        assert sorted(stored.files) == ["classes", "components", "info", "reference_labels", "references"]
        assert all(stored[name].dtype != object for name in stored.files)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.npz"
    MODELS["all rows"]().save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        MODELS["text labels"]().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
