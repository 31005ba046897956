"""Robust-error charts carry the numbers of the curves, and a table equals what is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import arml_core as arml
from arml_core.figures import (
    RobustLine,
    curves_alt,
    curves_figure,
    curves_table,
    verdicts_spec,
    verdicts_table,
)
from arml_core.figures.lines import MOST_LINES, colour_of, largest_radius, staircase, symbol_of
from arml_core.figures.palette import DARK, LIGHT
from arml_core.figures.verdicts import best_rows
from tests.figures.contrast import contrast

RNG = np.random.default_rng(0)
LOWER = np.concatenate([np.zeros(10), RNG.random(90)])
UPPER = np.concatenate(
    [
        np.zeros(10),
        LOWER[10:] * 1.5,
    ]
)
LINE = RobustLine("ARML", LOWER, UPPER, certificate="Votes", attack="Boundary attack, 100 steps, seed 7", place=5)
EXACT = RobustLine("Euclidean", LOWER, LOWER, exact=True, certificate="Exact")


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def value_at(trace, epsilon: float) -> float:
    """Of a drawn staircase."""
    return float(np.asarray(trace.y)[np.searchsorted(np.asarray(trace.x), epsilon, side="right") - 1])


@pytest.mark.parametrize("epsilon", [0.0, 0.13, 0.5, 0.77])
def test_the_drawn_staircases_are_the_engines_curves(epsilon: float) -> None:
    found = traces(curves_figure([LINE], LIGHT))
    assert value_at(found["ARML, certified"], epsilon) == float(arml.robust_error(LOWER, epsilon))
    assert value_at(found["ARML, empirical"], epsilon) == float(arml.robust_error(UPPER, epsilon))


def test_proved_is_solid_reached_is_dashed_and_the_band_between_is_filled() -> None:
    found = curves_figure([LINE], LIGHT).data
    reached, proved = found[0], found[1]
    assert (reached.name, reached.line.dash, reached.fill) == ("ARML, empirical", "dash", None)
    assert (proved.name, proved.line.dash, proved.fill) == ("ARML, certified", "solid", "tonexty")
    assert reached.line.shape == proved.line.shape == "hv"
    assert reached.x[-1] == proved.x[-1]


def test_an_exact_line_is_one_line_without_a_band() -> None:
    found = traces(curves_figure([EXACT], LIGHT))
    assert "Euclidean, empirical" not in found
    assert found["Euclidean, certified"].fill is None
    assert "exact radii" in found
    assert not any("between" in name for name in found)


def test_a_line_named_after_its_certificate_is_explained_once() -> None:
    radii = np.array([0.1, 0.2])
    named = [RobustLine(f"{name}, 2 points", certified=radii, certificate=name, place=i) for i, name in enumerate("AB")]
    lines = [*named, RobustLine("1-NN", certified=radii, certificate="Exact", exact=True, place=2)]
    names = [trace.name for trace in curves_figure(lines, LIGHT).data if trace.showlegend is not False]
    assert names == ["A, 2 points", "B, 2 points", "1-NN", "exact radii (1-NN)"]


def test_the_attack_its_steps_and_seed_stand_in_the_legend() -> None:
    names = [trace.name for trace in curves_figure([LINE], LIGHT).data if trace.showlegend is not False]
    assert names[:3] == ["ARML", "proved: Votes", "reached: Boundary attack, 100 steps, seed 7"]
    other = RobustLine("NCA", LOWER, UPPER, certificate="Votes", attack="White-box attack", place=1)
    names = [trace.name for trace in curves_figure([LINE, other], LIGHT).data]
    assert "reached: White-box attack (NCA)" in names
    assert "proved: Votes" in names


def test_the_papers_values_are_open_markers_at_its_radii() -> None:
    radii = np.array([0.0, 0.2, 0.4])
    line = RobustLine("NCA", LOWER, place=1, paper_radii=radii, paper_certified=np.array([0.1, 0.2, 0.3]))
    found = traces(curves_figure([line], LIGHT))
    assert list(found["NCA, paper, certified"].y) == [0.1, 0.2, 0.3]
    assert found["NCA, paper, certified"].marker.symbol == "square-open"
    assert found["NCA, certified, markers"].marker.symbol == "square"
    np.testing.assert_array_equal(found["NCA, certified, markers"].y, arml.robust_error(LOWER, radii))
    assert "NCA, paper, empirical" not in found
    assert largest_radius([line]) == 0.4


def test_the_confidence_band_is_dkws_around_both_curves() -> None:
    found = traces(curves_figure([LINE], LIGHT, confidence=0.9))
    low, high = found["ARML, confidence, low"], found["ARML, confidence, high"]
    np.testing.assert_allclose(low.y, arml.dkw_band(found["ARML, empirical"].y, 100, 0.9)[0])
    np.testing.assert_allclose(high.y, arml.dkw_band(found["ARML, certified"].y, 100, 0.9)[1])


def test_a_name_from_a_file_is_shown_as_it_is_and_exported_as_it_is() -> None:
    name = "<a href='//a.b'>Log in</a> %{x} & more, in one name that is rather long"
    mine = RobustLine(
        name,
        LOWER,
        UPPER,
        certificate="Votes",
        attack="White-box attack",
        paper_radii=np.array([0.1]),
        paper_certified=np.array([0.5]),
    )
    other = RobustLine("Euclidean", LOWER, certificate="Theorem 1")
    curves, bars = curves_figure([mine, other], LIGHT), go.Figure(verdicts_spec([mine, other], 0.2))
    shown = [text for trace in curves.data for text in (trace.name, trace.hovertemplate or "")]
    shown += [str(label) for trace in bars.data for label in trace.y]
    named = [text for text in shown if "Log in" in text]
    assert len(named) >= 9
    for text in named:
        assert "&lt;a href='//a.b'&gt;Log in&lt;/a&gt; %&#123;x} &amp; more, in one name that is rather long" in text
    assert name in set(curves_table([mine])["method"])
    assert verdicts_table([mine], 0.2).loc[0, "method"] == name


def test_the_table_equals_the_plot() -> None:
    radii = np.array([0.0, 0.2, 0.4])
    lines = [LINE, RobustLine("NCA", LOWER, place=1, paper_radii=radii, paper_certified=radii)]
    table = curves_table(lines, upto=0.6)
    found = traces(curves_figure(lines, LIGHT, upto=0.6))
    for (method, kind), part in table.groupby(["method", "kind"]):
        np.testing.assert_array_equal(part["radius"], found[f"{method}, {kind}"].x)
        np.testing.assert_array_equal(part["error"], found[f"{method}, {kind}"].y)
    assert set(table["kind"]) == {"certified", "empirical", "paper, certified"}
    assert set(table.loc[table["kind"] == "empirical", "from"]) == {LINE.attack}
    low, high = (curves_table([EXACT], confidence=0.95)[side] for side in ("low", "high"))
    assert (low <= high).all()


@pytest.mark.parametrize("kind", ["certified", "empirical"])
def test_many_steps_are_thinned_to_the_side_where_nothing_is_overstated(kind: str) -> None:
    radii = np.concatenate([RNG.random(50_000), np.linspace(0.50001, 0.50249, 30_000), [0.0]])
    x, y = staircase(radii, 0.8, kind, most=300)
    assert len(x) <= 300
    assert (x[0], y[0]) == (0.0, float(arml.robust_error(radii, 0.0)))
    assert x[-1] == 0.8
    at = np.unique(np.concatenate([np.linspace(0, 0.8, 999), np.linspace(0.5, 0.503, 999)]))
    drawn, real = y[np.searchsorted(x, at, side="right") - 1], arml.robust_error(radii, at)
    assert (drawn >= real).all() if kind == "certified" else (drawn <= real).all()
    aside = 0.8 / 290 * (1 if kind == "certified" else -1)
    moved = arml.robust_error(radii, np.maximum(at + aside, 0.0))
    assert (drawn <= moved).all() if kind == "certified" else (drawn >= moved).all()


def test_the_table_has_every_corner_and_a_band_that_holds_its_own_points() -> None:
    radii = np.concatenate([np.linspace(0.50001, 0.50249, 6_000), [1.0]])
    table = curves_table([RobustLine("m", radii)], 1.0, confidence=0.95)
    at = np.linspace(0.5, 0.51, 501)
    row = table.iloc[np.searchsorted(table["radius"], at, side="right") - 1]
    np.testing.assert_array_equal(row["error"], arml.robust_error(radii, at))
    drawn = traces(curves_figure([RobustLine("m", radii)], LIGHT, upto=1.0, confidence=0.95))
    for side, above in (("low", False), ("high", True)):
        edge = np.array([value_at(drawn[f"m, confidence, {side}"], epsilon) for epsilon in at])
        assert (edge >= row["error"]).all() if above else (edge <= row["error"]).all()


def test_an_exact_line_is_flipped_from_its_upper_side_on() -> None:
    """Both sides of an exact radius are one number but for rounding; between the two nothing is known."""
    line = RobustLine("a", np.array([0.49999999999998, 0.7]), np.array([0.5000000001, 0.7]), exact=True)
    at = verdicts_table([line], 0.5).loc[0]
    assert (at["certified"], at["attackable"], at["undecided"]) == (0.5, 0.0, 0.5)


def test_points_that_never_fall_do_not_stretch_the_axis() -> None:
    radii = np.array([0.1, 0.2, np.inf, np.inf])
    assert largest_radius([RobustLine("a", radii)]) == 0.2
    assert largest_radius([RobustLine("a", np.zeros(3))]) == 1.0
    assert np.isfinite(curves_table([RobustLine("a", radii)])["radius"]).all()


def test_the_radius_is_marked() -> None:
    layout = curves_figure([LINE], LIGHT, epsilon=0.25).layout
    assert layout.shapes[0].x0 == layout.shapes[0].x1 == 0.25
    assert layout.annotations[0].text == "ε = 0.25"


def test_verdict_bars_show_the_shares() -> None:
    bars = traces(go.Figure(verdicts_spec([LINE, EXACT], 0.4)))
    certified, undecided, attackable = (
        np.array(bars[name].x) for name in ("proved safe", "undecided", "can be flipped")
    )
    assert certified[0] == pytest.approx((LOWER > 0.4).mean())
    assert attackable[0] == pytest.approx((UPPER <= 0.4).mean())
    np.testing.assert_allclose(certified + undecided + attackable, 1)
    assert undecided[1] == 0
    assert {bar.marker.pattern.shape for bar in bars.values()} == {"", "/", "x"}


def test_the_ranked_table() -> None:
    better = RobustLine("better", LOWER + 0.1, UPPER + 0.2, wrong=np.zeros(100, dtype=bool), place=1)
    only = RobustLine("attacked only", empirical=UPPER, place=2)
    table = verdicts_table([LINE, only, better], 0.4)
    assert list(table["method"]) == ["better", "ARML", "attacked only"]
    assert table.loc[0, "certified error"] == pytest.approx((LOWER + 0.1 <= 0.4).mean())
    assert table.loc[1, "median radius"] == pytest.approx(np.median(LOWER))
    assert pd.isna(table.loc[2, "certified error"])
    best = best_rows(table)
    assert best["certified error"] == best["certified"] == best["empirical error"] == [0]
    assert "clean error" not in best  # one value alone is not the best of anything
    same = best_rows(verdicts_table([LINE, RobustLine("same", LOWER, UPPER)], 0.4))
    assert "certified error" not in same


def test_without_an_attack_only_wrong_answers_count_as_flipped() -> None:
    line = RobustLine("proved only", LOWER, wrong=LOWER == 0)
    table = verdicts_table([line, RobustLine("other", LOWER / 2, wrong=LOWER == 0)], 0.4)
    assert table.loc[0, "attackable"] == table.loc[0, "clean error"] == 0.1
    assert pd.isna(table.loc[0, "empirical error"])
    assert "attackable" not in best_rows(table)
    assert best_rows(table)["certified"] == [0]


def test_an_unfinished_line_says_so() -> None:
    line = RobustLine("ARML", LOWER, partial=True)
    assert "ARML (partial)" in traces(curves_figure([line], LIGHT))
    assert verdicts_table([line], 0.1).loc[0, "method"] == "ARML (partial)"
    assert "ARML (partial), certified error" in curves_alt([line], 0.1)


def test_alternative_text_has_the_numbers() -> None:
    text = curves_alt([LINE, EXACT], 0.4, "ℓ2")
    assert f"ARML, certified error {float(arml.robust_error(LOWER, 0.4)):.3f}" in text
    assert f"Euclidean, exact error {float(arml.robust_error(LOWER, 0.4)):.3f}" in text


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_are_told_apart_by_colour_and_marker(style) -> None:
    for place in range(MOST_LINES):
        assert contrast(colour_of(style, place), style.paper) >= 3
    looks = {(colour_of(style, place), symbol_of(place)) for place in range(3 * MOST_LINES)}
    assert len(looks) == 3 * MOST_LINES


def test_a_line_needs_radii_of_the_same_points() -> None:
    with pytest.raises(ValueError, match="neither certified nor empirical"):
        RobustLine("a")
    with pytest.raises(ValueError, match="100 certified and 3 empirical"):
        RobustLine("a", LOWER, UPPER[:3])


def test_a_bar_says_100_percent_for_all_points_only() -> None:
    nearly = RobustLine("Nearly", np.array([0.0] + [1.0] * 199))
    whole = RobustLine("Whole", np.ones(200))
    certified = verdicts_spec([nearly, whole], 0.5)["data"][0]
    assert certified["text"] == [">99%", "100%"]
