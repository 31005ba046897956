"""Certify in a real browser: from a file to verdicts, a row, downloads that hold, and nothing that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arml_core as arml
from arml_core.datasets.table import apply_layout, read_table, select, write_csv

from .conftest import SCREENSHOTS
from .dashboard import PATIENCE, ROOT, serve, stop_worker

SAMPLES = ROOT / "data" / "samples"
EVIL = "<img src=x onerror=document.title='owned'>"


def idle(page: Any) -> None:
    """Wait until the script has run to its end."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=PATIENCE)


def upload(page: Any, content: bytes, name: str = "mine.csv", nth: int = 0) -> None:
    payload = {"name": name, "mimeType": "text/csv", "buffer": content}
    page.locator("[data-testid=stFileUploader] input[type=file]").nth(nth).set_input_files(payload)
    page.get_by_role("button", name="Another file").first.wait_for()
    idle(page)


def choose(page: Any, label: str, value: str) -> None:
    """Choose from a select box as a hand does."""
    box = page.get_by_role("combobox", name=re.compile(label)).first
    box.click()
    page.get_by_role("option", name=value, exact=True).click()
    idle(page)


def verdicts(page: Any) -> None:
    """Wait for the verdicts and their charts."""
    page.get_by_test_id("stMetricValue").first.wait_for(timeout=PATIENCE)
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot .main-svg').length >= 3", timeout=PATIENCE)
    idle(page)


def download(page: Any, name: str) -> str:
    with page.expect_download(timeout=PATIENCE) as started:
        page.get_by_role("button", name=name).click()
    return Path(started.value.path()).read_text(encoding="utf-8-sig")


@pytest.fixture
def open_certify(open_page: Any) -> Any:
    """The page, which has no chart before there are verdicts."""

    def open_certify(path: str = "/certify", **options: Any) -> Any:
        page = open_page(path, chart=False, **options)
        page.set_default_timeout(PATIENCE)
        page.get_by_text("Which rows of your table").first.wait_for()
        idle(page)
        return page

    return open_certify


def test_upload_certify_pick_a_row_download_and_the_change_really_flips(open_certify) -> None:
    page = open_certify()
    content = (SAMPLES / "pumps.csv").read_bytes()
    upload(page, content, "pumps of mine.csv")
    page.get_by_text("Which column is the label?").first.wait_for()
    choose(page, "Label", "state")
    page.get_by_role("button", name="Certify 98 rows").click()
    verdicts(page)
    shown = page.get_by_test_id("stMetricValue").all_inner_texts()
    assert shown[0].startswith("90 ")
    assert shown[2].startswith("8 ")
    assert page.get_by_role("heading", name="Line 59").is_visible()
    # the changed rows, read as any later file and fed to predict, get another answer
    table, _ = read_table(content)
    data, _ = select(table, label="state")
    knn = arml.MahalanobisKNN(1).fit(data.X, data.y)
    changed, found = read_table(download(page, "Changed rows (CSV)").encode())
    assert not found.blocking
    back, _ = apply_layout(data.layout, changed)
    lines = changed.column("line").values.astype(int)
    own = np.searchsorted(data.lines, lines)
    assert len(own) == 98
    assert (knn.predict(back.X, exclude=own) != data.y[own]).all()
    # and so does the "after" side of the verdicts
    table, _ = read_table(download(page, "All verdicts (CSV)").encode())
    after = np.column_stack([table.column(f"after: {name}").values for name in data.layout.feature_names])
    assert (knn.predict(data.layout.from_units(after), exclude=np.arange(98)) != data.y).all()
    assert (table.column("lower").values <= table.column("upper").values).all()
    # a reload finds the upload and the verdicts
    page.reload()
    verdicts(page)
    assert page.get_by_test_id("stMetricValue").all_inner_texts() == shown


@pytest.mark.smoke
def test_the_sample_in_one_click_and_another_row(open_certify) -> None:
    page = open_certify()
    page.get_by_role("button", name="Take the sample").click()
    verdicts(page)
    before = page.get_by_role("heading", name=re.compile(r"Line \d+")).inner_text()
    grid = page.locator("[class*=st-key-cf_table] [data-testid=stDataFrame]")
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 35 + 3 * 35 + 17)
    page.wait_for_function("() => location.search.includes('row=')", timeout=PATIENCE)
    idle(page)
    assert page.get_by_role("heading", name=re.compile(r"Line \d+")).inner_text() != before


