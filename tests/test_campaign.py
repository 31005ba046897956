"""The campaign's checks can fail: each is shown an answer with the fault that it is there to find."""

import pkgutil
import time
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest

from arml_core import Metric
from benchmarks.campaign import checks, piles, repeat, run, stress, together, training_rows
from benchmarks.campaign.__main__ import campaign
from benchmarks.campaign.paper import CampaignEffort, beaten
from benchmarks.campaign.problems import as_code, make_chosen, make_line, make_problem, make_together
from benchmarks.campaign.run import SLOW
from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem
from tests.oracles import Threat


def small_problem() -> Problem:
    """Half way between two rows the answer changes: the radius is 0.5."""
    X = np.array([[0.0, 0.0], [0.0, -4.0], [3.0, 0.0], [3.0, 7.0]])
    box = (np.full(2, -1.0), np.full(2, 9.0))
    return Problem(np.eye(2), X, np.array([0, 0, 1, 1]), np.array([1.0, 0.0]), 1, Threat(frozen=(1,), box=box))


def faults(change) -> set[str]:
    """What is found wrong with the answers after `change`."""
    problem = small_problem()
    knn = problem.fitted()
    answers = checks.ask(problem, knn)
    real = run.true_radii(problem, answers)
    assert real.ruled == pytest.approx(0.5)
    assert list(checks.violations(problem, knn, answers, real)) == []
    change(answers)
    return {f"{v.method}: {v.what}" for v in checks.violations(problem, knn, answers, real)}


def edit(method, **sides):
    def change(answers):
        answers[method] = replace(answers[method], **{name: make(answers[method]) for name, make in sides.items()})

    return change


def test_a_lower_side_that_is_a_little_too_large_is_found_by_the_oracle_and_by_the_attacks():
    found = faults(edit("search", lower=lambda a: a.lower * 1.000001))
    assert "search: lower exceeds the true radius" in found
    assert "search: beaten by whitebox" in found


def test_an_upper_side_that_is_too_small_is_found():
    found = faults(edit("whitebox", upper=lambda a: a.upper * 0.99))
    assert "whitebox: upper is below the true radius" in found
    assert any("has size" in fault for fault in found)


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        ((-1.0, 0.0), "whitebox: the point does not change the answer"),
        ((0.0, 1e-9), "whitebox: a frozen feature moved"),
        ((9.0, 0.0), "whitebox: the point leaves the box"),
        ((0.5, 0.0), "whitebox: the point has size"),
        ((np.nan, np.nan), "whitebox: a size without a point"),
    ],
)
def test_a_point_that_proves_nothing_is_found(move, fault):
    found = faults(edit("whitebox", adversarial=lambda a: a.adversarial + np.array(move)))
    assert any(text.startswith(fault) for text in found), found


def test_the_order_of_the_methods_is_checked():
    assert "theorem1: theorem1 exceeds votes" in faults(edit("votes", lower=lambda a: a.lower * 0.9))
    assert "search: search is below votes" in faults(edit("search", lower=lambda a: a.lower * 0.9))
    assert "votes: lower is not a radius" in faults(edit("votes", lower=lambda a: a.lower * np.nan))


@pytest.mark.parametrize(
    ("first", "said"), [(0, "ContradictionError"), (run.ROUND, "lower exceeds the true radius")], ids=SLOW[:2]
)
def test_an_engine_that_overstates_by_a_millionth_fails_the_campaign(monkeypatch, capsys, first, said):
    """From the bound to the exit code, with Python that shows it again."""
    import arml_core.knn as engine

    options = Namespace(problems=8, first=first, stress=0, paper=False, points=0, minutes=2.0, seed=5)
    assert campaign(options) == 0
    honest = engine.triplet_bound
    monkeypatch.setattr(engine, "triplet_bound", lambda *a, **o: honest(*a, **o) * (1 + 1e-6))
    assert campaign(options) > 0
    printed = capsys.readouterr().out
    assert said in printed
    code = printed[printed.index("    import numpy") :].split("\n\n")[0]
    source = "\n".join(line[4:] for line in code.splitlines() if line.startswith("    "))
    exec(source.split("print(")[0], names := {})
    assert names["knn"].certify(names["x"], **names["question"]).lower.shape == (1,)


