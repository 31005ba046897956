"""The command line: what it prints is what the engine computes, and mistakes end in one line."""

import contextlib
import csv
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from arml_core import MahalanobisKNN, ThreatModel, cross_fit, robust_error
from arml_core.cli import COMMANDS, build_parser, main
from arml_core.cli.common_arguments import summary
from arml_core.cli.files import load_data
from arml_core.datasets import load_dataset, read_dataset
from arml_core.jobs.front import MULTIPLES
from arml_core.learners.storage import save_metric
from arml_core.references import AdversarialPruning, KMeansPrototypes
from tests.more import more

ROOT = Path(__file__).parents[1]


def read_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_dataset_is_certified_row_by_row(capsys):
    assert main(["certify", "iris", "-k", "3", "--method", "theorem1", "--norm", "inf"]) == 0
    printed = capsys.readouterr()
    rows = read_rows(printed.out)
    data = load_dataset("iris")
    knn = MahalanobisKNN(3).fit(data.X_train, data.y_train)
    expected = knn.certify(data.X_test, data.y_test, method="theorem1", threat=ThreatModel(norm="inf"))
    np.testing.assert_array_equal([float(row["lower"]) for row in rows], expected.lower)
    assert [row["predicted"] for row in rows] == [data.class_names[c] for c in expected.predicted]
    assert f"clean error {np.mean(~expected.correct):.3f}" in printed.err


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "xlsx", "parquet"])
def test_every_kind_of_table_is_certified_like_its_text(ending, tmp_path, capsys):
    frame = pd.read_csv(ROOT / "data" / "samples" / "bottles.csv").iloc[::6]
    path = tmp_path / f"bottles.{ending}"
    frame.to_csv(tmp_path / "bottles.csv", index=False)
    {
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "csv.gz": lambda: frame.to_csv(path, index=False),
        "xlsx": lambda: frame.to_excel(path, index=False),
        "parquet": lambda: frame.to_parquet(path, index=False),
    }[ending]()
    printed = []
    for file in (tmp_path / "bottles.csv", path):
        assert main(["certify", str(file), "--label", "machine", "--method", "exact"]) == 0
        printed.append(read_rows(capsys.readouterr().out))
    assert len(printed[0]) == 20
    assert printed[0] == printed[1]


