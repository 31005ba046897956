"""No CSV file that a page gives away holds a cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pages.components.csv_out import csv_bytes

ROOT = Path(__file__).parents[2]
RUNS = "=+-@\t\r"
NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?")


def test_numbers_keep_every_digit_and_what_is_missing_is_empty() -> None:
    table = pd.DataFrame({"method": ["=1+1", "b"], "radius": [0.1 + 0.2, np.nan], "n": [1, 2]})
    assert csv_bytes(table) == b"method,radius,n\r\n'=1+1,0.30000000000000004,1\r\nb,,2\r\n"


@pytest.mark.fuzz
@given(st.sampled_from(RUNS), st.text(max_size=10), st.text(max_size=10))
@example("+", "0", "")
def test_no_name_and_no_label_can_run(sign: str, name: str, label: str) -> None:
    content = csv_bytes(pd.DataFrame({f"{sign}{name}": [f"{sign}{label}", "x"], "y": [-1.5, 2.0]}))
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    for cell in (*header, *(cell for row in rows for cell in row)):
        assert not cell.startswith(tuple(RUNS)) or NUMBER.fullmatch(cell)  # "+1" is a number and stays one
    assert [row[1] for row in rows] == ["-1.5", "2.0"]


def test_pages_and_engine_write_csv_in_one_way() -> None:
    """Everything else than `write_csv` would have to think of formulas again."""
    allowed = {ROOT / "arml_core/datasets/table/export.py"}
    sources = [path for part in ("arml_core", "pages") for path in (ROOT / part).rglob("*.py")]
    others = [path for path in sources if path not in allowed]
    assert not [path for path in others if ".to_csv(" in path.read_text() or "csv.writer(" in path.read_text()]
