"""One training and its evaluations go the whole road: asked for, computed by a real worker, read back."""

import numpy as np

from arml_core import MahalanobisKNN, load_dataset
from arml_core.jobs import Client, PointsSpec
from arml_core.learners.registry import get_learner

from ..job_requests import attack, certify, train
from .conftest import PATIENCE


def test_a_worker_gives_what_the_engine_gives(home):
    client, points = Client(), PointsSpec("test", 20)
    run = train(client, "moons", "arml", {"n_epochs": 10}, seed=5)
    proved = certify(client, run.id, 3, "votes", points=points)
    reached = attack(client, run.id, 3, "whitebox", points=points)
    for job in (run, proved, reached):
        assert client.wait(job.id, PATIENCE).state == "done", client.log(job.id)
    data = load_dataset("moons")
    metric = get_learner("arml").build({"n_epochs": 10}, random_state=5).fit(data.X_train, data.y_train)
    np.testing.assert_allclose(client.run(run.id).components_, metric.components_, atol=1e-9)
    knn = MahalanobisKNN(3, metric).fit(data.X_train, data.y_train)
    x, y = data.X_test[:20], data.y_test[:20]
    np.testing.assert_allclose(client.radii(proved.id).lower, knn.certify(x, y).lower, atol=1e-6)
    found = client.radii(reached.id)
    assert (client.radii(proved.id).lower <= found.upper).all()
    assert (knn.predict(found.adversarial[found.correct]) != y[found.correct]).all()
