"""The sample files are what their description says."""

from pathlib import Path

import numpy as np

from arml_core.datasets.table import TableData, read_table, select

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
PLANTED = [22, 26, 50, 53, 54, 59, 64, 71]


def sample(name: str, label: str) -> TableData:
    table, found = read_table(SAMPLES / name)
    assert table is not None
    assert not found
    data, found = select(table, label=label)
    assert data is not None
    assert not found
    return data


def leave_one_out_radii(data: TableData) -> np.ndarray:
    """min over the other class of max over the own class of the triplet radius, as the paper writes it (K = 1)."""
    assert data.y is not None
    radii = []
    for k, x in enumerate(data.X):
        others = np.arange(len(data.X)) != k
        own, foreign = data.X[others & (data.y == data.y[k])], data.X[data.y != data.y[k]]
        gap = ((foreign - x) ** 2).sum(axis=1)[None] - ((own - x) ** 2).sum(axis=1)[:, None]
        radii.append((gap / (2 * np.linalg.norm(own[:, None] - foreign[None], axis=2))).max(axis=0).min())
    return np.array(radii)


def test_bottles_are_clean_and_far_apart() -> None:
    data = sample("bottles.csv", "machine")
    assert data.X.shape == (120, 4)
    assert data.layout.class_names == ("north", "south", "west")
    assert leave_one_out_radii(data).min() > 0.3


def test_the_planted_pumps_are_the_fragile_ones() -> None:
    data = sample("pumps.csv", "state")
    radii = leave_one_out_radii(data)
    planted = np.isin(data.lines, PLANTED)
    assert planted.sum() == len(PLANTED)
    assert radii[planted].min() > 0
    assert radii[planted].max() < 0.06
    assert radii[~planted].min() > 0.5
    documented = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert "lines 22, 26, 50, 53, 54, 59, 64 and 71" in documented


def test_a_small_step_really_flips_every_planted_pump() -> None:
    data = sample("pumps.csv", "state")
    assert data.y is not None
    for k in np.flatnonzero(np.isin(data.lines, PLANTED)):
        rest = np.delete(np.arange(len(data.X)), k)
        foreign = data.X[data.y != data.y[k]]
        step = foreign[((foreign - data.X[k]) ** 2).sum(axis=1).argmin()] - data.X[k]
        moved = data.X[k] + 0.06 * step / np.linalg.norm(step)
        assert data.y[rest[((data.X[rest] - moved) ** 2).sum(axis=1).argmin()]] != data.y[k]


def test_the_messy_file_can_be_mended_by_taking_the_offered_remedies() -> None:
    reading: dict[str, object] = {}
    choosing: dict[str, object] = {"label": "Klasse", "one_hot": ("Farbe",)}
    met = []
    for _ in range(10):
        table, found = read_table(SAMPLES / "messy.csv", **reading)  # type: ignore[arg-type]
        assert table is not None
        data, more = select(table, **choosing)  # type: ignore[arg-type]
        blocking = found.blocking or more.blocking
        if not blocking:
            break
        met.append(blocking[0].kind)
        remedy = next(remedy for remedy in blocking[0].remedies if remedy.options)
        reading, choosing = (
            (remedy.apply(reading), choosing) if remedy.step == "read" else (reading, remedy.apply(choosing))
        )
    assert met == ["ragged", "encoding", "separator", "decimal_comma", "not_a_number", "missing"]
    assert data is not None
    assert data.layout.feature_names == (
        "Höhe",
        "Gewicht",
        "Farbe==rot",
        "Farbe=blau",
        "Farbe=grün",
        "Farbe=rot",
        "Prüfung",
    )
    assert data.lines.tolist() == [2, 3, 5, 6, 8, 10, 11, 12]
    assert [problem.message for problem in found + more] == [
        "1 line left out: not 7 values (line 9).",
        "First column looks like row numbers – left out.",
        "3 rows left out: empty or infinite values (lines 4, 7, 13).",
        "Prüfung never changes; it cannot affect the answer.",
        "2 rows equal another row but differ in the label (lines 2, 10); their radius may be 0.",
    ]
