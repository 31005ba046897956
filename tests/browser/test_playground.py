"""The playground in a real browser: draw, click, certify, move, share."""

from __future__ import annotations

import numpy as np
import pytest

import arml_core as arml
from arml_core.figures import hand_made_components, window_for
from arml_core.figures.margin import decision_margin
from arml_core.figures.plane_figure import ARROW, CERTIFIED, NEIGHBOURS, PROTOTYPES, SELECTED, UPPER, VOTING
from arml_core.references import RobustPrototypes
from pages.components.playground.hints import HIGHLIGHTS
from pages.components.playground.lessons import LESSONS

from .dashboard import (
    PATIENCE,
    PLACE_ON_SCREEN,
    click_place,
    drag,
    margin_sum,
    settle,
    trace,
    wait_for_length,
    wait_for_mark,
)

DRAWN_DIAMETER = """() => {
  const {graph, view} = document.querySelector('.arml-chart');
  const ball = graph.querySelector(`[data-name='certified radius']`);
  return view.from(ball.getBBox().width, 0)[0] - view.from(0, 0)[0];
}"""
"""Of the first picture's ball as it is on the screen, in the data's units."""
DRAWN_REGION = """([chart, places]) => {
  const {graph, view} = document.querySelectorAll('.arml-chart')[chart];
  const regions = [...graph.querySelectorAll(`[data-name='decision boundary']`)];
  return places.map(([x, y]) => regions.findLastIndex(path => path.isPointInFill(new DOMPoint(...view.at(x, y)))));
}"""
"""For each place the last region it lies in as drawn; -1 is the ground."""
WRITTEN_NUMBERS = """() => {
  const {graph, view} = document.querySelector('.arml-chart');
  const labels = [...graph.querySelectorAll('text')].map(text => [
    text.textContent.replace('\u2212', '-'), text.getAttribute('text-anchor'),
    ...view.from(Number(text.getAttribute('x')) - view.left, Number(text.getAttribute('y')) - 4 - view.top)]);
  const numbers = labels.filter(([text]) => text !== '' && !Number.isNaN(Number(text)));
  return numbers.map(([text, anchor, x, y]) => [Number(text), anchor === 'middle' ? x : y]);
}"""
"""Of the first picture's axes: what each says, and where on its axis it stands."""
PLACES_OVER_TIME = """
window.places = {};
requestAnimationFrame(function look() {
  for (const chart of document.querySelectorAll('.arml-chart')) {
    const name = chart.closest('[class*=st-key-pg_chart]').className.match(/pg_chart\\d/)[0];
    const {left, width} = chart.getBoundingClientRect();
    (window.places[name] ??= new Set()).add([left, width].map(Math.round).join());
  }
  requestAnimationFrame(look);
});
"""
"""Run before the page: every place across the page where each picture has ever stood."""
SEVEN = arml.load_dataset("seven_points")


def wait_for_address(page, part: str) -> None:
    page.wait_for_function("part => decodeURIComponent(location.search).includes(part)", arg=part, timeout=PATIENCE)
    settle(page)


def drawn_radius(page, chart: int, norm: float = 2) -> float:
    ball, point = trace(page, chart, CERTIFIED), trace(page, chart, SELECTED)
    return float(np.linalg.norm([ball["x"][0] - point["x"][0], ball["y"][0] - point["y"][0]], ord=norm))


def shown_radius(page, chart: int) -> str:
    return page.get_by_test_id("stMetricValue").nth(2 * chart).inner_text()


@pytest.mark.smoke
def test_click_a_place_and_its_certificate_is_the_engines(open_page) -> None:
    page = open_page("/playground")
    assert (
        page.locator(".arml-plane [data-name='arrow']").count() >= 2
    )  # one that would be shorter than its head is not
    click_place(page, 0, 0.6, 0.1)
    wait_for_address(page, "at=")
    wait_for_mark(page, 0, SELECTED, 0.6, 0.1)
    place = [trace(page, 0, SELECTED)[axis][0] for axis in ("x", "y")]
    knn = arml.MahalanobisKNN(1).fit(SEVEN.X_train, SEVEN.y_train)
    engine = knn.certify([place], method="exact").lower[0]
    assert np.abs(np.array(place) - [0.6, 0.1]).max() < 0.02
    assert drawn_radius(page, 0) == pytest.approx(engine, rel=1e-6)
    assert float(shown_radius(page, 0)) == pytest.approx(engine, abs=1e-3)
    assert page.evaluate(DRAWN_DIAMETER) == pytest.approx(2 * engine, rel=0.02)
    for name in (SELECTED, ARROW, NEIGHBOURS, VOTING):
        assert page.locator(f".arml-plane [data-name='{name}']").count() >= 3, name


