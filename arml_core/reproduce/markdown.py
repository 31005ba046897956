"""Tables and lists in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..curves import robust_error
from ..numerics.arrays import FloatArray


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def rule(n: int) -> str:
    """The line under the head of a table of `n` columns."""
    return "|---" * n + "|"


def errors_cells(errors: FloatArray) -> list[str]:
    return [f"{error:.3f}" for error in errors]


def errors_table(first: str, radii: FloatArray, rows: Iterable[tuple[str, FloatArray]]) -> Iterator[str]:
    """Robust errors at `radii`; each row is a label and the radius of every point."""
    yield row([first, *(f"{radius:g}" for radius in radii)])
    yield rule(1 + len(radii))
    for label, found in rows:
        yield row([label, *errors_cells(robust_error(found, radii))])
    yield ""
