"""What the Compare page shows of what ships, and its controls and address."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core import ThreatModel
from arml_core.figures import RobustLine, curves_table, verdicts_table
from arml_core.reproduce import published
from arml_core.results import shipped as read_shipped
from pages.components.compare import catalogue, panels
from pages.components.compare.catalogue import load_catalogue
from pages.components.compare.choices import CompareView, names, write_names
from pages.components.compare.panels import provenance_table, readable
from pages.components.compare.snippet import computed_lines
from pages.components.markdown import escaped

from ..app import ROOT, address
from .compare_page import EVERY, charts_of, column, made, page, words


@pytest.mark.usefixtures("shipped_results")
def test_it_opens_on_what_ships_with_the_engines_numbers() -> None:
    app = page()
    assert address(app) == {}
    assert "**Splice · K = 11 · ℓ2 norm**" in words(app)
    epsilon = app.slider(key="cmp_eps").value
    for offset, title in ((0, "Euclidean"), (5, "ARML")):
        proof, hit = EVERY[offset + 2], EVERY[offset + 3]
        shared = proof.radii.lower[:50]
        assert column(app, "Certified error")[title] == f"{float(arml.robust_error(shared, epsilon)):.3f}"
        assert column(app, "Empirical error")[title] == f"{float(arml.robust_error(hit.radii.upper, epsilon)):.3f}"
        assert column(app, "Points")[title] == "50"
    assert "Euclidean, ARML: 200 points were certified and 50 attacked; both curves show the 50 they share." in words(
        app
    )


@pytest.mark.usefixtures("shipped_results")
def test_the_slider_changes_the_table_and_the_address() -> None:
    app = page()
    before = app.table[0].value
    app.slider(key="cmp_eps").set_value(0.05).run()
    assert address(app) == {"eps": "0.05"}
    assert not app.table[0].value.equals(before)
    lower = EVERY[7].radii.lower[:50]
    assert column(app, "Certified error")["ARML"] == f"{float(arml.robust_error(lower, 0.05)):.3f}"


@pytest.mark.usefixtures("shipped_results")
def test_a_radius_beyond_the_curves_is_cut_with_a_word() -> None:
    app = page(eps="1000000")
    top = app.slider(key="cmp_eps").value
    assert f"ε = 1e+06 was asked for, but the curves end at {top:g}, which is shown instead." in words(app)
    app.slider(key="cmp_eps").set_value(0.05).run()
    assert "was asked for" not in words(app)
    assert "was asked for" not in words(page(eps="0.2"))


def test_points_on_a_tie_are_told_from_wrong_ones() -> None:
    """On Splice 25 of 1,000 points are answered rightly by a tie: the paper's table at ε = 0 counts them."""
    app = page(data="splice", methods="euclidean", k="1", eps="0")
    assert column(app, "Wrong already") == {"Euclidean": "0.316"}
    assert column(app, "Certified error") == {"Euclidean": "0.341"}
    assert "A point on a tie may be answered rightly and still has radius 0" in words(app)


@pytest.mark.usefixtures("shipped_results")
def test_curves_and_bars_are_sent_before_the_tables(monkeypatch) -> None:
    monkeypatch.setattr("pages.components.compare.panels.wait_for_drawing", st.stop)
    app = page()
    assert {one.proto.id.rsplit("-", 1)[-1] for one in app.get("bidi_component")} >= {"cmp_curves0", "cmp_bars0"}
    assert not app.table
    assert "Ranked at" not in words(app)


