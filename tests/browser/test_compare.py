"""The Compare page in a real browser: what ships, the radius, live results, exports, links, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import arml_core as arml
from arml_core.comparison import CERTIFICATES
from arml_core.jobs import Client, PointsSpec, Store
from arml_core.jobs.paths import Paths
from arml_core.results import shipped

from ..job_requests import attack, certify, train
from .conftest import SCREENSHOTS
from .dashboard import PATIENCE, settle, trace

JOB_SECONDS = 180.0
WIDTHS = {390: 844, 1280: 900, 1920: 1080}
POINTS = PointsSpec("evaluation", 20)
SETTINGS = {"n_components": 2}
BARS = """([chart, metric, proved]) => {
  const svg = document.querySelectorAll('.arml-chart')[chart]?.querySelector('svg.arml-plane');
  const wide = shape => Number(shape.querySelector('rect').getAttribute('width'));
  const of = piece => piece.querySelector('title')?.textContent.startsWith(`${metric}\\n`);
  const shares = [...(svg?.querySelectorAll('g') ?? [])].filter(of).map(piece => wide(piece) / wide(svg));
  return shares.length === 3 && Math.abs(shares[0] - proved) < 1e-9 ? shares : null;
}"""
"""The three pieces of a bar as drawn, in shares of the plot, once the first is as long as it should be."""


@pytest.fixture(scope="module")
def client(server: str, server_home: Path) -> Iterator[Client]:
    """Background work of the dashboard's own store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(server_home))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield Client(Store(Paths(server_home / "jobs")))


def wine(n: int, k: int) -> tuple[Any, Any, Any]:
    """The engine's own classifier for what the tests train, and the points."""
    data = arml.load_dataset("wine")
    metric = arml.LFDA(**SETTINGS).fit(data.X_train, data.y_train)
    return (arml.MahalanobisKNN(k, metric=metric).fit(data.X_train, data.y_train), *data.evaluation(n))


def label(run: str) -> str:
    return f"LFDA, components 2 · run {run[:4]}"


def cells(page: Any, column: str, index: int = 0) -> dict[str, str]:
    """One column of a table on the page, by metric."""
    found = page.locator("[data-testid=stTable] table").nth(index)
    head = [text.strip() for text in found.locator("thead th").all_inner_texts()]
    rows = [
        [text.strip() for text in row.locator("th, td").all_inner_texts()] for row in found.locator("tbody tr").all()
    ]
    return {row[head.index("Model")]: row[head.index(column)].removesuffix("★").strip() for row in rows}


def radius_to(page: Any, key: str, presses: int) -> float:
    """Move the radius slider by keyboard; the radius it then stands at."""
    slider = page.get_by_role("slider", name="Radius")
    slider.focus()
    for _ in range(presses):
        before = page.url
        slider.press(key)
        page.wait_for_function("before => location.href !== before", arg=before, timeout=PATIENCE)
    page.wait_for_function(
        "() => document.querySelector('.arml-mark text')?.textContent === "
        "'ε = ' + Number(new URLSearchParams(location.search).get('eps'))",
        timeout=PATIENCE,
    )
    settle(page)
    return float(re.search(r"eps=([\d.]+)", page.url)[1])


def best_on_splice(learner: str) -> Any:
    """The certificate the page draws first: for K = 11, the tightest that all metrics have."""
    there = [e for e in shipped() if (e.dataset, e.spec.n_neighbors) == ("splice", 11)]
    found = {(e.run.learner, e.spec.method): e for e in there}
    metrics = {name for name, method in found if method in CERTIFICATES}
    method = next(m for m in CERTIFICATES if all((name, m) in found for name in metrics))
    return found[learner, method]


@pytest.mark.smoke
def test_it_opens_on_results_that_ship_with_the_engines_numbers(open_page) -> None:
    page = open_page("/compare")
    page.get_by_text("Splice · K = 11 · ℓ2 norm").first.wait_for()
    for learner, title in (("euclidean", "Euclidean"), ("arml", "ARML")):
        lower = best_on_splice(learner).radii.lower
        drawn = trace(page, 0, f"{title}, certified")
        n = int(cells(page, "Points")[title].replace(",", ""))
        np.testing.assert_allclose(drawn["y"], arml.robust_error(lower[:n], drawn["x"]))
        assert trace(page, 0, f"{title}, empirical") is not None
        assert trace(page, 0, f"{title}, paper, certified") is not None
    assert page.get_by_text("reached: White-box attack").first.is_visible()


