"""Certify with learned references: cross-fitted for one file, learned on the reference file for two, and as saved."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.cross_fitting import cross_fit
from arml_core.datasets.table import read_table, select
from arml_core.jobs import Client
from arml_core.references import KMeansPrototypes, RobustPrototypes
from arml_core.references.registry import REFERENCES
from arml_core.report import verdict_csv
from pages.components.certify.downloads import report_text, settings_of
from pages.components.certify.models import NOT_COUNTED, neighbours_refused, prototype_counts
from pages.components.certify.progress import line_of
from pages.components.certify.snippet import python_lines
from tests.more import more

from .app import address
from .jobs_here import no_worker, work_off
from .test_certify import GOOD, SAMPLES, certifiable, choose_label, page, said, upload
from .test_certify_results import counts, parts

PUMPS = {"file": "pumps", "use": '{"label":"state"}'}
FOLDS_OF_THREE = (
    "Cross-fitted in 3 folds drawn with seed 7: each row is answered by prototypes learned without its fold"
)


@pytest.fixture(scope="module", autouse=True)
def _own_home(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("ARML_SHARED", raising=False)
        st.cache_resource.clear()
        no_worker(patch)
        yield
        st.cache_resource.clear()


def pumps():
    return select(read_table(SAMPLES / "pumps.csv").table, label="state").data


def certify(**choices: str) -> AppTest:
    """The page once everything it asked for is done."""
    app = page(**choices)
    assert certifiable(app), said(app)
    app.button(key="cf_start").click().run()
    work_off()
    app.run()
    assert not app.exception, app.exception
    return app


def captions(app) -> str:
    return "\n".join(text.value for text in app.caption)


def printed(script: str) -> list[list[str]]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(script, {})
    return [line.split() for line in out.getvalue().splitlines()]


def test_one_file_is_cross_fitted_and_says_so_on_the_page_in_the_report_and_in_python() -> None:
    app = certify(**PUMPS, metric="kmeans_prototypes", folds="3", seed="7")
    asked, sources, prepared, work, results = parts(app)
    data = pumps()
    fitted = cross_fit(KMeansPrototypes(random_state=7), data.X, data.y, folds=3, random_state=7)
    expected = fitted.certify(method="exact")
    assert np.array_equal(results.rows.radii.lower, expected.lower)
    assert np.array_equal(results.rows.radii.predicted, expected.predicted)
    own = arml.MahalanobisKNN(1, references=KMeansPrototypes(random_state=7)).fit(data.X, data.y)
    assert not np.array_equal(own.certify(data.X, data.y, "exact").lower, expected.lower)
    rows, flips = results.flips()
    moved = rows.layout.from_units(flips.raw[flips.known])
    assert (fitted.predict(moved, np.flatnonzero(flips.known)) != rows.radii.predicted[flips.known]).all()
    assert flips.known.sum() == rows.radii.correct.sum()
    assert FOLDS_OF_THREE in captions(app)
    assert NOT_COUNTED["references"] in captions(app)
    assert results.counting is None
    (table,) = [frame.value for frame in app.dataframe if "verdict" in frame.value.columns]
    assert "rows removed" not in table
    assert "rows removed" not in verdict_csv(results.with_training_rows().rows, 0.1, flips)
    report = report_text(asked, sources, prepared, work, results, 0.1)
    assert FOLDS_OF_THREE in report
    assert NOT_COUNTED["references"] in report
    script = python_lines(asked, sources, work)
    assert "cross_fit(references, X_train, y_train, folds=3, random_state=7, n_neighbors=1)" in script
    assert "certify_training" not in script
    lines = printed(script)
    assert [int(line[0]) for line in lines] == rows.lines.tolist()
    assert np.array_equal([float(line[2]) for line in lines], expected.lower)
    assert counts(page(**address(app))) == counts(app)


@pytest.mark.more
@pytest.mark.parametrize(("norm", "k"), [("l2", "1"), ("linf", "3")])
def test_robust_prototypes_are_learned_for_the_norm_that_is_certified(norm: str, k: str) -> None:
    app = certify(**PUMPS, metric="robust_prototypes", norm=norm, k=k)
    asked, sources, _, work, results = parts(app)
    data = pumps()
    fitted = cross_fit(RobustPrototypes(norm=norm, random_state=0), data.X, data.y, n_neighbors=int(k))
    expected = fitted.certify(method=work.spec.method, threat=work.spec.threat)
    assert np.allclose(results.rows.radii.lower, expected.lower, rtol=1e-5)
    assert "prototypes and a metric learned without its fold" in captions(app)
    assert np.allclose([float(line[2]) for line in printed(python_lines(asked, sources, work))], expected.lower)


@pytest.mark.parametrize("name", ["adversarial_pruning", *more(*(n for n in REFERENCES if n != "adversarial_pruning"))])
def test_a_reference_file_teaches_and_the_query_file_is_asked(name: str) -> None:
    app = certify(mode="two", **PUMPS, query="pumps", metric=name)
    asked, sources, prepared, work, results = parts(app)
    data, spec = pumps(), work.model
    learner = REFERENCES[name].build(spec.parameters, random_state=0).fit(data.X, data.y)
    knn = arml.MahalanobisKNN(1, references=learner).fit(data.X, data.y)
    assert np.allclose(results.rows.radii.lower, knn.certify(data.X, data.y, "exact").lower, rtol=1e-5)
    assert work.spec.points.part == "given"
    assert NOT_COUNTED[spec.gives] in captions(app)
    settings = dict(settings_of(asked, sources, prepared, work))
    assert settings["Rows that teach"].startswith("98")
    assert settings["References"] == REFERENCES[name].title
    lines = printed(python_lines(asked, sources, work))
    assert np.allclose([float(line[2]) for line in lines], results.rows.radii.lower, rtol=1e-5)


def saved_prototypes() -> str:
    data = pumps()
    learner = KMeansPrototypes(2, random_state=0).fit(data.X, data.y)
    return Client(start=False).add_metric(data.dataset(title="pumps.csv"), learner, "Two points a class").id


def test_a_saved_run_with_prototypes_certifies_a_query_file_with_them() -> None:
    app = certify(mode="run", run=saved_prototypes(), query="pumps")
    results = parts(app)[-1]
    data = pumps()
    knn = arml.MahalanobisKNN(1, references=KMeansPrototypes(2, random_state=0)).fit(data.X, data.y)
    assert np.array_equal(results.rows.radii.lower, knn.certify(data.X, method="exact").lower)
    assert (results.flips()[1].known == results.rows.radii.correct).all()
    assert NOT_COUNTED["references"] in captions(app)


def test_saved_prototypes_are_no_metric_for_the_rows_that_may_have_taught_them() -> None:
    run = saved_prototypes()
    app = page(**PUMPS, metric="run")
    assert run not in app.selectbox(key="cf_run").options
    app = page(**PUMPS, metric="run", run=run)
    assert not certifiable(app)
    assert any("cross-fitted" in text for text in said(app)), said(app)


def test_too_few_rows_for_the_folds_or_the_neighbours_are_told_so_before_anything_is_learned() -> None:
    app = choose_label(upload(page(metric="robust_prototypes"), GOOD))
    assert any("5 folds need as many rows; there are 4" in text for text in said(app)), said(app)
    assert not certifiable(app)
    app.number_input(key="cf_folds").set_value(2).run()
    assert certifiable(app)
    app.number_input(key="cf_k").set_value(3).run()
    assert any("K = 3 is more than the 2 prototypes that vote" in text for text in said(app)), said(app)
    assert not certifiable(app)
    app.number_input(key="cf_k").set_value(1).run()
    app.selectbox(key="cf_method").set_value("theorem1").run()
    assert certifiable(app)


def test_the_count_of_prototypes_is_that_of_the_fold_with_the_fewest_rows() -> None:
    sizes = np.array([200, 9, 2])
    assert prototype_counts({}, sizes, None).tolist() == [4, 3, 2]
    assert prototype_counts({"n_prototypes": 7}, sizes, 5).tolist() == [7, 7, 1]
    assert neighbours_refused(np.array([3, 3]), 5, "votes") == ""
    assert "needs 4 prototypes in every class" in neighbours_refused(np.array([3, 9]), 7, "theorem1")


def test_a_model_keeps_its_settings_in_the_address_and_automatic_ones_stay_empty() -> None:
    app = page(**PUMPS, metric="robust_prototypes")
    assert app.number_input(key="cf_param_n_prototypes").value is None
    app.number_input(key="cf_param_n_prototypes").set_value(4).run()
    app.selectbox(key="cf_param_metric").set_value("euclidean").run()
    assert address(app)["params"] == '{"n_prototypes":4,"metric":"euclidean"}'
    assert "answered by prototypes learned without its fold" in captions(app)
    app.selectbox(key="cf_metric").set_value("euclidean").run()
    assert "params" not in address(app)
    assert not any(found.key == "cf_folds" for found in app.number_input)


def test_the_bar_says_that_folds_are_learned() -> None:
    app = certify(**PUMPS, metric="kmeans_prototypes", folds="3", seed="7")
    work = parts(app)[3]
    learning = replace(work.certificate, state="running", phase="training", done=500, total=3000)
    assert line_of(learning) == "Learning without each fold: 17%"
    trained = replace(work.run, state="running", phase="training", done=1, total=2)
    assert line_of(trained).startswith("Learning the prototypes: 1 of 2")
