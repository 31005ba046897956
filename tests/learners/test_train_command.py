"""``python -m arml_core train``."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import arml_core as arml
from arml_core.cli import train
from arml_core.learners.arml import ARML
from arml_core.learners.storage import load_metric

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}


def run(*words: str) -> None:
    parser = argparse.ArgumentParser()
    train.register(parser.add_subparsers())
    arguments = parser.parse_args(["train", *words])
    arguments.run(arguments)


def test_saves_what_the_library_learns(tmp_path, capsys):
    path = tmp_path / "iris.npz"
    run("iris", "arml", "-p", "n_epochs=20", "--seed", "3", "-o", str(path))
    data = arml.load_dataset("iris")
    saved = load_metric(path)
    expected = ARML(20, random_state=3).fit(data.X_train, data.y_train)
    np.testing.assert_array_equal(saved.components_, expected.components_)
    assert saved.info["dataset"] == "iris"
    assert saved.info["fingerprint"] == data.fingerprint
    assert saved.info["seed"] == 3
    assert saved.info["parameters"]["n_epochs"] == 20
    out = capsys.readouterr().out
    assert "ARML on" in out
    assert "about a second" in out
    assert f"saved {path}" in out


def test_references_are_saved_with_their_classes(tmp_path, capsys):
    path = tmp_path / "iris.npz"
    run("iris", "robust_prototypes", "-p", "n_prototypes=2", "-p", "radius=auto", "--seed", "3", "-o", str(path))
    data = arml.load_dataset("iris")
    expected = arml.RobustPrototypes(2, random_state=3).fit(data.X_train, data.y_train)
    saved = load_metric(path)
    np.testing.assert_array_equal(saved.references_, expected.references_)
    assert saved.info["class_names"] == list(data.class_names)
    assert saved.info["parameters"]["radius"] == "auto"
    assert "6 references" in capsys.readouterr().out


def test_learner_without_a_seed(tmp_path):
    run("iris", "lfda", "-o", str(tmp_path / "m.npz"))
    assert load_metric(tmp_path / "m.npz").info["learner"] == "LFDA"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuchset",), "there is no dataset 'nosuchset'"),
        (("iris", "-p", "epochs=3"), "ARML has no parameter 'epochs'"),
        (("iris", "-p", "n_epochs"), "--set wants NAME=VALUE; got 'n_epochs'"),
        (("iris", "-p", "n_epochs=0"), "n_epochs must be an integer from 1"),
        (("iris", "-o", "nofolder/m.npz"), "there is no folder nofolder"),
        (("iris", "-o", "m.pkl"), "must be a .npz file; got m.pkl"),
        (("iris", "-p", "learning_rate=1e200", "-p", "n_epochs=20"), "ARML stopped"),
    ],
)
def test_mistakes_are_value_errors_and_write_nothing(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        run(*words)
    assert list(tmp_path.iterdir()) == []


def test_existing_file_is_kept_unless_forced(tmp_path):
    path = tmp_path / "m.npz"
    path.write_text("mine")
    with pytest.raises(ValueError, match="exists; use --force"):
        run("iris", "euclidean", "-o", str(path))
    assert path.read_text() == "mine"
    run("iris", "euclidean", "-o", str(path), "--force")
    assert load_metric(path).metric.is_identity


@pytest.mark.more
@pytest.mark.parametrize("learner", ["arml", "lmnn"])
def test_ctrl_c_in_the_middle_says_so_and_leaves_nothing(learner, tmp_path):
    """A real process with a terminal's signal; the file that was there stays as it was."""
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    old.write_text("mine")
    settings = {"arml": ["n_epochs=100000"], "lmnn": ["min_iter=9999", "max_iter=9999"]}[learner]
    for path in (old, new):
        command = [sys.executable, "-m", "arml_core", "train", "digits", learner, "--force", "-o", str(path)]
        command += [word for setting in settings for word in ("-p", setting)]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # not so in a background shell
        )
        try:
            assert "digits" in process.stdout.readline().lower()  # it is past its imports
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode in (130, -signal.SIGINT), said  # a shell shows 130 for either
        assert said.rstrip().endswith("stopped")
        assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["old.npz"]
    assert old.read_text() == "mine"
