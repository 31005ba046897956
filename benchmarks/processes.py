"""Processes of one data folder, found by the environment they were started with, and what they cost."""

from __future__ import annotations

import os
from pathlib import Path

from arml_core.jobs.paths import Paths
from arml_core.jobs.worker_process import worker_pid


def family(home: Path) -> list[int]:
    """Every living process whose ``ARML_HOME`` is this folder: server, worker and the worker's children."""
    wanted = f"ARML_HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # gone meanwhile, or somebody else's
            continue
    return found


def resident_mb(pid: int) -> float:
    """Memory that a process holds; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used, in its own code and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def disk_mb(folder: Path) -> float:
    """What the files of a folder take; those that go meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total / 2**20


def worker_of(home: Path) -> int | None:
    """The worker that serves this folder."""
    return worker_pid(Paths(home / "jobs"))
