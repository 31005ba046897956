"""Datasets by name: toys, bundled sets, fingerprints, scaling."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import shuffle

from arml_core.datasets import Dataset, dataset_info, fit_scaling, list_datasets, load_dataset
from arml_core.home import home

BUILT_IN = [info.name for info in list_datasets() if info.group != "paper"]
RANDOM_TOYS = [info.name for info in list_datasets() if info.options]


def test_every_promised_name_is_listed() -> None:
    names = [info.name for info in list_datasets()]
    paper = ["mnist", "fashion_mnist", "splice", "pendigits", "satimage", "usps"]
    bundled = ["iris", "wine", "breast_cancer", "digits"]
    toys = ["seven_points", "moons", "circles", "blobs", "xor", "stretched", "imbalanced"]
    assert sorted(names) == sorted(paper + bundled + toys)
    assert all(info.terms and info.source and info.description for info in list_datasets())


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_listed_is_what_is_loaded(name: str) -> None:
    info, dataset = dataset_info(name), load_dataset(name)
    assert (len(dataset.X_train), len(dataset.X_test)) == (info.n_train, info.n_test)
    assert (dataset.n_features, dataset.n_classes) == (info.n_features, info.n_classes)
    assert dataset.X_train.shape == (info.n_train, info.n_features)
    assert sorted(set(dataset.y_train.tolist())) == list(range(info.n_classes))
    assert np.isfinite(dataset.X_train).all()


def test_the_seven_points_are_four_triangles_and_three_squares() -> None:
    dataset = load_dataset("seven_points")
    assert dataset.X_train.tolist()[:2] == [[0.35, -0.45], [-0.41, -0.07]]
    assert [dataset.class_names[label] for label in dataset.y_train] == ["triangle"] * 4 + ["square"] * 3
    assert dataset.X_test.shape == (0, 2)
    with pytest.raises(ValueError, match="leave-one-out"):
        dataset.evaluation()
    with pytest.raises(ValueError, match="fixed layout"):
        load_dataset("seven_points", n=10)


@pytest.mark.parametrize("name", RANDOM_TOYS)
def test_a_toy_is_decided_by_its_options(name: str) -> None:
    first = load_dataset(name, n=50, noise=0.1, seed=3)
    assert len(first.X_train) == 50
    assert first.fingerprint == load_dataset(name, n=50, noise=0.1, seed=3).fingerprint
    assert first.fingerprint != load_dataset(name, n=50, noise=0.1, seed=4).fingerprint
    assert first.fingerprint != load_dataset(name, n=50, noise=0.2, seed=3).fingerprint
    assert not (first.X_train[:, None] == first.X_test[None]).all(axis=2).any()


@pytest.mark.parametrize("name", RANDOM_TOYS)
@pytest.mark.parametrize("n", [6, 7, 33])
def test_a_small_toy_has_every_class_at_least_twice(name: str, n: int) -> None:
    dataset = load_dataset(name, n=n)
    assert len(dataset.X_train) == n
    assert np.bincount(dataset.y_train).min() >= 2


def test_without_noise_the_toys_have_the_shapes_of_their_names() -> None:
    circles = load_dataset("circles", noise=0)
    np.testing.assert_allclose(np.linalg.norm(circles.X_train, axis=1), np.where(circles.y_train == 0, 1.0, 0.5))
    xor = load_dataset("xor", noise=0)
    np.testing.assert_array_equal(xor.y_train, np.prod(xor.X_train, axis=1) < 0)
    stretched = load_dataset("stretched", noise=0)
    np.testing.assert_array_equal(stretched.X_train[:, 0], np.where(stretched.y_train == 0, -0.25, 0.25))
    assert np.ptp(stretched.X_train[:, 1]) > 4
    assert np.bincount(load_dataset("imbalanced", n=200).y_train).tolist() == [180, 20]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("moon", {}, "there is no dataset 'moon'; there are seven_points, moons"),
        ("iris", {"n": 5}, "dataset iris has no option 'n'; it takes no options"),
        ("moons", {"size": 5}, "dataset moons has no option 'size'; it takes n, noise, seed"),
        ("moons", {"n": 5}, "n must be between 6 and 100000; got 5"),
        ("moons", {"noise": -1}, "noise must be between 0 and 100; got -1"),
        ("moons", {"noise": float("nan")}, "noise must be between 0 and 100; got nan"),
        ("moons", {"seed": -1}, "seed must not be negative; got -1"),
    ],
)
def test_a_wrong_name_or_option_is_a_value_error_with_the_value(name: str, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        load_dataset(name, **options)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_bundled_sets_are_scaled_on_the_training_part(name: str) -> None:
    dataset = load_dataset(name)
    varying = np.ptp(dataset.X_train, axis=0) > 0
    assert dataset.X_train.min() == 0.0
    assert set(dataset.X_train.max(axis=0)[varying].tolist()) == {1.0}
    share = np.bincount(dataset.y_train) / len(dataset.y_train) - np.bincount(dataset.y_test) / len(dataset.y_test)
    assert np.abs(share).max() < 0.02
    assert load_dataset(name).fingerprint == dataset.fingerprint


def test_bundled_rows_in_their_own_units_are_the_published_rows() -> None:
    from sklearn.datasets import load_iris

    dataset = load_dataset("iris")
    rows = dataset.scaling.inverse(np.vstack([dataset.X_train, dataset.X_test]))
    labels = np.concatenate([dataset.y_train, dataset.y_test])
    ours = sorted(map(tuple, np.column_stack([rows.round(6), labels]).tolist()))
    published = load_iris()
    assert ours == sorted(map(tuple, np.column_stack([published.data, published.target]).tolist()))


def test_the_evaluation_order_is_the_papers() -> None:
    dataset = load_dataset("digits")
    x, y = dataset.evaluation(100)
    expected_x, expected_y = shuffle(dataset.X_test, dataset.y_test, random_state=42)
    np.testing.assert_array_equal(x, expected_x[:100])
    np.testing.assert_array_equal(y, expected_y[:100])
    assert len(dataset.evaluation(10_000)[0]) == len(dataset.X_test)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        dataset.evaluation(0)


def test_one_changed_bit_or_name_changes_the_fingerprint() -> None:
    dataset = load_dataset("seven_points")
    nudged = dataset.X_train.copy()
    nudged[3, 1] = np.nextafter(nudged[3, 1], 1)
    others: list[Dataset] = [
        replace(dataset, X_train=nudged),
        replace(dataset, y_train=dataset.y_train[::-1].copy()),
        replace(dataset, X_test=np.empty((0, 3))),
        replace(dataset, feature_names=("x1x", "2")),
        replace(dataset, feature_names=("x1", "x2", "triangle"), class_names=("square",)),
    ]
    prints = {other.fingerprint for other in others}
    assert len(prints) == len(others)
    assert dataset.fingerprint not in prints
    same = replace(dataset, title="another title", X_train=np.asfortranarray(dataset.X_train))
    assert same.fingerprint == dataset.fingerprint


@pytest.mark.parametrize("kind", ["none", "minmax", "standard"])
def test_scaling_comes_back_in_the_files_units(kind: str) -> None:
    rng = np.random.default_rng(0)
    raw = rng.normal(50, 20, (40, 3))
    raw[:, 2] = 7.0
    scaling = fit_scaling(raw, kind)  # type: ignore[arg-type]
    scaled = scaling.transform(raw)
    np.testing.assert_allclose(scaling.inverse(scaled), raw, rtol=1e-14)
    steps = scaling.step_in_units(0.5)
    moved = scaling.inverse(scaled + np.array([0.5, 0, 0])) - raw
    np.testing.assert_allclose(moved, np.tile([steps[0], 0, 0], (40, 1)), atol=1e-12)
    if kind == "standard":
        np.testing.assert_allclose(scaled[:, :2].std(axis=0), 1)
    if kind == "minmax":
        assert (scaled[:, :2].min(), scaled[:, :2].max()) == (0.0, 1.0)
    assert set(scaled[:, 2].tolist()) == ({7.0} if kind == "none" else {0.0})


def test_home_is_the_variable_or_a_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.setenv("ARML_HOME", "  ")
    assert home().name == "arml-explorer"
    assert home().is_absolute()
