"""The registry describes the learners of references as they are."""

import inspect

import numpy as np
import pytest

from arml_core import MahalanobisKNN
from arml_core.learners.estimation import Rates, estimate
from arml_core.learners.registry import LEARNERS, LearnerEntry
from arml_core.references.registry import REFERENCES, get_reference_learner
from arml_core.threat import ThreatModel

from ..learners.data import blobs

NOT_IN_A_FORM = {"device", "random_state", "image_shape"}
RATES = Rates(1e11, 5e10, 1e9)


@pytest.mark.parametrize("entry", REFERENCES.values(), ids=REFERENCES)
class TestEntry:
    def test_every_argument_is_described_with_its_default(self, entry):
        arguments = {
            name: parameter.default
            for name, parameter in inspect.signature(entry.learner).parameters.items()
            if name not in NOT_IN_A_FORM
        }
        described = {p.name: p.default for p in entry.parameters}
        for norms in (arguments, described):
            if "norm" in norms:
                norms["norm"] = ThreatModel(norms["norm"]).norm
        assert described == arguments

    def test_seed_device_and_images_are_declared(self, entry):
        arguments = inspect.signature(entry.learner).parameters
        assert entry.seeded == ("random_state" in arguments)
        assert entry.on_device == ("device" in arguments)
        assert entry.on_images == ("image_shape" in arguments)

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
            for value in [wrong, "automatic"] if p.automatic else [wrong]:
                with pytest.raises(ValueError, match=p.name):
                    p.check(value)
                with pytest.raises(ValueError, match=p.name):
                    entry.learner(**{p.name: value}).fit(X, y)

    def test_what_it_gives_is_what_fit_finds(self, entry):
        few = {"n_epochs": 1} if "n_epochs" in {p.name for p in entry.parameters} else {}
        X, y = blobs()
        learner = entry.build(few, random_state=0, device="cpu", image_shape=(1, 5)).fit(X, y)
        assert entry.gives_references
        assert (entry.gives == "rows") == (learner.reference_rows_ is not None)
        knn = MahalanobisKNN(references=learner).fit(X, y)
        np.testing.assert_array_equal(knn.references_, learner.references_)

    def test_the_estimate_grows_with_the_data(self, entry):
        small, large = (estimate(entry, n, 20, 3, rates=RATES) for n in (500, 50_000))
        assert 0 <= small.seconds < large.seconds
        assert small.memory < large.memory < 4 * 2**30


def test_names_of_metrics_and_references_do_not_meet():
    assert not set(LEARNERS) & set(REFERENCES)
    assert not any(entry.gives_references for entry in LEARNERS.values())
    with pytest.raises(ValueError, match="no learner of references 'arml'; there are robust_prototypes, kmeans"):
        get_reference_learner("arml")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("n_prototypes", "AUTO", "auto"), ("n_prototypes", "7", 7), ("radius", "auto", "auto"), ("radius", "0.5", 0.5)],
)
def test_a_number_or_auto_is_read_from_text(name, text, value):
    assert get_reference_learner("robust_prototypes").parameter(name).parse(text) == value


def test_text_that_is_neither_a_number_nor_auto():
    with pytest.raises(ValueError, match="n_prototypes must be an integer or 'auto'; got 'many'"):
        get_reference_learner("robust_prototypes").parameter("n_prototypes").parse("many")
    with pytest.raises(ValueError, match="n_epochs must be an integer; got 'auto'"):
        get_reference_learner("robust_prototypes").parameter("n_epochs").parse("auto")


def test_parameters_are_called_what_they_mean_to_this_learner():
    called = {name: [p.label for p in entry.parameters if not p.advanced] for name, entry in REFERENCES.items()}
    assert called["robust_prototypes"] == ["Prototypes in each class", "Target radius", "Metric"]
    assert called["adversarial_pruning"] == ["Radius"]  # rows end up so far apart; nothing is aimed at


def test_the_image_shape_reaches_only_learners_that_take_one():
    assert get_reference_learner("robust_prototypes").build({"shifts": 1}, image_shape=(2, 3)).image_shape == (2, 3)
    assert not hasattr(get_reference_learner("gmlvq").build(image_shape=(2, 3)), "image_shape")


def test_without_a_count_of_its_work_there_is_no_estimate():
    entry = LearnerEntry("mine", "Mine", "Something.", object)
    with pytest.raises(ValueError, match="no estimate for Mine"):
        estimate(entry, 10, 2, 2, rates=RATES)