def test_the_front_has_a_mark_for_each_metric_that_moves_with_the_radius(open_page) -> None:
    page = open_page("/compare?data=splice&k=1&eps=0.2")
    page.get_by_text("The price of robustness").click()
    page.get_by_text("Nearer to the lower left corner").wait_for(timeout=PATIENCE)
    settle(page)
    (exact,) = [e for e in shipped() if (e.dataset, e.run.learner, e.spec.method) == ("splice", "arml", "exact")]
    for eps in (0.2, 0.1):
        page = open_page(f"/compare?view=front&data=splice&k=1&eps={eps}")
        drawn = trace(page, 0, "ARML")
        np.testing.assert_allclose(drawn["x"], [np.mean(~exact.radii.correct)])
        np.testing.assert_allclose(drawn["y"], [arml.robust_error(exact.radii.lower, eps)])


def test_the_radius_changes_marks_bars_and_table(open_page) -> None:
    page = open_page("/compare")
    before = cells(page, "Certified error")
    epsilon = radius_to(page, "ArrowRight", 4)
    after = cells(page, "Certified error")
    assert after != before
    for learner, title in (("euclidean", "Euclidean"), ("arml", "ARML")):
        n = int(cells(page, "Points")[title].replace(",", ""))
        error = float(arml.robust_error(best_on_splice(learner).radii.lower[:n], epsilon))
        assert after[title] == f"{error:.3f}"
        bars = page.wait_for_function(BARS, arg=[1, title, 1 - error], timeout=PATIENCE).json_value()
        assert sum(bars) == pytest.approx(1)
    stars = page.locator("[data-testid=stTable] table").first.locator("td").filter(has_text="★")
    assert stars.count() >= 5


def test_results_that_are_computed_now_appear_with_the_engines_numbers(open_page, client) -> None:
    run = train(client, "wine", "lfda", SETTINGS).id
    assert client.wait(run, JOB_SECONDS).state == "done"
    page = open_page(f"/compare?data=wine&runs={run[:12]}", chart=False)
    page.get_by_text("has not been evaluated yet").wait_for(timeout=PATIENCE)
    certify(client, run, 3, "votes", points=POINTS)
    attack(client, run, 3, "boundary", points=POINTS, seed=5, options={"steps": 50})
    name = label(run)
    page.get_by_text("reached: Boundary attack, 50 steps, seed 5").first.wait_for(timeout=PATIENCE)
    page.wait_for_function(
        "([name]) => { const found = document.querySelector('.js-plotly-plot')?._fullData ?? []; "
        "return found.some(t => t.name === name + ', empirical') && found.some(t => t.name === name); }",
        arg=[name],  # without “(partial)”: both are finished
        timeout=PATIENCE,
    )
    settle(page)
    knn, x, y = wine(20, 3)
    proved = knn.certify(x, y, method="votes").lower
    reached = knn.attack(x, y, method="boundary", random_state=5, steps=50).upper
    for kind, radii in (("certified", proved), ("empirical", reached)):
        drawn = trace(page, 0, f"{name}, {kind}")
        np.testing.assert_allclose(
            drawn["y"], arml.robust_error(radii * (1 + 1e-12), np.array(drawn["x"]) * (1 + 1e-9))
        )
    epsilon = radius_to(page, "ArrowLeft", 3)
    assert cells(page, "Certified error") == {name: f"{float(arml.robust_error(proved, epsilon)):.3f}"}
    assert cells(page, "Empirical error") == {name: f"{float(arml.robust_error(reached, epsilon)):.3f}"}


def test_radii_against_different_attackers_are_not_drawn_together(open_page, client) -> None:
    run = client.add_metric("iris", np.diag([1.0, 2.0, 3.0, 4.0]), "Stretched").id
    jobs = [
        certify(client, run, 5, "votes", points=POINTS).id,
        attack(client, run, 5, "boundary", arml.ThreatModel("linf"), POINTS, options={"steps": 30}).id,
    ]
    for job in jobs:
        assert client.wait(job, JOB_SECONDS).state == "done"
    page = open_page(f"/compare?data=iris&runs={run[:12]}&k=5&norm=l2")
    refusal = page.get_by_test_id("stAlert").inner_text()
    assert "the certificate measures a step in ℓ2, the attack in ℓ∞" in refusal
    assert "do not belong on one chart" in refusal
    name = f"Stretched · run {run[:4]}"
    assert trace(page, 0, f"{name}, empirical") is None
    assert trace(page, 0, f"{name}, certified") is not None
    page.get_by_text("ℓ∞", exact=True).first.click()
    page.wait_for_function("() => location.search.includes('norm=linf')")
    page.get_by_text("Iris · K = 5 · ℓ∞ norm").first.wait_for(timeout=PATIENCE)
    settle(page)
    assert trace(page, 0, f"{name}, certified") is None