def test_where_a_search_spent_its_time_is_said(ships) -> None:
    whole, decided = (
        [
            replace(found, spec=replace(found.spec, method="search", budget=0.5, at=at), made={"seconds": 50.0})
            for found in made(learner, title, 0.4)
            if found.spec.method == "votes"
        ]
        for learner, title, at in (("euclidean", "Euclidean", None), ("arml", "ARML", (0.0, 0.1)))
    )
    ships([*whole, *decided])
    (chart,) = charts_of()
    told = provenance_table([chart]).set_index("Model")["Time"]
    assert told["Euclidean"] == "50.0 s, on average 0.250 s a point"
    assert told["ARML"] == "50.0 s, on average 0.250 s a point, spent on verdicts at ε = 0, 0.1"
    app = page(eps="0.05")
    said = "Time was spent on verdicts at ε = 0, 0.1 only: at another ε more points may be undecided, "
    said += "and more could be proved."
    assert [note for note in words(app).splitlines() if "Time was spent" in note] == [f"ARML: {said}"]
    lower = decided[0].radii.lower
    assert column(app, "Certified error")["ARML"] == f"{float(arml.robust_error(lower, 0.05)):.3f}"
    scripted = computed_lines(chart, 0.05)
    assert "budget=0.5, at=[0.0, 0.1])" in scripted
    assert scripted.count("at=[") == 1


@pytest.mark.usefixtures("shipped_results")
def test_the_best_of_each_column_is_marked_and_the_lowest_certified_error_comes_first() -> None:
    shown = page(eps="0.2").table[0].value
    assert list(shown["Model"]) == ["ARML", "Euclidean"]
    for name in ("Certified error", "Empirical error", "Proved safe", "Can be flipped", "Median proved radius"):
        assert [value.endswith("★") for value in shown[name]] == [True, False]
    shares = shown[["Proved safe", "Undecided", "Can be flipped"]].map(lambda text: float(text.strip("*★ ")))
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=2e-3)


@pytest.mark.usefixtures("shipped_results")
def test_for_one_neighbour_there_is_one_exact_line() -> None:
    (chart,) = charts_of(k=1)
    for line in chart.lines:
        assert line.exact
        assert [kind for kind, _, _ in line.sides()] == ["certified"]
    app = page(k="1")
    assert set(column(app, "Undecided").values()) == {"0.000"}
    assert "exact" in set(curves_table(chart.lines)["kind"])
    assert "known exactly" in words(app)


@pytest.mark.usefixtures("shipped_results")
def test_certificate_and_attack_of_different_attackers_are_not_drawn_together() -> None:
    (chart,) = charts_of(limits="box")
    assert all(line.certified is None for line in chart.lines)
    (why,) = chart.refused
    assert "Euclidean, ARML: certificate and attack are not drawn together" in why
    assert "the certificate allows every step, the attack stays inside [0, 1]" in why
    app = page(limits="box")
    assert escaped(why) in [found.value for found in app.info]
    assert set(column(app, "Certified error").values()) == {"–"}
    assert set(column(app, "Proved safe").values()) == {"0.000"}
    (other,) = charts_of(attack="boundary")
    assert other.lines[0].empirical is None
    assert "the attack stays inside [0, 1]" in other.refused[0]


@pytest.mark.usefixtures("shipped_results")
def test_the_papers_values_stand_only_where_they_answer_the_same_question() -> None:
    def drawn(**view: Any) -> dict[str, tuple[Any, Any]]:
        return {line.label: (line.paper_certified, line.paper_empirical) for line in charts_of(**view)[0].lines}

    np.testing.assert_array_equal(drawn(k=1)["ARML"][0], published.errors("splice", "arml", "exact"))
    np.testing.assert_array_equal(drawn(k=11)["ARML"][0], published.errors("splice", "arml", "certified"))
    assert drawn(k=11)["ARML"][1] is None  # the paper's attack stays inside a box
    boxed = drawn(k=11, limits="box")["ARML"]
    assert boxed[0] is None
    np.testing.assert_array_equal(boxed[1], published.errors("splice", "arml", "empirical"))
    assert drawn(paper=False) == {"Euclidean": (None, None), "ARML": (None, None)}
    assert "Theorem 1" in " ".join(charts_of()[0].notes)
    assert "Theorem 1" not in " ".join(charts_of(certificate="theorem1")[0].notes)


