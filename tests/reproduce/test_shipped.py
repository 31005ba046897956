"""What ships in data/results: recomputed in samples, consistent with itself, and saying what the page says.

Every run draws another sample. A failure prints its seed; `ARML_SAMPLE_SEED` draws that sample again.
"""

import os
import random

import numpy as np
import pytest

from arml_core import MahalanobisKNN, load_dataset, load_metric
from arml_core.reproduce import published
from arml_core.reproduce.observations import check
from arml_core.reproduce.published import METHODS
from arml_core.reproduce.report import DOCUMENT, report
from arml_core.reproduce.result_files import METRICS, result_path
from arml_core.reproduce.tables import Tables, column_of
from arml_core.results import FOLDER, shipped
from tests.more import more

SMALL = ("splice", "pendigits", "satimage", "usps")
LARGE = ("mnist", "fashion_mnist")
TABLES = Tables.of(shipped())
EXACT = {"exact": 4, "theorem1": 6, "votes": 6, "whitebox": 1}
"""Columns without a budget of seconds, and how many points of each are computed again."""


SEED = int(os.environ.get("ARML_SAMPLE_SEED") or random.SystemRandom().randrange(10**6))


def recompute(dataset, learner):
    print(f"sample of ARML_SAMPLE_SEED={SEED}")  # noqa: T201 (pytest shows it where a test fails)
    data = load_dataset(dataset)
    metric = None
    if learner != "euclidean":
        saved = load_metric(result_path(FOLDER / METRICS, dataset, learner), data.n_features)
        assert saved.info["fingerprint"] == data.fingerprint
        metric = saved.metric
    rng = np.random.default_rng(SEED)
    for column, count in EXACT.items():
        evaluation = TABLES.get(dataset, learner, column)
        if evaluation is None:
            continue
        assert evaluation.run.dataset == data.fingerprint
        x, y = data.evaluation(len(evaluation))
        rows = rng.choice(len(evaluation), count, replace=False)
        knn = MahalanobisKNN(evaluation.spec.n_neighbors, metric=metric).fit(data.X_train, data.y_train)
        work = knn.certify if evaluation.spec.kind == "certify" else knn.attack
        found = work(x[rows], y[rows], method=evaluation.spec.method)
        np.testing.assert_array_equal(found.correct, evaluation.radii.correct[rows])
        if evaluation.spec.kind == "attack":  # the way may differ in the last bit; what was found must be true
            proved = knn.certify(x[rows], y[rows], method="votes").lower
            assert (proved <= evaluation.radii.upper[rows]).all(), f"{column}, rows {rows}"
            assert (proved <= found.upper).all(), f"{column}, rows {rows}"
            assert (knn.predict(found.adversarial) != y[rows]).all(), f"{column}, rows {rows}"
        else:
            np.testing.assert_allclose(
                found.lower, evaluation.radii.lower[rows], rtol=1e-6, atol=1e-9, err_msg=f"{column}, rows {rows}"
            )


@pytest.mark.parametrize("learner", METHODS)
@pytest.mark.parametrize("dataset", ["splice", *more("pendigits", "satimage", "usps")])
def test_a_random_sample_comes_out_the_same(dataset, learner, paper_data):
    if TABLES.get(dataset, learner, "exact") is None:
        pytest.skip("not shipped")
    recompute(dataset, learner)


@pytest.mark.more
@pytest.mark.parametrize("dataset", LARGE)
def test_a_random_sample_of_the_large_sets_comes_out_the_same(dataset, paper_data):
    if TABLES.get(dataset, "euclidean", "exact") is None:
        pytest.skip("not shipped")
    recompute(dataset, "euclidean")


def test_lower_sides_lie_below_upper_sides_wherever_both_ship():
    compared = 0
    for dataset, learner, column in TABLES.evaluations:
        proved = TABLES.get(dataset, learner, column)
        if proved.spec.kind != "certify" or proved.spec.n_neighbors == 1:
            continue
        for other in ("whitebox", "boundary", "boundary-box", "search"):
            found = TABLES.get(dataset, learner, other)
            if found is not None:
                n = min(len(proved), len(found))
                assert (proved.radii.lower[:n] <= found.radii.upper[:n]).all(), (dataset, learner, column, other)
                compared += 1
    assert compared


def test_better_certificates_prove_no_less():
    for dataset, learner, column in TABLES.evaluations:
        weaker = {"votes": "theorem1", "search": "votes"}.get(column)
        base = None if weaker is None else TABLES.get(dataset, learner, weaker)
        if base is not None:
            stronger = TABLES.get(dataset, learner, column)
            n = min(len(base), len(stronger))
            assert (stronger.radii.lower[:n] >= base.radii.lower[:n] * (1 - 1e-9)).all(), (dataset, learner, column)


def test_points_agree_on_what_is_classified_correctly():
    for dataset, learner, column in TABLES.evaluations:
        evaluation, first = (TABLES.get(dataset, learner, name) for name in (column, "theorem1"))
        if first is not None and evaluation.spec.n_neighbors == 11:
            n = min(len(first), len(evaluation))
            np.testing.assert_array_equal(evaluation.radii.correct[:n], first.radii.correct[:n])


def test_what_has_to_be_close_to_the_paper_is():
    """On all of the paper's points; an attack on fewer, or with fewer steps, may be off, and the report says so."""
    missed = [key for key in TABLES.evaluations if TABLES.within(*key) is False]
    assert [key for key in missed if len(TABLES.get(*key)) >= published.POINTS] == []
    assert {column for _, _, column in missed} <= {"boundary", "boundary-box"}


@pytest.mark.parametrize("number", [1, 2])
def test_the_papers_first_two_observations_hold(number):
    for finding in check(TABLES):
        if finding.observation == number and finding.column in ("exact", "theorem1"):
            assert finding.holds, f"{finding.column}: {finding.text}"


@pytest.mark.parametrize("column", ["exact", "theorem1"])
def test_the_third_observation_has_no_exception_worth_the_name(column):
    """ARML is the most robust at every radius, but for a few points in a thousand; the page names each exception."""
    found = next(f for f in check(TABLES) if (f.observation, f.column) == (3, column))
    behind = []
    for dataset in (*SMALL, *LARGE):
        errors = TABLES.common(dataset, column)
        if "arml" in errors:
            others = np.min([e for learner, e in errors.items() if learner != "arml"], axis=0)
            behind += list((errors["arml"] - others)[1:])
    assert max(behind) <= 0.02
    assert np.mean(np.array(behind) > 0) <= 0.1
    assert f"at {sum(gap <= 0 for gap in behind)} of {len(behind)} positive radii" in found.text


def test_every_result_says_how_it_was_made():
    for evaluation in shipped():
        assert column_of(evaluation) is not None
        assert evaluation.whole
        assert {"machine", "versions", "version", "date", "seconds"} <= set(evaluation.made)
        if len(evaluation) < 1000:
            assert f"{len(evaluation)} points instead of 1,000" in evaluation.made["deviation"]
        if evaluation.spec.options.get("steps", 25_000) < 25_000:
            assert "steps instead of 25,000" in evaluation.made["deviation"]


@pytest.mark.release
def test_the_results_are_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 5 * 10**6


@pytest.mark.release
def test_the_page_is_the_one_these_results_give():
    assert DOCUMENT.read_text(encoding="utf-8") == report(FOLDER), "run 'python -m arml_core reproduce report'"
