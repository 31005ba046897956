"""Runs with references on the Inspect page: the prototypes, the rows they answer for, and points compared with them."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import arml_core as arml
from arml_core.jobs import Client
from arml_core.references import AdversarialPruning, KMeansPrototypes
from arml_core.report import reference_cells
from arml_core.vocabulary import radius_down
from pages.components.inspect.references_view import UNUSED, reference_words, summary_words
from pages.components.inspect.sections import NO_METRIC, NOT_LEFT_OUT
from pages.components.inspect.snippet import point_lines, reference_lines
from pages.components.inspect.sources import load_catalogue
from pages.components.inspect.study import PointQuestion, PreparedSource, compute_cells

from ..app import address
from .inspect_page import blobs, charts, page, quiet, tile, words


def saved(name: str, learner: Any) -> tuple[str, Any, arml.MahalanobisKNN]:
    """A finished run with references: the start of its id, its dataset and its classifier."""
    data = arml.load_dataset(name)
    learner.fit(data.X_train, data.y_train)
    run = Client(start=False).add_metric(data, learner, "My points")
    return run.id[:12], data, arml.MahalanobisKNN(1, references=learner).fit(data.X_train, data.y_train)


def test_the_prototypes_of_a_class_are_pictures_with_the_rows_they_answer_for() -> None:
    run, data, knn = saved("digits", KMeansPrototypes(4, random_state=0))
    app = page(metric=run, show="references", of="3")
    assert {"inspect_reference_pictures", "inspect_reference_rows"} <= charts(app)
    cells = reference_cells(knn, data.X_train, data.y_train)
    assert cells.rows.sum() == len(data.X_train)
    table = app.dataframe[0].value
    places = table["prototype"].to_numpy()
    assert (knn.reference_labels_[places] == 3).all()
    assert table["rows"].tolist() == cells.rows[places].tolist() == sorted(cells.rows[places], reverse=True)
    near = knn.kneighbors(data.X_train)[1][:, 0]
    for place, right in zip(places, table["right"], strict=True):
        assert_allclose(right, (data.y_train[near == place] == 3).mean())
    first = [int(row) for row in table["nearest training rows"][0].split(", ")]
    far = np.linalg.norm(data.X_train[first] - knn.references_[places[0]], axis=1)
    assert (near[first] == places[0]).all()
    assert (np.diff(far) >= 0).all()
    assert far[0] == pytest.approx(
        np.linalg.norm(data.X_train[near == places[0]] - knn.references_[places[0]], axis=1).min()
    )
    assert "40 prototypes answer for 1,257 training rows" in words(app)
    app.selectbox(key="inspect_ref").set_value(int(places[-1])).run()
    assert address(app)["ref"] == str(places[-1])
    app.selectbox(key="inspect_of").set_value(4).run()
    assert "ref" not in address(app)
    assert "The prototypes" not in str(page().get("button_group"))


def test_prototypes_of_a_table_are_rows_in_the_datasets_units() -> None:
    run, data, knn = saved("iris", KMeansPrototypes(2, random_state=0))
    app = page(data="iris", metric=run, show="references", of="1")
    table = app.dataframe[0].value
    expected = data.scaling.inverse(knn.references_[table["prototype"].to_numpy()])
    assert_allclose(table[list(data.feature_names)], expected)
    rows = app.dataframe[1].value
    assert rows["what"][0] == "prototype"
    assert_allclose(rows[list(data.feature_names)].iloc[0], expected[0])


def test_a_point_is_compared_with_prototypes_and_says_so() -> None:
    run, data, knn = saved("digits", KMeansPrototypes(4, random_state=0))
    app = page(metric=run, k="1", row="5")
    found = knn.certify(data.X_test[5:6], data.y_test[5:6], "exact")
    assert tile(app, "Proved") == radius_down(found.lower[0])
    assert app.dataframe[0].value["prototype"][0] == knn.kneighbors(data.X_test[5:6])[1][0, 0]
    told = words(app)
    assert "Test row 5, compared with prototypes: the answer is" in told
    assert "The nearest prototype decides" in told
    assert "**Its nearest prototype**" in told
    assert "If training rows are wrong" not in told
    assert "each of them was learned from many rows at once" in told
    assert "K = 50 is more than the 40 prototypes that can vote" in words(page(metric=run, k="50"))


def test_leaving_a_training_row_out_of_learned_points_is_refused_in_words() -> None:
    run, _, _ = saved("iris", KMeansPrototypes(2, random_state=0))
    app = page(data="iris", metric=run, part="train", row="3")
    assert NOT_LEFT_OUT in [box.value for box in app.info]
    assert not app.metric


def test_kept_rows_are_training_rows_and_can_be_left_out() -> None:
    run, data, knn = saved("iris", AdversarialPruning(0.05))
    kept = knn.reference_learner_.reference_rows_
    row = int(kept[3])
    app = page(data="iris", metric=run, k="1", part="train", row=str(row))
    found = knn.certify(data.X_train[[row]], data.y_train[[row]], "exact", exclude=[row])
    assert tile(app, "Proved") == radius_down(found.lower[0])
    voters = app.dataframe[0].value["training row"].tolist()
    assert set(voters) <= set(kept.tolist()) - {row}
    assert "training row" in page(data="iris", metric=run, show="references").dataframe[0].value


def test_without_a_metric_of_their_own_a_sentence_says_so() -> None:
    run, _, _ = saved("iris", KMeansPrototypes(2, random_state=0))
    app = page(data="iris", metric=run, show="metric")
    assert NO_METRIC.format(voters="prototypes") in [box.value for box in app.info]
    assert "inspect_matrix" not in charts(app)


def test_a_view_of_prototypes_gives_way_where_there_are_none() -> None:
    app = page(data="iris", show="references")
    assert tile(app, "Answer")


def test_the_python_lines_print_the_pages_numbers() -> None:
    run, data, knn = saved("iris", KMeansPrototypes(2, random_state=0))
    source = load_catalogue().sources["iris"][run]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(reference_lines(source), {})
    cells = reference_cells(knn, data.X_train, data.y_train)
    assert [int(line.split()[1]) for line in out.getvalue().splitlines() if "[" in line] == cells.rows.tolist()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(point_lines(source, PointQuestion("test", 2, 1, "l2", own=False), 0.2), {})
    found = knn.certify(data.X_test[2:3], data.y_test[2:3], "exact")
    assert f"{found.lower[0]} {found.upper[0]}" in out.getvalue()


def test_a_prototype_that_nobody_has_as_nearest_is_told_apart() -> None:
    plain = blobs()
    far = np.vstack([plain.data.X_train[[0, 12]], np.full((1, 3), 1e3)])
    model = arml.jobs.model.LearnedModel(
        components_=np.eye(3), references_=far, reference_labels_=np.array([0, 1, 1], dtype=np.intp)
    )
    prepared = PreparedSource(plain.data, plain.metric, model)
    cells = compute_cells(prepared, quiet)
    assert cells.rows.tolist() == [12, 12, 0]
    assert np.isnan(cells.share_right[2])
    assert reference_words(prepared, cells, 2) == UNUSED
    assert reference_words(prepared, cells, 0).startswith("It answers for 12 rows, all of them of class **no**.")
    assert summary_words(prepared, cells).startswith("3 prototypes answer for 24 training rows; 100% of these")
    prepared.data.y_train[1] = 1
    prepared.cells = None
    assert "11 of its own class **no**, 1 of yes. The" in reference_words(prepared, compute_cells(prepared, quiet), 0)