def test_an_attacker_with_costs_gets_no_values_of_the_paper(ships) -> None:
    costs = [replace(e, spec=replace(e.spec, threat=ThreatModel(costs=[2.0] * 60))) for e in made("arml", "ARML", 0.8)]
    ships(costs)
    (chart,) = charts_of(k=1)
    assert chart.lines[0].paper_certified is None
    assert "per-feature costs" in chart.title


def test_what_holds_for_several_metrics_is_said_once_whatever_they_are_called(ships) -> None:
    ships([*made("euclidean", "One: two", 0.4), *made("arml", "ARML", 0.8)])
    (chart,) = charts_of(k=11, limits="free", paper=False)
    assert [note for note in chart.notes if "both curves" in note] == [
        "One: two, ARML: 200 points were certified and 50 attacked; both curves show the 50 they share."
    ]


@pytest.mark.usefixtures("shipped_results")
def test_a_radius_beyond_the_curves_of_a_dataset_is_not_marked_at_their_end(monkeypatch) -> None:
    marks: list[Any] = []
    monkeypatch.setattr(panels, "show_chart", lambda figure, *, mark, **_: marks.append(mark))
    (chart,) = charts_of()
    top = panels.epsilon_range([chart])[0]
    for epsilon in (top, 1.5 * top):
        panels.show_curves(chart, 0, epsilon, CompareView(hide=("export",)))
    assert marks[0].x == top
    assert marks[1] is None


@pytest.mark.usefixtures("shipped_results")
def test_datasets_stand_side_by_side() -> None:
    app = page(data="splice~pendigits", k="1")
    assert "**Splice · K = 1 · ℓ2 norm**" in words(app)
    assert "**Pendigits · K = 1 · ℓ2 norm**" in words(app)
    assert list(column(app, "Points", 1)) == ["Euclidean"]


@pytest.mark.usefixtures("shipped_results")
def test_every_control_goes_into_the_address_and_comes_back() -> None:
    app = page()
    app.multiselect(key="cmp_data").set_value(["splice", "pendigits"]).run()
    app.multiselect(key="cmp_methods").set_value(["euclidean"]).run()
    app.segmented_control(key="cmp_k").set_value(1).run()
    app.selectbox(key="cmp_certificate").set_value("exact").run()
    app.selectbox(key="cmp_attack").set_value("none").run()
    app.toggle(key="cmp_band").set_value(True).run()
    app.toggle(key="cmp_paper").set_value(False).run()
    app.slider(key="cmp_eps").set_value(0.1).run()
    assert not app.exception
    wanted = {
        "data": "splice~pendigits",
        "methods": "euclidean",
        "k": "1",
        "certificate": "exact",
        "attack": "none",
        "band": "1",
        "paper": "0",
        "eps": "0.1",
    }
    assert address(app) == wanted
    again = page(**wanted)
    assert again.slider(key="cmp_eps").value == 0.1
    for before, after in zip(app.table, again.table, strict=True):
        pd.testing.assert_frame_equal(before.value, after.value)


@pytest.mark.usefixtures("shipped_results")
def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page(k="banana", data="atlantis", norm="l7", runs="<script>", eps="-3", methods="magic", colour="red")
    said = words(app)
    for part in (
        "k=banana",
        "norm=l7",
        "runs=<script>",
        "eps=-3",
        "'colour'",
        "dataset 'atlantis'",
        "name 'magic'",
    ):
        assert part in said
    assert app.multiselect(key="cmp_data").value == ["splice"]
    assert not app.exception


@pytest.mark.usefixtures("shipped_results")
def test_a_choice_nothing_was_computed_for_says_what_there_is() -> None:
    app = page(k="7", norm="linf")
    assert "Nothing was computed for K = 7, ℓ∞" in words(app)
    assert "they have some for K = 1, ℓ2 norm; K = 11, ℓ2 norm" in words(app)
    app.segmented_control(key="cmp_k").set_value(11).run()
    app.segmented_control(key="cmp_norm").set_value("l2").run()
    assert app.table


