"""A progress bar on stderr that is fed by ``callback(done, total, info)``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from ..progress import Callback


@contextmanager
def progress_bar(description: str, unit: str) -> Iterator[Callback]:
    """Yield a callback that draws a bar with the time left; `info` entries that are numbers stand behind it."""
    with tqdm(desc=description, unit=unit, leave=False, dynamic_ncols=True) as bar:

        def update(done: int, total: int, info: Mapping[str, Any]) -> None:
            bar.total = total
            numbers = {k: v for k, v in info.items() if isinstance(v, (int, float))}
            if numbers:
                bar.set_postfix(numbers, refresh=False)
            bar.update(done - bar.n)

        yield update
