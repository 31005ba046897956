"""Which method can certify what, as one table that also words the refusals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NotSupportedError
from ..threat import ThreatModel
from ..vocabulary import norm_of


@dataclass(frozen=True)
class Support:
    """What one certificate can do. Costs, frozen and free features, directions, switches, ties as sets: all can."""

    neighbors: str
    norms: tuple[float, ...]
    box: bool
    target: bool

    def allows(self, n_neighbors: int) -> bool:
        return {"any K": True, "odd K": n_neighbors % 2 == 1, "K = 1": n_neighbors == 1}[self.neighbors]

    def row(self, name: str) -> str:
        norms = ", ".join(norm_of(norm).name for norm in self.norms)
        box, target = "with or without a box" if self.box else "no box", "or without a " if self.target else "out "
        return f"{name}: {self.neighbors}; {norms}; {box}; with{target}target"


METHODS = {
    "theorem1": Support("odd K", (1.0, 2.0, np.inf), box=True, target=False),
    "votes": Support("any K", (1.0, 2.0, np.inf), box=True, target=True),
    "exact": Support("K = 1", (1.0, 2.0, np.inf), box=True, target=True),
    "search": Support("any K", (1.0, 2.0, np.inf), box=True, target=True),
}


def check_support(method: str, n_neighbors: int, threat: ThreatModel, target: bool = False) -> None:
    """Raise :class:`~arml_core.NotSupportedError`, with the table, for what `method` cannot certify.

    `target` says whether the answer is to become one certain class.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    support = METHODS[method]
    if not support.allows(n_neighbors):
        reason = f"'{method}' needs {support.neighbors}; this classifier has K = {n_neighbors}. Use 'votes'"
    elif threat.norm not in support.norms:
        reason = f"'{method}' cannot certify the {threat.norm_name} norm"
    elif threat.box is not None and not support.box:
        reason = f"'{method}' cannot certify inside a box"
    elif target and not support.target:
        reason = f"'{method}' counts the rows of all other classes together and knows no target. Use 'votes'"
    else:
        return
    table = "\n".join(f"  {s.row(name)}" for name, s in METHODS.items())
    raise NotSupportedError(
        f"{reason}. What is supported (costs, frozen and free features, directions, switches and ties='any' always "
        f"are):\n{table}"
    )
