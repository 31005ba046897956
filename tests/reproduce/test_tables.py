"""From radii to the tables, the observations and the page: each rule on results made up for it."""

import numpy as np
import pytest

from arml_core import ThreatModel
from arml_core.reproduce import published
from arml_core.reproduce.observations import check
from arml_core.reproduce.plan import COLUMNS, SEED, Effort, PlanStep, figure1, sensitivity, table
from arml_core.reproduce.published import METHODS, TITLES
from arml_core.reproduce.report import report
from arml_core.reproduce.result_files import add_result
from arml_core.reproduce.tables import Tables, column_of
from arml_core.results import read_results

from .evaluations import evaluation, with_errors


def test_every_number_of_the_paper_is_there():
    for dataset in TITLES:
        assert len(published.radii(dataset)) == 6
        for learner in METHODS:
            for column in ("exact", "certified", "empirical"):
                errors = published.errors(dataset, learner, column)
                assert len(errors) == 6
                assert (np.diff(errors) >= 0).all()


def test_evaluations_find_their_column_and_others_have_none():
    for column in COLUMNS:
        assert column_of(evaluation(column=column)) == column
    assert column_of(evaluation(column="votes", n_neighbors=5)) is None
    assert column_of(evaluation(column="votes", threat=ThreatModel(norm="inf"))) is None
    assert column_of(evaluation(column="boundary", threat=ThreatModel(box=(0, 2)))) is None


def test_a_search_is_in_its_column_whatever_radii_it_was_to_decide(tmp_path):
    at = tuple(published.radii("splice"))
    for decided, words in ((None, ""), (at, ""), ((0.1,), ", verdicts at ε = 0.1")):
        found = evaluation(column="search", budget=0.5, at=decided)
        tables = Tables.of([found])
        assert tables.get("splice", "arml", "search") is found
        folder = tmp_path / str(len(words))
        add_result(folder, found)
        assert f"| ours, search (proved), 0.5 s a point{words}, 3 points |" in report(folder)


def test_errors_and_differences_at_the_papers_radii():
    paper = published.errors("splice", "arml", "exact")
    tables = Tables.of([evaluation(radii=with_errors(paper + 0.02))])
    np.testing.assert_allclose(tables.difference("splice", "arml", "exact"), 0.02, atol=1e-9)
    assert tables.within("splice", "arml", "exact")
    assert not Tables.of([evaluation(radii=with_errors(paper + 0.04))]).within("splice", "arml", "exact")
    assert Tables.of([evaluation(learner="nca")]).within("splice", "nca", "exact") is None


def test_the_euclidean_rows_have_to_match_to_the_printed_digit():
    paper, at_zero = published.errors("usps", "euclidean", "certified"), np.array([1, 0, 0, 0, 0, 0])
    close = evaluation("usps", "euclidean", "theorem1", with_errors(paper + 0.001 * at_zero, "usps"))
    off = evaluation("usps", "euclidean", "theorem1", with_errors(paper + 0.002 * at_zero, "usps"))
    assert Tables.of([close]).within("usps", "euclidean", "theorem1")
    assert not Tables.of([off]).within("usps", "euclidean", "theorem1")


def published_as_ours(column="exact", shift=None):
    """Evaluations that have exactly the paper's errors, some of them shifted."""
    side = "exact" if column == "exact" else "certified"
    for dataset in TITLES:
        for learner in METHODS:
            errors = published.errors(dataset, learner, side) + (shift or {}).get((dataset, learner), 0.0)
            yield evaluation(dataset, learner, column, with_errors(np.clip(errors, 0, 1), dataset))


def finding(evaluations, observation, column="exact"):
    return next(f for f in check(Tables.of(evaluations)) if (f.observation, f.column) == (observation, column))


def test_the_observations_hold_on_the_papers_own_numbers():
    ours = list(published_as_ours())
    assert all(finding(ours, number).holds for number in (1, 2, 3))
    assert "in 9 of 12 cases" in finding(ours, 1).text
    assert "on 4 of 6 datasets" in finding(ours, 2).text
    assert "Up to 0.03 above the smallest of all metrics counts as competitive" in finding(ours, 2).text
    assert "at 30 of 30 positive radii." in finding(ours, 3).text
    certified = list(published_as_ours("theorem1"))
    found = finding(certified, 3, "theorem1")
    assert not found.holds  # the paper's own table has an exception from "every radius"
    assert "NCA on Splice at 0.1 (by at most 0.012)" in found.text


def test_observations_that_fail_say_where():
    better = list(published_as_ours(shift={("usps", "nca"): -0.3}))
    assert not finding(better, 1).holds
    assert "NCA on USPS at 0.5, 1" in finding(better, 1).text
    assert not finding(better, 3).holds
    worse = list(published_as_ours(shift={("splice", "arml"): np.array([0.05, 0, 0, 0, 0, 0])}))
    assert not finding(worse, 2).holds
    assert "(Splice)" in finding(worse, 2).text
    assert finding([], 1).holds is None


