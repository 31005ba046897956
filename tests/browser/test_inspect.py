"""The Inspect page in a real browser: pictures of digits, the radius of the engine, a twin that fools, both themes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import arml_core as arml
from arml_core.jobs import Client, Store
from arml_core.jobs.paths import Paths
from arml_core.vocabulary import radius_down

from .conftest import SCREENSHOTS
from .dashboard import PATIENCE, settle

WIDTHS = {390: 844, 1280: 900}
PICTURE = """([key, index]) => {
  const graph = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  const trace = graph._fullData[index];
  return {z: trace.z.map(row => Array.from(row)), low: trace.zmin, high: trace.zmax};
}"""
DRAWN = """key => document.querySelectorAll(`.st-key-${key} .heatmaplayer image`).length"""


def ready(page: Any) -> None:
    """Wait until nothing is being worked out any more."""
    page.locator(".st-key-inspect_trail .main-svg").first.wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_function("() => !document.body.innerText.includes('⏳')", timeout=PATIENCE)
    settle(page)


def tile(page: Any, label: str) -> str:
    found = page.locator("[data-testid=stMetric]").filter(has_text=label)
    text: str = found.locator("[data-testid=stMetricValue]").inner_text()
    return text.strip()


def download(page: Any, what: str, folder: Path) -> pd.DataFrame:
    with page.expect_download(timeout=PATIENCE) as taken:
        page.locator(f".st-key-inspect_csv_{what} button").first.click()
    path = folder / taken.value.suggested_filename
    taken.value.save_as(path)
    return pd.read_csv(path)


def digits(k: int) -> tuple[Any, arml.MahalanobisKNN]:
    data = arml.load_dataset("digits")
    return data, arml.MahalanobisKNN(k).fit(data.X_train, data.y_train)


@pytest.mark.smoke
def test_a_digit_its_twin_and_what_changed_are_pictures_and_the_twin_fools_predict(open_page, tmp_path) -> None:
    page = open_page("/inspect?k=1&row=7", chart=False)
    ready(page)
    data, knn = digits(1)
    x, y = data.X_test[7:8], data.y_test[7:8]
    found = knn.certify(x, y, method="exact")
    assert page.evaluate(DRAWN, "inspect_twin") == 3
    first, second, third = (page.evaluate(PICTURE, ["inspect_twin", k]) for k in range(3))
    np.testing.assert_allclose(first["z"], x.reshape(8, 8))
    np.testing.assert_allclose(np.subtract(second["z"], first["z"]), third["z"], atol=1e-12)
    assert third["low"] == -third["high"]
    assert tile(page, "Proved") == radius_down(found.lower[0])
    twin = download(page, "twin", tmp_path)
    moved = twin["scaled after"].to_numpy()
    np.testing.assert_allclose(moved.reshape(8, 8), second["z"])
    assert knn.predict(moved[None])[0] != y[0]
    assert np.linalg.norm(moved - x[0]) == pytest.approx(found.upper[0])
    trail = download(page, "trail", tmp_path).set_index("method")
    assert trail.loc["exact", "lower"] == found.lower[0]
    assert trail.loc["votes", "lower"] == knn.certify(x, y, method="votes").lower[0]
    near = download(page, "neighbours", tmp_path)
    assert near["training row"][0] == knn.kneighbors(x)[1][0, 0]


def test_with_five_neighbours_the_search_arrives_by_itself_and_can_go_on(open_page, tmp_path) -> None:
    page = open_page("/inspect?row=1", chart=False)
    ready(page)
    data, knn = digits(5)
    x, y = data.X_test[1:2], data.y_test[1:2]
    trail = download(page, "trail", tmp_path).set_index("method")
    assert list(trail.index) == ["theorem1", "votes", "search", "whitebox"]
    assert trail.loc["theorem1", "lower"] == knn.certify(x, y, method="theorem1").lower[0]
    assert trail.loc["whitebox", "upper"] == knn.attack(x, y).upper[0]
    assert trail.loc["votes", "lower"] <= trail.loc["search", "lower"] <= trail.loc["search", "upper"]
    assert page.evaluate(DRAWN, "inspect_tiles_before") == 5
    assert page.evaluate(DRAWN, "inspect_tiles_after") == 5
    before = page.url
    page.get_by_role("button", name="Another one").click()
    page.wait_for_function("before => location.href !== before", arg=before, timeout=PATIENCE)
    ready(page)
    row = int(re.search(r"row=(\d+)", page.url)[1])
    page.get_by_text(f"Test row {row}:").wait_for()


def test_a_metric_of_ones_own_is_taken_apart_and_names_are_shown_as_text(open_page, server_home, tmp_path) -> None:
    g = np.random.default_rng(2).normal(size=(3, 64))
    g[:, 0] = 0.0
    run = Client(Store(Paths(server_home / "jobs"))).add_metric("digits", g.T @ g, title="<b>Three</b> *ways*")
    page = open_page(f"/inspect?metric={run.id[:12]}&show=metric", chart=False)
    page.locator(".st-key-inspect_directions .main-svg").first.wait_for(state="attached", timeout=PATIENCE)
    page.get_by_text("<b>Three</b> *ways*").first.wait_for()
    page.get_by_text("61 directions of 64 have eigenvalue 0 (numerical rank 3)").wait_for()
    page.get_by_text("One feature has no weight and can change freely").wait_for()
    assert page.evaluate(DRAWN, "inspect_directions") == 3
    assert page.evaluate(DRAWN, "inspect_weights") == 1
    shown = page.evaluate(PICTURE, ["inspect_matrix", 0])
    np.testing.assert_allclose(shown["z"], g.T @ g, atol=1e-10)
    matrix = download(page, "matrix", tmp_path)
    np.testing.assert_allclose(matrix.iloc[:, 1:].to_numpy(), g.T @ g, atol=1e-12)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_the_window(open_page, width, dark) -> None:
    page = open_page("/inspect", width=width, height=WIDTHS[width], dark=dark, chart=False)
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in page.locator(".arml-chart").all():
        box = chart.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width + 1
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"inspect-{width}-{'dark' if dark else 'light'}.png", full_page=True)
