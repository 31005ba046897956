"""A visitor of a shared app who guesses: whatever the guess, nothing of others is read, changed or given away."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arml_core import load_dataset
from arml_core.jobs import Client, NetworkSpec, RunSpec, StoreError, UnknownJob, new_key
from arml_core.neural import NetworkCurve

from ..job_requests import attack, certify, train

TITLE, CONTENT = "patients.csv", b"name,label\nAnn,ill\n"


@pytest.fixture
def hers(home, monkeypatch):
    """Everything that Ann has in a shared app: job ids, fingerprints of her data and the digest of a file."""
    monkeypatch.setenv("ARML_SHARED", "1")
    ann = Client(owner=new_key(), start=False)
    upload = dataclasses.replace(load_dataset("blobs", seed=9), group="file", name="file", title=TITLE)
    run = train(ann, upload, "lfda").id
    evaluation = certify(ann, run, 3).id
    return [run, evaluation, upload.fingerprint, ann.add_file(CONTENT, TITLE), ann.visitor.tag]


def asked(client):
    """Everything a visitor can ask for by name."""
    return [
        client.status,
        client.result,
        client.run,
        client.radii,
        client.evaluation,
        client.log,
        client.history,
        client.cancel,
        client.retry,
        client.dataset,
        client.dataset_label,
        client.file,
        lambda guess: certify(client, guess, 5),
        lambda guess: attack(client, guess, 1),
        lambda guess: client.submit(RunSpec(guess, "lfda")),
        lambda guess: client.submit(NetworkSpec.of(guess, 5, NetworkCurve())),
    ]


def near(names):
    """Names that are right, cut, changed, climbing or made up."""
    right = st.sampled_from(names)
    climbs = st.sampled_from(["../", "..\\", "/", "%2e%2e/", "./", "\0", "' OR 1=1 --", "%", "*", "_"])
    return st.one_of(
        right,
        st.builds(lambda name, end: name[:end], right, st.integers(0, 63)),
        st.builds(lambda climb, name, end: climb + name + end, climbs, right, st.sampled_from(["", ".npz", "\n", " "])),
        st.builds(lambda name: name.upper(), right),
        st.text(st.characters(codec="utf-8"), max_size=80),
        st.text("0123456789abcdef", min_size=32, max_size=32),
        st.text("0123456789abcdef", min_size=64, max_size=64),
    )


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_guess_gives_anything_of_others_away(hers, data):
    guess = data.draw(near(hers))
    owner = data.draw(st.sampled_from([None, new_key(), hers[-1], "k" * 16]))
    stranger = Client(owner=owner, start=False)
    for ask in asked(stranger):
        with pytest.raises((UnknownJob, ValueError, StoreError)) as told:
            ask(guess)
        assert TITLE not in str(told.value)
        assert "blobs" not in str(told.value)
    assert stranger.list() == []
    assert stranger.uploads() == []
