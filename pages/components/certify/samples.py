"""The files that ship to be tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "data" / "samples"


@dataclass(frozen=True)
class Sample:
    """A file that ships: what it shows, and what each of its columns is for."""

    words: str
    use: Mapping[str, Any]


SAMPLES = {
    "pumps": Sample("98 pumps, ok or worn; eight are fragile", {"label": "state"}),
    "bottles": Sample("120 bottles from three machines, all robust", {"label": "machine"}),
    "messy": Sample("what real exports look like: everything goes wrong", {}),
}
