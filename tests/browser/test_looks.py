"""Start and Playground at three widths in both themes, with a screenshot of each for a human to look at."""

from __future__ import annotations

import pytest

from .conftest import SCREENSHOTS

WIDTHS = {390: 844, 1280: 900, 1920: 1080}
WIDER = """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]')]
  .filter(part => part.scrollWidth > part.clientWidth).map(part => `${part.tagName}: ${part.scrollWidth}`)"""
"""What can be scrolled sideways: the window, or the part of it that scrolls."""


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
