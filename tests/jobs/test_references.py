"""References in jobs: learned, resumed, watched, kept and certified, and never judged by the rows that taught them."""

import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import arml_core as arml
from arml_core import MahalanobisKNN, cross_fit, load_dataset
from arml_core.comparison import setting_of
from arml_core.errors import Cancelled
from arml_core.jobs import Client, EvaluationSpec, PointsSpec, RunSpec
from arml_core.jobs.learners import entries, entry_of
from arml_core.jobs.spec import key_of
from arml_core.jobs.workspace import Workspace
from arml_core.learners.registry import LEARNERS
from arml_core.learners.storage import load_metric, save_metric
from arml_core.references import AdversarialPruning, KMeansPrototypes, RobustPrototypes
from arml_core.references.registry import REFERENCES

from ..job_requests import attack, certify, train
from .conftest import PATIENCE
from .in_process import compute_all

FEW = {"n_prototypes": 2, "n_epochs": 1}


@pytest.fixture
def moons():
    return load_dataset("moons", n=60)


def robust(**changes):
    return RobustPrototypes(**{"n_prototypes": 2, "n_epochs": 1, "random_state": 0, "device": "cpu"} | changes)


def test_jobs_offer_metrics_then_references():
    assert list(entries())[: len(LEARNERS) + len(REFERENCES)] == [*LEARNERS, *REFERENCES]
    with pytest.raises(ValueError, match=r"no learner 'svm'; there are euclidean, .*robust_prototypes"):
        entry_of("svm")


@pytest.mark.parametrize("metric", ["learned", "euclidean"])
def test_a_training_gives_what_fit_gives_and_its_certificates_compare_with_it(client, moons, metric):
    run = train(client, moons, "robust_prototypes", {**FEW, "metric": metric}, device="cpu").id
    proved = certify(client, run, 1, "exact", points=PointsSpec("test", 20)).id
    reached = attack(client, run, 1, points=PointsSpec("test", 20)).id
    compute_all(client)
    learner = robust(metric=metric).fit(moons.X_train, moons.y_train)
    found = client.run(run)
    np.testing.assert_array_equal(found.references_, learner.references_)
    np.testing.assert_array_equal(found.reference_labels_, learner.reference_labels_)
    assert found.reference_rows_ is None
    assert set(found.history_) == {"loss", "radius"}
    assert (len(found.eigenvalues) > 0) == (metric == "learned")
    knn = MahalanobisKNN(references=found).fit(moons.X_train, moons.y_train)
    x, y = moons.X_test[:20], moons.y_test[:20]
    expected = MahalanobisKNN(references=learner).fit(moons.X_train, moons.y_train).certify(x, y, method="exact")
    np.testing.assert_allclose(client.radii(proved).lower, expected.lower, rtol=1e-9)
    hit = client.radii(reached)
    assert (knn.predict(hit.adversarial[hit.correct]) != y[hit.correct]).all()
    assert client.evaluation(proved).learner_title == "Robust prototypes"
    history = client.history(run)
    np.testing.assert_array_equal(history.values["radius"], learner.history_["radius"])


def test_labels_that_skip_a_class_are_kept_as_labels(client, moons):
    """Codes of the classes that occur are not labels of the dataset."""
    three = replace(moons, class_names=("none", "a", "b"), y_train=moons.y_train + 1, y_test=moons.y_test + 1)
    run = train(client, three, "kmeans_prototypes", {"n_prototypes": 1}).id
    looked = []
    compute_all(client, lambda done, total, info: looked.append(client.live_references(run)))
    assert client.run(run).reference_labels_.tolist() == [1, 2]
    assert looked[0].labels.tolist() == [1, 2]


class Interrupted(Exception):
    pass


def interrupt_at(step):
    def interrupt(done, total, info):
        if done == step:
            raise Interrupted

    return interrupt


def test_an_interrupted_training_goes_on_and_ends_the_same(client, moons, monkeypatch):
    steps = count(1)
    monkeypatch.setattr(Workspace, "checkpoint_due", lambda self: next(steps) % 50 == 0)
    run = train(client, moons, "robust_prototypes", FEW, device="cpu").id
    with pytest.raises(Interrupted):
        compute_all(client, interrupt_at(300))
    started = []
    compute_all(client, lambda done, total, info: started.append(done))
    assert started[0] == 251
    expected = robust().fit(moons.X_train, moons.y_train)
    np.testing.assert_array_equal(client.run(run).references_, expected.references_)
    np.testing.assert_array_equal(client.run(run).components_, expected.components_)