def test_attacks_that_were_stopped_early_do_not_decide_who_is_more_robust():
    def attacks(**steps):
        errors = {"euclidean": 0.5, "lmnn": 0.2, "nca": 0.8, "arml": 0.4}
        return [
            evaluation("mnist", learner, "boundary-box", with_errors([0.1, *[error] * 5], "mnist"), options=options)
            for learner, error in errors.items()
            for options in [{"steps": steps.get(learner, 25_000)}]
        ]

    whole = attacks()
    assert "except LMNN on MNIST" in finding(whole, 1, "boundary-box").text
    assert "LMNN on MNIST" in finding(whole, 3, "boundary-box").text
    some = attacks(lmnn=5000)
    for number in (1, 3):
        found = finding(some, number, "boundary-box")
        assert found.holds
        assert found.text.endswith(". Not counted, because the attack was stopped early: LMNN on MNIST.")
    assert "on 1 of 1 datasets" in finding(some, 2, "boundary-box").text  # clean errors need no steps
    for number, first in ((1, {"euclidean": 5000, "lmnn": 5000}), (3, {"arml": 5000})):
        found = finding(attacks(**first), number, "boundary-box")
        assert found.holds is None
        assert found.text.startswith("Not counted, because the attack was stopped early: ")


def test_learners_are_compared_on_the_points_all_of_them_have():
    tables = Tables.of([evaluation(radii=[0.1, 0.1, 9, 9]), evaluation(learner="nca", radii=[0.1, 0.1])])
    assert tables.common("splice", "exact")["arml"][-1] == 1.0
    assert tables.errors("splice", "arml", "exact")[-1] == 0.5


def test_a_result_replaces_a_smaller_one_but_not_a_larger(tmp_path):
    path = tmp_path / "splice-arml.npz"
    assert add_result(tmp_path, evaluation(radii=[1, 2, 3]))
    assert not add_result(tmp_path, evaluation(radii=[1, 2]))
    assert len(read_results(path)[0]) == 3
    assert add_result(tmp_path, evaluation(radii=[4, 5, 6]))
    np.testing.assert_array_equal(read_results(path)[0].radii.lower, [4, 5, 6])
    assert add_result(tmp_path, evaluation(column="boundary", radii=[1.0]))
    assert not add_result(tmp_path, evaluation(column="boundary", radii=[2.0], options={"steps": 50}))
    assert add_result(tmp_path, evaluation(column="boundary-box", radii=[3.0]))
    assert [column_of(e) for e in read_results(path)] == ["exact", "boundary", "boundary-box"]


def test_a_search_that_was_to_decide_some_radii_replaces_only_what_had_less_time(tmp_path):
    at = tuple(published.radii("splice"))
    assert add_result(tmp_path, evaluation(column="search", budget=0.5))
    assert not add_result(tmp_path, evaluation(column="search", budget=0.5, at=at))
    assert [e.spec.at for e in read_results(tmp_path / "splice-arml.npz")] == [None]
    assert add_result(tmp_path, evaluation(column="search", budget=1.0, at=at))
    assert add_result(tmp_path, evaluation(column="search", budget=1.0))
    assert [e.spec.at for e in read_results(tmp_path / "splice-arml.npz")] == [None]


def test_a_new_training_takes_the_place_of_all_that_the_old_one_gave(tmp_path):
    path = tmp_path / "splice-arml.npz"
    old, new = {"metric": "a"}, {"metric": "b"}
    add_result(tmp_path, evaluation(radii=[1, 2, 3], made=old))
    add_result(tmp_path, evaluation(column="votes", radii=[1], made=old))
    assert len(read_results(path)) == 2
    assert add_result(tmp_path, evaluation(radii=[4], made=new))
    assert [len(found) for found in read_results(path)] == [1]
    assert add_result(tmp_path, evaluation(radii=[5], made=old, parameters={"n_neighbors": 2}), several=True)
    assert len(read_results(path)) == 2


def test_plans_follow_the_paper():
    steps = table("table2", ["splice", "mnist"], ["arml", "nca"], Effort())
    assert len(steps) == 2 * 2 * 6
    by_name = {(step.dataset, step.learner, step.column): step for step in steps}
    assert by_name["splice", "arml", "theorem1"].points.n == 1000
    assert by_name["splice", "arml", "boundary-box"].points.n == 1000
    assert by_name["splice", "arml", "boundary-box"].threat == ThreatModel(box=(0, 1))
    assert by_name["splice", "arml", "boundary"].evaluation("run").options == {"steps": 25_000}
    assert by_name["mnist", "arml", "boundary"].points.n == 50
    for name, radii in (("splice", [0, 0.1, 0.2, 0.3, 0.4, 0.5]), ("mnist", published.radii("mnist").tolist())):
        asked = {column: by_name[name, "arml", column].evaluation("run").at for column in COLUMNS if column != "exact"}
        assert asked == {**dict.fromkeys(asked), "search": tuple(radii)}
    assert SEED == 42
    assert [step.learner for step in figure1()] == ["euclidean", "nca", "arml"]
    sizes = {step.parameters["n_neighbors"] for step in sensitivity(["splice"], Effort())}
    assert sizes == {1, 2, 5, 10, 20, 50}


