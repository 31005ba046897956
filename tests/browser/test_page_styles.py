"""Start and Playground at three widths in both themes, with a screenshot of each for a human to look at."""

from __future__ import annotations

import pytest

from tests.figures.contrast import contrast

from .conftest import SCREENSHOTS

WIDTHS = {390: 844, 1280: 900, 1920: 1080}
WIDER = """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]')]
  .filter(part => part.scrollWidth > part.clientWidth).map(part => `${part.tagName}: ${part.scrollWidth}`)"""
"""What can be scrolled sideways: the window, or the part of it that scrolls."""
HEADING = "h1.page-heading"
FIRST = """kind => {
  const place = document.querySelector(kind).closest('[data-testid=stElementContainer]');
  const box = place.getBoundingClientRect();
  return {width: box.width, height: box.height, position: getComputedStyle(place).position};
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", ["/", "/playground"], ids=["start", "playground"])
def test_nothing_overflows_in_either_theme(open_page, path: str, width: int, dark: bool) -> None:
    page = open_page(path, width, WIDTHS[width], dark)
    page.wait_for_timeout(300)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = f"{path.strip('/') or 'start'}-{width}-{'dark' if dark else 'light'}"
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    assert page.evaluate(WIDER) == []
    shade = page.evaluate("() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert shade == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
    assert page.locator(".arml-chart").first.bounding_box()["width"] <= width


@pytest.mark.parametrize("name", ["Playground", "Train", "Compare", "Certify", "Inspect", "Paper"])
def test_a_page_names_itself_and_takes_no_room_for_it_where_the_navigation_does(open_page, name: str) -> None:
    page = open_page(f"/{name.lower()}", chart=False)
    heading = page.get_by_role("heading", level=1)
    heading.wait_for(state="attached")
    assert heading.all_inner_texts() == [name]
    assert page.locator(f"[data-testid=stMain] {HEADING}").count() == 1
    first = page.evaluate(FIRST, HEADING)
    assert first["width"] <= 1
    assert first["height"] <= 1
    assert first["position"] == "absolute"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(FIRST, HEADING)["height"] > 20  # the navigation is folded away there


TABLES = """() => [...document.querySelectorAll('[data-testid=stTable] > div')].map(e => ({
  beyond: e.scrollWidth - e.clientWidth, shade: getComputedStyle(e).backgroundAttachment,
  cells: [...e.querySelectorAll('td')].map(cell => cell.clientWidth)}))"""


def test_on_a_phone_long_words_are_stacked_and_a_wide_table_shows_that_it_goes_on(open_page) -> None:
    page = open_page("/paper", 390, 844)
    page.get_by_text("What the paper observes").wait_for()
    page.locator("[data-testid=stTable] table").nth(1).wait_for()
    wide, observations = page.evaluate(TABLES)
    assert observations["beyond"] == 0
    assert min(observations["cells"]) > 300
    page = open_page("/compare", 390, 844)
    page.locator("[data-testid=stTable] table").first.wait_for()
    (ranking,) = page.evaluate(TABLES)
    for table in (wide, ranking):
        assert table["beyond"] > 0
        assert table["shade"] == "local, scroll"  # the cover moves with the table, the shade stays at the edge


COLOURS = """kinds => [...document.querySelectorAll(kinds)].filter(e => e.innerText.trim() && e.offsetWidth).map(e => {
  const rgba = text => [...text.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
  const hex = colour => '#' + colour.slice(0, 3).map(c => c.toString(16).padStart(2, '0')).join('');
  let ground = e.closest('[data-testid=stSlider]') ?? e;  // a slider's value stands above its thumb
  while (rgba(getComputedStyle(ground).backgroundColor)[3] < 1) ground = ground.parentElement;
  const text = getComputedStyle(e.querySelector('p') ?? e).color;
  return [e.innerText, hex(rgba(text)), hex(rgba(getComputedStyle(ground).backgroundColor))];
})"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_is_written_on_controls_is_read_in_either_theme(open_page, dark: bool) -> None:
    found = []
    for path, written in (("/compare", "0.200"), ("/inspect", "Another one")):
        page = open_page(path, dark=dark)
        page.get_by_text(written, exact=True).first.wait_for()
        found += page.evaluate(COLOURS, "button, [data-tag], [data-testid=stSliderThumbValue]")
    assert {"Another one", "Euclidean", "11", "ℓ2", "0.200"} <= {text.strip() for text, _, _ in found}
    assert [each for each in found if contrast(each[1], each[2]) < 4.5] == []


@pytest.mark.parametrize(
    ("path", "title"),
    [("/", "ARML Explorer"), ("/compare", "Compare – ARML Explorer"), ("/paper", "Paper – ARML Explorer")],
)
def test_the_browsers_tab_names_the_page(open_page, path: str, title: str) -> None:
    page = open_page(path)
    assert page.title() == title
    page.get_by_role("link", name="Train", exact=True).click()
    page.wait_for_function("document.title === 'Train – ARML Explorer'")