@pytest.mark.more
@pytest.mark.parametrize("part", [stress.run_lines, stress.run_apart])
def test_fractions_find_what_is_too_large_in_the_last_digits(monkeypatch, part):
    import arml_core.knn as engine

    deadline = time.monotonic() + 60
    assert part(0, range(8), deadline).violations == 0
    honest = engine.triplet_bound
    monkeypatch.setattr(engine, "triplet_bound", lambda *a, **o: honest(*a, **o) * (1 + 1e-12))
    assert part(0, range(8), deadline).violations > 0


@pytest.mark.more
def test_a_point_that_flips_within_what_is_proved_is_found(monkeypatch):
    import arml_core.knn as engine

    deadline = time.monotonic() + 60
    assert piles.run_piles(0, range(6), deadline).violations == 0
    honest = engine.triplet_bound
    monkeypatch.setattr(engine, "triplet_bound", lambda *a, **o: honest(*a, **o) * (1 + 1e-6))
    assert piles.run_piles(0, range(6), deadline).violations > 0


def test_references_under_another_number_or_metric_are_found(monkeypatch):
    import arml_core.knn as engine

    deadline = time.monotonic() + 60
    assert run.run_chosen(0, range(16), deadline).violations == 0
    with monkeypatch.context() as broken:
        broken.setattr(engine, "excluded_references", lambda named, rows, n: [row % len(rows) for row in named])
        assert run.run_chosen(0, range(1, 40, 4), deadline).violations > 0
    honest = engine.chosen_references
    broken_choice = lambda *given: replace(honest(*given), metric=Metric.identity(given[2].shape[1]))  # noqa: E731
    monkeypatch.setattr(engine, "chosen_references", broken_choice)
    assert run.run_chosen(0, range(3, 16, 4), deadline).violations > 0


def test_a_combination_that_is_forgotten_or_too_much_is_found(monkeypatch):
    from arml_core import switching
    from arml_core.threat import Combinations

    deadline = time.monotonic() + 60
    assert run.run_switched(0, range(0, 15, 5), deadline).violations == 0
    honest = Combinations.of

    def without_last(x, switches, most):
        found = honest(x, switches, most)
        kept = np.append(found.row[1:] == found.row[:-1], False) | (found.codes == -1).all(axis=1)
        return Combinations(found.row[kept], found.codes[kept], found.points[kept])

    for broken in (without_last, lambda x, switches, most: honest(x, switches, None)):
        monkeypatch.setattr(switching.Combinations, "of", broken)
        assert run.run_switched(0, range(0, 40, 5), deadline).violations > 0


def test_a_problem_with_references_can_be_seen_again():
    for number in range(4):
        problem = make_chosen(0, number)
        exec(as_code(problem).split("print(")[0], names := {})
        asked = names["knn"].certify(names["x"], **names["question"])
        expected = problem.fitted().certify(problem.x[None], **problem.options)
        assert asked.lower.tolist() == expected.lower.tolist()


def test_a_count_of_wrong_training_rows_that_is_off_by_one_is_found(monkeypatch, capsys):
    import arml_core.knn as engine

    deadline = time.monotonic() + 60
    assert training_rows.run_training_rows(0, range(6), deadline).violations == 0
    honest = engine.rows_to_remove_or_add
    monkeypatch.setattr(engine, "rows_to_remove_or_add", lambda *a: (honest(*a)[0], honest(*a)[1] + 1))
    assert training_rows.run_training_rows(0, range(6), deadline).violations > 0
    assert "training rows added: another number of rows" in capsys.readouterr().out


def in_turn(found):
    """Each point with the value of the one before it; a single one has its own."""
    return np.roll(found, 1)


