"""Changed rows that could exist: whole categories, whole numbers, within the limits, and each of them flips as written.

Everything is checked on the rows as a file holds them, with sizes computed here.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.datasets.table import Layout, TableData, apply_layout, read_table, select, write_csv
from arml_core.report import (
    CertifiedTable,
    Flips,
    changed_csv,
    counterfactuals,
    html_report,
    only_by_parts,
    verdict_csv,
    with_possible_changes,
)
from arml_core.vocabulary import NO_WHOLE_CHANGE
from tests.more import more

ISLANDS = ["Biscoe", "Dream", "Torgersen"]
GROUP = [f"island={name}" for name in ISLANDS]


def penguins(seed: int, n: int = 60, **options: object) -> TableData:
    """Rows with an island, an age in years, a number of eggs and a bill in millimetres."""
    rng = np.random.default_rng(seed)
    island, age, eggs = rng.integers(0, 3, n), rng.integers(2, 20, n), rng.integers(0, 3, n)
    bill = np.round(rng.normal(40, 5, n), 1)
    species = np.where(4 * island + bill + eggs + age / 4 > 46, "Gentoo", "Adelie")
    lines = [[ISLANDS[i], a, e, b, s] for i, a, e, b, s in zip(island, age, eggs, bill, species, strict=True)]
    table, _ = read_table(write_csv(["island", "age", "eggs", "bill", "species"], lines).encode())
    assert table is not None
    data, found = select(table, label="species", one_hot=("island",), **options)  # type: ignore[arg-type]
    assert data is not None, found
    return data


def changed(data: TableData, threat: ThreatModel, k: int = 1) -> tuple[CertifiedTable, Flips, MahalanobisKNN]:
    assert data.y is not None
    threat = threat.for_features(data.layout.feature_names)
    knn, own = MahalanobisKNN(k).fit(data.X, data.y), np.arange(len(data.X))
    found = knn.certify(data.X, data.y, "votes", threat, own).join(
        knn.attack(data.X, data.y, threat=threat, exclude=own)
    )
    rows = CertifiedTable(data.layout, data.X, data.raw, data.lines, data.y, found)
    return rows, counterfactuals(rows, lambda points, moved: knn.predict(points, exclude=own[moved])), knn


THREATS = {
    "plain": ThreatModel(),
    "tolerances": ThreatModel("inf", costs=[1, 1, 1, 2, 1, 3]),
    "switch": ThreatModel(switches=[GROUP]),
    "frozen": ThreatModel(1, frozen=GROUP, only_up=["age"], box={"age": (0.0, 0.8), "bill": (0.1, 0.9)}),
    "all but whole numbers": ThreatModel(frozen=["bill"], switches=[GROUP], max_switches=0),
}


@pytest.mark.parametrize("scaling", ["minmax", *more("standard", "none")])
@pytest.mark.parametrize("threat", THREATS.values(), ids=THREATS)
@pytest.mark.parametrize("seed", [0, *more(*range(1, 8))])
def test_every_changed_row_could_exist_and_flips_as_written(threat: ThreatModel, scaling: str, seed: int) -> None:
    data = penguins(seed, scaling=scaling)
    rows, flips, knn = changed(data, threat, k=1 + 2 * (seed % 2))
    own = np.flatnonzero(flips.known)
    assert len(own) > 10
    table, _ = read_table(changed_csv(rows, flips).encode())
    assert table is not None
    back, found = apply_layout(data.layout, table, labelled=False)
    assert back is not None, found
    assert (np.sort(back.raw[:, :3], axis=1) == [0, 0, 1]).all()
    assert (back.raw[:, 3:5] == np.rint(back.raw[:, 3:5])).all()
    answers = knn.predict(back.X, exclude=own)
    assert (answers == flips.answers[own]).all()
    assert (answers != rows.radii.predicted[own]).all()
    delta = back.X - data.X[own]
    if threat.switches:
        delta[:, :3] = 0
    for name in threat.frozen or ():
        assert (delta[:, data.layout.feature_names.index(str(name))] == 0).all()
    assert "age" not in (threat.only_up or ()) or (delta[:, 3] >= 0).all()
    if threat.box is not None:
        limits = {3: (0.0, 0.8), 5: (0.1, 0.9)}
        for k, (low, high) in limits.items():
            x = data.X[own, k]
            assert ((back.X[:, k] >= np.minimum(low, x)) & (back.X[:, k] <= np.maximum(high, x))).all()
    costs = np.ones(6) if threat.costs is None else np.asarray(threat.costs)
    sizes = np.linalg.norm(delta * costs, threat.norm, axis=1)
    assert flips.upper is not None
    assert (sizes <= flips.upper[own] * (1 + 1e-5)).all()
    assert (flips.upper >= rows.radii.lower).all()


def test_a_verdict_says_attackable_only_where_a_row_that_could_exist_is_small_enough() -> None:
    rows, flips, _ = changed(penguins(3), ThreatModel())
    shown = with_possible_changes(rows, flips).radii
    assert flips.upper is not None
    seen = 0
    for eps in (0.0, 0.05, 0.1, 0.3, 0.6):
        before, after, parts = rows.radii.verdict(eps), shown.verdict(eps), only_by_parts(rows, flips, eps)
        assert (after[parts] == "undecided").all()
        assert ((before == "certified") == (after == "certified")).all()
        attackable = after == "attackable"
        assert (attackable == (flips.upper <= eps)).all()
        assert (flips.known | ~rows.radii.correct)[attackable].all()
        text, report = verdict_csv(rows, eps, flips), html_report("t.csv", rows, eps, flips, [])
        assert text.count(NO_WHOLE_CHANGE) == report.count(NO_WHOLE_CHANGE) == parts.sum()
        assert text.count("attackable") == attackable.sum()
        seen += int(parts.sum())
    assert seen > 0


def test_the_smallest_whole_change_of_one_column_is_found() -> None:
    """One column of whole numbers: every whole number is tried here."""
    rng = np.random.default_rng(5)
    values = rng.choice(100, 30, replace=False)
    labels = np.where(np.sin(values / 9) > 0, "a", "b")
    table, _ = read_table(write_csv(["age", "label"], zip(values.tolist(), labels, strict=True)).encode())
    assert table is not None
    data, _ = select(table, label="label")
    assert data is not None
    rows, flips, knn = changed(data, ThreatModel())
    everything = np.arange(-50, 151)
    scaled = data.layout.from_units(everything[:, None].astype(float))
    for i in np.flatnonzero(rows.radii.correct):
        answers = knn.predict(scaled, exclude=np.full(len(scaled), i))
        nearest = np.abs(everything - data.raw[i, 0])[answers != rows.radii.predicted[i]].min()
        assert abs(flips.raw[i, 0] - data.raw[i, 0]) == nearest


def test_no_whole_number_lies_between() -> None:
    """Ages 3 and 4 differ in class, and the box ends between: a real number flips the answer, no whole one does."""
    table, _ = read_table(b"age,label\n1,a\n2,a\n3,a\n4,b\n5,b\n")
    assert table is not None
    data, _ = select(table, label="label", scaling="none")
    assert data is not None
    assert data.y is not None
    knn = MahalanobisKNN().fit(data.X, data.y)
    found = knn.certify(data.X[2:3], data.y[2:3], "exact", ThreatModel(box=(0, 3.8)))
    assert found.upper[0] == pytest.approx(0.5, abs=1e-5)
    rows = CertifiedTable(data.layout, data.X[2:3], data.raw[2:3], data.lines[2:3], data.y[2:3], found)
    flips = counterfactuals(rows, lambda points, moved: knn.predict(points))
    assert not flips.known.any()
    assert with_possible_changes(rows, flips).radii.verdict(0.7).tolist() == ["undecided"]
    endless = replace(rows, radii=knn.certify(data.X[2:3], None, "exact"))
    free = counterfactuals(endless, lambda points, moved: knn.predict(points))
    assert free.raw.tolist() == [[4.0]]
    assert free.upper is not None
    assert free.upper[0] == pytest.approx(1.0)


def test_a_table_of_real_numbers_is_as_it_was() -> None:
    table, _ = read_table(b"x,label\n0.5,a\n1.25,b\n2.5,a\n3.75,b\n9,b\n10,b\n")
    assert table is not None
    data, _ = select(table, label="label")
    assert data is not None
    rows, flips, _ = changed(data, ThreatModel())
    assert data.layout.is_continuous
    assert flips.upper is None
    assert with_possible_changes(rows, flips) is rows
    assert "note" not in verdict_csv(rows, 0.1, flips).splitlines()[0]


def test_which_columns_are_whole() -> None:
    data = penguins(0)
    assert [column.name for column in data.layout.columns if column.whole] == ["age", "eggs"]
    assert data.layout.whole.tolist() == [3, 4]
    assert [group.tolist() for group in data.layout.groups] == [[0, 1, 2]]
    assert penguins(0, whole=["eggs"]).layout.whole.tolist() == [4]
    assert penguins(0, whole=[]).layout.whole.tolist() == []
    with pytest.raises(ValueError, match="wings"):
        penguins(0, whole=["wings"])
    again = Layout.from_json(data.layout.to_json())
    assert again.columns == data.layout.columns
    stored = json.loads(data.layout.to_json())
    del stored["whole"]  # as older versions wrote it
    assert not any(column.whole for column in Layout.from_json(json.dumps(stored)).columns)


def test_features_are_found_by_their_column() -> None:
    layout = penguins(0).layout
    assert layout.features_of("island") == tuple(GROUP)
    assert layout.features_of("island=Dream") == ("island=Dream",)
    assert layout.features_of("age") == ("age",)
    with pytest.raises(ValueError, match="there is no column 'wings'; there are island, age, eggs, bill"):
        layout.features_of("wings")
