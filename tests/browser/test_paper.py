"""The Paper page in a real browser: it opens, a row is computed again and equals the shipped one, links lead on."""

from __future__ import annotations

import os

import pytest

from arml_core.results import shipped

from .conftest import SCREENSHOTS
from .dashboard import CHART, PATIENCE, settle


@pytest.mark.smoke
def test_it_opens_on_the_summary_and_a_choice_goes_into_the_address(open_page) -> None:
    page = open_page("/paper", chart=False)
    page.locator(CHART).first.wait_for(timeout=PATIENCE)
    assert page.get_by_text("What the paper observes").is_visible()
    page.get_by_role("radio", name="Table 1").click()
    page.get_by_text("Exact robust errors of 1-NN").wait_for(timeout=PATIENCE)
    page.wait_for_function("() => location.search === '?show=table1'", timeout=PATIENCE)
    assert page.get_by_role("table").first.get_by_text("▲").count() > 0


def test_figure_1_opens_the_same_view_in_the_playground(open_page) -> None:
    page = open_page("/paper?show=figure1", chart=False)
    pictures = page.locator(".arml-plane")
    pictures.nth(2).wait_for(timeout=PATIENCE)
    here = page.get_by_text("radius of the chosen point").all_inner_texts()
    assert len(here) == 3
    page.get_by_text("Open exactly this in the playground").click()
    page.get_by_text("Radius here").nth(2).wait_for(timeout=PATIENCE)
    settle(page)
    there = page.get_by_test_id("stMetricValue").all_inner_texts()[::2]
    assert [text.split()[-1] for text in here] == there


@pytest.mark.skipif(not os.environ.get("ARML_DATA"), reason="Splice is in no folder named by ARML_DATA")
def test_a_row_is_computed_again_and_equals_the_shipped_one(open_page) -> None:
    (kept,) = [
        e
        for e in shipped()
        if (e.dataset, e.run.learner, e.spec.method, e.spec.n_neighbors) == ("splice", "euclidean", "exact", 1)
    ]
    page = open_page("/paper?show=table1", chart=False)
    page.locator(".st-key-paper_again button").click()
    page.get_by_text(f"The radius of every one of the {len(kept):,} points is the shipped one.").wait_for(
        timeout=PATIENCE
    )
    again = page.get_by_role("table").nth(1).inner_text()
    for radius in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        assert f"{(kept.radii.lower <= radius).mean():.3f}" in again
    page.reload()
    settle(page, chart=False)
    page.get_by_text("is the shipped one.").wait_for(timeout=PATIENCE)


@pytest.mark.skipif(not os.environ.get("ARML_DATA"), reason="Pendigits is in no folder named by ARML_DATA")
def test_a_recomputation_can_be_cancelled_and_taken_up_again(open_page) -> None:
    page = open_page("/paper?show=table1&data=pendigits&method=arml", chart=False)
    page.locator(".st-key-paper_again button").click()
    page.get_by_text("Training: epoch").wait_for(timeout=PATIENCE)
    page.locator(".st-key-paper_cancel button").click()
    page.get_by_text("Stopped on request.").wait_for(timeout=PATIENCE)
    page.locator(".st-key-paper_retry button").click()
    page.get_by_text("Training: epoch").wait_for(timeout=PATIENCE)
    page.locator(".st-key-paper_cancel button").click()
    page.get_by_text("Stopped on request.").wait_for(timeout=PATIENCE)


def test_the_origin_of_a_row_opens_on_demand(open_page) -> None:
    page = open_page("/paper?show=table1&method=arml", chart=False)
    page.get_by_text("How these numbers came about").click()
    page.get_by_text("Differs from the paper's protocol").wait_for(timeout=PATIENCE)
    assert page.get_by_text("seed 42").first.is_visible()
    assert page.get_by_text("torch").first.is_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_screenshot(open_page, width: int, dark: bool) -> None:
    page = open_page("/paper?show=table2", width, 900, dark, chart=False)
    page.get_by_role("table").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(300)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"paper-{width}-{'dark' if dark else 'light'}.png")
    assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0
