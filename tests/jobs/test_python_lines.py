"""The specs as Python: lines that run and do what a job does, with the imports they need and no others."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import arml_core as arml
from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.evaluation import evaluate_block, rows_of
from arml_core.jobs.learners import entry_of
from arml_core.jobs.python_lines import MODULES, dataset_lines, metric_of_file, script
from arml_core.learners import save_metric
from arml_core.results import FOLDER

POINTS = [
    PointsSpec(),
    PointsSpec("evaluation", 7, labels=False),
    PointsSpec("test"),
    PointsSpec("test", 10_000, labels=False),
    PointsSpec("train"),
    PointsSpec("train", 9),
    PointsSpec("train", 10_000, labels=False),
]


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in MODULES for name in MODULES[module]])
def test_every_name_is_where_the_imports_say(module, name):
    assert hasattr(import_module(module), name)


def test_a_script_imports_what_it_uses_and_nothing_else():
    assert script(["print('np and Client are words here')  # arml"]) == (
        "\nprint('np and Client are words here')  # arml"
    )
    assert script(["M = get_learner('arml').build()", "rows, _ = select(read_table(np.array(1)), arml)"]) == (
        "import numpy as np\n\n"
        "import arml_core as arml\n"
        "from arml_core.datasets.table import read_table, select\n"
        "from arml_core.learners.registry import get_learner\n\n"
        "M = get_learner('arml').build()\n"
        "rows, _ = select(read_table(np.array(1)), arml)"
    )
    assert list(MODULES) == sorted(MODULES)


def ran(lines: list[str]) -> dict:
    found: dict = {}
    exec(script(lines), found)
    return found


@pytest.mark.parametrize("points", POINTS, ids=str)
def test_the_lines_of_points_name_the_rows_a_job_takes(points):
    found = ran([*dataset_lines("iris"), *points.python_lines()])
    expected = rows_of(arml.load_dataset("iris"), points, None)
    np.testing.assert_array_equal(found["X"], expected.X)
    assert (found["y"] is None) == (expected.y is None) == (not points.labels)
    if points.labels:
        np.testing.assert_array_equal(found["y"], expected.y)
    assert ("exclude" in found) == (expected.exclude is not None)
    if expected.exclude is not None:
        np.testing.assert_array_equal(found["exclude"], expected.exclude)


@pytest.mark.parametrize("part", ["test", "train"])
def test_one_of_the_points_is_named_alone(part):
    points = PointsSpec(part)
    found, all_rows = (
        ran([*dataset_lines("iris"), *points.python_lines(4)]),
        rows_of(arml.load_dataset("iris"), points, None),
    )
    np.testing.assert_array_equal(found["X"], all_rows.X[[4]])
    np.testing.assert_array_equal(found["y"], all_rows.y[[4]])
    assert found.get("exclude") == ([4] if part == "train" else None)


@pytest.mark.parametrize(
    "spec",
    [
        EvaluationSpec("certify", "", 3, "votes", points=PointsSpec("train", 9)),
        EvaluationSpec("certify", "", 1, "search", arml.ThreatModel("linf", box=(0, 1)), PointsSpec("test", 3), 0.5),
        EvaluationSpec("attack", "", 3, "whitebox", arml.ThreatModel(1, frozen=[2]), PointsSpec("train", 5)),
        EvaluationSpec("certify", "", 3, "search", points=PointsSpec("test", 3), budget=5.0, at=(0.2, 0.1)),
        EvaluationSpec("certify", "", 2, "votes", points=PointsSpec("train", 9), ties="any", target=2),
        EvaluationSpec(
            "attack", "", 3, "boundary", points=PointsSpec("test", 3, labels=False), seed=7, options={"steps": 50}
        ),
    ],
    ids=lambda spec: spec.method,
)
def test_the_lines_of_an_evaluation_give_the_radii_of_its_job(spec):
    spec = spec.normalised()
    found = ran(
        [
            *dataset_lines("iris"),
            "metric = None",
            *spec.python_lines(),
            *spec.points.python_lines(),
            f"radii = {spec.python()}.{spec.side}",
        ]
    )
    rows = rows_of(arml.load_dataset("iris"), spec.points, None)
    expected = evaluate_block(found["knn"], spec, rows, np.arange(len(rows)))
    np.testing.assert_allclose(found["radii"], getattr(expected, spec.side), rtol=1e-6)
    assert found["knn"].n_neighbors == spec.n_neighbors
    assert found["threat"] == spec.threat


@pytest.mark.parametrize("learner", ["kmeans_prototypes", "adversarial_pruning", "lfda"])
@pytest.mark.parametrize(
    "points",
    [PointsSpec("test", 9), PointsSpec("cross", 9, labels=False, folds=3, seed=2), PointsSpec("cross")],
    ids=str,
)
def test_the_lines_of_a_model_and_of_its_evaluation_run_as_they_stand(learner, points):
    run, spec = RunSpec("", learner).normalised(), EvaluationSpec("certify", "", 1, "exact", points=points).normalised()
    found = ran(
        [
            *dataset_lines("iris"),
            run.python_line(points),
            *spec.python_lines(run.role),
            *points.python_lines(),
            f"radii = {spec.python()}.lower",
        ]
    )
    data = arml.load_dataset("iris")
    model = entry_of(learner).build(random_state=0)
    if points.part == "cross":
        crossed = arml.cross_fit(model, data.X_train, data.y_train, folds=points.folds, random_state=points.seed)
        rows = None if points.n is None else range(points.n)
        expected = crossed.certify(rows, method="exact", labels=points.labels)
    else:
        model.fit(data.X_train, data.y_train)
        knn = arml.MahalanobisKNN(**{run.role: model}).fit(data.X_train, data.y_train)
        expected = knn.certify(data.X_test[:9], data.y_test[:9], method="exact")
    np.testing.assert_allclose(found["radii"], expected.lower, rtol=1e-9)


def test_shifted_images_name_their_shape():
    line = RunSpec("", "robust_prototypes", {"shifts": 2}).python_line()
    assert line == (
        "references = get_reference_learner('robust_prototypes').build({'shifts': 2}, random_state=0, "
        "image_shape=data.image_shape).fit(X_train, y_train)"
    )


def test_the_metric_of_a_run_is_learned_with_what_differs_from_the_defaults():
    spec = RunSpec("", "arml", {"n_epochs": 3, "n_neighbors": 10}, seed=5)
    call = "get_learner('arml').build({'n_epochs': 3}, random_state=5).fit(X_train, y_train)"
    assert spec.python() == spec.normalised().python() == call
    on_cpu = RunSpec("", "lfda").normalised().python()
    assert on_cpu == "get_learner('lfda').build(random_state=0, device='cpu').fit(X_train, y_train)"
    assert RunSpec("", "gone", {"a": 1}).python().startswith("get_learner('gone').build({'a': 1}, ")
    assert ran([*dataset_lines("iris"), f"metric = {call}"])["metric"].components_.shape == (4, 4)


def test_the_metric_of_a_file_is_loaded_from_where_it_is(tmp_path):
    assert metric_of_file(FOLDER / "metrics" / "a.npz") == "load_metric('data/results/metrics/a.npz', data.n_features)"
    save_metric(tmp_path / "a.npz", arml.Metric.identity(4))
    found = ran([*dataset_lines("iris"), f"metric = {metric_of_file(tmp_path / 'a.npz')}"])
    np.testing.assert_array_equal(found["metric"].components_, np.eye(4))
