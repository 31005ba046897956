"""What a file's owner says on the command line: tolerances, directions, switches, sensitive columns, saved models."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, columns_to_protect, fairness, load_model
from arml_core.cli import main
from arml_core.datasets.table import TableData, read_table, select, write_csv
from arml_core.vocabulary import NO_WHOLE_CHANGE

ISLANDS = ("Biscoe", "Dream", "Torgersen")
HEADER = ["island", "sex", "age", "bill", "species"]
GROUP, SEX = [0, 1, 2], [3, 4]
AGE, BILL = 5, 6


@pytest.fixture
def penguins(tmp_path: Path) -> tuple[str, TableData]:
    rng = np.random.default_rng(0)
    island, sex, age = rng.integers(0, 3, 50), rng.integers(0, 2, 50), rng.integers(2, 20, 50)
    bill = np.round(rng.normal(40, 5, 50), 1)
    species = np.where(4 * island + bill + sex + age / 4 > 46, "Gentoo", "Adelie")
    rows = [[ISLANDS[i], "fm"[s], a, b, k] for i, s, a, b, k in zip(island, sex, age, bill, species, strict=True)]
    path = tmp_path / "penguins.csv"
    path.write_text(write_csv(HEADER, rows), encoding="utf-8", newline="")
    table, _ = read_table(path)
    assert table is not None
    data, _ = select(table, label="species", one_hot=("island", "sex"))
    assert data is not None
    return str(path), data


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[dict[str, str]], str]:
    assert main(list(words)) == 0
    found = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(found.out))), found.err


def column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def test_tolerances_are_in_the_units_of_the_file(penguins, capsys) -> None:
    path, data = penguins
    words = ["certify", path, "--label", "species", "-k", "3", "--category", "island", "--category", "sex"]
    words += [
        "--tolerance",
        "bill=0.5",
        "--tolerance",
        "age=2",
        "--only-up",
        "age",
        "--eps",
        "1",
        "--limit",
        "bill=30:50",
    ]
    rows, said = printed(capsys, *words)
    scale, offset = data.layout.scaling.scale, data.layout.scaling.offset
    costs = np.ones(7)
    costs[[AGE, BILL]] = scale[[AGE, BILL]] / [2, 0.5]
    low, high = np.full(7, -np.inf), np.full(7, np.inf)
    low[BILL], high[BILL] = (np.array([30, 50]) - offset[BILL]) / scale[BILL]
    threat = ThreatModel("inf", costs, frozen=[*GROUP, *SEX], only_up=[AGE], box=(low, high))
    expected = MahalanobisKNN(3).fit(data.X, data.y).certify(data.X, data.y, threat=threat, exclude=np.arange(50))
    np.testing.assert_array_equal(column(rows, "lower"), expected.lower)
    assert "ε = 1: every value off by its own tolerance (bill ±0.5, age ±2); all other columns are exact" in said
    assert [row["verdict at 1"] == "certified" for row in rows] == (expected.lower > 1).tolist()


def test_a_text_column_that_switches_is_encoded(penguins, capsys) -> None:
    path, data = penguins
    words = ["certify", path, "--label", "species", "--switch", "island", "--switch", "sex", "--max-switches", "1"]
    rows, said = printed(capsys, *words, "--method", "exact", "--norm", "inf")
    knn = MahalanobisKNN().fit(data.X, data.y)
    threat = ThreatModel("inf", switches=[GROUP, SEX], max_switches=1)
    expected = knn.certify(data.X, data.y, "exact", threat, np.arange(50))
    np.testing.assert_array_equal(column(rows, "lower"), expected.lower)
    assert [row["switched"] for row in rows] == expected.switch_words(data.layout.feature_names)
    assert any(row["switched"].startswith("island=") for row in rows)
    assert f"{50 * 4} combinations of switched values for 50 rows" in said


def test_no_written_change_has_a_mixed_island_or_a_part_of_a_year(penguins, capsys) -> None:
    path, data = penguins
    words = ["attack", path, "--label", "species", "--category", "island", "--category", "sex", "-k", "3"]
    for more in ([], ["--switch", "island"], ["--frozen", "island", "--only-up", "age"]):
        rows, _ = printed(capsys, *words, *more)
        kept = [k for k, row in enumerate(rows) if row["becomes"] not in ("", row["predicted"])]
        raw = np.array([[float(rows[k][name]) for name in data.layout.feature_names] for k in kept])
        assert len(raw) > 10
        assert (np.sort(raw[:, GROUP], axis=1) == [0, 0, 1]).all()
        assert (np.sort(raw[:, SEX], axis=1) == [0, 1]).all()
        assert (raw[:, AGE] == np.rint(raw[:, AGE])).all()
        knn = MahalanobisKNN(3).fit(data.X, data.y)
        answers = knn.predict(data.layout.from_units(raw), exclude=kept)
        assert [data.layout.class_names[code] for code in answers] == [rows[k]["becomes"] for k in kept]
        if "--frozen" in more:
            assert (raw[:, GROUP] == data.raw[kept][:, GROUP]).all()
            assert (raw[:, AGE] >= data.raw[kept, AGE]).all()


def test_what_only_a_part_of_a_year_would_flip_is_open(penguins, capsys) -> None:
    path, _ = penguins
    words = ["certify", path, "--label", "species", "--category", "island", "--category", "sex", "--method", "exact"]
    rows, said = printed(capsys, *words, "--tolerance", "age=1", "--eps", "3.3")
    parts = [row for row in rows if row["note"]]
    assert parts
    assert {row["note"] for row in parts} == {NO_WHOLE_CHANGE}
    assert {row["verdict at 3.3"] for row in parts} == {"undecided"}
    assert f"of {len(parts)} undecided rows {NO_WHOLE_CHANGE}" in said
    sizes = np.array([float(row["upper"]) for row in rows if row["verdict at 3.3"] == "attackable"])
    np.testing.assert_allclose(sizes, np.rint(sizes), atol=1e-9)  # in years, each with a tolerance of one


def test_sensitive_columns_are_answered_in_sentences(penguins, capsys) -> None:
    path, data = penguins
    words = ["certify", path, "--label", "species", "-k", "3", "--category", "island", "--tolerance", "bill=0.5"]
    rows, said = printed(capsys, *words, "--sensitive", "sex")
    knn = MahalanobisKNN(3).fit(data.X, data.y)
    threat = ThreatModel.tolerances({"bill": 0.5}, data.layout.feature_names, data.layout.scaling.scale)
    expected = fairness(knn, data.X, [SEX], data.y, threat=threat, exclude=np.arange(50))
    assert [row["depends"] == "True" for row in rows] == expected.depends.tolist()
    np.testing.assert_array_equal(column(rows, "lower for any value"), expected.radii.lower)
    for sentence in expected.describe(data.layout.feature_names, data.layout.class_names):
        assert sentence in said


def test_columns_to_protect_are_ranked(penguins, capsys) -> None:
    path, data = penguins
    words = ["protect", path, "--label", "species", "-k", "3", "--switch", "island", "--switch", "sex", "--eps", "1"]
    rows, said = printed(capsys, *words, "--tolerance", "bill=0.5", "--tolerance", "age=1", "--method", "votes")
    names, units = data.layout.feature_names, data.layout.scaling.scale
    threat = ThreatModel.tolerances({"bill": 0.5, "age": 1}, names, units, switches=[GROUP, SEX])
    columns = {"island": GROUP, "sex": SEX, "age": [AGE], "bill": [BILL]}
    knn = MahalanobisKNN(3).fit(data.X, data.y)
    question = {"threat": threat, "columns": columns, "method": "votes", "exclude": np.arange(50)}
    expected = columns_to_protect(knn, data.X, data.y, eps=1, **question)
    assert [(row["column"], int(row["safe"])) for row in rows] == [(c.name, c.safe) for c in expected.ranked()]
    best = expected.ranked()[0]
    assert f"if {best.name} could be trusted, {best.safe} of these {len(expected.rows)} rows become safe" in said


def test_a_saved_model_reads_tomorrows_file(penguins, tmp_path, capsys) -> None:
    path, data = penguins
    model, tomorrow = str(tmp_path / "m.npz"), tmp_path / "tomorrow.csv"
    words = ["train", path, "lfda", "--label", "species", "--category", "island", "--category", "sex"]
    assert main([*words, "--model-out", model, "-k", "3"]) == 0
    knn = load_model(model)
    assert knn.layout_ is not None
    assert knn.layout_.to_json() == data.layout.to_json()
    assert not (tmp_path / "penguins-lfda.npz").exists()
    bills = data.raw[:8, BILL] + 0.25
    lines = [
        [b, ISLANDS[int(r[:3].argmax())], int(r[AGE]), "fm"[int(r[4])]] for b, r in zip(bills, data.raw, strict=False)
    ]
    tomorrow.write_text(write_csv(["bill", "island", "age", "sex"], lines), encoding="utf-8", newline="")
    capsys.readouterr()
    rows, _ = printed(capsys, "certify", str(tomorrow), "--model", model, "--frozen", "sex")
    raw = data.raw[:8].copy()
    raw[:, BILL] = bills
    x = data.layout.from_units(raw)
    np.testing.assert_array_equal(column(rows, "lower"), knn.certify(x, threat=ThreatModel(frozen=SEX)).lower)
    assert "label" not in rows[0]
    rows, _ = printed(capsys, "certify", path, "--model", model, "--label", "species")
    np.testing.assert_array_equal(column(rows, "lower"), knn.certify(data.X, data.y).lower)
    rows, _ = printed(capsys, "attack", str(tomorrow), "--model", model)
    assert len(rows) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tolerance", "wings=1"], "there is no column 'wings'; there are island, sex, age, bill"),
        (["--tolerance", "island=1"], "island holds categories, which change whole: use --switch island"),
        (["--tolerance", "bill=much"], "'much' is not a number"),
        (["--tolerance", "bill"], "needs a column and a value"),
        (["--tolerance", "bill=-1"], "a tolerance must be a finite number, at least 0"),
        (["--tolerance", "bill=1", "--norm", "2"], "leave --norm out"),
        (["--tolerance", "bill=1", "--only-up", "age"], "age has no tolerance, so it does not change"),
        (["--limit", "bill=5"], "give the smallest and the largest value"),
        (["--limit", "bill=5:4"], "give the smallest and the largest value"),
        (["--free", "bill"], "bill is free and needs a finite range: give --limit bill=LOW:HIGH"),
        (["--switch", "beak"], "there is no column 'beak'"),
        (["--eps", "-1"], "--eps must be at least 0"),
        (["--category", "beak"], "beak"),
        (["--model", "missing.npz"], "there is no such file"),
        (["--model", "missing.npz", "-k", "3"], "--neighbors is part of a saved model"),
    ],
)
def test_a_mistake_is_told_in_words(words: list[str], message: str, penguins, capsys) -> None:
    given = ["certify", penguins[0], "--label", "species", "--category", "island", "--category", "sex", *words]
    assert main(given) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.out == ""


def test_too_many_combinations_are_refused_before_the_work(tmp_path, capsys) -> None:
    rng = np.random.default_rng(1)
    names = [f"c{k}" for k in range(5)]
    rows = [[*("abcdef"[int(v)] for v in rng.integers(0, 6, 5)), k % 2] for k in range(40)]
    (tmp_path / "many.csv").write_text(write_csv([*names, "label"], rows), encoding="utf-8", newline="")
    words = ["certify", str(tmp_path / "many.csv"), "--label", "label"]
    assert main([*words, *(word for name in names for word in ("--switch", name))]) == 2
    assert "combinations for a row" in capsys.readouterr().err
