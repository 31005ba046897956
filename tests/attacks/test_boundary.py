"""The Boundary Attack: repeatable, independent between rows, inside its limits, and as good as the published one."""

import itertools
import threading

import numpy as np
import pytest

from arml_core import Cancelled, MahalanobisKNN, ThreatModel
from arml_core.attacks import boundary
from arml_core.attacks.boundary import BoundaryWalk, Starts, run_walks
from arml_core.numerics.parallel import in_parallel
from tests.more import more
from tests.point_sets import point_set, references_of

NORMS = (1, 2, np.inf)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 5)) + 2.5 * np.eye(5)[y]
    return X[:100], y[:100], X[100:]


@pytest.fixture(scope="module")
def knn(blobs):
    return MahalanobisKNN(5).fit(blobs[0], blobs[1])


def attack(knn, x, steps=120, **options):
    return knn.attack(x, method="boundary", steps=steps, **options)


def check_fooled(knn, x, result, threat=None, exclude=None):
    """Every finite radius is the size of a point that predict answers differently."""
    threat = ThreatModel() if threat is None else threat
    clean = knn.predict(x, exclude=exclude)
    for b in np.flatnonzero(np.isfinite(result.upper)):
        gone = None if exclude is None else [exclude[b]]
        point = result.adversarial[b]
        assert knn.predict(point[None], exclude=gone)[0] != clean[b]
        move = point.astype(np.float64) - x[b].astype(np.float64)
        costs = np.ones(len(move)) if threat.costs is None else np.array(threat.costs)
        assert np.linalg.norm(costs * move, threat.norm) == pytest.approx(result.upper[b], rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_every_point_fools_predict_and_has_the_stated_size(knn, blobs, norm):
    threat = ThreatModel(norm=norm, costs=[1, 2, 0.5, 1, 3])
    result = attack(knn, blobs[2], threat=threat)
    assert np.isfinite(result.upper).all()
    check_fooled(knn, blobs[2], result, threat)


def test_leave_one_out_fools_the_classifier_without_that_row(knn, blobs):
    x, rows = blobs[0][:12], list(range(12))
    result = attack(knn, x, exclude=rows)
    assert np.isfinite(result.upper).all()
    check_fooled(knn, x, result, exclude=rows)


def test_the_same_seed_gives_the_same_result_and_another_seed_another(knn, blobs):
    first, again, other = (attack(knn, blobs[2][:6], random_state=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.upper, again.upper)
    np.testing.assert_array_equal(first.adversarial, again.adversarial)
    assert np.all(first.upper != other.upper)


@pytest.mark.parametrize("box", [None, (-2.0, 3.0)])
def test_a_row_does_not_notice_which_others_are_attacked(knn, blobs, box):
    threat = ThreatModel(box=box)
    together = attack(knn, blobs[2][:9], threat=threat)
    for rows in ([4], [8, 4, 0], [4, 4, 1]):
        some = attack(knn, blobs[2][rows], threat=threat)
        np.testing.assert_array_equal(some.adversarial, together.adversarial[rows])
        np.testing.assert_array_equal(some.upper, together.upper[rows])


@pytest.fixture(scope="module")
def wide():
    """So many features that sums over them are taken in pieces, and G v by a matrix product."""
    rng = np.random.default_rng(2)
    y = np.arange(400) % 4
    X = rng.normal(size=(400, 70)) + 3 * np.eye(70)[y]
    knn = MahalanobisKNN(5, (G := rng.normal(size=(70, 70)) / 8).T @ G).fit(X[:380], y[:380])
    return knn, X[380:387]


@pytest.mark.parametrize("norm", NORMS)
def test_a_row_with_many_features_does_not_notice_it_either(wide, norm):
    knn, x = wide
    threat = ThreatModel(norm=norm)
    together = attack(knn, x, 40, threat=threat)
    for row in range(len(x)):
        alone = attack(knn, x[[row]], 40, threat=threat)
        np.testing.assert_array_equal(alone.adversarial[0], together.adversarial[row])
        np.testing.assert_array_equal(alone.upper[0], together.upper[row])


@pytest.fixture
def smallest_blocks(monkeypatch):
    """A block for every thread, however few points there are."""
    monkeypatch.setattr(boundary, "BLOCK_NUMBERS", 1)


@pytest.mark.usefixtures("smallest_blocks")
@pytest.mark.parametrize("exclude", [None, [3, -1, 0, 7, 7, 350, 2]])
@pytest.mark.parametrize("threat", [ThreatModel(), ThreatModel(1, box=(-2.5, 3.5), frozen=[4])])
def test_the_number_of_threads_changes_no_bit(wide, threat, exclude):
    knn, x = wide
    one, two, three = (
        MahalanobisKNN(5, knn.metric_, n_jobs=jobs)
        .fit(*training_rows(knn))
        .attack(x, method="boundary", steps=40, threat=threat, exclude=exclude)
        for jobs in (1, 2, 3)
    )
    assert np.isfinite(one.upper).any()
    for other in (two, three):
        np.testing.assert_array_equal(other.upper, one.upper)
        np.testing.assert_array_equal(other.adversarial, one.adversarial)


def training_rows(knn):
    references = references_of(knn)
    return references.x, references.label


@pytest.mark.usefixtures("smallest_blocks")
@pytest.mark.parametrize(("jobs", "points", "threads"), [(1, 7, 1), (2, 7, 2), (3, 7, 3), (3, 2, 2)])
def test_blocks_of_points_walk_on_threads_of_their_own(wide, monkeypatch, jobs, points, threads):
    knn, x = wide
    walked, advance = set(), BoundaryWalk.advance
    all_at_once = threading.Barrier(threads, timeout=10)

    def noted(walk, until):
        if until == 10:
            all_at_once.wait()
        walked.add(threading.get_ident())
        return advance(walk, until)

    monkeypatch.setattr(BoundaryWalk, "advance", noted)
    MahalanobisKNN(5, knn.metric_, n_jobs=jobs).fit(*training_rows(knn)).attack(x[:points], method="boundary", steps=25)
    assert len(walked) == threads


def test_few_points_stay_on_one_thread(wide, monkeypatch):
    """Their steps are so short that two threads would wait for each other most of the time."""
    knn, x = wide
    monkeypatch.setattr(boundary, "in_parallel", lambda work, pieces, threads: one_block(work, pieces, threads))

    def one_block(work, pieces, threads):
        assert threads == 1
        return in_parallel(work, pieces, threads)

    MahalanobisKNN(5, knn.metric_, n_jobs=3).fit(*training_rows(knn)).attack(x, method="boundary", steps=10)


@pytest.mark.usefixtures("smallest_blocks")
def test_progress_of_several_threads_is_told_to_the_caller_in_order_and_can_be_cancelled(wide):
    knn, x = wide
    several = MahalanobisKNN(5, knn.metric_, n_jobs=3).fit(*training_rows(knn))
    seen, threads = [], set()

    def note(done, total, info):
        seen.append((done, total))
        threads.add(threading.current_thread())

    several.attack(x, method="boundary", steps=45, callback=note)
    assert seen == sorted(seen)
    assert [done for done, total in seen if total == 45] == [10, 20, 30, 40, 45, 45]
    assert threads == {threading.current_thread()}

    def stop(done, total, info):
        if done >= 20:
            raise Cancelled

    before = threading.active_count()
    with pytest.raises(Cancelled):
        several.attack(x, method="boundary", steps=100_000, callback=stop)
    assert threading.active_count() == before


def test_a_row_does_not_notice_wrong_rows_beside_it(knn, blobs):
    x = blobs[2][:6]
    y = knn.predict(x)
    right = attack(knn, x, y=y)
    y[[0, 3]] = (y[[0, 3]] + 1) % 3
    mixed = attack(knn, x, y=y)
    np.testing.assert_array_equal(mixed.upper[[0, 3]], 0.0)
    np.testing.assert_array_equal(mixed.adversarial[[0, 3]], x[[0, 3]])
    kept = [1, 2, 4, 5]
    np.testing.assert_array_equal(mixed.upper[kept], right.upper[kept])


@pytest.mark.parametrize("norm", NORMS)
def test_more_steps_never_give_a_larger_radius(knn, blobs, norm):
    radii = [attack(knn, blobs[2], steps, threat=ThreatModel(norm=norm)).upper for steps in (1, 9, 33, 100, 250)]
    for fewer, longer in itertools.pairwise(radii):
        assert np.all(longer <= fewer)
    assert np.median(radii[-1]) < 0.9 * np.median(radii[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["boundary", "whitebox"])
@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
def test_attacks_stay_in_the_box_and_leave_frozen_features_alone(blobs, norm, method, dtype):
    knn = MahalanobisKNN(5).fit(blobs[0].astype(dtype), blobs[1])
    x = blobs[2].astype(dtype)
    low, high = np.full(5, -1.0), np.array([1.3, 2.1, 2.7, 0.1, 0.7])
    costs = [1, 3, 0.7, 1, 5]
    threat = ThreatModel(norm=norm, box=(low, high), frozen=[3], costs=costs)
    result = knn.attack(x, method=method, steps=60, threat=threat)
    assert np.isfinite(result.upper).sum() >= 5
    check_fooled(knn, x, result, threat)
    found = result.adversarial[np.isfinite(result.upper)].astype(np.float64)
    start = x[np.isfinite(result.upper)].astype(np.float64)
    rounded = np.finfo(dtype).eps if dtype == np.float32 else 0.0  # a limit between two float32 numbers
    assert np.all(found >= np.minimum(low, start) - rounded)
    assert np.all(found <= np.maximum(high, start) + 2 * rounded)
    np.testing.assert_array_equal(found[:, 3], start[:, 3])


@pytest.mark.parametrize("method", ["boundary", "whitebox"])
def test_a_float32_point_is_fooled_as_float32(blobs, method):
    knn = MahalanobisKNN(5).fit(blobs[0].astype(np.float32), blobs[1])
    x = blobs[2].astype(np.float32)
    result = knn.attack(x, method=method, steps=200)
    assert result.adversarial.dtype == np.float32
    assert result.upper.dtype == np.float64
    assert np.isfinite(result.upper).all()
    check_fooled(knn, x, result)


def test_a_point_far_from_everything_is_attacked_at_its_own_scale():
    """A thousand spreads away, float32 still resolves the boundary."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    x = np.array([[1000.0, 3.0]], dtype=np.float32)
    for method in ("boundary", "whitebox"):
        knn = MahalanobisKNN(3).fit(X, y)
        result = knn.attack(x, method=method, steps=200)
        assert np.isfinite(result.upper).all()
        check_fooled(knn, x, result)


@pytest.mark.parametrize("method", ["boundary", "whitebox"])
def test_progress_reaches_the_end_and_can_be_cancelled(knn, blobs, method):
    seen = []
    knn.attack(blobs[2][:5], method=method, steps=45, callback=lambda done, total, info: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)
    assert len(seen) > 1

    def stop(done, total, info):
        seen.append("asked")
        raise Cancelled

    seen.clear()
    with pytest.raises(Cancelled):
        knn.attack(blobs[2][:5], method=method, steps=45, callback=stop)
    assert seen == ["asked"]
    fresh = MahalanobisKNN(5).fit(blobs[0], blobs[1]).attack(blobs[2][:5], method=method, steps=45)
    after = knn.attack(blobs[2][:5], method=method, steps=45)
    np.testing.assert_array_equal(after.upper, fresh.upper)


@pytest.mark.more
def test_foolbox_finds_the_same_radii_from_the_same_starts():
    """The published attack in foolbox 3, on the same classifier and starting points: median radius within 10 %."""
    foolbox = pytest.importorskip("foolbox")
    import torch
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    X, y = load_digits(return_X_y=True)
    X = PCA(6, svd_solver="full").fit_transform(X)
    X = ((X - X.min(axis=0)) / np.ptp(X, axis=0)).astype(np.float32)
    knn = MahalanobisKNN(5).fit(X[:500], y[:500])
    x = X[900:940]
    labels = knn.predict(x)
    pool = X[700:900]
    strangers = np.stack([pool[np.flatnonzero(knn.predict(pool) != c)[7]] for c in labels])
    steps = 600

    class Classifier(torch.nn.Module):
        def forward(self, points):
            return torch.nn.functional.one_hot(torch.from_numpy(codes(knn, points.numpy())), 10).float()

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    theirs = foolbox.attacks.BoundaryAttack(steps=steps, tensorboard=False).run(
        foolbox.PyTorchModel(Classifier().eval(), bounds=(0, 1), device="cpu"),
        torch.from_numpy(x),
        foolbox.criteria.Misclassification(torch.from_numpy(codes(knn, x))),
        starting_points=torch.from_numpy(first_flip_on_the_way(knn, x, labels, strangers)),
    )
    ours_radii, ours = boundary_from(knn, x, strangers, steps)
    assert np.all(knn.predict(theirs.numpy()) != labels)
    assert np.all(knn.predict(ours) != labels)
    radii = np.linalg.norm(theirs.numpy() - x, axis=1)
    np.testing.assert_allclose(ours_radii, np.linalg.norm(ours - x, axis=1), rtol=1e-5)
    start = np.linalg.norm(first_flip_on_the_way(knn, x, labels, strangers) - x, axis=1)
    gained, theirs_gained = np.median(start) - np.median(ours_radii), np.median(start) - np.median(radii)
    assert theirs_gained > 0.1 * np.median(start), "too few steps to tell attacks apart"
    assert gained == pytest.approx(theirs_gained, rel=0.3)
    assert np.median(ours_radii) == pytest.approx(np.median(radii), rel=0.1)


def codes(knn, points):
    return np.searchsorted(knn.classes_, knn.predict(points))


def first_flip_on_the_way(knn, x, labels, targets):
    """From each x straight to its target in fiftieths, as both attacks begin."""
    found = targets.copy()
    for step in range(49, 0, -1):
        points = ((50 - step) / 50 * x + step / 50 * targets).astype(np.float32)
        flipped = knn.predict(points) != labels
        found[flipped] = points[flipped]
    return found


def boundary_from(knn, x, starts, steps):
    """Our attack from given points: all noise is one blank image, which counts as answered rightly."""
    own = codes(knn, x)

    def predict(points, members):
        blank = ~points.any(axis=1)
        return np.where(blank, own[members], codes(knn, points))

    blank = np.zeros(x.shape[1])
    threat = ThreatModel(box=(0, 1))
    walk = BoundaryWalk(threat.resolve(len(blank)), point_set(knn, x, threat), predict, Starts(blank, blank, starts))
    run_walks([walk], steps)
    return walk.found()
