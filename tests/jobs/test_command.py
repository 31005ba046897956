"""``jobs`` and ``worker`` on the command line."""

import argparse
import os
from pathlib import Path

import pytest

from arml_core.cli import jobs, worker
from arml_core.jobs import Client, new_key

from ..job_requests import train
from .conftest import PATIENCE, children_of, eventually


def command(*words):
    """Run a command as ``python -m arml_core`` would."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    jobs.register(commands)
    worker.register(commands)
    arguments = parser.parse_args(words)
    arguments.run(arguments)


def sessions_share_the_processor():
    """Whether Linux gives each session an equal share, so that the nice value of a process is not enough."""
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    return setting.exists() and setting.read_text().strip() == "1" and os.access("/proc/self/autogroup", os.W_OK)


@pytest.mark.more
def test_worker_is_started_looked_at_and_stopped(home, capsys, monkeypatch):
    monkeypatch.delenv("ARML_NICE")
    command("worker", "status")
    assert "no worker serves" in capsys.readouterr().out
    command("worker", "start")
    assert "0 running, 0 queued" in capsys.readouterr().out
    pid = Client(start=False).worker().pid
    child = eventually(lambda: children_of(pid))[0]
    eventually(lambda: os.getpgid(child) == child)
    eventually(lambda: os.getpriority(os.PRIO_PROCESS, child) == 10)  # the pages go first
    if sessions_share_the_processor():
        eventually(lambda: Path(f"/proc/{child}/autogroup").read_text().endswith("nice 10\n"))
    command("worker", "start")
    assert f"worker {pid} serves" in capsys.readouterr().out
    with pytest.raises(ValueError, match=f"process {pid}\\) already serves"):
        command("worker")
    command("worker", "stop")
    assert "stopped on purpose" in capsys.readouterr().out
    command("worker", "stop")
    assert capsys.readouterr().out == "no worker was running\n"


@pytest.mark.more
def test_jobs_are_listed_shown_cancelled_retried_and_cleaned_up(warm, capsys):
    job = train(warm, "moons", "steady", {"n_steps": 100_000}).id
    eventually(lambda: warm.status(job).seconds_left is not None)
    command("jobs", "list", "--state", "running")
    line = capsys.readouterr().out
    assert line.startswith(f"{job[:10]}  running")
    assert "/100000, " in line
    assert "left" in line
    assert line.endswith("Steady on Two moons\n")
    command("jobs", "cancel", job[:8])
    assert "cancel" in capsys.readouterr().out
    assert warm.wait(job, PATIENCE).state == "cancelled"
    command("jobs", "show", job)
    shown = capsys.readouterr().out
    assert "state    cancelled" in shown
    assert "n_steps" in shown
    assert "log\n" in shown
    command("jobs", "retry", job)
    capsys.readouterr()
    command("jobs", "cancel", job)
    warm.wait(job, PATIENCE)
    command("jobs", "gc", "--dry-run")
    assert "would free 0 bytes in 0 entries" in capsys.readouterr().out


@pytest.mark.more
def test_whoever_runs_a_shared_app_cancels_any_job(home, capsys, monkeypatch):
    monkeypatch.setenv("ARML_SHARED", "1")
    job = train(Client(owner=new_key(), start=False), "moons", "steady").id
    try:
        command("jobs", "cancel", job)
        assert capsys.readouterr().out.startswith(f"{job[:10]}  cancel")
        assert Client(shared=False, start=False).wait(job, PATIENCE).state == "cancelled"
    finally:
        Client(shared=False, start=False).stop_worker()  # the command may have started one


def test_unknown_job_is_named(warm):
    with pytest.raises(ValueError, match="there is no job 'zzz'"):
        command("jobs", "show", "zzz")


def test_nothing_to_list(home, capsys):
    command("jobs", "list")
    assert capsys.readouterr().out == "no jobs\n"