@pytest.mark.usefixtures("shipped_results")
def test_without_any_metric_the_page_says_how_to_go_on() -> None:
    app = page(methods="none")
    assert "No metric is chosen" in words(app)
    app.multiselect(key="cmp_methods").set_value(["arml"]).run()
    assert list(column(app, "Points")) == ["ARML"]


@pytest.mark.usefixtures("shipped_results")
def test_hide_takes_controls_away() -> None:
    app = page(
        hide="view~data~methods~runs~k~norm~limits~certificate~attack~band~paper~radius~bars~table~export~python"
    )
    for kind in ("multiselect", "selectbox", "toggle", "slider", "segmented_control", "table", "download_button"):
        assert not app.get(kind)
    assert [box.label for box in app.expander] == ["The formula", "How these results were made"]


def test_an_empty_folder_has_its_own_words(ships) -> None:
    ships([])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert "No results yet" in words(app)
    assert "python -m arml_core reproduce" in app.code[0].value


def test_results_that_cannot_be_read_are_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "bad.npz").write_text("no archive")
    monkeypatch.setattr(catalogue, "shipped", lambda: read_shipped(tmp_path))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert "bad.npz is not a results file" in words(app)


def test_a_shipped_variant_stands_beside_its_default_only_when_asked_for(ships) -> None:
    ships([*EVERY[5:10], *made("arml", "ARML", 0.7, parameters={"n_neighbors": 5})])
    assert [line.label for line in charts_of()[0].lines] == ["ARML"]
    keys = tuple(run.key for run in load_catalogue().shipped)
    labels = [line.label for line in charts_of(methods=keys)[0].lines]
    assert labels == ["ARML", "ARML, neighbours 5"]


@pytest.mark.usefixtures("shipped_results")
def test_the_csv_equals_the_lines() -> None:
    (chart,) = charts_of()
    table = curves_table(chart.lines, 0.5)
    part = table[(table["method"] == "ARML") & (table["kind"] == "certified")]
    np.testing.assert_array_equal(part["error"], arml.robust_error(EVERY[7].radii.lower[:50], part["radius"]))


@pytest.mark.usefixtures("shipped_results")
def test_how_the_results_were_made() -> None:
    table = provenance_table(charts_of(limits="box"))
    assert set(table["Method"]) == {"Boundary attack, 500 steps, seed 3"}
    assert set(table["Attacker"]) == {"ℓ2 norm, inside [0, 1]"}


def test_numbers_for_people() -> None:
    shown = readable(verdicts_table([RobustLine("never", np.full(4, np.inf))], 0.2))
    assert shown.loc[0, "Median proved radius"] == "∞"
    assert shown.loc[0, "Empirical error"] == "–"
    assert shown.loc[0, "Points"] == "4"


@pytest.mark.parametrize("text", ["splice", "splice~pendigits", "none"])
def test_names_in_the_address(text: str) -> None:
    assert write_names(names(text)) == text


@pytest.mark.parametrize("text", ["", "a b", "../x", "~", "x" * 41, "~".join(f"a{n}" for n in range(501))])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="up to 500 names"):
        names(text)


def test_the_copied_link_names_the_radius_to_the_last_digit(monkeypatch) -> None:
    monkeypatch.setattr(panels, "on_demand", lambda label, key, content: content())
    app = page(eps="0.12345678901234566")
    link = next(block.value for block in app.code if "eps=" in block.value)
    (radius,) = parse_qs(urlsplit(link.strip()).query)["eps"]
    assert float(radius) == 0.12345678901234566


def test_a_second_dataset_with_a_longer_axis_leaves_the_radius_on_both_charts() -> None:
    alone, both = page(data="splice", methods="euclidean"), page(data="splice~mnist", methods="euclidean")
    assert both.slider(key="cmp_eps").value == alone.slider(key="cmp_eps").value == 0.2
    assert "lies beyond this chart" not in words(both)
    both.slider(key="cmp_eps").set_value(1.0).run()
    assert "ε = 1 lies beyond this chart, which ends at 0.5." in words(both)
