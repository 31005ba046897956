"""How much longer another visitor's click takes while a file of 50 MB is read: in the server, or in its own process.

    python -m benchmarks.reading_apart [--seconds 10]

A click is some hundredths of a second of Python, as the script of a page is. Its median and 95th percentile while
nothing is read are the baseline of the same run; the readings go on in a thread of this process, as in the server.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Callable

import numpy as np

from arml_core.datasets.table import MAX_BYTES, read_table, read_table_apart

CLICK_STEPS = 500_000
"""Steps of a loop that make a click: some hundredths of a second, longer than Python lets one thread run."""
THINK_SECONDS = 0.05


def click(due: float) -> float:
    """Seconds from when the click was made to its answer; waiting for the interpreter counts."""
    total = 0
    for k in range(CLICK_STEPS):
        total += k & 7
    return time.perf_counter() - due


def clicks(seconds: float) -> list[float]:
    until, times = time.monotonic() + seconds, []
    while time.monotonic() < until:
        due = time.perf_counter() + THINK_SECONDS
        time.sleep(THINK_SECONDS)
        times.append(click(due))
    return times


def while_reading(read: Callable[[bytes], object], content: bytes, seconds: float) -> list[float]:
    """Clicks while the file is read again and again."""
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            read(content)

    reader = threading.Thread(target=go_on)
    reader.start()
    try:
        return clicks(seconds)
    finally:
        over.set()
        reader.join()


def large_file(size: int = MAX_BYTES) -> bytes:
    rng = random.Random(0)
    lines = b"".join(b"%.9f,%.9f,%d,name %d\n" % (rng.random(), rng.random(), k % 3, k % 50) for k in range(20_000))
    return b"x1,x2,label,note\n" + lines * ((size - 100) // len(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    content = large_file()
    quiet = np.array(clicks(seconds))
    runs = {
        "in the server": while_reading(read_table, content, seconds),
        "in its own process": while_reading(read_table_apart, content, seconds),
    }
    print(f"{len(content) / 2**20:.0f} MB; a click alone: median {1000 * np.median(quiet):.1f} ms")
    for name, times in runs.items():
        middle, late = (np.quantile(times, q) / np.quantile(quiet, q) for q in (0.5, 0.95))
        print(f"read {name}: median × {middle:.2f}, 95th percentile × {late:.2f} ({len(times)} clicks)")


if __name__ == "__main__":
    main()
