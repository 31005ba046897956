"""The rows of a user's file with their verdicts: what a small change could flip, in the file's units, to take away."""

from .certified_table import (
    CertifiedTable,
    Change,
    Flips,
    alone_words,
    changes_of,
    counterfactuals,
    measured_in,
    only_by_parts,
    step_alone,
    with_possible_changes,
)
from .export import changed_csv, verdict_csv
from .html import html_report
from .reference_cells import ReferenceCells, reference_cells
from .summary import (
    Histogram,
    count_verdicts,
    largest_finite_radius,
    radius_histogram,
    suggested_radius,
)

__all__ = [
    "CertifiedTable",
    "Change",
    "Flips",
    "Histogram",
    "ReferenceCells",
    "alone_words",
    "changed_csv",
    "changes_of",
    "count_verdicts",
    "counterfactuals",
    "html_report",
    "largest_finite_radius",
    "measured_in",
    "only_by_parts",
    "radius_histogram",
    "reference_cells",
    "step_alone",
    "suggested_radius",
    "verdict_csv",
    "with_possible_changes",
]
