"""How long the dashboard takes to answer, measured in a real browser against the budgets it promises.

Run with `make ui-bench`. The clock starts at the visitor's action and stops when the last chart has been redrawn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tests.browser.dashboard import CHART, chromium, click_place, serve, settle

QUIET_MS = 250
WATCH = """() => {
  window.drawn = 0;
  window.began = 0;
  for (const kind of ['pointerdown', 'keydown'])
    window.addEventListener(kind, () => { window.began = performance.now(); window.drawn = 0; }, true);
  window.addEventListener('arml-drawn', () => { window.drawn = performance.now(); });
}"""
CHARTS = """() => document.querySelectorAll('.arml-chart[data-drawn]').length"""


@dataclass(frozen=True)
class Budget:
    name: str
    median_ms: float
    p95_ms: float | None = None


VIEW = Budget("change of view", 300, 500)
MOVE = Budget("moved point, 200 points, learners re-fitted", 1500)
SWITCH = Budget("page switch", 1000)
FIRST = Budget("first chart, warm", 2500)


def redraw_ms(page: Any, act: Callable[[], None], seconds: float = 60) -> float:
    """Milliseconds from the action's last key or press to the last redraw it caused."""
    page.evaluate("() => { window.drawn = 0; }")
    act()
    page.wait_for_function(
        f"() => window.drawn > window.began && performance.now() - window.drawn > {QUIET_MS} && "
        "document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'",
        timeout=seconds * 1000,
    )
    return float(page.evaluate("() => window.drawn - window.began"))


@contextmanager
def watched(browser: Any, url: str) -> Iterator[Any]:
    """A visitor's page that tells when its charts were drawn; it is closed at the end, as one visitor would."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(url)
        settle(page)
        page.wait_for_timeout(500)
        page.evaluate(WATCH)
        yield page
        assert page.locator("[data-testid=stException]").count() == 0, f"{url} shows an error"


def clicks(browser: Any, base: str, path: str, repeats: int) -> list[float]:
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.5, 1.5, size=(repeats, 2))
    with watched(browser, f"{base}/playground{path}") as page:
        click_place(page, 0, 0.5, 0.5)
        page.wait_for_timeout(1000)
        return [redraw_ms(page, lambda p=place: click_place(page, 0, *p)) for place in places.tolist()]


def slider(browser: Any, base: str, path: str, label: str, repeats: int, on: str = "playground") -> list[float]:
    keys = ["ArrowRight"] * (repeats // 2) + ["ArrowLeft"] * (repeats - repeats // 2)
    with watched(browser, f"{base}/{on}{path}") as page:
        handle = page.get_by_role("slider", name=label)
        handle.focus()
        return [redraw_ms(page, lambda k=key: handle.press(k)) for key in keys]


def norms(browser: Any, base: str, path: str, repeats: int) -> list[float]:
    names = ["ℓ∞", "ℓ1", "ℓ2"] * repeats
    with watched(browser, f"{base}/playground{path}") as page:
        return [redraw_ms(page, lambda n=n: page.get_by_text(n, exact=True).first.click()) for n in names[:repeats]]


def moves(browser: Any, base: str, repeats: int) -> list[float]:
    times = []
    with watched(browser, f"{base}/playground?data=moons&n=200&methods=euclidean~nca~lmnn~arml&seed=3") as page:
        page.get_by_text("Move", exact=True).click()
        settle(page)
        for i in range(repeats):
            x, y = page.evaluate(
                "i => { const t = document.querySelector('.arml-chart').figure.data.find(t => t.customdata); "
                "return [t.x[i], t.y[i]]; }",
                i,
            )
            redraw_ms(page, lambda x=x, y=y: click_place(page, 0, x, y))
            times.append(redraw_ms(page, lambda x=x, y=y: click_place(page, 0, x + 0.3, y + 0.2)))
    return times


def switches(browser: Any, base: str, repeats: int) -> list[float]:
    times = []
    with watched(browser, f"{base}/") as page:
        for i in range(repeats):
            name, charts = (("Playground", 3), ("Start", 1))[i % 2]
            page.get_by_role("link", name=name, exact=True).first.click()
            page.wait_for_function(f"() => ({CHARTS})() === {charts}", timeout=60000)
            times.append(float(page.evaluate("() => performance.now() - window.began")))
            settle(page)
            page.wait_for_timeout(300)
    return times


def first_charts(browser: Any, base: str, repeats: int) -> list[float]:
    times = []
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        for _ in range(repeats):
            page = context.new_page()
            page.goto(f"{base}/playground", wait_until="commit")
            page.wait_for_selector(CHART, timeout=30000)
            times.append(float(page.evaluate("() => performance.now()")))
            settle(page)  # the next visitor comes to a server that is done with this one
            page.close()
    return times[1:]  # the first one fills the browser's cache


def report(name: str, times: list[float], budget: Budget) -> bool:
    middle, high = median(times), float(np.percentile(times, 95))
    limit = f"{budget.median_ms:.0f}" + (f" / {budget.p95_ms:.0f}" if budget.p95_ms else "")
    kept = middle <= budget.median_ms and (budget.p95_ms is None or high <= budget.p95_ms)
    print(
        f"{name:<46}{len(times):>4}{middle:>9.0f}{high:>9.0f}   {limit:<12}{'kept' if kept else 'MISSED'}", flush=True
    )
    return kept


def main() -> None:
    print(f"{'milliseconds in the browser':<46}{'n':>4}{'median':>9}{'p95':>9}   {'budget':<12}")
    with tempfile.TemporaryDirectory() as home, serve(Path(home)) as base, chromium() as browser:
        first_charts(browser, base, 2)  # the server imports the engine for the first visitor
        four = "?data=moons&n=100&methods=euclidean~nca~lfda~arml"
        report("first chart, warm server", first_charts(browser, base, 9), FIRST)
        report("page switch", switches(browser, base, 10), SWITCH)
        report("click, 7 points, 3 pictures", clicks(browser, base, "", 20), VIEW)
        report("click, 100 points, 4 pictures", clicks(browser, base, four, 20), VIEW)
        report("K, 7 points, 3 pictures", slider(browser, base, "", "Neighbours (K)", 10), VIEW)
        report("K, 100 points, 4 pictures", slider(browser, base, four, "Neighbours (K)", 16), VIEW)
        report("norm, 7 points, 3 pictures", norms(browser, base, "", 12), VIEW)
        report("ARML epoch, 7 points", slider(browser, base, "?epoch=400", "Epoch of ARML's training", 12), VIEW)
        report("radius, 6 metrics", slider(browser, base, "", "Radius", 16, on="compare"), VIEW)
        two = "?data=splice~pendigits"
        report("radius, 6 metrics on 2 datasets", slider(browser, base, two, "Radius", 16, on="compare"), VIEW)
        report("moved point, 200 points, 4 learners", moves(browser, base, 8), MOVE)


if __name__ == "__main__":
    main()