@pytest.mark.parametrize(
    ("step", "clauses"),
    [
        (("splice", "euclidean", "exact", Effort()), ()),
        (("splice", "arml", "exact", Effort()), ("neighbours ranked every 10 epochs, not every epoch",)),
        (("mnist", "arml", "exact", Effort()), ("batches of 6,000 points instead of all 60,000",)),
        (
            ("mnist", "nca", "exact", Effort()),
            ("our own NCA, not metric-learn's", "300 steps on random batches"),
        ),
        (
            ("splice", "arml", "exact", Effort(quick=True)),
            ("n_epochs = 30 instead of 1000", "20 points instead of"),
        ),
        (("splice", "euclidean", "votes", Effort()), ("not in the paper",)),
        (("usps", "euclidean", "boundary", Effort(steps=500)), ("500 steps instead of 25,000", "inside [0, 1]")),
    ],
)
def test_a_result_states_where_it_departs_from_the_paper(step, clauses):
    dataset, learner, column, effort = step
    (planned,) = table("table1" if column == "exact" else "table2", [dataset], [learner], effort, [column])
    text = "; ".join(planned.deviations())
    assert all(clause in text for clause in clauses)
    assert bool(text) == bool(clauses)


def test_a_neighbourhood_of_the_papers_size_is_no_departure():
    for step in sensitivity(["splice"], Effort()):
        departs = any(clause.startswith("n_neighbors") for clause in step.deviations())
        assert departs == (step.parameters["n_neighbors"] != 10)


def test_the_page_has_every_number_of_both_tables(tmp_path):
    add_result(tmp_path, evaluation(radii=with_errors(published.errors("splice", "arml", "exact"))))
    add_result(tmp_path, evaluation(column="boundary-box", radii=[0.05, 0.15]))
    page = report(tmp_path)
    for dataset in ("splice",):
        for learner in METHODS:
            numbers = published.errors(dataset, learner, "exact")
            assert f"paper, exact | {' | '.join(f'{v:.3f}' for v in numbers)} |" in page
    assert "| ours, boundary attack inside [0, 1], 100 steps, seed 0, 2 points | 0.000 | 0.500 | 1.000" in page
    assert "All that has to hold does" not in page  # two points of an attack are not close to the paper's
    assert "- ARML on Splice, boundary attack inside [0, 1]: " in page
    add_result(tmp_path, evaluation(radii=np.zeros(1000)))
    assert "Outside what has to hold: ARML on Splice, exact." in report(tmp_path)


@pytest.mark.parametrize("learner", ["nca", "arml"])
def test_the_page_says_why_an_attack_is_far_from_the_papers(learner, tmp_path):
    theirs = published.errors("splice", learner, "empirical")

    def page(change: float, certified: float = 0.0, n: int = 1000, **options) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        attacked = with_errors(theirs + change, n=n)
        add_result(folder, evaluation(learner=learner, column="boundary-box", radii=attacked, options=options))
        proved = np.minimum(published.errors("splice", learner, "certified") + certified, 1.0)
        add_result(folder, evaluation(learner=learner, column="theorem1", radii=with_errors(proved)))
        return report(folder).split("Boundary attacks more than")[-1][:400]

    name = f"{METHODS[learner]} on Splice, boundary attack inside [0, 1]"
    assert name not in page(0.05, steps=25_000)
    assert f"{name}: stopped early" in page(-0.1, steps=5_000)
    assert f"{name}: against another metric" in page(0.1, certified=0.05, steps=25_000)
    assert f"{name}: on fewer points" in page(0.1, n=100, steps=25_000)
    assert f"{name}: for a reason that is not known" in page(0.1, steps=25_000)


def test_the_page_says_what_is_not_computed_yet(tmp_path):
    for learner in METHODS:
        if learner not in ("nca", "lfda"):
            add_result(tmp_path, evaluation(learner=learner, radii=[0.05, 0.15]))
    page = report(tmp_path)
    assert "- exact: NCA and LFDA on Splice; every metric on Pendigits; " in page
    assert "- votes: every metric on Splice; " in page
    for learner in ("nca", "lfda"):
        add_result(tmp_path, evaluation(learner=learner, radii=[0.05, 0.15]))
    assert "- exact: every metric on Pendigits; " in report(tmp_path)


def test_a_step_names_itself():
    step = PlanStep(
        "splice", "arml", "boundary-box", table("table1", ["splice"], ["arml"], Effort())[0].points, steps=5
    )
    assert step.title == "Splice, ARML: boundary in the box, K = 11"