def saved(page: Any, button: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).first.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_an_export_opens_and_equals_the_plot(open_page, tmp_path: Path) -> None:
    page = open_page("/compare?data=pendigits&k=1&methods=euclidean~arml")  # nobody else evaluates on it
    rows = pd.read_csv(saved(page, "CSV", tmp_path))
    assert set(rows["method"]) == {"Euclidean", "ARML"}
    for (method, kind), part in rows.groupby(["method", "kind"]):
        drawn = trace(page, 0, f"{method}, {'certified' if kind == 'exact' else kind}")
        np.testing.assert_allclose(part["radius"], drawn["x"], rtol=1e-12)
        np.testing.assert_allclose(part["error"], drawn["y"], rtol=1e-12)

    drawn_paths = page.locator(".js-plotly-plot").first.locator(".scatterlayer path.js-line")
    shapes = [shape for shape in drawn_paths.evaluate_all("all => all.map(p => p.getAttribute('d'))") if shape]
    picture = ElementTree.parse(saved(page, "SVG", tmp_path)).getroot()
    kept = {path.get("d") for path in picture.iter("{http://www.w3.org/2000/svg}path")}
    assert len(shapes) >= 2
    assert set(shapes) <= kept
    texts = {"".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    mark = page.locator(".arml-mark text").first.text_content()
    assert mark.startswith("ε = ")
    assert {"Pendigits · K = 1 · ℓ2 norm", "Euclidean", "ARML", "exact radii", mark} <= texts

    with Image.open(saved(page, "PNG", tmp_path)) as image:
        image.load()
        assert image.size == (3 * round(float(picture.get("width"))), 3 * round(float(picture.get("height"))))
        colours = {colour for _, colour in image.convert("RGB").getcolors(maxcolors=1_000_000)}
    assert {(255, 255, 255), (0, 114, 178)} <= colours  # the paper, and ARML's line


def test_a_copied_link_opens_the_same_view_in_a_fresh_browser(open_page) -> None:
    page = open_page("/compare?data=splice~pendigits&methods=euclidean~arml&certificate=theorem1&attack=none&band=1")
    radius_to(page, "ArrowLeft", 4)
    page.get_by_text("Copy link and Python").click()
    code = page.locator("[data-testid=stCode] code").first
    code.wait_for()
    other = open_page(code.inner_text().strip())
    for chart, name in ((0, "ARML, certified"), (0, "ARML, confidence, high"), (2, "Euclidean, certified")):
        assert trace(other, chart, name) == trace(page, chart, name)
    for index in (0, 1):
        for column in ("Certified error", "Proved safe", "Median proved radius"):
            assert cells(other, column, index) == cells(page, column, index)
    assert other.get_by_text("Pendigits · K = 11 · ℓ2 norm").first.is_visible()


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice(open_page) -> None:
    page = open_page("/compare?k=banana&data=atlantis&runs=%3Cscript%3E&colour=red")
    for part in ("k=banana", "dataset 'atlantis'", "runs=<script>", "'colour'"):
        assert page.get_by_text(part).first.is_visible()
    assert page.get_by_text("Splice · K = 11 · ℓ2 norm").first.is_visible()


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False), (1280, True), (1920, False)])
def test_nothing_overflows(open_page, width: int, dark: bool) -> None:
    page = open_page("/compare", width, WIDTHS[width], dark)
    page.wait_for_timeout(300)
    chart = page.locator(".js-plotly-plot").first
    tick, title, legend = (chart.locator(part).first.bounding_box() for part in (".xtick", ".g-xtitle", ".legend"))
    assert tick["y"] + tick["height"] <= title["y"] + 1
    assert title["y"] + title["height"] <= legend["y"] + 1
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"compare-{width}-{'dark' if dark else 'light'}.png")
    assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.locator(".arml-chart").first.bounding_box()["width"] <= width