def test_the_points_are_seen_while_they_learn(client, moons):
    run = train(client, moons, "robust_prototypes", FEW, device="cpu").id
    assert client.live_references(run) is None
    seen = []
    compute_all(client, lambda done, total, info: seen.append(client.live_references(run)))
    assert seen[0].step == 1
    assert seen[0].points.shape == (4, 2)
    assert sorted(seen[0].labels) == [0, 0, 1, 1]
    assert len({live.step for live in seen}) < len(seen) / 10  # they are written now and then, not at every step
    last = client.live_references(run)
    assert last.step == client.run(run).n_iter_
    np.testing.assert_array_equal(last.points, client.run(run).references_)
    assert client.live_references(train(client, moons, "euclidean").id) is None


def test_images_are_shifted_by_pixels_of_their_own_shape(client):
    digits = load_dataset("digits")
    some = replace(digits, X_train=digits.X_train[:100], y_train=digits.y_train[:100], X_test=digits.X_test[:5])
    some = replace(some, y_test=digits.y_test[:5])
    run = train(client, some, "robust_prototypes", {**FEW, "shifts": 1, "metric": "euclidean"}, device="cpu").id
    compute_all(client)
    expected = robust(shifts=1, image_shape=(8, 8), metric="euclidean").fit(some.X_train, some.y_train)
    np.testing.assert_array_equal(client.run(run).references_, expected.references_)


def test_training_rows_of_learned_references_are_refused_in_words(client, moons):
    for learner, refused in (("kmeans_prototypes", True), ("adversarial_pruning", False), ("euclidean", False)):
        run = train(client, moons, learner).id
        if refused:
            with pytest.raises(ValueError, match="Ask for cross-fitted rows"):
                certify(client, run, 1, "exact", points=PointsSpec("train"))
        else:
            certify(client, run, 1, "exact", points=PointsSpec("train"))
    compute_all(client)


def test_kept_rows_are_left_out_of_their_own_vote(client, moons):
    run = train(client, moons, "adversarial_pruning").id
    job = certify(client, run, 1, "exact", points=PointsSpec("train")).id
    compute_all(client)
    x, y = moons.X_train, moons.y_train
    knn = MahalanobisKNN(references=AdversarialPruning()).fit(x, y)
    expected = knn.certify(x, y, method="exact", exclude=np.arange(len(x)))
    np.testing.assert_allclose(client.radii(job).lower, expected.lower, rtol=1e-9)


class TestCrossFitted:
    POINTS = PointsSpec("cross", folds=3, seed=7)

    def asked(self, client, moons, learner="kmeans_prototypes", points=POINTS, **settings):
        run = train(client, moons, learner, {"n_prototypes": 2} if learner == "kmeans_prototypes" else {}).id
        return certify(client, run, 1, "exact", points=points, **settings).id

    def test_it_gives_what_cross_fit_gives(self, client, moons):
        job = self.asked(client, moons)
        compute_all(client)
        learner = KMeansPrototypes(2, random_state=0)
        crossed = cross_fit(learner, moons.X_train, moons.y_train, folds=3, random_state=7)
        expected, found = crossed.certify(method="exact"), client.radii(job)
        np.testing.assert_allclose(found.lower, expected.lower, rtol=1e-9)
        np.testing.assert_array_equal(found.predicted, expected.predicted)
        assert client.status(job).title == "Certify (exact, K = 1, cross-fitted): k-means prototypes on Two moons"
        words = setting_of(client.evaluation(job)).points_words()
        assert words == "training rows, each answered by a model learned without it (3 folds, seed 7)"

    def test_its_classifiers_can_be_asked_about_changed_rows(self, client, moons):
        job = self.asked(client, moons)
        compute_all(client)
        crossed, found = client.cross_fitted(job), client.radii(job)
        rows = np.flatnonzero(found.correct)
        np.testing.assert_array_equal(crossed.predict(), found.predicted)
        assert (crossed.predict(found.adversarial[rows], rows) != moons.y_train[rows]).all()
        with pytest.raises(ValueError, match="not cross-fitted"):
            client.cross_fitted(client.status(job).needs)

    def test_the_first_rows_alone_and_without_labels(self, client, moons):
        points = replace(self.POINTS, n=11, labels=False)
        job, whole = self.asked(client, moons, points=points), self.asked(client, moons)
        compute_all(client)
        assert len(client.radii(job)) == 11
        assert client.radii(job).correct.all()
        np.testing.assert_array_equal(client.radii(job).predicted, client.radii(whole).predicted[:11])

    def test_the_only_row_of_a_class_is_answered_wrongly(self, client, moons):
        lonely = replace(
            moons, class_names=("a", "b", "c"), y_train=np.where(np.arange(len(moons.y_train)) == 3, 2, moons.y_train)
        )
        job = self.asked(client, lonely)
        compute_all(client)
        found = client.radii(job)
        assert (found.lower[3], found.upper[3], found.correct[3]) == (0.0, 0.0, False)

    def test_metrics_are_cross_fitted_as_well(self, client, moons):
        job = self.asked(client, moons, "lfda")
        compute_all(client)
        expected = cross_fit(arml.LFDA(), moons.X_train, moons.y_train, folds=3, random_state=7)
        np.testing.assert_allclose(client.radii(job).lower, expected.certify(method="exact").lower, rtol=1e-9)

    def test_an_interrupted_one_goes_on_with_the_folds_it_has(self, client, moons, monkeypatch):
        job = self.asked(client, moons)
        learned = []
        fit = KMeansPrototypes.fit
        monkeypatch.setattr(
            KMeansPrototypes, "fit", lambda self, X, *a, **k: learned.append(len(X)) or fit(self, X, *a, **k)
        )
        with pytest.raises(Interrupted):
            compute_all(client, interrupt_at(2000))  # the second of three folds is learned
        compute_all(client)
        assert len(learned) == 1 + 2 + 2  # all rows, two folds; what was interrupted and the rest
        expected = cross_fit(KMeansPrototypes(2, random_state=0), moons.X_train, moons.y_train, folds=3, random_state=7)
        np.testing.assert_allclose(client.radii(job).lower, expected.certify(method="exact").lower, rtol=1e-9)

    def test_a_cancel_is_heard_while_folds_are_learned(self, client, moons):
        self.asked(client, moons)

        def cancel(done, total, info):
            if total == 3000:
                raise Cancelled

        with pytest.raises(Cancelled):
            compute_all(client, cancel)

    def test_what_came_from_elsewhere_cannot_be_learned_again(self, client, moons):
        run = client.add_metric(moons, np.eye(2))
        with pytest.raises(ValueError, match="cannot be learned again"):
            certify(client, run.id, 1, "exact", points=self.POINTS)

    def test_folds_go_with_cross_fitted_points_alone(self):
        assert PointsSpec("cross").folds == 5
        for wrong in ({"folds": 3}, {"seed": 1}):
            with pytest.raises(ValueError, match="only with them"):
                PointsSpec("train", **wrong)
        with pytest.raises(ValueError, match="folds must be a whole number, at least 2"):
            PointsSpec("cross", folds=1)

    def test_the_spec_goes_through_the_store_and_other_keys_stay(self):
        spec = EvaluationSpec("certify", "0" * 32, 1, "exact", points=self.POINTS)
        assert EvaluationSpec.from_content(json.loads(json.dumps(spec.content()))) == spec
        other = replace(spec, points=replace(self.POINTS, seed=8))
        assert key_of(spec, "") != key_of(other, "")
        assert "folds" not in PointsSpec("train").content()


