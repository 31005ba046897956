"""The registry describes the learners as they are, and the estimate fits what was measured."""

import csv
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from arml_core.jobs.learners import entry_of
from arml_core.learners.estimation import Estimate, Rates, estimate, measure_rates, memory_available, refusal
from arml_core.learners.registry import LEARNERS, get_learner

MEASURED = Path(__file__).parents[2] / "benchmarks" / "results" / "learners.csv"
NOT_IN_A_FORM = {"init", "device", "random_state"}
SIZES = {
    "splice": (1000, 60, 2),
    "pendigits": (7494, 16, 10),
    "satimage": (4435, 36, 6),
    "usps": (7291, 256, 10),
    "mnist": (60000, 784, 10),
    "fashion_mnist": (60000, 784, 10),
}


@pytest.mark.parametrize("entry", LEARNERS.values(), ids=LEARNERS)
class TestEntry:
    def test_every_argument_is_described_with_its_default(self, entry):
        arguments = {
            name: parameter.default
            for name, parameter in inspect.signature(entry.learner).parameters.items()
            if name not in NOT_IN_A_FORM
        }
        assert {p.name: p.default for p in entry.parameters} == arguments

    def test_seed_and_device_are_declared(self, entry):
        arguments = inspect.signature(entry.learner).parameters
        assert entry.seeded == ("random_state" in arguments)
        assert entry.on_device == ("device" in arguments)

    def test_defaults_pass_their_own_check_and_help_is_one_line(self, entry):
        for parameter in entry.parameters:
            assert parameter.check(parameter.default) == parameter.default
            assert parameter.parse(str(parameter.default)) == parameter.default
            assert parameter.help.endswith(".")
            assert "\n" not in parameter.help

    def test_values_out_of_range_are_refused_by_form_and_learner_alike(self, entry):
        X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
        for p in entry.parameters:
            wrong = "no such choice" if p.kind == "choice" else p.low if p.open_low else p.low - 1
            with pytest.raises(ValueError, match=p.name):
                p.check(wrong)
            with pytest.raises(ValueError, match=p.name):
                entry.learner(**{p.name: wrong}).fit(X, y)

    def test_build_passes_parameters_on(self, entry):
        values = {p.name: p.default for p in entry.parameters}
        learner = entry.build(values, random_state=5, device="cpu")
        expected = (
            values | ({"random_state": 5} if entry.seeded else {}) | ({"device": "cpu"} if entry.on_device else {})
        )
        assert {name: value for name, value in learner.get_params().items() if name != "init"} == expected


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="no learner 'svm'; there are euclidean, nca, lmnn, itml, lfda, arml"):
        get_learner("svm")
    with pytest.raises(ValueError, match="ARML has no parameter 'epochs'; it has n_epochs, loss"):
        get_learner("arml").build({"epochs": 3})


@pytest.mark.parametrize(
    ("name", "text", "value"), [("n_epochs", "20", 20), ("learning_rate", "1e-2", 0.01), ("batch_size", "None", None)]
)
def test_parameters_are_read_from_text(name, text, value):
    assert get_learner("arml").parameter(name).parse(text) == value


def test_text_that_is_no_number():
    with pytest.raises(ValueError, match=r"n_epochs must be an integer; got '1\.5'"):
        get_learner("arml").parameter("n_epochs").parse("1.5")


def measured() -> list[dict[str, str]]:
    with MEASURED.open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("line", measured(), ids=lambda line: f"{line['dataset']}-{line['learner']}")
def test_estimate_is_within_a_factor_of_two_of_what_was_measured(line):
    """Measured by benchmarks.learners; the estimate uses the machine's speed as it was then."""
    rates = Rates(*(float(line[name]) for name in ("float32", "float64", "values")))
    expected = estimate(entry_of(line["learner"]), *SIZES[line["dataset"]], json.loads(line["parameters"]), rates)
    seconds = float(line["processor_seconds"])
    assert expected.seconds <= 2 * seconds + 1
    assert seconds <= 2 * expected.seconds + 1
    memory = float(line["peak_mb"]) * 2**20
    assert memory / 2 <= expected.memory <= 2 * memory


@pytest.mark.parametrize("learner", LEARNERS)
def test_mnist_stays_under_four_gigabytes(learner):
    """Estimated here; where MNIST was measured, the test above holds the estimate to it."""
    assert estimate(learner, *SIZES["mnist"], rates=Rates(1e11, 5e10, 1e9)).memory < 4 * 2**30


def test_estimate_reads_like_a_sentence():
    rates = Rates(1e11, 5e10, 1e9)
    assert str(estimate("euclidean", 100, 2, 2, rates=rates)) == "about a second, 0.4 GB of memory"
    assert "min, " in str(estimate("arml", 60000, 784, 10, rates=rates))


def test_machine_rates_are_plausible():
    rates = measure_rates()
    assert 1e8 < rates.float64 <= 1.5 * rates.float32 < 1e15
    assert 1e7 < rates.values < 1e12


def test_what_does_not_fit_is_refused_with_both_numbers():
    needed = Estimate(10.0, 6 * 2**30)
    assert refusal(needed, 2**30) == "it needs about 6.0 GB of memory, and 1.0 GB are free"
    assert refusal(needed, 7 * 2**30) is None
    assert refusal(needed, None) is None


def test_the_memory_of_this_machine_is_found():
    assert 2**26 < memory_available() < 2**44
