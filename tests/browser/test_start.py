"""The Start page in a real browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import arml_core as arml
from arml_core.vocabulary import radius_near


@pytest.mark.smoke
def test_start_shows_a_certificate_with_the_engines_number(open_page) -> None:
    page = open_page("/")
    seven = arml.load_dataset("seven_points")
    knn = arml.MahalanobisKNN(n_neighbors=1).fit(seven.X_train, seven.y_train)
    radius = knn.certify(seven.X_train[[1]], seven.y_train[[1]], method="exact", exclude=[1]).lower[0]
    assert page.get_by_text(radius_near(radius)).first.is_visible()
    assert page.locator(".arml-chart").count() == 1
    for text in ("Play", "Compare", "Certify a file", "Running jobs", "Glossary", "Trains on"):
        assert page.get_by_text(text).first.is_visible()


def test_the_doors_open(open_page) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Open the playground").click()
    page.get_by_text("A click will").wait_for()
    page.get_by_role("link", name="Start").click()
    page.get_by_text("Computed just now").wait_for()
    for door, words in (("Compare metrics", "Lower is safer"), ("Certify a CSV file", "how small, and what change?")):
        page.get_by_role("link", name=door).click()
        page.get_by_text(words).first.wait_for()
        page.get_by_role("link", name="Start").click()
        page.get_by_text("Computed just now").wait_for()


def test_the_data_behind_the_picture_is_its_certificate(open_page) -> None:
    page = open_page("/")
    page.get_by_text("The data behind the picture (CSV)").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Euclidean").click()
    table = pd.read_csv(download.value.path())
    chosen = table[table["kind"] == "chosen point"]
    seven = arml.load_dataset("seven_points")
    knn = arml.MahalanobisKNN(n_neighbors=1).fit(seven.X_train, seven.y_train)
    radius = knn.certify(seven.X_train[[1]], seven.y_train[[1]], method="exact", exclude=[1]).lower[0]
    np.testing.assert_allclose(chosen[["x1", "x2", "value"]].to_numpy()[0], [*seven.X_train[1], radius])