def test_a_saved_model_is_entered_with_its_references(client, moons, tmp_path):
    learner = robust().fit(moons.X_train, moons.y_train)
    save_metric(tmp_path / "m.npz", learner, class_names=moons.class_names)
    saved = load_metric(tmp_path / "m.npz")
    run = client.add_metric(moons, saved, "mine")
    assert run.spec.gives == "references"
    np.testing.assert_array_equal(client.run(run.id).references_, learner.references_)
    job = certify(client, run.id, 1, "exact", points=PointsSpec("test", 9)).id
    compute_all(client)
    knn = MahalanobisKNN(references=learner).fit(moons.X_train, moons.y_train)
    expected = knn.certify(moons.X_test[:9], moons.y_test[:9], method="exact")
    np.testing.assert_allclose(client.radii(job).lower, expected.lower, rtol=1e-9)
    again = client.add_metric(moons, client.run(run.id), "again")
    assert again.spec == run.spec
    assert client.add_metric(moons, saved.metric).spec != run.spec
    with pytest.raises(ValueError, match=r"are of the classes .*; the data has left, right"):
        client.add_metric(replace(moons, class_names=("left", "right")), saved)
    with pytest.raises(ValueError, match="not those of the dataset, 0 to 1"):
        client.add_metric(moons, KMeansPrototypes(1).fit(moons.X_train, moons.y_train + 1))


def test_the_usual_points_of_a_model():
    data = RunSpec("", "euclidean"), RunSpec("", "kmeans_prototypes"), RunSpec("", "adversarial_pruning")
    assert [run.usual_points(9, 5).part for run in data] == ["evaluation"] * 3
    assert [run.usual_points(0, 5) for run in data] == [PointsSpec(p, 5) for p in ("train", "cross", "train")]


@pytest.mark.more
def test_a_worker_learns_and_cross_fits(home):
    client = Client()
    run = train(client, "moons", "robust_prototypes", FEW).id
    job = certify(client, run, 1, "exact", points=PointsSpec("cross", 30)).id
    for name in (run, job):
        assert client.wait(name, PATIENCE).state == "done", client.log(name)
    data = load_dataset("moons")
    expected = cross_fit(robust(device="auto"), data.X_train, data.y_train).certify(range(30), method="exact")
    np.testing.assert_allclose(client.radii(job).lower, expected.lower, atol=1e-6)
