"""The numbers behind a chart as a CSV file: every digit, and no cell that a spreadsheet would run."""

from __future__ import annotations

import pandas as pd

from arml_core.datasets.table import write_csv


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV; what is missing is an empty cell."""
    rows = ([None if pd.isna(value) else value for value in row] for row in table.itertuples(index=False))
    return write_csv([str(name) for name in table.columns], rows).encode()