def test_wrong_training_rows_are_three_more_columns(capsys):
    data = load_dataset("iris")
    found = MahalanobisKNN(3).fit(data.X_train, data.y_train).certify_training(data.X_test, data.y_test)
    assert main(["certify", "iris", "-k", "3", "--training"]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert list(rows[0])[-3:] == ["removed", "added", "relabelled"]
    for kind in ("removed", "added", "relabelled"):
        assert [row[kind] for row in rows] == [f"{count:.0f}" for count in getattr(found, kind)]
    assert main(["certify", "iris", "-k", str(len(data.X_train)), "--training"]) == 0
    assert {row["removed"] for row in read_rows(capsys.readouterr().out)} == {"0", "inf"}


def test_ties_and_a_target_reach_the_engine(capsys):
    data = load_dataset("iris")
    knn = MahalanobisKNN(2).fit(data.X_train, data.y_train)
    rule = {"ties": "any", "target": 2}
    asked = ["iris", "-k", "2", "--ties", "any", "--target", data.class_names[2]]
    assert main(["certify", *asked]) == 0
    printed = capsys.readouterr()
    found = [float(row["lower"]) for row in read_rows(printed.out)]
    np.testing.assert_array_equal(found, knn.certify(data.X_test, data.y_test, **rule).lower)
    assert f"ties in any order, until the answer is {data.class_names[2]}" in printed.err
    assert main(["attack", *asked]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert {row["becomes"] for row in rows} == {data.class_names[2]}
    assert main(["certify", "iris", "--target", "tulip"]) != 0
    assert "there is no class 'tulip'" in capsys.readouterr().err


def test_references_from_a_file_are_compared_with(tmp_path, capsys):
    data, path = load_dataset("iris"), tmp_path / "m.npz"
    learner = KMeansPrototypes(2, random_state=0).fit(data.X_train, data.y_train)
    about = {"fingerprint": data.fingerprint, "class_names": data.class_names}
    save_metric(path, learner, **about)
    assert main(["certify", "iris", "--metric", str(path), "--method", "exact"]) == 0
    knn = MahalanobisKNN(references=learner).fit(data.X_train, data.y_train)
    expected = knn.certify(data.X_test, data.y_test, method="exact")
    found = [float(row["lower"]) for row in read_rows(capsys.readouterr().out)]
    np.testing.assert_array_equal(found, expected.lower)
    assert main(["attack", "iris", "--metric", str(path), "--points", "5"]) == 0
    assert all(
        float(r["upper"]) >= low for r, low in zip(read_rows(capsys.readouterr().out), expected.lower, strict=False)
    )
    save_metric(path, learner, **about | {"class_names": ("a", "b", "c")})
    assert main(["certify", "iris", "--metric", str(path)]) != 0
    assert "its references are of the classes a, b, c; the data has setosa" in capsys.readouterr().err


def test_references_do_not_judge_the_rows_they_were_learned_from(tmp_path, capsys):
    x, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "flowers.npz", X=x, y=y)
    data = load_data(str(tmp_path / "flowers.npz"), None, "minmax")
    learner = KMeansPrototypes(2, random_state=0).fit(data.X_train, data.y_train)
    asked = ["certify", str(tmp_path / "flowers.npz"), "--metric", str(tmp_path / "m.npz")]
    for fingerprint in (data.fingerprint, None):
        save_metric(tmp_path / "m.npz", learner, fingerprint=fingerprint)
        assert main(asked) != 0
        assert "these references are no training rows" in capsys.readouterr().err
    save_metric(tmp_path / "m.npz", learner, fingerprint="another")
    assert main(asked) == 0
    assert len(read_rows(capsys.readouterr().out)) == len(x)


def test_the_front_is_a_row_for_each_target_radius(capsys, tmp_path):
    asked = ["front", "iris", "--eps", "0.1", "--learner", "adversarial_pruning"]
    assert main([*asked, "--points", "20"]) == 0
    printed = capsys.readouterr()
    rows, data = read_rows(printed.out), load_dataset("iris")
    automatic = AdversarialPruning().fit(data.X_train, data.y_train).radius_
    np.testing.assert_allclose(
        [float(row["target_radius"]) for row in rows[:-1]], np.array(MULTIPLES) * automatic, rtol=1e-3
    )
    for row in rows:
        target = row["target_radius"]
        references = AdversarialPruning(float(target)) if target else None
        knn = MahalanobisKNN(references=references).fit(data.X_train, data.y_train)
        expected = knn.certify(*data.evaluation(20), method="exact")  # the rows of the Compare page's front
        assert int(row["references"]) == len(knn.references_)
        assert float(row["clean_error"]) == np.mean(~expected.correct)
        assert float(row["robust_error"]) == robust_error(expected.lower, 0.1)
        assert row["points"] == "20"
    assert [row["method"] for row in rows] == ["Adversarial pruning"] * 5 + ["Euclidean"]
    assert "test rows; ℓ2 norm" in printed.err


def test_the_front_of_a_file_is_cross_fitted(capsys, tmp_path):
    x, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "flowers.npz", X=x, y=y)
    asked = ["front", str(tmp_path / "flowers.npz"), "--eps", "0.1", "--learner", "adversarial_pruning", "--folds", "3"]
    assert main([*asked, "--radii", "0.2", "auto", "--beside", "-o", str(tmp_path / "front.csv")]) == 0
    rows = read_rows((tmp_path / "front.csv").read_text())
    assert len(rows) == 2
    crossed = cross_fit(AdversarialPruning(0.2), x, y, folds=3).certify(method="exact")
    (found,) = (row for row in rows if row["target_radius"] == "0.2")
    assert float(found["robust_error"]) == robust_error(crossed.lower, 0.1)
    assert "(3 folds, seed 0)" in capsys.readouterr().err


def test_an_archive_without_a_test_part_is_certified_leave_one_out(tmp_path):
    x, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "flowers.npz", X=x, y=y)
    assert main(["certify", str(tmp_path / "flowers.npz"), "--method", "exact", "-o", str(tmp_path / "out.csv")]) == 0
    rows = read_rows((tmp_path / "out.csv").read_text(encoding="utf-8"))
    expected = MahalanobisKNN().fit(x, y).certify(x, y, method="exact", exclude=np.arange(len(x)))
    np.testing.assert_array_equal([float(row["lower"]) for row in rows], expected.lower)
    np.testing.assert_array_equal([float(row["upper"]) for row in rows], expected.upper)


