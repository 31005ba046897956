"""What the Paper page shows, as one value that travels in the address."""

from __future__ import annotations

from dataclasses import dataclass

from arml_core.reproduce.figure2 import SIGMAS
from arml_core.reproduce.plan import COLUMNS, SENSITIVITY
from arml_core.reproduce.published import METHODS, TITLES, K

from ..address import Choices, one_of, several_of
from ..bound_widgets import BoundWidgets

SECTIONS = {
    "summary": "Summary",
    "table1": "Table 1",
    "table2": "Table 2",
    "figure1": "Figure 1",
    "figure2": "Figure 2",
    "sensitivity": "Figures 3 and 4",
    "runtime": "Runtime",
    "datasets": "Datasets",
}
HIDEABLE = ("sections", "data", "detail", "export", "python")
NETWORKS = ("crown", *(f"sigma-{sigma:g}" for sigma in SIGMAS))
"""The curves of Figure 2 that networks make, in the order of the plan."""
KS = ("1", str(K))
SIZES = tuple(str(size) for size in SENSITIVITY)


@dataclass(frozen=True)
class PaperView:
    """The table or figure, and the number that is shown in detail: dataset, metric, column of ours,
    neighbourhood, network, K.
    """

    show: str = "summary"
    data: str = "splice"
    method: str = "euclidean"
    column: str = "theorem1"
    size: str = "10"
    network: str = "crown"
    k: str = "1"
    hide: tuple[str, ...] = ()


CHOICES = Choices(
    "paper",
    PaperView(),
    {
        "show": one_of(tuple(SECTIONS)),
        "data": one_of(tuple(TITLES)),
        "method": one_of(tuple(METHODS)),
        "column": one_of(tuple(COLUMNS)),
        "size": one_of(SIZES),
        "network": one_of(NETWORKS),
        "k": one_of(KS),
        "hide": several_of(HIDEABLE),
    },
)


WIDGETS = BoundWidgets("paper", CHOICES.update)


def value_or_first(value: str, options: dict[str, str]) -> str:
    """The chosen value where this section has it, else the first one it has."""
    return value if value in options else next(iter(options))
