"""Verdicts in the file's units: changes that flip when read again, numbers never too good, nothing that runs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, robust_error_curve
from arml_core.datasets.table import TableData, apply_layout, read_table, select, write_csv
from arml_core.report import (
    CertifiedTable,
    Flips,
    alone_words,
    changed_csv,
    changes_of,
    count_verdicts,
    counterfactuals,
    html_report,
    largest_finite_radius,
    measured_in,
    radius_histogram,
    step_alone,
    suggested_radius,
    verdict_csv,
)
from arml_core.report.svg import curve_svg, nice_ticks
from tests.more import more

PUMPS = (Path(__file__).parents[1] / "data" / "samples" / "pumps.csv").read_bytes()
EVIL = "<script>alert(1)</script>"


def data_of(content: bytes, label: str, **options: object) -> TableData:
    table, found = read_table(content)
    assert table is not None, found
    data, found = select(table, label=label, **options)  # type: ignore[arg-type]
    assert data is not None, found
    return data


def certified(
    data: TableData, n_neighbors: int = 1, threat: ThreatModel | None = None
) -> tuple[CertifiedTable, Flips, MahalanobisKNN]:
    """The file against itself, leave-one-out, with its counterfactuals."""
    assert data.y is not None
    threat = threat or ThreatModel()
    knn = MahalanobisKNN(n_neighbors).fit(data.X, data.y)
    own = np.arange(len(data.X))
    found = knn.certify(data.X, data.y, "votes", threat, exclude=own)
    attack = knn.attack(data.X, data.y, threat=threat, exclude=own)
    rows = CertifiedTable(data.layout, data.X, data.raw, data.lines, data.y, found.join(attack))
    flips = counterfactuals(rows, lambda points, moved: knn.predict(points, exclude=own[moved]))
    return rows, flips, knn


@pytest.mark.parametrize("n_neighbors", [1, 3])
@pytest.mark.parametrize("scaling", ["minmax", *more("standard", "none")])
def test_the_changed_rows_read_again_get_the_answer_that_is_named(n_neighbors: int, scaling: str) -> None:
    data = data_of(PUMPS, "state", scaling=scaling)
    rows, flips, knn = certified(data, n_neighbors)
    table, _ = read_table(changed_csv(rows, flips).encode())
    assert table is not None
    back, found = apply_layout(data.layout, table)
    assert back is not None, found
    assert len(back.X) == flips.known.sum() == rows.radii.correct.sum()
    own = np.flatnonzero(flips.known)
    answers = knn.predict(back.X, exclude=own)
    assert (answers == flips.answers[own]).all()
    assert (answers != rows.radii.predicted[own]).all()
    size = np.linalg.norm(back.X - rows.X[own], axis=1)
    assert (size <= rows.radii.upper[own] * (1 + 1e-5)).all()


def test_a_frozen_column_keeps_its_digits() -> None:
    data = data_of(PUMPS, "state", scaling="standard")
    _, flips, _ = certified(data, threat=ThreatModel(frozen=[1]))
    assert flips.known.any()
    assert (flips.raw[flips.known, 1] == data.raw[flips.known, 1]).all()


def test_a_wrong_row_and_a_row_without_an_attack_have_no_change() -> None:
    data = data_of(b"x,label\n0,a\n1,b\n2,a\n3,b\n10,b\n11,b\n", "label")
    rows, flips, _ = certified(data)
    assert not rows.radii.correct[0]
    assert not flips.known[~rows.radii.correct].any()
    untouched = replace(rows, radii=replace(rows.radii, adversarial=np.full_like(rows.X, np.nan)))
    assert not counterfactuals(untouched, lambda points, moved: np.zeros(len(points), dtype=np.intp)).known.any()


def test_verdicts_are_those_of_the_engine() -> None:
    rows, _, knn = certified(data_of(PUMPS, "state"))
    found = knn.certify(rows.X, rows.labels, "exact", exclude=np.arange(len(rows)))
    for radius in (0.0, 0.05, 0.3, 0.7):
        assert (rows.radii.verdict(radius) == found.verdict(radius)).mean() > 0.97  # both sides differ by rounding only
        assert sum(count_verdicts(rows.radii.verdict(radius)).values()) == len(rows)
    assert count_verdicts(rows.radii.verdict(0.3))["attackable"] == 8


def test_what_a_radius_means_for_a_feature_alone() -> None:
    data = data_of(b"x,w,colour,label\n0,100,r,a\n10,300,g,b\n5,200,r,a\n", "label", one_hot=("colour",))
    alone = step_alone(data.layout, ThreatModel(costs=[1, 2, 1, 1]), 0.5)
    assert alone == {"x": 5.0, "w": 50.0, "colour=g": None, "colour=r": None}
    assert step_alone(data.layout, ThreatModel(frozen=[0]), 0.5)["x"] == 0.0


def test_in_what_a_change_is_measured_is_said_as_it_is() -> None:
    content = b"x,w,colour,label\n0,100,r,a\n10,300,g,b\n5,200,r,a\n"
    data = data_of(content, "label", one_hot=("colour",))
    scaled, units = "Radii are measured after scaling.", "Radii are measured in the file's units."
    assert measured_in(data.layout, ThreatModel()) == scaled
    assert measured_in(data.layout, ThreatModel(costs=[10, 200, 1, 1])) == units
    own = measured_in(data.layout, ThreatModel(costs=[1, 2, 1, 1]))
    assert own == "Radii are measured after scaling, the change of each feature times its cost."
    assert [alone_words(step) for step in (None, 0.0, 1 / 3)] == ["category", "frozen", "0.3333"]
    assert measured_in(data_of(content, "label", one_hot=("colour",), scaling="none").layout, ThreatModel()) == units
    for threat, words in ((ThreatModel(), scaled), (ThreatModel(costs=[10, 200, 1, 1]), units)):
        rows, flips, _ = certified(data, threat=threat)
        text = html_report("x.csv", rows, 0.1, flips, [])
        assert [said in text for said in (scaled, units)] == [said == words for said in (scaled, units)]


def test_the_changes_of_a_row_are_sorted_by_what_they_cost() -> None:
    data = data_of(b"x,w,label\n0,100,a\n10,300,b\n5,200,a\n", "label")
    rows, _, _ = certified(data, threat=ThreatModel(costs=[1, 10]))
    first, second = changes_of(rows, 0, np.array([4.0, 120.0]))
    assert (first.feature, first.before, first.after, first.change) == ("w", 100.0, 120.0, 20.0)
    assert second.feature == "x"
    assert second.step == pytest.approx(0.4)


def test_a_heading_names_the_radius_of_its_verdicts_to_the_last_digit() -> None:
    rows, flips, _ = certified(data_of(PUMPS, "state"))
    radius = float(np.nextafter(rows.radii.lower[rows.radii.lower > 0].min(), 0))
    assert f"{radius:g}" != repr(radius)
    assert f"verdict at {radius!r}" in verdict_csv(rows, radius, flips).splitlines()[0]
    report = html_report("pumps.csv", rows, radius, flips, [])
    assert report.count(f"ε = {radius!r}") == 2


def test_what_is_safe_alone_is_cut_down() -> None:
    assert alone_words(18.976396) == "18.97"
    assert (alone_words(0.0), alone_words(None)) == ("frozen", "category")


def test_a_radius_to_begin_with() -> None:
    assert suggested_radius(np.array([0.0, 0.66, 0.68, 0.7, np.inf])) == 0.3
    assert suggested_radius(np.array([0.0, np.inf])) == 0.1
    assert largest_finite_radius(np.array([0.2, np.inf]), np.array([np.inf, 0.4])) == 0.4
    assert largest_finite_radius(np.zeros(2), np.full(2, np.inf)) == 1.0


def test_every_row_is_in_one_bar() -> None:
    lower = np.array([0.0, 0.1, 0.5, 1.0, np.inf])
    histogram = radius_histogram(lower, np.array(["attackable", "undecided", "certified", "certified", "certified"]))
    assert sum(int(counts.sum()) for counts in histogram.counts.values()) + histogram.beyond == 5
    assert (histogram.edges[0], histogram.edges[-1]) == (0.0, 1.0)


def test_a_curve_of_many_rows_stays_small() -> None:
    curve = robust_error_curve(np.linspace(0.0, 1.0, 20_000))
    text = curve_svg([("proved", curve)], 0.5, 1.05, "a curve")
    assert len(text) < 30_000
    (points,) = re.findall(r'points="([^"]*)"', text)
    last = points.split()[-1].split(",")
    assert (float(last[0]), float(last[1])) == (608.0, 12.0)


def test_ticks_are_round_and_inside() -> None:
    assert nice_ticks(0.83) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert nice_ticks(0.0) == [0.0]


# hostile content ----

HOSTILE = write_csv(
    [EVIL, "=cmd|' /C calc'!A0", "label"],
    [[k, k * k % 7, "=1+1" if k % 3 else f"<img src=x onerror={EVIL}>"] for k in range(12)],
).encode()


class Elements(HTMLParser):
    """What a browser would build of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def report_of(content: bytes, label: str, title: str) -> str:
    data = data_of(content, label)
    rows, flips, _ = certified(data)
    return html_report(title, rows, 0.1, flips, [("Metric", EVIL)], [f"note {EVIL}"])


