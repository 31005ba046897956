"""A class that comes at once to a server that has just started: its threads import the engine from different ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arml_core.numerics.threads import cores

ROOT = Path(__file__).parents[2]
COME_AT_ONCE = """
import ast, pathlib, sys, threading
sys.setswitchinterval(1e-5)
import streamlit
scripts = sorted(pathlib.Path("pages").glob("*.py")) * 2
together = threading.Barrier(len(scripts))
def come(script):
    body = [node for node in ast.parse(script.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    code = compile(ast.Module(body, []), script.name, "exec")
    together.wait()
    try:
        exec(code, {})
    except BaseException as error:
        print(script.name, repr(error)[:300])
threads = [threading.Thread(target=come, args=(script,)) for script in scripts]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.more
def test_many_visitors_at_once_do_not_leave_the_engine_half_imported() -> None:
    """Without the common lock three of four such beginnings left every page broken until the next restart."""
    done = subprocess.run(
        [sys.executable, "-c", COME_AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == ""


THREADS = """
import pages.components.loading, torch, threadpoolctl
print(torch.get_num_threads(), *{pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
"""


@pytest.mark.more
@pytest.mark.parametrize(("asked", "got"), [(None, 1), ("2", min(2, cores()))])
def test_a_visitors_script_has_one_thread_unless_the_host_wants_more(asked: str | None, got: int) -> None:
    others = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        cwd=ROOT,
        env=others | ({} if asked is None else {"OMP_NUM_THREADS": asked}),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert {int(number) for number in done.stdout.split()} == {got}