def test_the_papers_archives_are_read_at_their_scale(tmp_path, capsys):
    x, y = load_iris(return_X_y=True)
    raw = (x * 10).astype(np.uint8)
    parts = {"X_train": raw[::2], "y_train": y[::2], "X_test": raw[1::2], "y_test": y[1::2]}
    np.savez(tmp_path / "set.npz", **parts, x_offset=5.0, x_scale=50.0)
    assert main(["certify", str(tmp_path / "set.npz"), "--points", "20"]) == 0
    rows = read_rows(capsys.readouterr().out)
    scaled = (raw - 5.0) / 50.0
    expected = MahalanobisKNN().fit(scaled[::2], y[::2]).certify(scaled[1::2][:20], y[1::2][:20])
    np.testing.assert_array_equal([float(row["lower"]) for row in rows], expected.lower)


def test_a_csv_file_with_a_frozen_feature(tmp_path, capsys):
    lines = ["a,b,kind", *(f"{k},{k % 3},{'low' if k < 5 else 'high'}" for k in range(10))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    assert main(["certify", str(tmp_path / "table.csv"), "--label", "kind", "--frozen", "a"]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert len(rows) == 10
    assert {row["label"] for row in rows} == {"low", "high"}
    assert main(["certify", str(tmp_path / "table.csv"), "--label", "kind"]) == 0
    free = [float(row["lower"]) for row in read_rows(capsys.readouterr().out)]
    assert all(float(row["lower"]) >= other for row, other in zip(rows, free, strict=True))


def test_an_attack_writes_rows_that_really_flip_in_the_files_own_units(tmp_path, capsys):
    lines = ["a,b,kind", *(f"{100 * k},{k % 3},{'low' if k < 5 else 'high'}" for k in range(10))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    out = tmp_path / "flipped.csv"
    assert main(["attack", str(tmp_path / "table.csv"), "--label", "kind", "--frozen", "b", "-o", str(out)]) == 0
    rows = read_rows(out.read_text(encoding="utf-8"))
    raw = np.array([[100.0 * k, k % 3] for k in range(10)])
    span = np.array([900.0, 2.0])
    kinds = np.array(["low"] * 5 + ["high"] * 5)
    knn = MahalanobisKNN().fit(raw / span, kinds)
    moved = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    answers = knn.predict(moved / span, exclude=np.arange(10))
    assert [row["becomes"] for row in rows] == answers.tolist()
    assert (answers != kinds).all()
    np.testing.assert_array_equal(moved[:, 1], raw[:, 1])
    np.testing.assert_allclose(
        [float(row["upper"]) for row in rows], np.abs(moved - raw)[:, 0] / 900, rtol=1e-9, atol=1e-15
    )
    assert "empirical error" in capsys.readouterr().err


@pytest.mark.parametrize("norm", ["2", *more("1", "inf")])
def test_an_attack_in_a_box_writes_rows_inside_it_and_their_own_sizes(norm, tmp_path, capsys):
    rng = np.random.default_rng(1)
    x = rng.random((60, 3)).round(3)
    kinds = np.where(x[:, 0] + 0.3 * x[:, 1] > 0.7, "p", "n")
    lines = [",".join([*(repr(value) for value in row), kind]) for row, kind in zip(x.tolist(), kinds, strict=True)]
    (tmp_path / "box.csv").write_text("\n".join(["a,b,c,kind", *lines]))
    words = ["attack", str(tmp_path / "box.csv"), "--label", "kind", "-k", "3", "--box", "0.2", "0.8", "--norm", norm]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert printed.err.rstrip().endswith("Radii and the box are measured after scaling each column to [0, 1]")
    low, width = x.min(axis=0), x.max(axis=0) - x.min(axis=0)
    changed = 0
    for before, row in zip(x, read_rows(printed.out), strict=True):
        if row["becomes"]:
            at, after = ((np.array(v) - low) / width for v in (before, [float(row[name]) for name in "abc"]))
            assert np.all((np.minimum(0.2, at) <= after) & (after <= np.maximum(0.8, at)))
            assert np.linalg.norm(after - at, ord=float(norm)) <= float(row["upper"])
            changed += 1
    assert changed > 30


def test_the_size_beside_a_row_counts_nothing_that_did_not_move(tmp_path, capsys):
    rng = np.random.default_rng(2)
    x = rng.random((40, 3)).round(3)
    kinds = np.where(x[:, 0] + 0.3 * x[:, 1] > 0.7, "p", "n")
    lines = [",".join([*(repr(value) for value in row), kind]) for row, kind in zip(x.tolist(), kinds, strict=True)]
    (tmp_path / "free.csv").write_text("\n".join(["a,b,c,kind", *lines]))
    assert main(["attack", str(tmp_path / "free.csv"), "--label", "kind", "-k", "3", "--frozen", "b"]) == 0
    rows = read_rows(capsys.readouterr().out)
    sizes = np.array([float(row["upper"]) for row in rows])
    wrong = np.array([row["label"] != row["predicted"] for row in rows])
    assert wrong.any()
    assert np.all(sizes[wrong] == 0)
    assert np.all((sizes[~wrong] > 0) & (sizes[~wrong] < 2))


def test_radii_and_the_box_of_a_file_can_be_in_its_own_units(tmp_path, capsys):
    thickness = [1.000, 1.001, 1.003, 1.008, 1.009, 1.010]
    lines = [f"{value},{kind}" for value, kind in zip(thickness, "aaabbb", strict=True)]
    (tmp_path / "thick.csv").write_text("\n".join(["mm,kind", *lines]))
    words = ["certify", str(tmp_path / "thick.csv"), "--label", "kind", "--method", "search", "--box", "1", "1.01"]
    assert main([*words, "--scaling", "none"]) == 0
    printed = capsys.readouterr()
    radii = [float(row["upper"]) for row in read_rows(printed.out)]
    assert radii[3] == pytest.approx(1.008 - (1.003 + 1.009) / 2)  # half way between its neighbours of either class
    assert "scaling" not in printed.err


def test_an_attack_leaves_out_what_the_files_units_cannot_hold(tmp_path, capsys):
    """Time stamps in seconds: floats there are 2⁻²² apart, and many changes end between two of them."""
    steps = np.sort(np.random.default_rng(0).integers(0, 40, 40))
    lines = ["stamp,machine", *(f"{1_700_000_000 + int(k) * 2**-21!r},{'a' if k < 20 else 'b'}" for k in steps)]
    path = tmp_path / "stamps.csv"
    path.write_text("\n".join(lines))
    assert main(["attack", str(path), "--label", "machine"]) == 0
    printed = capsys.readouterr()
    rows = read_rows(printed.out)
    data = read_dataset(path, label="machine")
    knn = MahalanobisKNN().fit(data.X_train, data.y_train)
    kept = [row for row in rows if row["becomes"]]
    assert 0 < len(kept) < len(rows)
    assert f"{len(rows) - len(kept)} of the changes are too small" in printed.err
    points = data.scaling.transform([[float(row["stamp"])] for row in kept])
    answers = knn.predict(points, exclude=np.array([int(row["row"]) for row in kept]))
    assert [data.class_names[code] for code in answers] == [row["becomes"] for row in kept]
    assert all(row["becomes"] != row["label"] for row in kept)


@pytest.mark.parametrize("kind", ["certified", "empirical"])
def test_the_errors_of_a_summary_are_those_at_the_radii_it_prints(kind):
    radii = 0.123 + np.array([-4e-4, -3e-4, 1e-4, 2e-4, 3e-4, 4e-4, 0.1, 0.2])
    text = summary("exact", kind, radii, np.ones(8, dtype=bool), ThreatModel(), "none")
    pairs = [part.split(" at ") for part in text.split(f"{kind} error ")[1].split(", ")]
    assert len({radius for _, radius in pairs}) == len(pairs) == 2  # the first two quartiles are written alike
    for error, radius in pairs:
        assert float(error) == float(robust_error(radii, float(radius)))


def test_a_reader_that_stops_early_is_no_mistake():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "arml_core", "datasets", "list"]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_where_nothing_flips_the_attack_leaves_the_columns_empty(tmp_path, capsys):
    x, y = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]]), np.array([0, 0, 1, 1])
    np.savez(tmp_path / "two.npz", X=x, y=y)
    assert main(["attack", str(tmp_path / "two.npz"), "--frozen", "x0", "--method", "boundary", "--steps", "5"]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert {(row["upper"], row["becomes"], row["x0"]) for row in rows} == {("inf", "", "")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["certify", "no_such_set"], "there is no dataset 'no_such_set'"),
        (["certify", "iris", "-k", "2", "--method", "theorem1"], "'theorem1' needs odd K"),
        (["certify", "iris", "--frozen", "petals"], "there is no column 'petals'"),
        (["certify", "iris", "--points", "0"], "--points must be at least 1"),
        (["certify", "file.csv"], "Which column is the label?"),
        (["certify", "iris", "--metric", "missing.npz"], "there is no such file"),
        (["front", "iris", "--eps", "-1"], "--eps must be at least 0; got -1"),
        (["front", "iris", "--eps", "1", "--radii", "0"], "radius must be above 0"),
        (["front", "iris", "--eps", "1", "--radii", "big"], "radius must be a number or 'auto'; got 'big'"),
        (["front", "iris", "--eps", "1", "-p", "radius=1"], "give the radius with --radii"),
        (["front", "iris", "--eps", "1", "--points", "0"], "--points must be at least 1"),
    ],
)
def test_a_mistake_ends_in_one_line_that_says_what(words, message, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert "Traceback" not in printed.err


def test_an_archive_with_other_arrays_names_them(tmp_path, capsys):
    np.savez(tmp_path / "odd.npz", weights=np.ones(3))
    assert main(["certify", str(tmp_path / "odd.npz")]) == 2
    assert "has no array X; it has weights" in capsys.readouterr().err


def test_an_archive_with_pickled_objects_is_refused(tmp_path, capsys):
    np.savez(tmp_path / "evil.npz", X=np.array([{"a": 1}], dtype=object), y=np.zeros(1))
    assert main(["certify", str(tmp_path / "evil.npz")]) == 2
    assert "evil.npz cannot be read: it holds Python objects, which are never read" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stop:
        build_parser().parse_args([command, "--help"])
    assert stop.value.code == 0
    assert "usage: python -m arml_core" in capsys.readouterr().out


def printed_examples():
    """The lines under "examples" in every command's help."""
    printed = io.StringIO()
    for command in COMMANDS:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            build_parser().parse_args([command, "--help"])
    lines = [line.strip() for line in printed.getvalue().splitlines()]
    return [line for line in lines if line.startswith("python -m arml_core ")]


def test_every_example_of_the_help_is_understood():
    examples = printed_examples()
    assert len(examples) >= 7
    for example in examples:
        assert build_parser().parse_args(shlex.split(example)[3:]).run


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(line, marks=pytest.mark.more if "search" in line or " front " in line else ())
        for line in printed_examples()
        if "bottles" in line or "iris" in line
    ],
)
def test_an_example_that_needs_no_download_runs_as_printed(example, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(example)[3:]) == 0
    assert capsys.readouterr().out


