"""A worker in the middle of two jobs: a training that has a checkpoint and a certification with finished rows."""

import time

from arml_core import load_dataset
from arml_core.jobs import PointsSpec

from ..job_requests import certify, train

TRAINING = {"n_steps": 500, "pause": 0.01}
SEED = 3
N_POINTS = 3000
PATIENCE = 120.0


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "the jobs did not come to the middle"
        time.sleep(0.02)


def warm_both_children(client):
    """Keep one child busy until the other has done something."""
    blocker = train(client, "moons", "steady", {"n_steps": 1_000_000}).id
    wait_for(lambda: client.status(blocker).done)
    client.wait(train(client, "moons", "steady", {"n_steps": 1}).id, PATIENCE)
    client.cancel(blocker)
    client.wait(blocker, PATIENCE)


def in_the_middle(client):
    """The ids of a training and a certification that both run and have both kept something."""
    run = client.wait(train(client, load_dataset("moons", n=N_POINTS), "euclidean").id, PATIENCE).id
    warm_both_children(client)
    certification = certify(client, run, 11, points=PointsSpec("test")).id
    training = train(client, "moons", "steady", TRAINING, seed=SEED).id
    wait_for(lambda: "checkpoint" in client.log(training) and client.radii(certification) is not None)
    assert {client.status(training).state, client.status(certification).state} == {"running"}
    return training, certification
