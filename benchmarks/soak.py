"""The dashboard under mixed use for a while, with accidents: what is lost, left behind or growing at the end?

    python -m benchmarks.soak [--minutes 15] [--output FILE]

A real server, one Chromium and nine scripted visitors who open pages, play, train, certify, upload and cancel. The
worker is killed every now and then. The server is ended once and killed once, both in the first quarter; the last of
its three lives lasts until the end, and its memory is compared: the median over the tenth of the run that begins at
45 %, when every page has been visited many times, with the median over the last tenth. Exit code 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import URLError
from urllib.parse import parse_qsl

from websockets.exceptions import WebSocketException

from arml_core.jobs import Client, Store
from arml_core.jobs.paths import Paths
from arml_core.jobs.states import ACTIVE, CANCELLED, DONE, FAILED
from benchmarks.processes import disk_mb, family, resident_mb, worker_of
from tests.browser.dashboard import ROOT, chromium, click_place, settle, stop_worker
from tests.browser.scripted_visitor import Refused, Visitor

VISITORS = 9
PAGES = ("", "playground", "train", "compare", "certify", "inspect", "paper")
MOST_ACTIVE = 10
"""Visitors do not ask for more work while so much waits."""
THINK_SECONDS = (4.0, 16.0)
KILL_EVERY = 90.0
REST_SECONDS = 240.0
RECOVERY_SECONDS = 20.0
MOST_PROCESSES = 8
"""Server, worker, two children at work, and those of a worker that was killed a moment ago."""
MOST_GROWTH = 0.10
MOST_DISK_MB = 300.0
RESTARTS = (0.08, 0.2)
WARM, WINDOW = 0.45, 0.1
CERTIFIED = [("file", "pumps"), ("use", '{"label":"state"}')]
FAULTS = re.compile(r"Traceback|Uncaught|\bERROR\b|Exception|Error:")
DISCONNECTED = re.compile(
    r"WebSocket|ERR_CONNECTION|ERR_EMPTY|ERR_NETWORK|ERR_INCOMPLETE|Failed to fetch|NetworkError|could not be loaded|"
    r"disconnected from server"
)
LOOKING_FOR_SERVER = re.compile(r"/\w+/_stcore/(health|host-config)$")


class Server:
    """The dashboard, which may be ended and started again on the same port."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = int(listener.getsockname()[1])
        self.home, self.base = home, f"http://localhost:{self.port}"
        self.lives = 0
        self.down: list[tuple[float, float]] = []
        self.start()

    def start(self) -> None:
        began = time.monotonic()
        self.lives += 1
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={self.port}"]
        environment = {**os.environ, "ARML_HOME": str(self.home)}
        with (self.home / f"server-{self.lives}.log").open("wb") as out:
            self.process = subprocess.Popen(
                [*command, "--server.headless=true"], cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT
            )
        while self.process.poll() is None and time.monotonic() < began + 90:
            try:
                socket.create_connection(("localhost", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError((self.home / f"server-{self.lives}.log").read_text(errors="replace")[-3000:])

    def restart(self, how: signal.Signals) -> None:
        began = time.monotonic()
        self.down.append((began, math.inf))
        self.process.send_signal(how)
        self.process.wait(60)
        self.start()
        self.down[-1] = (began, time.monotonic() + RECOVERY_SECONDS)

    def is_away(self) -> bool:
        """Whether it is down, or was a moment ago: visitors and browsers may say so then."""
        return self.was_away_since(time.monotonic())

    def was_away_since(self, begun: float) -> bool:
        return any(end >= begun for _, end in self.down)


class Soak:
    """One run: what was done, seen and found."""

    def __init__(self, home: Path, minutes: float, seed: int) -> None:
        self.home, self.seconds, self.seed = home, 60 * minutes, seed
        self.done: Counter[str] = Counter()
        self.problems: list[tuple[float, str]] = []
        self.jobs: set[str] = set()
        self.memory: list[tuple[float, int, float]] = []
        self.processes: list[int] = []
        self.killed = 0
        self.taken_up: set[str] = set()
        self.over = threading.Event()
        self.server = Server(home)
        self.client = Client(Store(Paths(home / "jobs")), start=False)
        self.began = time.monotonic()

    def run(self) -> None:
        tasks: list[Callable[[], None]] = [partial(self._visit, number) for number in range(VISITORS)]
        tasks += [self._watch, self._accidents]
        threads = [threading.Thread(target=self._to_the_end, args=(task,), daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        with chromium() as browser:
            self._browse(browser)
        self.over.set()
        for thread in threads:
            thread.join(120)
            if thread.is_alive():
                self.note("a visitor hangs")

    def note(self, words: str) -> None:
        self.problems.append((time.monotonic(), words))

    def _to_the_end(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:  # a thread that ends early is a finding, whatever it was
            self.note(f"the soak itself stopped in part: {error!r}")

    def part(self) -> float:
        return (time.monotonic() - self.began) / self.seconds

    # visitors -----------------------------------------------------------------------------------------------------

    def _visit(self, number: int) -> None:
        chance = random.Random(self.seed * 100 + number)
        visitor: Visitor | None = None
        while not self.over.is_set():
            try:
                if visitor is None or chance.random() < 0.06:
                    if visitor is not None:
                        self._leave(visitor)
                    visitor = Visitor(self.server.base)
                    self.done["arrivals"] += 1
                self._act(visitor, chance)
                visitor.stay(chance.uniform(*THINK_SECONDS))
            except Refused as refusal:
                if not self.server.is_away():
                    self.note(str(refusal))
            except (OSError, URLError, WebSocketException) as error:
                if not self.server.is_away():
                    self.note(f"a visitor lost the connection: {error!r}")
                if visitor is not None:
                    with suppress(OSError, WebSocketException):
                        self._leave(visitor)
                visitor = None
                self.done["lost connections"] += 1
                self.over.wait(1.0)
        if visitor is not None:
            with suppress(OSError, WebSocketException):
                self._leave(visitor)

    def _leave(self, visitor: Visitor) -> None:
        for words in visitor.problems:
            self.note(words)
        visitor.close()

    def _act(self, visitor: Visitor, chance: random.Random) -> None:
        busy = len(self.client.list(ACTIVE, limit=100)) >= MOST_ACTIVE
        acts: dict[Callable[[Visitor, random.Random], None], float] = {
            self._look: 40,
            self._play: 25,
            self._train: 0 if busy else 10,
            self._train_and_cancel: 0 if busy else 5,
            self._certify: 0 if busy else 8,
            self._upload: 0 if busy else 6,
        }
        act = chance.choices(list(acts), list(acts.values()))[0]
        act(visitor, chance)
        self.done[act.__name__.strip("_").replace("_", " ")] += 1

    def _look(self, visitor: Visitor, chance: random.Random) -> None:
        page = chance.choice(PAGES)
        query = {
            "compare": {"data": chance.choice(["splice", "pendigits", "satimage"]), "eps": f"{chance.random():.2f}"},
            "inspect": {"data": chance.choice(["iris", "digits", "wine"]), "row": str(chance.randrange(20)), "k": "1"},
            "paper": {"show": chance.choice(["summary", "table1", "table2", "figure1", "runtime"])},
        }.get(page, {})
        visitor.open(page, query)

    def _play(self, visitor: Visitor, chance: random.Random) -> None:
        place = f"{chance.uniform(-0.5, 1.5):.2f}_{chance.uniform(-0.5, 1.5):.2f}"
        data = chance.choice(["seven_points", "moons", "blobs"])
        norm = chance.choice(["l1", "l2", "linf"])
        visitor.open("playground", {"data": data, "at": place, "k": str(chance.randint(1, 5)), "norm": norm})

    def _train(self, visitor: Visitor, chance: random.Random) -> None:
        method = chance.choice(["arml", "lfda", "itml", "nca"])
        query = {"datasets": chance.choice(["iris", "wine"]), "methods": method, "seeds": str(chance.randrange(10**6))}
        if method == "arml":
            query["settings"] = f"arml:n_epochs:{chance.randint(20, 300)}"
        visitor.open("train", query)
        visitor.press("train_start")

    def _train_and_cancel(self, visitor: Visitor, chance: random.Random) -> None:
        seed = str(chance.randrange(10**6))
        settings = "arml:n_epochs:1000000"
        visitor.open("train", {"datasets": "wine", "methods": "arml", "seeds": seed, "settings": settings})
        visitor.press("train_start")
        try:
            visitor.stay(chance.uniform(0, 8))
            visitor.press(next(key for key in visitor.widgets if key == "train_cancel"))
        except StopIteration:
            self._cancel_all(seed)
        except (Refused, OSError, WebSocketException):
            self._cancel_all(seed)
            raise

    def _cancel_all(self, seed: str) -> None:
        """What its visitor could not cancel would run for hours."""
        for job in self.client.list(ACTIVE, limit=100):
            if job.content.get("seed") == int(seed):
                self.client.cancel(job.id)

    def _certify(self, visitor: Visitor, chance: random.Random) -> None:
        k, method = chance.choice([(1, "exact"), (3, "votes"), (5, "theorem1"), (2, "search")])
        budget = f"{chance.uniform(0.01, 0.05):.4f}"  # other work each time
        visitor.open("certify", dict([*CERTIFIED, ("k", str(k)), ("method", method), ("budget", budget)]))
        visitor.press("cf_start")

    def _upload(self, visitor: Visitor, chance: random.Random) -> None:
        lines = [f"{chance.gauss(0, 1):.4f},{chance.gauss(0, 1):.4f},{chance.choice('ab')}" for _ in range(60)]
        visitor.open("certify")
        if "cf_another_file" in visitor.widgets:  # the page shows the file that was left there before
            visitor.press("cf_another_file")
        visitor.upload("cf_upload_file", "mine.csv", "\n".join(["x1,x2,label", *lines]).encode())
        query = dict(parse_qsl(visitor.query)) | {"use": json.dumps({"label": "label"})}
        visitor.open("certify", query)
        visitor.press("cf_start")

    # Chromium -----------------------------------------------------------------------------------------------------

    def _browse(self, browser: Any) -> None:
        chance = random.Random(self.seed)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.on("pageerror", lambda error: self._browser_problem(f"page error: {error}", ""))
        page.on("console", lambda line: self._console(line))
        while time.monotonic() - self.began < self.seconds:
            path, begun = chance.choice(PAGES), time.monotonic()
            try:
                page.goto(f"{self.server.base}/{path}")
                settle(page, seconds=60, chart=path in ("", "playground"))
                for _ in range(3 if path == "playground" else 0):
                    click_place(page, 0, chance.uniform(0, 1), chance.uniform(0, 1))
                    page.wait_for_timeout(500)
                    self.done["clicks in Chromium"] += 1
                self.done["pages in Chromium"] += 1
                page.wait_for_timeout(1500)
                if page.locator("[data-testid=stException]").count():
                    self.note(f"Chromium shows an exception on /{path}")
            except Exception as error:  # Playwright has no narrower class for a page that went away
                if not self.server.was_away_since(begun):  # a page half loaded then stays so until it is opened again
                    self.note(f"Chromium on /{path}: {str(error)[:300]}")
                time.sleep(1.0)

    def _console(self, line: Any) -> None:
        if line.type == "error" and not LOOKING_FOR_SERVER.search(line.location.get("url", "")):
            self._browser_problem(f"console: {line.text}", line.text)

    def _browser_problem(self, words: str, text: str) -> None:
        if not (DISCONNECTED.search(text) and self.server.is_away()):
            self.note(words)

    # accidents and figures ----------------------------------------------------------------------------------------

    def _accidents(self) -> None:
        waiting = [(part, how) for part, how in zip(RESTARTS, (signal.SIGTERM, signal.SIGKILL), strict=True)]
        next_kill = time.monotonic() + KILL_EVERY / 2
        while not self.over.wait(0.3):
            if waiting and self.part() > waiting[0][0]:
                self.server.restart(waiting.pop(0)[1])
                self.done["server restarts"] += 1
            if time.monotonic() > next_kill and self._kill_worker():
                next_kill = time.monotonic() + KILL_EVERY

    def _kill_worker(self) -> bool:
        """kill -9 while a job runs, if it was not taken up before: a job is tried twice, not more."""
        running = self.client.list(("running",), limit=100)
        pid = worker_of(self.home)
        if pid is None or not running or any(job.id in self.taken_up for job in running):
            return False
        self.taken_up |= {job.id for job in running}
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.killed += 1
        return True

    def _watch(self) -> None:
        while not self.over.wait(1.0):
            self.memory.append((self.part(), self.server.lives, resident_mb(self.server.process.pid)))
            self.processes.append(len(family(self.home)))
            self.jobs |= {job.id for job in self.client.list(limit=100_000)}

    def memory_at(self, begin: float) -> float:
        found = [mb for part, life, mb in self.memory if begin <= part <= begin + WINDOW and life == self.server.lives]
        return median(found) if found else float("nan")


Figure = tuple[str, str, bool]


def rested(soak: Soak) -> Figure:
    """Every job comes to an end by itself, with a reason where it failed."""
    until = time.monotonic() + REST_SECONDS
    asleep = Client(Store(Paths(soak.home / "jobs")))  # starts a worker if one is missing, as any page does
    while asleep.list(ACTIVE, limit=1) and time.monotonic() < until:
        asleep.start_worker()
        time.sleep(0.5)
    jobs = {job.id: job for job in soak.client.list(limit=100_000)}
    states = Counter(job.state for job in jobs.values())
    fine = {DONE, CANCELLED, FAILED}
    bad = [job for job in jobs.values() if job.state not in fine or (job.state == FAILED and not job.reason)]
    for job in bad:
        soak.note(f"job {job.id} ({job.title}) is {job.state}: {job.reason or job.note}")
    gone = soak.jobs - set(jobs)
    words = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
    return "jobs at rest", f"{words}; {len(gone)} gone", not bad and not gone


def retried(soak: Soak) -> Figure:
    """What ran when the worker was killed was taken up again."""
    jobs = {job.id: job for job in soak.client.list(limit=100_000)}
    ends = Counter(jobs[job].state if job in jobs else "gone" for job in soak.taken_up)
    words = ", ".join(f"{n} {state}" for state, n in sorted(ends.items())) or "none"
    return (
        "worker kills; jobs then running",
        f"{soak.killed}; {words}",
        not ends["lost"] + ends["gone"] + ends["failed"],
    )


def grown(soak: Soak) -> Figure:
    warm, end = soak.memory_at(WARM), soak.memory_at(1 - WINDOW)
    growth = end / warm - 1
    return "server memory, warm → end", f"{warm:.0f} → {end:.0f} MB ({growth:+.1%})", growth <= MOST_GROWTH


def stored(soak: Soak) -> list[Figure]:
    answer = soak.client.store.database.integrity()
    before = disk_mb(soak.home)
    freed = soak.client.gc(dry_run=False)
    after = disk_mb(soak.home)
    words = f"{before:.1f} MB, {after:.1f} MB after gc of {len(freed)}"
    return [
        ("integrity of the database", answer, answer == "ok"),
        ("disk", words, before <= MOST_DISK_MB and after <= before + 1.0),
    ]


def left_behind(soak: Soak) -> Figure:
    """Stop everything as its owner would; then nothing may be left."""
    stop_worker(soak.home)
    soak.server.process.terminate()
    soak.server.process.wait(60)
    until = time.monotonic() + 15
    while family(soak.home) and time.monotonic() < until:
        time.sleep(0.5)
    left, most = family(soak.home), max(soak.processes, default=0)
    fine = not left and most <= MOST_PROCESSES
    return "processes at most; left at the end", f"{most}; {len(left)}", fine


def said(soak: Soak) -> list[Figure]:
    lines = [
        f"{path.name}: {line}"
        for path in [*sorted(soak.home.glob("server-*.log")), Paths(soak.home / "jobs").worker_log]
        if path.exists()
        for line in path.read_text(errors="replace").splitlines()
        if FAULTS.search(line)
    ]
    seen = [f"at {(at - soak.began) / 60:.1f} min: {words}" for at, words in soak.problems]
    return [
        ("exceptions in the logs", str(len(lines)) + "".join(f"\n    {line[:200]}" for line in lines[:10]), not lines),
        ("errors seen by visitors", str(len(seen)) + "".join(f"\n    {line[:300]}" for line in seen[:15]), not seen),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="a file for the table")
    parser.add_argument("--keep", action="store_true", help="keep the data folder and its logs")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="arml-soak-"))
    soak = Soak(home, options.minutes, options.seed)
    try:
        soak.run()
        figures = [rested(soak), retried(soak), grown(soak), *stored(soak), left_behind(soak), *said(soak)]
    finally:
        stop_worker(home)
        if soak.server.process.poll() is None:
            soak.server.process.kill()
    did = ", ".join(f"{n} {what}" for what, n in sorted(soak.done.items()))
    table = [f"{options.minutes:g} minutes, 1 Chromium and {VISITORS} scripted visitors: {did}"]
    table += [f"{name:<36}{'kept  ' if fine else 'BROKEN'}  {words}" for name, words, fine in figures]
    text = "\n".join(table)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    if options.keep:
        print(f"kept: {home}")
    else:
        shutil.rmtree(home, ignore_errors=True)
    return 0 if all(fine for _, _, fine in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