def test_the_report_is_one_harmless_file() -> None:
    text = report_of(HOSTILE, "label", f"{EVIL}.csv")
    found = Elements()
    found.feed(text)
    assert not found.tags & {"script", "img", "iframe", "link", "object", "a", "form", "base"}
    assert not {name for name in found.attributes if name.startswith("on") or name in ("src", "href", "action")}
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    assert not re.search(r"https?://|//\w", text)
    assert "url(" not in text.replace("url(#", "")


def test_the_report_says_what_matters() -> None:
    text = report_of(PUMPS, "state", "pumps.csv")
    for part in ("Robustness of pumps.csv", "98 rows", "ε = 0.1", "<b>8</b>attackable", "temperature_C", "All rows"):
        assert part in text
    assert text.count("<svg") == 2
    assert len(text) < 200_000


def test_the_report_speaks_of_two_lines_only_where_there_are_two() -> None:
    rows, flips, _ = certified(data_of(PUMPS, "state"))
    rows = replace(rows, radii=replace(rows.radii, upper=rows.radii.lower, exact=np.ones(len(rows), dtype=bool)))
    exact = html_report("pumps.csv", rows, 0.1, flips, [])
    assert exact.count("<polyline") == 1
    assert "every radius is exact" in exact
    assert "two lines" not in exact
    apart = replace(rows, radii=replace(rows.radii, upper=2 * rows.radii.upper, exact=np.zeros(len(rows), dtype=bool)))
    both = html_report("pumps.csv", apart, 0.1, flips, [])
    assert both.count("<polyline") == 2
    assert "The truth lies between the two lines." in both


