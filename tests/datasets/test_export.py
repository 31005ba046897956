"""Export: nothing a spreadsheet would run, and counterfactuals that stay counterfactuals."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN
from arml_core.datasets.table import apply_layout, counterfactuals_in_units, read_table, safe_cell, select, write_csv
from arml_core.datasets.table.cells import restored_cell


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx", "=", "-", "'=1", "＝1", "-1+cmd", '"=1']
)
def test_cells_that_could_run_get_a_quote(cell: str) -> None:
    assert safe_cell(cell) == "'" + cell
    assert restored_cell(safe_cell(cell)) == cell


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("ok;=1+1", "ok;'=1+1"),
        ("ok\t@x", "ok\t'@x"),
        ("a\n-x", "a\n'-x"),
        ('a;"=1;', "a;'\"=1;"),
        ("=1,'+2", "'=1,''+2"),
    ],
)
def test_every_part_that_is_a_cell_of_its_own_elsewhere_gets_a_quote(cell: str, written: str) -> None:
    assert safe_cell(cell) == written
    assert restored_cell(written) == cell


@pytest.mark.parametrize("cell", ["abc", "1", "-1.5", "+2e-3", "-1,5", "a=b", "'abc", "", "a; b", "one\r\ntwo", "a;'b"])
def test_other_cells_and_plain_numbers_stay(cell: str) -> None:
    assert safe_cell(cell) == cell


@pytest.mark.fuzz
@given(st.text())
def test_the_quote_can_always_be_taken_off_again(text: str) -> None:
    assert restored_cell(safe_cell(text)) == text


@pytest.mark.fuzz
@given(st.text(st.sampled_from("=+-@'\",;\t\r\n x")))
def test_no_part_runs_wherever_a_spreadsheet_splits(text: str) -> None:
    assert restored_cell(safe_cell(text)) == text
    for separators in (",", ";", "\t", ",;\t", ",\r\n", ";\r\n", "\t\r\n"):
        parts = re.split(f"[{separators}]", safe_cell(text))
        assert not [part for part in parts if part.lstrip('"').startswith(("=", "+", "-", "@"))]
        assert "\n" in separators or not [part for part in parts if part.startswith(("\t", "\r"))]


@pytest.mark.fuzz
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text(st.characters(codec="utf-8"), min_size=1)),
        min_size=2,
    )
)
def test_what_is_written_reads_back_the_same(rows: list[tuple[float, str]]) -> None:
    rows = [(value, f"<{text}>".replace("\x00", "")) for value, text in rows]
    table, _ = read_table(write_csv(["x", "text"], rows).encode(), separator=",", decimal=".", header=True)
    assert table is not None
    assert table.column("x").values.tolist() == [value for value, _ in rows]
    column = table.column("text")
    assert column.texts is not None
    assert column.codes is not None
    # a carriage return inside quotes is kept as it is, too
    assert [column.texts[code] for code in column.codes] == [text for _, text in rows]


def test_header_and_labels_are_made_safe_and_come_back() -> None:
    text = write_csv(["=x", "label"], [[-1.5, "+"], [np.float64(2), "-"], [np.int64(3), "=1+1"], [None, "@"]])
    assert text == "'=x,label\r\n-1.5,'+\r\n2.0,'-\r\n3,'=1+1\r\n,'@\r\n"
    table, _ = read_table(text.encode())
    assert table is not None
    assert table.names == ("=x", "label")
    assert table.column("label").texts == ("+", "-", "=1+1", "@")


def nearest(train: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """1-NN by brute force; ties go to the earlier row."""
    return y[((rows[:, None] - train[None]) ** 2).sum(axis=2).argmin(axis=1)]


@pytest.mark.parametrize("scaling", ["none", "minmax", "standard"])
def test_a_written_counterfactual_is_really_classified_differently(scaling: str) -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(1e4, 300, 80), rng.normal(0.003, 0.001, 80), rng.uniform(-5, 5, 80)])
    labels = np.where(rows[:, 0] / 300 + rows[:, 2] > 1e4 / 300, "high", "low")
    content = write_csv(["mass", "share", "angle", "label"], [[*row, label] for row, label in zip(rows, labels)])  # noqa: B905
    table, _ = read_table(content.encode())
    assert table is not None
    data, found = select(table, label="label", scaling=scaling)  # type: ignore[arg-type]
    assert data is not None, found
    assert data.y is not None
    answers = nearest(data.X, data.y, data.X)
    # walk towards the nearest row of the other class, and stop on the last bit before the answer changes back
    distances = ((data.X[:, None] - data.X[None]) ** 2).sum(axis=2)
    other = data.X[np.where(data.y[:, None] != data.y[None], distances, np.inf).argmin(axis=1)]
    low, high = np.zeros(80), np.ones(80)
    for _ in range(60):
        middle = (low + high) / 2
        flipped = nearest(data.X, data.y, data.X + middle[:, None] * (other - data.X)) != answers
        low, high = np.where(flipped, low, middle), np.where(flipped, middle, high)
    adversarial = data.X + high[:, None] * (other - data.X)
    adversarial[5] = np.nan

    def flips(points: np.ndarray) -> np.ndarray:
        return nearest(data.X, data.y, points) != answers

    raw = counterfactuals_in_units(data.layout.scaling, data.X, adversarial, flips)
    assert np.isnan(raw[5]).all()
    kept = np.delete(np.arange(80), 5)
    again, _ = read_table(write_csv(data.layout.feature_names, raw[kept].tolist()).encode())
    assert again is not None
    back, found = apply_layout(data.layout, again)
    assert back is not None, found
    assert (nearest(data.X, data.y, back.X) != answers[kept]).all()
    moved = np.linalg.norm(back.X - adversarial[kept], axis=1)
    assert (moved <= 1e-5 * np.linalg.norm(adversarial - data.X, axis=1)[kept]).all()


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_an_attack_found_by_the_engine_survives_the_file(n_neighbors: int) -> None:
    table, _ = read_table(Path(__file__).parents[2] / "data" / "samples" / "pumps.csv")
    assert table is not None
    data, _ = select(table, label="state", scaling="standard")
    assert data is not None
    knn = MahalanobisKNN(n_neighbors=n_neighbors).fit(data.X, data.y)
    rows = slice(0, 98, 7)
    answers = knn.predict(data.X[rows])
    attack = knn.attack(data.X[rows], answers, method="whitebox", random_state=0)
    raw = counterfactuals_in_units(
        data.layout.scaling, data.X[rows], attack.adversarial, lambda x: knn.predict(x) != answers
    )
    named = [data.layout.class_names[answer] for answer in answers]
    rows_and_answers = [[*row, name] for row, name in zip(raw.tolist(), named, strict=True)]
    again, _ = read_table(write_csv([*data.layout.feature_names, "state"], rows_and_answers).encode())
    assert again is not None
    back, found = apply_layout(data.layout, again)
    assert back is not None, found
    assert back.y is not None
    assert (knn.predict(back.X) != back.y).all()


def test_a_feature_that_does_not_move_keeps_its_digits() -> None:
    rows = [[0.1 * k, 1e6 + k / 3, "ab"[k % 2]] for k in range(1, 30)]
    table, _ = read_table(write_csv(["x", "mass", "label"], rows).encode())
    assert table is not None
    data, _ = select(table, label="label", scaling="standard")
    assert data is not None
    adversarial = data.X.copy()
    adversarial[:, 0] += 0.25
    raw = counterfactuals_in_units(data.layout.scaling, data.X, adversarial, lambda x: x[:, 0] > data.X[:, 0], data.raw)
    assert (raw[:, 1] == data.raw[:, 1]).all()
    assert (raw[:, 0] > data.raw[:, 0]).all()
