"""A metric in a file: what is written comes back, and what is not a metric is refused in words."""

import json

import numpy as np
import pytest

import arml_core as arml
from arml_core.learners import storage
from arml_core.learners.arml import ARML
from arml_core.learners.storage import load_metric, save_metric
from arml_core.metric import Metric

from .data import blobs


@pytest.fixture
def learner():
    return ARML(3, n_components=2, random_state=7).fit(*blobs())


def test_round_trip_keeps_metric_parameters_and_origin(tmp_path, learner):
    path = tmp_path / "m.npz"
    save_metric(path, learner, dataset="blobs", fingerprint="abc")
    saved = load_metric(path, n_features=5)
    np.testing.assert_array_equal(saved.components_, learner.components_)
    assert saved.info["learner"] == "ARML"
    assert saved.info["parameters"]["n_components"] == 2
    assert saved.info["parameters"]["loss"] == "negative"
    assert (saved.info["dataset"], saved.info["fingerprint"], saved.info["seed"]) == ("blobs", "abc", 7)
    assert saved.info["version"] == arml.__version__


def test_saved_metric_classifies_like_the_learner(tmp_path, learner):
    X, y = blobs()
    save_metric(tmp_path / "m.npz", learner)
    knn, again = (
        arml.MahalanobisKNN(n_neighbors=3, metric=metric).fit(X, y).certify(X, y).lower
        for metric in (learner, load_metric(tmp_path / "m.npz"))
    )
    np.testing.assert_array_equal(knn, again)


@pytest.mark.parametrize("metric", [np.diag([1.0, 4.0]), Metric.from_matrix([[2.0, 1.0], [1.0, 2.0]])])
def test_matrix_and_metric_objects_can_be_saved(tmp_path, metric):
    save_metric(tmp_path / "m.npz", metric)
    expected = metric.matrix() if isinstance(metric, Metric) else metric
    np.testing.assert_allclose(load_metric(tmp_path / "m.npz").get_mahalanobis_matrix(), expected, rtol=1e-12)


def test_the_file_holds_no_pickle(tmp_path, learner):
    save_metric(tmp_path / "m.npz", learner)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as data:
        assert sorted(data.files) == ["components", "info"]
        assert json.loads(str(data["info"]))["format"] == "arml-metric"


def test_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, learner, monkeypatch):
    path = tmp_path / "m.npz"
    save_metric(path, np.eye(3))

    def interrupted(stream, **arrays):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_metric(path, learner)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]
    assert load_metric(path).metric.n_features == 3


M = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_plain_npz(tmp_path):
    np.savez(tmp_path / "m.npz", M=M)
    np.testing.assert_allclose(load_metric(tmp_path / "m.npz").get_mahalanobis_matrix(), M, rtol=1e-12)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", ", "])
def test_plain_csv(tmp_path, delimiter):
    path = tmp_path / "m.csv"
    path.write_text("\n".join(delimiter.join(map(str, row)) for row in M) + "\n\n", encoding="utf-8-sig")
    saved = load_metric(path)
    np.testing.assert_allclose(saved.get_mahalanobis_matrix(), M, rtol=1e-12)
    assert saved.info == {}


def test_one_by_one_csv(tmp_path):
    (tmp_path / "m.csv").write_text("4\n")
    assert load_metric(tmp_path / "m.csv").components_.tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n1,0\n0,1\n", r"line 1, value 1: 'a' is not a number"),
        ("1,0\n0\n", "line 2 has 1 values; line 1 has 2"),
        ("1,0,0\n0,1,0\n", r"must be a square matrix; got shape \(2, 3\)"),
        ("1,2\n0,1\n", "must be symmetric"),
        ("1,0\n0,-1\n", "must be positive semi-definite; its smallest eigenvalue is -1"),
        ("1,nan\nnan,1\n", "not finite"),
    ],
)
def test_csv_that_is_no_metric(tmp_path, text, message):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"m.csv: .*{message}"):
        load_metric(path)


def test_binary_csv(tmp_path):
    (tmp_path / "m.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ValueError, match="not a text file"):
        load_metric(tmp_path / "m.csv")


def write(path, **arrays):
    np.savez(path, **arrays)


def info(**changes) -> np.ndarray:
    return np.array(json.dumps({"format": "arml-metric", "format_version": 1, "version": "9"} | changes))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"M": np.ones((2, 3))}, r"must be a square matrix; got shape \(2, 3\)"),
        ({"A": M, "B": M}, "one matrix; found 2"),
        ({"v": np.ones(3)}, "one matrix; found 0"),
        ({"M": np.array([["a", "b"], ["c", "d"]])}, "made of real numbers"),
        ({"M": M + 0j}, "made of real numbers; found complex128"),
        ({"components": M, "info": np.array("no json")}, "not JSON"),
        ({"components": M, "info": np.array("[1]")}, "not a saved metric"),
        ({"components": M, "info": info(format="other")}, "not a saved metric"),
        ({"M": M, "info": info()}, "not a saved metric"),
        ({"components": M, "info": info(format_version=3)}, "has format 3; this program reads formats 1 and 2"),
        ({"components": np.array([[np.nan]]), "info": info()}, "not finite"),
    ],
)
def test_foreign_npz(tmp_path, arrays, message):
    path = tmp_path / "m.npz"
    write(path, **arrays)
    with pytest.raises(ValueError, match=message):
        load_metric(path)


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (print, ("unpickled",))

    np.savez(tmp_path / "m.npz", M=np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects, which are never read"):
        load_metric(tmp_path / "m.npz")


def test_damaged_file(tmp_path, learner):
    path = tmp_path / "m.npz"
    save_metric(path, learner)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"m\.npz: it is not a \.npz file, or it is damaged"):
            load_metric(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 0xFF
    path.write_bytes(bytes(flipped))
    with pytest.raises(ValueError, match="damaged"):
        load_metric(path)


def test_archive_that_would_fill_the_memory(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "m.npz", M=np.zeros((1100, 1100)))
    with pytest.raises(ValueError, match="unpacks to 9 MB; that is too large for 30 features"):
        load_metric(tmp_path / "m.npz", n_features=30)
    monkeypatch.setattr(storage, "MAX_FEATURES", 600)
    with pytest.raises(ValueError, match="too large for 600 features"):
        load_metric(tmp_path / "m.npz")


def test_table_with_more_lines_than_features(tmp_path):
    (tmp_path / "m.csv").write_text("1,0,0\n0,1,0\n0,0,1\n")
    with pytest.raises(ValueError, match="it has 3 lines; a metric has one per feature, 2 at most"):
        load_metric(tmp_path / "m.csv", n_features=2)


def test_missing_file_and_wrong_width(tmp_path, learner):
    with pytest.raises(ValueError, match="no such file"):
        load_metric(tmp_path / "none.npz")
    save_metric(tmp_path / "m.npz", learner)
    with pytest.raises(ValueError, match="for 5 features; the data has 6"):
        load_metric(tmp_path / "m.npz", n_features=6)