def test_pictures_stay_where_they_appear(browser, server) -> None:
    """Also where the first is drawn long before the last is computed: who clicks early hits what they aim at."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(PLACES_OVER_TIME)
    page.goto(f"{server}/playground?data=moons&n=120&k=3&seed=77&methods=euclidean~lfda~arml&row=2")
    settle(page)
    places = page.evaluate("Object.fromEntries(Object.entries(window.places).map(([name, seen]) => [name, [...seen]]))")
    context.close()
    assert sorted(places) == ["pg_chart0", "pg_chart1", "pg_chart2"]
    assert [len(seen) for seen in places.values()] == [1, 1, 1], places


@pytest.mark.parametrize(("data", "k"), [("moons", 1), ("moons", 4), ("blobs", 3)])
def test_regions_are_drawn_where_the_engine_says(open_page, data, k) -> None:
    page = open_page(f"/playground?data={data}&n=60&k={k}&methods=euclidean~hand&hand=2_0.5_30&at=0.1_0.1&seed=1")
    toy = arml.load_dataset(data, n=60, seed=1)
    window = window_for(toy.X_train)
    places = np.random.default_rng(0).uniform(*np.transpose(window.ranges()), size=(400, 2))
    for chart, components in enumerate([np.eye(2), hand_made_components(2, 0.5, 30)]):
        metric = arml.Metric.from_components(components)
        knn = arml.MahalanobisKNN(k, metric=metric).fit(toy.X_train, toy.y_train)
        drawn = np.array(page.evaluate(DRAWN_REGION, [chart, places.tolist()])) + 1
        wrong = np.flatnonzero(drawn != knn.predict(places))
        assert len(wrong) <= 12  # those in a cell of the grid that the boundary passes
        assert len(np.unique(drawn)) == toy.n_classes
        margins = decision_margin(places[wrong], toy.X_train, toy.y_train, metric, k, toy.n_classes)
        assert (np.sort(margins, axis=1)[:, -1] < 0.1).all()


@pytest.mark.parametrize("query", ["", "?data=blobs&n=60&at=0_0", "?points=0_0_0~0.01_0_1~0_0.02_1~0.03_0.01_0&at=0_0"])
def test_axes_say_where_they_are(open_page, query) -> None:
    written = np.array(open_page(f"/playground{query}").evaluate(WRITTEN_NUMBERS))
    assert 6 <= len(written) <= 14
    assert written[:, 0] == pytest.approx(written[:, 1], rel=1e-6, abs=1e-6)


def test_the_point_under_the_mouse_says_what_it_is(open_page) -> None:
    page = open_page("/playground")
    tip = page.locator(".arml-tip").first
    assert tip.is_hidden()
    page.mouse.move(*page.evaluate(PLACE_ON_SCREEN, [0, *SEVEN.X_train[3]]))
    tip.wait_for(state="visible", timeout=PATIENCE)
    name = SEVEN.class_names[SEVEN.y_train[3]]
    assert tip.inner_text().splitlines()[0] == f"{name}, row 3"
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden", timeout=PATIENCE)


@pytest.mark.parametrize(("norm", "sign", "order"), [("l1", "ℓ1", 1), ("linf", "ℓ∞", np.inf)])
def test_other_norms_and_more_neighbours_draw_the_searched_radius(open_page, norm, sign, order) -> None:
    page = open_page("/playground?k=3&row=6&methods=euclidean~lfda")
    page.get_by_text(sign, exact=True).first.click()
    wait_for_address(page, f"norm={norm}")
    wait_for_length(page, CERTIFIED, 5)
    knn = arml.MahalanobisKNN(3).fit(SEVEN.X_train, SEVEN.y_train)
    threat = arml.ThreatModel(norm)
    best = knn.certify(SEVEN.X_train[[6]], SEVEN.y_train[[6]], "search", threat, exclude=[6], budget=5.0)
    radius = drawn_radius(page, 0, order)
    assert radius <= best.upper[0] * (1 + 1e-6)
    if trace(page, 0, UPPER) is None:
        assert radius == pytest.approx(best.lower[0], rel=1e-4)


def test_click_a_training_point_and_it_is_left_out(open_page) -> None:
    page = open_page("/playground")
    before = margin_sum(page, 0)
    click_place(page, 1, *SEVEN.X_train[3])
    wait_for_address(page, "row=3")
    wait_for_mark(page, 0, SELECTED, *SEVEN.X_train[3])
    knn = arml.MahalanobisKNN(1).fit(SEVEN.X_train, SEVEN.y_train)
    engine = knn.certify(SEVEN.X_train[[3]], SEVEN.y_train[[3]], method="exact", exclude=[3]).lower[0]
    assert drawn_radius(page, 0) == pytest.approx(engine, rel=1e-6)
    assert margin_sum(page, 0) != before


def test_drag_a_point_and_boundary_and_radius_change(open_page) -> None:
    page = open_page("/playground?at=1.4_0.1")
    boundary, radius = margin_sum(page, 0), drawn_radius(page, 0)
    drag(page, 0, SEVEN.X_train[0], (0.9, -0.4))
    wait_for_address(page, "points=")
    wait_for_mark(page, 0, SELECTED, 0.9, -0.4)
    assert margin_sum(page, 0) != boundary
    click_place(page, 0, 1.4, 0.1)
    wait_for_mark(page, 0, SELECTED, 1.4, 0.1)
    assert drawn_radius(page, 0) < 0.8 * radius


def test_add_move_and_delete_by_click(open_page) -> None:
    page = open_page("/playground?methods=euclidean~lfda")
    page.get_by_text("Add", exact=True).click()
    page.get_by_text("Class of the new point").wait_for()
    click_place(page, 0, 1.5, -0.4)
    wait_for_address(page, "row=7")
    page.get_by_text("Move", exact=True).click()
    page.get_by_text("Click the training point to move.").wait_for()
    click_place(page, 0, *SEVEN.X_train[0])
    page.get_by_text("Now click where point 0 should go.").wait_for()
    click_place(page, 0, 0.0, -0.9)
    wait_for_mark(page, 0, "triangle", 0.0, -0.9)
    page.get_by_text("Delete", exact=True).click()
    page.get_by_text("Click the training point to delete.").wait_for()
    click_place(page, 0, *SEVEN.X_train[1])
    wait_for_length(page, "triangle", 4)  # one was added, one deleted


def test_a_copied_link_opens_the_same_picture_in_a_fresh_browser(open_page) -> None:
    page = open_page("/playground?methods=nca~hand&hand=3_1_-20&k=2")
    drag(page, 0, SEVEN.X_train[2], (0.0, 1.2))
    wait_for_address(page, "points=")
    for chart in (0, 1):
        wait_for_mark(page, chart, SELECTED, 0.0, 1.2)
    page.get_by_text("Copy link and Python").click()
    link = page.locator("[data-testid=stCode] code").first.inner_text().strip()
    other = open_page(link)
    for chart in (0, 1):
        assert margin_sum(other, chart) == margin_sum(page, chart)
        assert trace(other, chart, SELECTED) == trace(page, chart, SELECTED)
        assert shown_radius(other, chart) == shown_radius(page, chart)
    assert other.url == link


def test_going_back_undoes_a_change(open_page) -> None:
    page = open_page("/playground")
    click_place(page, 0, 0.2, 0.3)
    wait_for_address(page, "at=")
    page.go_back()
    page.wait_for_function("() => !location.search.includes('at=')")
    settle(page)
    wait_for_mark(page, 0, SELECTED, *SEVEN.X_train[1])


def test_leaving_the_page_and_coming_back_keeps_the_picture(open_page) -> None:
    page = open_page("/playground?k=2&methods=euclidean~lfda")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_text("Computed just now").wait_for()
    page.get_by_role("link", name="Playground", exact=True).click()
    wait_for_address(page, "k=2")


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_step_of_a_lesson_is_reachable(open_page, lesson: str) -> None:
    page = open_page(f"/playground?lesson={lesson}")
    for step in range(1, 6):
        wait_for_address(page, f"step={step}")
        page.get_by_text(f"step {step} of 5").wait_for()
        answer = LESSONS[lesson].steps[step - 1].answer
        assert page.get_by_text(answer[:40]).count() == 0
        page.get_by_role("button", name="Answer", exact=True).click()
        page.get_by_text(answer[:40]).wait_for()
        page.get_by_role("button", name="Next" if step < 5 else "Finish", exact=True).click()
    page.wait_for_function("() => !location.search.includes('lesson')")


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice(open_page) -> None:
    page = open_page("/playground?k=banana&points=%3Cscript%3E&colour=red")
    notice = page.get_by_test_id("stAlert")
    for part in ("k=banana", "points=<script>", "'colour'"):
        assert part in notice.inner_text()
    assert shown_radius(page, 0) == "0.710"


def test_hide_leaves_a_bare_picture_for_a_lesson(open_page) -> None:
    page = open_page("/playground?lesson=fooled&hide=data~k~norm~tools~points~methods~layers~python~data-out~epoch")
    assert page.get_by_text("Neighbours (K)").count() == 0
    assert page.get_by_role("button", name="Next").is_visible()


def test_arml_plays_its_training_epoch_by_epoch(open_page) -> None:
    page = open_page("/playground?epoch=0")
    start = margin_sum(page, 2)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "() => Number(document.querySelector('[class*=st-key-pg_training] input')?.value) >= 100",
        timeout=PATIENCE,
    )
    page.get_by_role("button", name="Pause").click()
    wait_for_address(page, "epoch=")
    assert margin_sum(page, 2) != start


def test_prototypes_are_certified_and_move_while_they_learn(open_page) -> None:
    page = open_page("/playground?data=moons&n=40&methods=euclidean~robust_prototypes&prototypes=2&target=0.4&row=3")
    toy = arml.load_dataset("moons", n=40)
    learned = RobustPrototypes(2, 0.4, device="cpu", random_state=0).fit(toy.X_train, toy.y_train)
    marks = trace(page, 1, PROTOTYPES)
    assert np.column_stack([marks["x"], marks["y"]]) == pytest.approx(learned.references_, rel=1e-4, abs=1e-4)
    knn = arml.MahalanobisKNN(references=learned).fit(toy.X_train, toy.y_train)
    engine = knn.certify(toy.X_train[[3]], toy.y_train[[3]], method="exact").lower[0]
    assert drawn_radius(page, 1) == pytest.approx(engine, rel=1e-4)
    assert page.locator(".arml-plane [data-name='prototypes']").count() == 4
    assert trace(page, 0, PROTOTYPES) is None
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        """() => {
          const epoch = Number(document.querySelector('.st-key-pg_training_prototype_epoch input')?.value);
          return 30 <= epoch && epoch < 500;
        }""",
        timeout=PATIENCE,
    )
    page.get_by_role("button", name="Pause").click()
    wait_for_address(page, "prototype_epoch=")
    assert trace(page, 1, PROTOTYPES) != marks


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_a_step_asks_is_seen_without_scrolling(open_page, lesson: str) -> None:
    """In a window of 1280 × 720: the pictures, their radii, the step's control; and the answer covers none of it."""
    for number, step in enumerate(LESSONS[lesson].steps, start=1):
        page = open_page(f"/playground?lesson={lesson}&step={number}", height=720)
        page.get_by_role("button", name="Answer", exact=True).click()
        page.get_by_text(step.answer[:40]).wait_for()
        settle(page)
        seen = [*page.locator(".arml-plane").all(), page.get_by_test_id("stMetricValue").first]
        keys = HIGHLIGHTS.get(step.control, ())
        seen += [control for key in keys for control in page.locator(f".st-key-{key}").all()]
        assert len(seen) >= 3 + bool(keys)
        boxes = [element.bounding_box() for element in seen]
        assert all(box["y"] >= 0 and box["y"] + box["height"] <= 720 for box in boxes), (number, boxes)
        answer = page.get_by_text(step.answer[:40]).bounding_box()
        assert answer["y"] + answer["height"] <= min(box["y"] for box in boxes[:2]), number


def test_without_a_mouse(open_page) -> None:
    """K, the norm and the chosen point are within reach of the keyboard."""
    page = open_page("/playground?methods=euclidean~lfda")
    slider = page.get_by_role("slider", name="Neighbours (K)")
    slider.focus()
    slider.press("ArrowRight")
    wait_for_address(page, "k=2")
    field = page.get_by_label("x1 of your point")
    field.fill("0.5")
    field.press("Enter")
    wait_for_address(page, "at=0.5")
    for chart in page.locator(".arml-plane").all():
        assert chart.is_visible()
    assert "x1 = 0.500" in page.locator(".arml-chart").first.evaluate("e => e.outerHTML")