def test_a_large_report_shows_the_most_fragile_rows_and_says_so() -> None:
    data = data_of(PUMPS, "state")
    rows, flips, _ = certified(data)
    many = rows.take(np.tile(np.arange(98), 7))
    wide = Flips(np.tile(flips.raw, (7, 1)), np.tile(flips.answers, 7))
    text = html_report("many.csv", many, 0.1, wide, [])
    assert "The 500 most fragile of 686 rows" in text
    assert text.count("<tr><td") == 500 + 4


def test_cells_that_could_run_are_written_as_text() -> None:
    rows, flips, _ = certified(data_of(HOSTILE, "label"))
    for text in (verdict_csv(rows, 0.1, flips), changed_csv(rows, flips)):
        cells = [cell.strip('"') for line in text.splitlines() for cell in line.split(",")]
        assert not [cell for cell in cells if re.match(r"[=+@]", cell) or re.match(r"-\D", cell)]
    assert "'=1+1" in verdict_csv(rows, 0.1, flips)


def test_verdicts_as_csv_hold_every_digit_and_leave_the_unknown_empty() -> None:
    rows, flips, _ = certified(data_of(PUMPS, "state"))
    table, _ = read_table(verdict_csv(rows, 0.3, flips).encode())
    assert table is not None
    assert table.n_rows == len(rows)
    assert (table.column("lower").values == rows.radii.lower).all()
    assert (table.column("line").values == rows.lines).all()
    assert table.column("verdict at 0.3").texts is not None
    assert np.array_equal(table.column("after: flow_l_min").values, flips.raw[:, 3])


def test_wrong_training_rows_are_in_the_csv_and_in_the_report_where_they_were_counted() -> None:
    data = data_of(b"x,label\n0,a\n1,a\n2,a\n5,b\n6,a\n", "label")
    rows, flips, knn = certified(data, n_neighbors=3)
    assert "wrong labels" not in verdict_csv(rows, 0.3, flips) + html_report("t.csv", rows, 0.3, flips, [])
    counted = replace(rows, training=knn.certify_training(data.X, data.y, exclude=np.arange(5)))
    lines = [line.split(",") for line in verdict_csv(counted, 0.3, flips).splitlines()]
    at = lines[0].index("wrong labels")
    assert lines[0][at : at + 3] == ["wrong labels", "rows removed", "rows added"]
    # Two a and the b vote. Two a remain whatever is taken away. An added b pushes out the b, but not the last row's.
    assert [line[at : at + 3] for line in lines[1:]] == [["1", "", "2"]] * 3 + [["0"] * 3] + [["1", "", "1"]]
    report = html_report("t.csv", counted, 0.3, flips, [])
    assert report.count('<td class="n">1</td><td class="n">∞</td><td class="n">2</td>') == 3
    assert "so many wrong training rows could change the answer" in report
    assert counted.take([3]).training.relabelled.tolist() == [0]


def test_the_extra_columns_of_changed_rows_never_clash() -> None:
    data = data_of(b"line,x,label\n4,0,a\n2,1,a\n9,5,b\n7,6,b\n", "label")
    rows, flips, _ = certified(data)
    table, found = read_table(changed_csv(rows, flips).encode())
    assert table is not None
    assert not found.blocking
    assert table.names[:3] == ("line'", "answer before", "line")
