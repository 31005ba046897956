"""``--missing``: rows with empty cells on the command line, against the library and against fills that are tried."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, attack_missing, certify_missing, load_model
from arml_core.cli import main
from arml_core.datasets.table import TableData, read_table, select, write_csv
from arml_core.vocabulary import NO_WHOLE_CHANGE
from tests import oracles

ISLANDS = ("Biscoe", "Dream", "Torgersen")
HEADER = ["island", "sex", "age", "bill", "species"]
GROUP, SEX = [0, 1, 2], [3, 4]
AGE, BILL = 5, 6
ENCODED = ["--category", "island", "--category", "sex"]
N, GAPS = 40, 12


class Penguins(NamedTuple):
    """A file whose first rows have empty cells, the same without these rows, and what is to be read from it."""

    path: str
    without: str
    rows: list[list[Any]]
    data: TableData

    @property
    def complete(self) -> np.ndarray:
        return np.arange(GAPS, N)

    @property
    def own(self) -> np.ndarray:
        return np.concatenate([np.full(GAPS, -1), np.arange(N - GAPS)])

    def knn(self, k: int = 1) -> MahalanobisKNN:
        assert self.data.y is not None
        return MahalanobisKNN(k).fit(self.data.X[GAPS:], self.data.y[GAPS:])


def saved(path: Path, rows: list[list[Any]], header: list[str] = HEADER) -> str:
    path.write_text(write_csv(header, rows), encoding="utf-8", newline="")
    return str(path)


@pytest.fixture
def penguins(tmp_path: Path) -> Penguins:
    rng = np.random.default_rng(3)
    island, sex, age = rng.integers(0, 3, N), rng.integers(0, 2, N), rng.integers(2, 20, N)
    bill = np.round(rng.normal(40, 5, N), 1)
    species = np.where(4 * island + bill + sex + age / 4 > 46, "Gentoo", "Adelie")
    rows = [
        [ISLANDS[i], "fm"[s], int(a), float(b), str(k)]
        for i, s, a, b, k in zip(island, sex, age, bill, species, strict=True)
    ]
    whole = saved(tmp_path / "whole.csv", rows[GAPS:])
    for k in range(GAPS):
        rows[k][k % 4] = None
        if k > 8:
            rows[k][2] = "NA"
    rows[1][3] = 99.5  # beyond the range of the complete rows
    path = saved(tmp_path / "penguins.csv", rows)
    table, _ = read_table(Path(path))
    assert table is not None
    data, _ = select(table, label="species", one_hot=("island", "sex"), keep_missing=True)
    assert data is not None
    return Penguins(path, whole, rows, data)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[dict[str, str]], str]:
    assert main([str(word) for word in words]) == 0
    found = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(found.out))), found.err


def column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


@pytest.mark.parametrize("words", [[], ["--frozen", "sex", "--only-up", "age"], ["--norm", "inf", "--switch", "sex"]])
def test_the_command_says_what_certify_missing_says(words, penguins, capsys) -> None:
    rows, said = printed(
        capsys, "certify", penguins.path, "--label", "species", "-k", "3", *ENCODED, "--missing", "range", *words
    )
    threat = ThreatModel()
    if "--frozen" in words:
        threat = ThreatModel(frozen=SEX, only_up=[AGE])
    if "--switch" in words:
        threat = ThreatModel("inf", switches=[SEX])
    data = penguins.data
    asked = {"threat": threat, "categories": [GROUP, SEX], "exclude": penguins.own}
    expected = certify_missing(penguins.knn(3), data.X, data.y, **asked)
    np.testing.assert_array_equal(column(rows, "lower"), expected.lower)
    np.testing.assert_array_equal(column(rows, "upper"), expected.upper)
    assert [row["predicted"] for row in rows] == [data.layout.class_names[code] for code in expected.predicted]
    assert [row["missing"] for row in rows[8:14]] == ["island", "sex, age", "age", "age, bill", "", ""]
    sentence = f"{GAPS} of {N} rows have empty cells: what is proved of them holds whatever the missing value is, "
    assert f"{sentence}within the range of its column." in said
    assert (expected.lower[:GAPS] > 0).any()


@pytest.mark.parametrize("command", ["certify", "attack"])
def test_without_empty_cells_nothing_is_another_number(command, penguins, capsys) -> None:
    words = [command, penguins.without, "--label", "species", "-k", "3", *ENCODED]
    expected, _ = printed(capsys, *words)
    rows, said = printed(capsys, *words, "--missing", "range")
    assert f"0 of {N - GAPS} rows have empty cells" in said
    assert {row.pop("missing") for row in rows} == {""}
    assert rows == expected


@pytest.mark.parametrize("command", ["certify", "attack"])
def test_complete_rows_are_answered_as_in_a_file_without_the_others(command, penguins, capsys) -> None:
    words = ["--label", "species", "-k", "3", *ENCODED]
    expected, _ = printed(capsys, command, penguins.without, *words)
    rows, _ = printed(capsys, command, penguins.path, *words, "--missing", "range")
    for row, other in zip(rows[GAPS:], expected, strict=True):
        assert (row.pop("missing"), int(row.pop("row"))) == ("", GAPS + int(other.pop("row")))
        assert row == other


def fills_of(penguins: Penguins, row: np.ndarray, steps: int) -> np.ndarray:
    """The row with values on a grid in its empty cells, within the range of the complete rows."""
    train = penguins.data.X[GAPS:]
    parts = []
    for group in (GROUP, SEX):
        parts.append(np.eye(len(group)) if np.isnan(row[group]).any() else row[None, group])
    for k in (AGE, BILL):
        low, high = train[:, k].min(), train[:, k].max()
        parts.append(np.linspace(low, high, steps)[:, None] if np.isnan(row[k]) else row[None, [k]])
    return np.array([np.concatenate(picked) for picked in product(*parts)])


@pytest.mark.parametrize("method", ["votes", "search"])
def test_no_fill_on_a_grid_and_no_move_below_lower_flips(method, penguins, capsys) -> None:
    words = ["certify", penguins.path, "--label", "species", "-k", "1", *ENCODED, "--missing", "range"]
    rows, _ = printed(capsys, *words, "--method", method, "--budget", "0.2")
    rng, data, tried = np.random.default_rng(0), penguins.data, 0
    assert data.y is not None
    for k in range(GAPS):
        lower = float(rows[k]["lower"])
        if lower == 0:
            continue
        known = ~np.isnan(data.X[k])
        for fill in fills_of(penguins, data.X[k], 9):
            for step in rng.normal(size=(4, known.sum())):
                at = fill.copy()
                at[known] += 0.999 * min(lower, 10.0) * step / np.linalg.norm(step)
                assert oracles.predict(np.eye(7), data.X[GAPS:], data.y[GAPS:], at, 1) == data.y[k]
                tried += 1
    assert tried > 100


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--frozen", "island"],
        ["--switch", "island"],
        ["--only-up", "bill"],
        ["--free", "age", "--limit", "age=5:9"],
    ],
)
def test_what_an_attack_fills_in_could_exist_and_flips(words, penguins, capsys) -> None:
    command = ["attack", penguins.path, "--label", "species", *ENCODED, "--missing", "range", *words]
    rows, _ = printed(capsys, *command)
    data, knn, n_filled = penguins.data, penguins.knn(), 0
    assert data.y is not None
    low, high = data.raw[GAPS:].min(axis=0), data.raw[GAPS:].max(axis=0)
    for k, row in enumerate(rows):
        if not row["becomes"] or k >= GAPS:
            continue
        raw = np.array([float(row[name]) for name in data.layout.feature_names])
        empty = np.isnan(data.raw[k])
        assert sorted(raw[GROUP]) == [0, 0, 1]
        assert sorted(raw[SEX]) == [0, 1]
        assert raw[AGE] == np.rint(raw[AGE])
        assert ((raw >= low - 1e-9) & (raw <= high + 1e-9))[empty].all()
        answer = knn.predict(data.layout.from_units(raw)[None])[0]
        assert data.layout.class_names[answer] == row["becomes"]
        assert answer != data.y[k]
        move = (data.layout.from_units(raw) - data.X[k])[~empty]
        if "--free" in words and not empty[AGE]:
            assert min(5, data.raw[k][AGE]) <= raw[AGE] <= max(9, data.raw[k][AGE])
            move[(np.flatnonzero(~empty) == AGE)] = 0.0
        if "--switch" not in words:
            assert np.linalg.norm(move) <= float(row["upper"]) * (1 + 1e-9)
        if "--frozen" in words and not empty[GROUP].any():
            assert (raw[GROUP] == data.raw[k][GROUP]).all()
        if "--only-up" in words and not empty[BILL]:
            assert raw[BILL] >= data.raw[k][BILL]
        n_filled += 1
    assert n_filled > 5


def test_a_part_of_a_year_in_an_empty_cell_is_no_attack(tmp_path, capsys) -> None:
    """On the line size = 0 only ages in (4.205, 4.795) are nearest to b: no whole one is."""
    lines = [[0, 0, "a"], [4, 4.2, "b"], [9, 0.77, "a"], [None, 0, "a"]]
    path = saved(tmp_path / "ages.csv", lines, ["age", "size", "label"])
    words = [path, "--label", "label", "--scaling", "none", "--missing", "range"]
    rows, _ = printed(capsys, "certify", *words, "--method", "search", "--eps", "0.1")
    assert (rows[-1]["lower"], rows[-1]["verdict at 0.1"], rows[-1]["note"]) == ("0.0", "undecided", NO_WHOLE_CHANGE)
    rows, _ = printed(capsys, "attack", *words)
    assert (rows[-1]["upper"], rows[-1]["becomes"], rows[-1]["age"]) == ("inf", "", "")


def test_a_fill_by_hand(tmp_path, capsys) -> None:
    """Training rows a at (0.5, 0) and (2.5, 0), b at (0.5, 3) and (2.5, 5); x is empty.

    The answer turns to b at z = 1.5 for x up to 1.5, and at z = (4 x + 3) / 6 for larger x.
    """
    lines = [[0.5, 0, "a"], [2.5, 0, "a"], [0.5, 3, "b"], [2.5, 5, "b"], [None, 0.25, "a"], [None, 1.75, "b"]]
    path = saved(tmp_path / "numbers.csv", lines, ["x", "z", "label"])
    words = [path, "--label", "label", "--scaling", "none", "--missing"]
    for given, radius in (("range", 1.25), ("x=2:2.5", 11 / 6 - 0.25)):
        rows, _ = printed(capsys, "certify", *words, given, "--method", "search")
        assert float(rows[4]["lower"]) == pytest.approx(radius, rel=1e-5)
        assert float(rows[4]["lower"]) <= radius <= float(rows[4]["upper"]) * (1 + 1e-12)
    rows, _ = printed(capsys, "attack", *words, "range")
    assert (rows[4]["becomes"], rows[5]["becomes"]) == ("b", "a")
    assert float(rows[4]["z"]) == pytest.approx(1.5)
    assert 0.5 <= float(rows[4]["x"]) <= 1.5 + 1e-9
    assert (rows[5]["upper"], rows[5]["z"]) == ("0.0", "1.75")  # what is empty flips it alone
    assert 1.875 <= float(rows[5]["x"]) <= 2.5


def test_a_range_is_in_the_units_of_the_file(penguins, capsys) -> None:
    command = ["certify", penguins.path, "--label", "species", *ENCODED, "--missing", "range", "--missing", "age=3:4"]
    rows, _ = printed(capsys, *command)
    data = penguins.data
    offset, scale = data.layout.scaling.offset[AGE], data.layout.scaling.scale[AGE]
    ranges = {AGE: ((3 - offset) / scale, (4 - offset) / scale)}
    asked = {"ranges": ranges, "categories": [GROUP, SEX], "exclude": penguins.own}
    expected = certify_missing(penguins.knn(), data.X, data.y, **asked)
    np.testing.assert_array_equal(column(rows, "lower"), expected.lower)
    rows, _ = printed(capsys, "attack", *command[1:])
    np.testing.assert_array_less(
        attack_missing(penguins.knn(), data.X, data.y, **asked).upper - 1e-12, column(rows, "upper")
    )
    ages = {row["age"] for row in rows[:GAPS] if "age" in row["missing"] and row["becomes"]}
    assert ages <= {"3.0", "4.0"}
    assert ages


def test_tomorrows_file_may_have_empty_cells(penguins, tmp_path, capsys) -> None:
    model = str(tmp_path / "m.npz")
    assert (
        main(["train", penguins.without, "lfda", "--label", "species", *ENCODED, "--model-out", model, "-k", "3"]) == 0
    )
    knn = load_model(model)
    path = saved(
        tmp_path / "tomorrow.csv",
        [[35.5, None, 4, "f"], [41.25, "Dream", None, ""], [44.5, "Dream", 7, "m"]],
        ["bill", "island", "age", "sex"],
    )
    capsys.readouterr()
    assert main(["certify", path, "--model", model]) == 2
    assert "2 rows have empty values" in capsys.readouterr().err
    rows, said = printed(capsys, "certify", path, "--model", model, "--missing", "range")
    nan, layout = np.nan, knn.layout_
    assert layout is not None
    raw = [[nan, nan, nan, 1, 0, 4, 35.5], [0, 1, 0, nan, nan, nan, 41.25], [0, 1, 0, 0, 1, 7, 44.5]]
    expected = certify_missing(knn, layout.from_units(raw), categories=[GROUP, SEX])
    np.testing.assert_array_equal(column(rows, "lower"), expected.lower)
    assert [row["missing"] for row in rows] == ["island", "sex, age", ""]
    assert "2 of 3 rows" in said
    rows, _ = printed(capsys, "attack", path, "--model", model, "--missing", "range")
    assert len(rows) == 3


def test_rows_without_a_label_are_left_out_and_said(penguins, tmp_path, capsys) -> None:
    lines = [list(row) for row in penguins.rows]
    lines[0][4] = lines[20][4] = None
    path = saved(tmp_path / "unlabelled.csv", lines)
    rows, said = printed(capsys, "certify", path, "--label", "species", *ENCODED, "--missing", "range")
    assert len(rows) == N - 2
    assert "2 rows left out: no label (lines 2, 22)." in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "12 rows have empty values"),
        (["--missing", "age"], "give range, or a column and its range"),
        (["--missing", "age=5"], "--missing age=5: give the smallest and the largest value"),
        (["--missing", "age=5:4"], "give the smallest and the largest value"),
        (["--missing", "age=0:inf"], "both ends of the range must be finite"),
        (["--missing", "wings=0:1"], "there is no column 'wings'"),
        (["--missing", "island=0:1"], "island holds categories"),
        (["--missing", "island=Dream=0:1"], "island=Dream holds categories"),
        (["--missing", "age=1:2", "--switch", "age"], "age is exchanged whole"),
        (["--missing", "range", "--sensitive", "sex"], "--sensitive is not known for rows with empty cells"),
        (["--missing", "range", "--training"], "--training is not known"),
        (["--missing", "range", "--target", "Gentoo"], "--target is not known"),
        (["--missing", "range", "--ties", "any"], "--ties any is not known"),
        (["--missing", "range", "-k", "29"], "29"),
    ],
)
def test_a_mistake_is_told_in_words(words: list[str], message: str, penguins, capsys) -> None:
    assert main(["certify", penguins.path, "--label", "species", *ENCODED, *words]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.out == ""


def test_a_dataset_has_no_empty_cells(capsys) -> None:
    assert main(["certify", "iris", "--missing", "range"]) == 2
    assert "--missing is for the rows of a table" in capsys.readouterr().err


def test_a_model_without_its_training_rows_asks_for_a_range(penguins, tmp_path, capsys, monkeypatch) -> None:
    model = str(tmp_path / "m.npz")
    lines = [[row[2], row[3], row[4]] for row in penguins.rows[GAPS:]]
    header = ["age", "bill", "species"]
    path = saved(tmp_path / "numbers.csv", lines, header)
    assert main(["train", path, "lfda", "--label", "species", "--model-out", model]) == 0
    later = saved(tmp_path / "later.csv", [[None, 40], [5, 41]], header[:2])
    monkeypatch.setattr(MahalanobisKNN, "training_rows", lambda _: None)
    capsys.readouterr()
    assert main(["certify", later, "--model", model, "--missing", "range"]) == 2
    said = capsys.readouterr().err
    assert "age has empty cells, and the model does not know its range: give --missing age=LOW:HIGH" in said
    rows, _ = printed(capsys, "certify", later, "--model", model, "--missing", "age=5:6")
    assert float(rows[0]["lower"]) <= float(rows[0]["upper"])


@pytest.mark.parametrize("method", ["whitebox", "boundary"])
def test_where_only_the_empty_column_is_not_exact_nothing_moves(method, penguins, capsys) -> None:
    """With a tolerance for the bill alone, a row without a bill is safe or its bill alone decides."""
    words = [penguins.path, "--label", "species", *ENCODED, "--missing", "range", "--tolerance", "bill=0.5"]
    rows, _ = printed(capsys, "certify", *words, "--method", "search", "--eps", "1")
    attacked, _ = printed(capsys, "attack", *words, "--method", method, "--steps", "50")
    for row, found in zip(rows[:GAPS], attacked, strict=False):
        if row["missing"].endswith("bill"):
            assert (float(row["lower"]), float(row["upper"])) in [(0.0, 0.0), (np.inf, np.inf)]
            assert float(found["upper"]) >= float(row["lower"])