def test_the_report_opens_with_the_network_cut(open_certify, browser, tmp_path) -> None:
    page = open_certify("/certify?file=pumps&use=%7B%22label%22%3A%22state%22%7D")
    page.get_by_role("button", name="Certify 98 rows").click()
    verdicts(page)
    report = tmp_path / "report.html"
    report.write_text(download(page, "Report (HTML)"), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    offline = context.new_page()
    asked: list[str] = []
    offline.on("request", lambda sent: asked.append(sent.url))
    offline.goto(report.as_uri())
    assert offline.title() == "Robustness of pumps.csv"
    assert offline.locator("svg").count() == 2
    assert offline.locator("table tr").count() > 98
    assert asked == [report.as_uri()]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    offline.screenshot(path=SCREENSHOTS / "certify-report.png", full_page=True)
    context.close()


def test_html_and_formulas_are_shown_as_text_and_exported_harmlessly(open_certify) -> None:
    rows = [[k, (k * k) % 11, f"={k % 2}+1", EVIL] for k in range(14)]
    content = write_csv([EVIL, "=cmd|'/C calc'!A0", "label", "note"], rows).encode()
    page = open_certify()
    upload(page, content, f"{EVIL}.csv")
    choose(page, "Label", "label")
    page.get_by_role("button", name="Leave column note out").click()
    page.get_by_role("button", name="Certify 14 rows").click()
    verdicts(page)
    assert page.title() != "owned"
    assert page.locator("img[src=x]").count() == 0
    grid = page.locator("[class*=st-key-cf_table] [data-testid=stDataFrame]")
    grid.scroll_into_view_if_needed()
    grid.hover()
    page.get_by_role("button", name="Search").first.wait_for()  # the table's own buttons are there …
    assert not page.get_by_role("button", name="Download as CSV").count()  # … but not the one that writes formulas
    for name in ("All verdicts (CSV)", "Changed rows (CSV)"):
        text = download(page, name)
        assert not [c for line in text.splitlines() for c in line.split(",") if re.match(r'"?[=@]', c)], text[:300]
    report = download(page, "Report (HTML)")
    assert "<img" not in report
    assert "&lt;img" in report


BAD = {
    "semicolons": (b"x1;x2;label\n1;2;a\n3;5;b\n4;1;a\n", "Looks separated by ';'. Read it that way?"),
    "old excel": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "This is an old Excel file (.xls) or one with a password, not CSV.",
    ),
    "ragged": (b"x1,x2,label\n1,2,a\n3,5,b,7\n4,1,b\n", "Line 3 has 4 values; expected 3."),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_in_the_pages_words(open_certify, name: str) -> None:
    content, words = BAD[name]
    page = open_certify()
    upload(page, content)
    assert page.get_by_test_id("stAlert").filter(has_text=words).first.inner_text().strip() == words


@pytest.fixture(scope="module")
def shared_server(browser, tmp_path_factory) -> Iterator[str]:
    """The dashboard as a class uses it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_SHARED", "1")
        home = tmp_path_factory.mktemp("shared")
        with serve(home) as address:
            yield address
        stop_worker(home)


def test_a_private_upload_is_not_reachable_from_another_browser(open_certify, shared_server) -> None:
    mine = open_certify(f"{shared_server}/certify")
    upload(mine, b"x1,secret,label\n1,2,a\n3,5,b\n4,1,a\n", "private.csv")
    mine.wait_for_function("() => location.search.includes('key=')", timeout=PATIENCE)
    mine.get_by_text("This address is private").first.wait_for()
    address = mine.url
    again = open_certify(address)
    again.get_by_text("private.csv").first.wait_for()
    stranger = open_certify(re.sub(r"[?&]key=[^&]*", lambda m: m.group(0)[0], address))
    stranger.get_by_text("This file is not here, or its time is over. Upload it again.").wait_for()
    assert "private.csv" not in stranger.locator("body").inner_text()
    assert "secret" not in stranger.locator("body").inner_text()
    other = open_certify(f"{shared_server}/certify")
    assert "private.csv" not in other.locator("body").inner_text()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_screenshot(open_certify, width: int, dark: bool) -> None:
    page = open_certify("/certify?file=pumps&use=%7B%22label%22%3A%22state%22%7D", width=width, height=900, dark=dark)
    page.get_by_role("button", name="Certify 98 rows").click()
    verdicts(page)
    page.wait_for_timeout(300)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"certify-{width}-{'dark' if dark else 'light'}.png")
    assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0
