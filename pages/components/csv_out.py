"""The numbers behind a chart as a CSV file: every digit, and no cell that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from arml_core.datasets.table import write_csv


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV; what is missing is an empty cell."""
    rows = ([None if pd.isna(value) else value for value in row] for row in table.itertuples(index=False))
    return write_csv([str(name) for name in table.columns], rows).encode()


def csv_button(
    label: str, table: Callable[[], pd.DataFrame], *, file_name: str, key: str, help: str | None = None
) -> None:
    """A button for a table as a file; `table` is called when the file is asked for."""
    st.download_button(
        label,
        data=lambda: csv_bytes(table()),
        file_name=file_name,
        mime="text/csv",
        key=key,
        on_click="ignore",
        help=help,
    )
