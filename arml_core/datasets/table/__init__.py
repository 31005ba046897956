"""The door for a user's table: reading, what is wrong with it, columns to features and back, safe export.

``table, problems = read_table(file)`` reads; ``data, problems = select(table, label=…)`` chooses and scales;
``apply_layout(data.layout, other_table)`` reads a later file for the same model. Nothing is guessed silently,
nothing is imputed, no row disappears without a count.
"""

from .cells import safe_cell
from .dataset import read_dataset
from .export import counterfactuals_in_units, write_csv
from .labels import check_neighbors
from .layout import FeatureColumn, Layout, layout_of
from .limits import MAX_BYTES, MAX_COLUMNS
from .possible_changes import Rounding, possible_counterfactuals
from .problems import Problem, Problems, Remedy
from .read import ReadResult, Table, read_table
from .read_apart import read_table_apart
from .role_problems import ONE_HOT_MEANING
from .select import SelectResult, TableData, apply_layout, label_candidates, select

__all__ = [
    "MAX_BYTES",
    "MAX_COLUMNS",
    "ONE_HOT_MEANING",
    "FeatureColumn",
    "Layout",
    "Problem",
    "Problems",
    "ReadResult",
    "Remedy",
    "Rounding",
    "SelectResult",
    "Table",
    "TableData",
    "apply_layout",
    "check_neighbors",
    "counterfactuals_in_units",
    "label_candidates",
    "layout_of",
    "possible_counterfactuals",
    "read_dataset",
    "read_table",
    "read_table_apart",
    "safe_cell",
    "select",
    "write_csv",
]
