"""Asking a client for work in one line, as many tests do."""

from arml_core.jobs import EvaluationSpec, RunSpec


def train(client, dataset, learner="arml", parameters=None, seed=0, device="auto", priority=0):
    """Ask for a training on a dataset or on the one with a name."""
    spec = RunSpec(client.add_dataset(dataset), learner, dict(parameters or {}), seed, device)
    return client.submit(spec, priority)


def certify(client, run, *arguments, priority=0, **settings):
    """Ask for certificates of a run's metric; the rest is that of :class:`EvaluationSpec`."""
    return client.submit(EvaluationSpec("certify", run, *arguments, **settings), priority)


def attack(client, run, *arguments, priority=0, **settings):
    """Ask for attacks on a run's metric."""
    return client.submit(EvaluationSpec("attack", run, *arguments, **settings), priority)
