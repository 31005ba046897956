"""CROWN's radius is proved: below every attack and below the truth, and equal to it where nothing is relaxed."""

import numpy as np
import pytest

from arml_core.neural import ReLUNetwork, crown_radius
from arml_core.neural.crown import margin_bound, smallest_margin

from .networks import margin_gradient, nearest_in_polyhedron, pgd_radius, random_network, true_radius


def test_the_oracle_finds_the_nearest_point_of_a_polyhedron():
    assert nearest_in_polyhedron(np.array([[3.0, 4.0]]), np.array([10.0])) == pytest.approx(2.0)
    assert nearest_in_polyhedron(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([3.0, 4.0])) == pytest.approx(5.0)
    assert nearest_in_polyhedron(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0])) == np.inf


@pytest.mark.parametrize("widths", [[2, 3, 2], [3, 5, 3], [2, 3, 3, 3], [2, 2, 2, 2, 2]])
@pytest.mark.parametrize("seed", range(4))
def test_never_above_the_true_radius(widths, seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, widths)
    x = rng.standard_normal((4, widths[0]))
    y = network.predict(x)
    radius, _ = crown_radius(network, x, y)
    truth = np.array([true_radius(network, row, label) for row, label in zip(x, y, strict=True)])
    assert (radius <= truth * (1 + 1e-9) + 1e-9).all()
    assert (radius[truth > 1e-6] > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_never_above_an_attack(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, [6, 16, 16, 4])
    x = rng.standard_normal((5, 6))
    y = network.predict(x)
    radius, _ = crown_radius(network, x, y)
    attacked = np.array([pgd_radius(network, row, label, rng) for row, label in zip(x, y, strict=True)])
    assert np.isfinite(attacked).any()
    assert (radius <= attacked).all()


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_distance_to_a_plane_where_the_network_is_linear(seed):
    """With large biases every neuron stays on over a wide ball: there the network is one affine function."""
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((5, 3)), rng.standard_normal((3, 5))
    network = ReLUNetwork(((first, np.full(5, 50.0)), (second, -50.0 * second.sum(axis=1))))
    x = rng.standard_normal((6, 3))
    y = network.predict(x)
    radius, margin = crown_radius(network, x, y)
    for row, label, found in zip(x, y, radius, strict=True):
        others = [c for c in range(3) if c != label]
        logits = network.logits(row[None])[0]
        distances = [
            (logits[label] - logits[c]) / np.linalg.norm(margin_gradient(network, row, label, c)) for c in others
        ]
        assert found == pytest.approx(min(distances), rel=1e-7)
    assert (margin > 0).all()


def test_equal_to_the_true_radius_where_the_ball_meets_no_kink():
    rng = np.random.default_rng(0)
    equal = 0
    for _ in range(20):
        network = random_network(rng, [2, 4, 3])
        x = rng.standard_normal((1, 2))
        y = network.predict(x)
        truth = true_radius(network, x[0], int(y[0]))
        w, b = network.layers[0]
        to_kinks = np.abs(w @ x[0] + b) / np.linalg.norm(w, axis=1)
        if truth < to_kinks.min():
            equal += 1
            assert crown_radius(network, x, y)[0][0] == pytest.approx(truth, rel=1e-6)
    assert equal >= 3


def test_the_bound_holds_at_random_points_of_the_ball():
    rng = np.random.default_rng(5)
    network = random_network(rng, [4, 8, 8, 3])
    x = rng.standard_normal((3, 4))
    y = network.predict(x)
    for r in (0.05, 0.5, 2.0):
        bound = margin_bound(network, x, y, np.full(3, r))
        for row, label, least in zip(x, y, bound, strict=True):
            steps = rng.standard_normal((500, 4))
            steps *= r / np.linalg.norm(steps, axis=1, keepdims=True)
            assert smallest_margin(network, row + steps, np.full(500, label)).min() >= least


def test_a_wrong_answer_has_radius_zero_and_foreign_labels_are_refused():
    network = random_network(np.random.default_rng(1), [2, 3, 2])
    x = np.zeros((1, 2))
    wrong = 1 - network.predict(x)
    radius, margin = crown_radius(network, x, wrong)
    assert radius[0] == 0
    assert margin[0] < 0
    with pytest.raises(ValueError, match=r"labels must be whole, 0 … 1; got 2"):
        crown_radius(network, x, [2])
    with pytest.raises(ValueError, match=r"labels must be whole, 0 … 1; got 0\.9"):
        crown_radius(network, x, [0.9])
    with pytest.raises(ValueError, match="one class"):
        crown_radius(random_network(np.random.default_rng(1), [2, 3, 1]), x, [0])


def test_a_trained_network_separates_blobs_and_repeats_itself():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])[y] + 0.3 * rng.standard_normal((300, 2))
    networks = [ReLUNetwork.train(x, y, hidden=(16,), epochs=30, batch_size=30, learning_rate=0.01) for _ in range(2)]
    assert (networks[0].predict(x) == y).mean() > 0.98
    np.testing.assert_array_equal(networks[0].layers[0][0], networks[1].layers[0][0])
    assert np.median(crown_radius(networks[0], x[:20], y[:20])[0]) > 0.3


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**-560, 2.0**500])
def test_the_scale_of_the_outputs_is_of_no_account(unit):
    """The squares of these weights are no floats, but their norm is one."""
    rng = np.random.default_rng(5)
    network = random_network(rng, [3, 4, 3])
    (w, b), (v, c) = network.layers
    x = rng.standard_normal((6, 3))
    y = network.predict(x)
    expected, _ = crown_radius(network, x, y)
    found, _ = crown_radius(ReLUNetwork(((w, b), (unit * v, unit * c))), x, y)
    assert (expected > 0).any()
    np.testing.assert_allclose(found, expected, rtol=1e-7)
