"""Many clients, several servers: none lost, none doubled, order kept."""

import sqlite3

import pytest

from arml_core.jobs import Client
from arml_core.jobs.states import ACTIVE

from .conftest import PATIENCE, eventually, run_python

pytestmark = pytest.mark.more

N_JOBS, N_CLIENTS = 200, 8
N_PROCESSES = 2
_CLIENTS = """
from concurrent.futures import ThreadPoolExecutor
from arml_core.jobs import Client
from tests.job_requests import train

def ask(number):
    client = Client(start=False)  # with a connection of its own
    for turn in range({turns}):
        # every job is asked for by two clients, with a priority that depends on the job alone
        for seed in (turn * {clients} + number, turn * {clients} + (number + 1) % {clients}):
            train(client, "moons", "steady", {{"n_steps": 1, "pause": 0.0}}, seed=seed, priority=seed % 3)

with ThreadPoolExecutor(len({numbers})) as pool:
    list(pool.map(ask, {numbers}))
print("asked", flush=True)
"""


def test_two_hundred_jobs_from_eight_clients(home):
    turns = N_JOBS // N_CLIENTS
    shares = [list(range(start, N_CLIENTS, N_PROCESSES)) for start in range(N_PROCESSES)]
    clients = [run_python(_CLIENTS.format(turns=turns, clients=N_CLIENTS, numbers=share)) for share in shares]
    client = Client(start=False)
    asked = [process.communicate(timeout=180)[0] for process in clients]
    assert asked == ["asked\n"] * N_PROCESSES
    queued = client.list(("queued",), limit=1000)
    assert len(queued) == N_JOBS
    with sqlite3.connect(client.store.paths.database) as connection:
        connection.execute("CREATE TABLE starts (id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT)")
        connection.execute(
            "CREATE TRIGGER started AFTER UPDATE OF lease ON jobs WHEN NEW.lease IS NOT NULL AND "
            "NEW.lease IS NOT OLD.lease BEGIN INSERT INTO starts (job) VALUES (NEW.id); END"
        )
    Client().start_worker()
    eventually(lambda: not client.list(ACTIVE, limit=1), 2 * PATIENCE)
    done = client.list(("done",), limit=1000)
    assert {status.id for status in done} == {status.id for status in queued}
    assert all(status.attempt == 1 for status in done)
    with sqlite3.connect(client.store.paths.database) as connection:
        started = [row[0] for row in connection.execute("SELECT job FROM starts ORDER BY id")]
    assert started == [status.id for status in queued]  # each once, by priority and then by turn


def test_two_servers_on_one_home(home):
    code = """
from arml_core.jobs import Client
from tests.job_requests import train
client = Client()
job = train(client, "moons", "steady", {"n_steps": 60}, seed=4)
status = client.wait(job.id, 120)
print(status.id, status.state, client.worker().pid, float(client.run(job.id).components_.sum()), flush=True)
"""
    servers = [run_python(code) for _ in range(2)]
    answers = {process.communicate(timeout=150)[0] for process in servers}
    assert len(answers) == 1
    assert " done " in answers.pop()
    assert [status.attempt for status in Client(start=False).list()] == [1]