@pytest.mark.parametrize(
    ("where", "name", "method"),
    [
        ("arml_core.knn", "triplet_bound", "votes"),
        ("arml_core.neighbors.prepared.PreparedReferences", "predict", "predict"),
    ],
)
def test_points_that_exchange_their_results_in_company_are_found(monkeypatch, capsys, where, name, method):
    deadline = time.monotonic() + 60
    assert together.run_together(0, range(1), deadline).violations == 0
    honest = getattr(pkgutil.resolve_name(where), name)
    monkeypatch.setattr(f"{where}.{name}", lambda *a, **o: in_turn(honest(*a, **o)))
    assert together.run_together(0, range(1), deadline).violations > 0
    assert f"{method}: another" in capsys.readouterr().out


@pytest.mark.more
def test_points_that_meet_on_two_threads_only_are_found(monkeypatch, capsys):
    import arml_core.knn as engine

    honest = engine.triplet_bound

    def racing(triplets, points, *args):
        return honest(triplets, points, *args) * (1 + 1e-6 * (points.threads > 1))

    monkeypatch.setattr(engine, "triplet_bound", racing)
    assert together.run_together(0, range(1), time.monotonic() + 60).violations > 0
    printed = capsys.readouterr().out
    assert ", 2 threads" in printed
    assert ", 1 threads" not in printed


def test_radii_agree_to_a_billionth_or_to_what_rounding_leaves_of_nothing():
    assert together.agree(1.0, 1 + 1e-10, 1.0)
    assert together.agree(np.inf, np.inf, 1.0)
    assert together.agree(0.0, 1e-14, 1.0)
    assert not together.agree(1.0, 1 + 1e-8, 1.0)
    assert not together.agree(1.0, np.inf, 1.0)
    assert not together.agree(np.nan, 1.0, 1.0)
    assert not together.agree(np.inf, np.nan, 1.0)


def test_an_error_or_a_warning_is_a_violation():
    assert "ZeroDivisionError" in str(run.guarded(lambda: 1 // 0)[0])
    assert "RuntimeWarning" in str(run.guarded(lambda: np.ones(1) / np.zeros(1))[0])


def test_an_attack_that_beats_a_certificate_of_a_dataset_is_found(monkeypatch):
    import arml_core.knn as engine

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    knn, effort = engine.MahalanobisKNN(3).fit(X, y), CampaignEffort(10, 5, 10, 30)
    points, labels = rng.normal(size=(20, 3)), np.arange(20) % 2
    assert beaten(knn, points, labels, effort)[0] == []
    honest = engine.triplet_bound
    monkeypatch.setattr(engine, "triplet_bound", lambda *a, **o: honest(*a, **o) * 1.5)
    found = beaten(knn, points, labels, effort)[0]
    assert any("beats votes" in fault for fault in found)
    assert any(fault.startswith("search, point") for fault in found)


def test_threads_that_contradict_each_other_are_found():
    names = ("votes, K = 1, lower", "whitebox, K = 1, upper", "boundary, K = 1, upper")
    one = {name: [value.hex()] for name, value in zip(names, (1.0, 1.5, 2.0), strict=True)}
    assert repeat.compare(one, one) == ([], "3 of 3 lists the same to the last bit, the rest to 0.0e+00")
    assert repeat.compare(one, one | {names[0]: [(1.25).hex()]})[0] == []
    assert len(repeat.compare(one, one | {names[0]: [(1.75).hex()]})[0]) == 1


def test_a_problem_depends_on_its_seed_and_number_alone():
    again = [as_code(make_problem(3, number)) for number in (7, 8)]
    assert again == [as_code(make_problem(3, number)) for number in (7, 8)]
    assert again[0] != as_code(make_problem(4, 7))
    assert as_code(make_line(3, 7, 1e3)) == as_code(make_line(3, 7, 1e3))
    assert as_code(make_together(3, 7)) == as_code(make_together(3, 7))


def test_what_is_too_far_for_the_oracle_counts_as_impossible():
    problem = small_problem()
    assert checks.used(np.inf, 1e9, problem) <= 1
    assert checks.used(np.inf, 1e3, problem) > 1
    assert checks.used(0.5, Truth(0.5, 0.5, 0.5).ruled, problem) <= 0
