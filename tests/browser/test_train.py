"""The Train page in a real browser, with real jobs: start, watch, reload, cancel, fail, finish, evaluate, share."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arml_core as arml
from arml_core.curves import mean_radius
from arml_core.datasets import read_dataset
from arml_core.jobs import Client, Store, new_key
from arml_core.jobs.paths import Paths
from arml_core.learners.storage import load_metric
from arml_core.vocabulary import radius_down, share_up

from .conftest import SCREENSHOTS
from .dashboard import PATIENCE, serve, settle, stop_worker

LONG = "datasets=breast_cancer&settings=arml:n_epochs:1000000"
EPOCH = re.compile(r"Epoch ([\d,]+) of ([\d,]+)")


def epoch(page) -> int:
    """The epoch in the progress text of the shown training."""
    text = page.get_by_text(EPOCH).first.inner_text(timeout=PATIENCE)
    return int(EPOCH.search(text)[1].replace(",", ""))


def wait_for_more_than(page, done: int) -> None:
    """Wait until the progress text counts further."""
    page.wait_for_function(
        """done => [...document.querySelectorAll('[data-testid=stProgress]')].some(bar => {
          const found = /Epoch ([\\d,]+) of/.exec(bar.innerText);
          return found && Number(found[1].replaceAll(',', '')) > done;
        })""",
        arg=done,
        timeout=PATIENCE,
    )


def start(page) -> str:
    """Press Start and return the job that the address names."""
    page.locator(".st-key-train_start button").click()
    page.wait_for_function("() => location.search.includes('job=')", timeout=PATIENCE)
    return re.search(r"job=([0-9a-f]{32})", page.url)[1]


def cancel(page) -> float:
    """Press Cancel of the shown training; the seconds until the page says that it stops."""
    page.locator(".st-key-train_cancel button").first.click()
    began = time.monotonic()
    page.get_by_text("Stopping: what is finished is kept").or_(page.get_by_text("Stopped on request")).first.wait_for()
    return time.monotonic() - began


def test_a_training_moves_survives_a_reload_and_a_second_tab_and_is_cancelled_within_a_second(open_page) -> None:
    page = open_page(f"/train?{LONG}", chart=False)
    start(page)
    first = epoch(page)
    wait_for_more_than(page, first)
    for quantity in ("loss", "mean radius", "eigenvalue of M"):
        page.locator(".js-plotly-plot .ytitle").filter(has_text=quantity).first.wait_for(timeout=PATIENCE)
    page.reload()
    settle(page)
    reached = epoch(page)
    assert reached > first
    other = open_page(page.url)
    wait_for_more_than(other, reached)
    seconds = cancel(page)
    page.get_by_text("Stopped on request at epoch").wait_for(timeout=PATIENCE)
    other.get_by_text("Stopped on request at epoch").wait_for(timeout=PATIENCE)  # the other tab follows by itself
    assert other.locator(".st-key-train_retry button").first.is_visible()
    other.goto("about:blank")
    for _ in range(2):  # a busy machine may be late once
        if seconds < 1.0:
            break
        page.locator(".st-key-train_retry button").first.click()
        wait_for_more_than(page, 1)
        seconds = cancel(page)
        page.get_by_text("Stopped on request at epoch").wait_for(timeout=PATIENCE)
    assert seconds < 1.0


@pytest.mark.smoke
def test_a_failed_job_shows_its_reason_and_retries(open_page) -> None:
    page = open_page("/train?datasets=moons&settings=arml:n_components:5", chart=False)
    start(page)
    page.get_by_text("This training failed: n_components must be").wait_for(timeout=PATIENCE)
    page.get_by_text("Log", exact=True).click()
    page.get_by_text("attempt 1, process").first.wait_for(timeout=PATIENCE)
    page.locator(".st-key-train_retry button").first.click()
    page.wait_for_function(
        "() => document.querySelector('[data-testid=stCode]')?.innerText.split('attempt 1, process').length > 2",
        timeout=PATIENCE,
    )
    page.get_by_text("This training failed: n_components must be").wait_for(timeout=PATIENCE)


def test_a_finished_training_is_evaluated_with_the_engines_numbers_and_its_metric_goes_out_and_in(
    open_page, tmp_path: Path
) -> None:
    page = open_page("/train?datasets=wine&settings=arml:n_epochs:60&k=3&points=30&attack=whitebox", chart=False)
    start(page)
    page.locator(".st-key-train_metric button").first.wait_for(timeout=PATIENCE)
    with page.expect_download() as download:
        page.locator(".st-key-train_metric button").first.click()
    download.value.save_as(tmp_path / "metric.npz")
    metric = load_metric(tmp_path / "metric.npz", n_features=13)
    assert metric.info["dataset"] == "wine"
    page.locator(".st-key-train_evaluate button").first.click()
    page.get_by_text("Mean attack radius").wait_for(timeout=PATIENCE)
    page.wait_for_function("() => !document.body.innerText.includes('Partial:')", timeout=PATIENCE)
    settle(page)

    data = arml.load_dataset("wine")
    x, y = data.evaluation(30)
    knn = arml.MahalanobisKNN(3, metric=metric).fit(data.X_train, data.y_train)
    certified, attacked = knn.certify(x, y, "votes"), knn.attack(x, y, "whitebox")
    drawn = page.evaluate(
        """() => { const graph = [...document.querySelectorAll('.js-plotly-plot')].pop();
          return Object.fromEntries(graph._fullData.map(t => [t.name, {x: [...t.x], y: [...t.y]}])); }"""
    )
    for name, radii in (("ARML, certified", certified.lower), ("ARML, empirical", attacked.upper)):
        corners = np.array(drawn[name]["x"]) + 1e-9  # the job may differ from this process in the last bit
        np.testing.assert_allclose(drawn[name]["y"], arml.robust_error(radii, corners), atol=1e-12)
    shown = page.get_by_test_id("stMetricValue").all_inner_texts()
    assert shown[:2] == [share_up(1 - certified.correct.mean()), radius_down(mean_radius(certified.lower))]

    page.get_by_text("Upload a metric or references from elsewhere").click()
    page.get_by_text("It has 13 features.").wait_for(timeout=PATIENCE)
    page.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(tmp_path / "metric.npz")
    page.get_by_label("Name", exact=True).fill("From elsewhere")
    page.get_by_label("Name", exact=True).press("Enter")
    page.locator(".st-key-train_upload_add button:not([disabled])").first.click()
    page.get_by_text("A metric from elsewhere. Evaluate it").wait_for(timeout=PATIENCE)
    assert page.get_by_text("From elsewhere for Wine").first.is_visible()


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice(open_page) -> None:
    page = open_page(f"/train?methods=svm&job={'f' * 32}&k=banana&seeds=%3Cscript%3E", chart=False)
    for part in ("methods=svm", "k=banana", "seeds=<script>", "there is no such job"):
        page.get_by_text(part).first.wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_screenshot(open_page, width: int, dark: bool) -> None:
    page = open_page("/train?datasets=splice~wine&methods=arml~nca", width, 900, dark, chart=False)
    page.get_by_text("of memory").first.wait_for()
    page.wait_for_timeout(300)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"train-{width}-{'dark' if dark else 'light'}.png")
    assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0


@contextmanager
def pages_of(browser: Any, address: str, *paths: str) -> Iterator[list[Any]]:
    """Pages in browsers that know nothing of each other."""
    contexts = [browser.new_context(viewport={"width": 1280, "height": 900}) for _ in paths]
    pages = []
    for context, path in zip(contexts, paths, strict=True):
        page = context.new_page()
        page.goto(f"{address}{path}")
        settle(page, chart=False)
        pages.append(page)
    yield pages
    for context in contexts:
        context.close()


def test_the_server_is_killed_and_started_again_and_the_job_still_runs(browser, tmp_path: Path) -> None:
    try:
        with serve(tmp_path) as address, pages_of(browser, address, f"/train?{LONG}") as (page,):
            job = start(page)
            before = epoch(page)
        client = Client(Store(Paths(tmp_path / "jobs")), start=False)
        assert client.status(job).state == "running"
        with serve(tmp_path) as address, pages_of(browser, address, f"/train?job={job}") as (page,):
            wait_for_more_than(page, before)
            cancel(page)
            page.get_by_text("Stopped on request").wait_for(timeout=PATIENCE)
    finally:
        stop_worker(tmp_path)


def test_two_visitors_of_a_shared_app(browser, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    ann, bob = new_key(), new_key()
    table = "x1,x2,label\n" + "".join(f"{i % 7},{(i * 5) % 11},{'ab'[i % 2]}\n" for i in range(40))
    upload = read_dataset(table.encode(), label="label")
    hers = Client(Store(Paths(tmp_path / "jobs")), owner=ann, start=False)
    hers.store.uploads.put_dataset(upload, hers.visitor)
    long = "settings=arml:n_epochs:1000000"
    paths = (f"/train?key={ann}&datasets={upload.fingerprint}&{long}", f"/train?key={bob}&datasets=wine&{long}")
    try:
        with serve(tmp_path) as address, pages_of(browser, address, *paths) as (hers_page, his_page):
            assert hers_page.get_by_text("This address is private").is_visible()
            secret = start(hers_page)
            public = start(his_page)
            wait_for_more_than(hers_page, 1)
            wait_for_more_than(his_page, 1)
            with pages_of(browser, address, f"/train?key={bob}&job={secret}", f"/train?key={ann}&job={public}") as (
                his,
                hers_other,
            ):
                his.get_by_text("there is no such job, or it is somebody else's").wait_for(timeout=PATIENCE)
                assert his.get_by_text("Your file").count() == 0
                hers_other.get_by_text("Somebody else asked for this job").wait_for(timeout=PATIENCE)
                assert hers_other.get_by_text("ARML on Wine").first.is_visible()
                hers_other.locator(f".st-key-train_cancel_{secret} button").first.wait_for(timeout=PATIENCE)
                assert hers_other.locator(".st-key-train_cancel button").count() == 0
                assert hers_other.locator(f".st-key-train_cancel_{public} button").count() == 0
            cancel(hers_page)
            cancel(his_page)
    finally:
        stop_worker(tmp_path)
