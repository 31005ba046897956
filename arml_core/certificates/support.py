"""Which method can certify what, as one table that also words the refusals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NotSupportedError
from ..threat import ThreatModel
from ..vocabulary import norm_of


@dataclass(frozen=True)
class Support:
    """What one certificate can do. Costs and frozen features are open to all of them."""

    neighbors: str
    norms: tuple[float, ...]
    box: bool

    def allows(self, n_neighbors: int) -> bool:
        return {"any K": True, "odd K": n_neighbors % 2 == 1, "K = 1": n_neighbors == 1}[self.neighbors]

    def row(self, name: str) -> str:
        norms = ", ".join(norm_of(norm).name for norm in self.norms)
        return f"{name}: {self.neighbors}; {norms}; {'with or without a box' if self.box else 'no box'}"


METHODS = {
    "theorem1": Support("odd K", (1.0, 2.0, np.inf), box=True),
    "votes": Support("any K", (1.0, 2.0, np.inf), box=True),
    "exact": Support("K = 1", (1.0, 2.0, np.inf), box=True),
    "search": Support("any K", (1.0, 2.0, np.inf), box=True),
}


def check_support(method: str, n_neighbors: int, threat: ThreatModel) -> None:
    """Raise :class:`~arml_core.NotSupportedError`, with the table, for what `method` cannot certify."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    support = METHODS[method]
    if not support.allows(n_neighbors):
        reason = f"'{method}' needs {support.neighbors}; this classifier has K = {n_neighbors}. Use 'votes'"
    elif threat.norm not in support.norms:
        reason = f"'{method}' cannot certify the {threat.norm_name} norm"
    elif threat.box is not None and not support.box:
        reason = f"'{method}' cannot certify inside a box"
    else:
        return
    table = "\n".join(f"  {s.row(name)}" for name, s in METHODS.items())
    raise NotSupportedError(f"{reason}. What is supported (costs and frozen features always are):\n{table}")
