"""A metric on the Inspect page: what it weighs, where it comes from, and which ones are offered."""

from __future__ import annotations

import numpy as np
import pytest

import arml_core as arml
from arml_core.jobs import Client
from arml_core.metric import Metric
from pages.components.inspect.sources import load_catalogue

from .inspect_page import RNG, charts, knn_of, page, tile, words


def test_the_euclidean_metric_is_said_to_be_the_ordinary_distance() -> None:
    app = page(show="metric")
    assert "All 64 features and all directions count alike: the ordinary distance." in words(app)
    assert "no direction stands out" in words(app)
    assert {"inspect_matrix", "inspect_eigenvalues", "inspect_weights"} <= charts(app)


def test_a_metric_of_the_store_shows_rank_directions_and_what_it_ignores() -> None:
    client = Client(start=False)
    g = RNG.normal(size=(2, 4))
    g[:, 1] = 0
    run = client.add_metric("iris", Metric.from_components(g), title="Two :smile: *directions*")
    app = page(data="iris", metric=run.id[:12], show="metric")
    said = words(app)
    assert "numerical rank 2" in said
    assert "One feature has no weight and can change freely: sepal width (cm)." in said
    assert "2 directions of 4 have eigenvalue 0" in said
    assert {"inspect_direction0", "inspect_direction1"} <= charts(app)
    assert "inspect_direction2" not in charts(app)
    assert app.selectbox(key="inspect_metric").value == run.id[:12]
    point = page(data="iris", metric=run.id[:12], k="1")
    data, knn = knn_of("iris", 1, metric=g.T @ g)
    radius = knn.certify(data.X_test[:1], data.y_test[:1], method="exact").lower[0]
    assert float(tile(point, "Proved")) == pytest.approx(radius, rel=1e-2)


def test_a_run_whose_learner_is_offered_no_longer_keeps_its_name() -> None:
    client = Client(start=False)
    run = client.add_metric("iris", np.eye(4)).id
    with client.store.database.writing() as connection:
        old = "UPDATE jobs SET spec = replace(spec, '\"given\"', '\"withdrawn\"') WHERE id = ?"
        assert connection.execute(old, (run,)).rowcount == 1
    assert load_catalogue().sources["iris"][run[:12]].title == f"withdrawn · run {run[:4]}"


def test_pictures_show_directions_of_image_data() -> None:
    run = Client(start=False).add_metric("digits", Metric.from_components(RNG.normal(size=(10, 64))), title="Ten")
    app = page(metric=run.id[:12], show="metric")
    assert "inspect_directions" in charts(app)
    assert "54 directions of 64 have eigenvalue 0 (numerical rank 10)" in words(app)


def test_a_metric_that_ships_is_offered_where_its_dataset_is(ships) -> None:
    metric = Metric.from_components(RNG.normal(size=(4, 4)))
    ships("iris", "arml", metric, arml.load_dataset("iris").fingerprint)
    ships("nowhere", "arml", metric)
    found = load_catalogue()
    assert list(found.sources["iris"]) == ["euclidean", "arml"]
    assert "nowhere" not in found.sources
    app = page(data="iris", metric="arml", show="metric")
    assert "ARML, as shipped on Iris" in words(app)


def test_a_shipped_metric_for_another_version_of_the_data_is_refused(ships) -> None:
    ships("iris", "arml", Metric.identity(4), "0" * 64)
    app = page(data="iris", metric="arml")
    assert "was learned on another version of Iris" in words(app)
    assert any(button.key == "inspect_again" for button in app.button)