ONE_AFTER_THE_OTHER = """
import sys
from arml_core.cli import main
for call in sys.argv[1:]:
    print(call, "->", main(call.split()), flush=True)
"""
NO_PLAIN_FILES = (
    "certify pipe.csv --label kind",
    "certify zeros.csv --label kind",
    "certify pipe.npz",
    "certify zeros.npz",
    "datasets check pipe.csv",
    "datasets check folder.csv",
)


def test_what_is_no_plain_file_is_refused_instead_of_waited_for(tmp_path):
    """In a process of its own: whoever opens a pipe that nobody writes to waits for ever."""
    for name in ("pipe.csv", "pipe.npz"):
        os.mkfifo(tmp_path / name)
    for name in ("zeros.csv", "zeros.npz"):
        (tmp_path / name).symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    found = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, *NO_PLAIN_FILES],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert found.stdout.splitlines() == [f"{call} -> 2" for call in NO_PLAIN_FILES]
    assert found.stderr.count("is a folder, a pipe or a device") == len(NO_PLAIN_FILES)


def test_a_metric_that_is_no_plain_file_is_refused(tmp_path, capsys):
    os.mkfifo(tmp_path / "metric.npz")
    assert main(["certify", "iris", "--metric", str(tmp_path / "metric.npz")]) == 2
    assert "there is no such file" in capsys.readouterr().err
