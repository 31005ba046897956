"""The report's sections beyond the two tables: figures, sensitivity, runtime and datasets, as far as they are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..results import Evaluation, read_results
from ..vocabulary import BOUNDED_CLASSIFIERS, radius_down
from . import measurements, published
from .markdown import errors_table, row, rule
from .paper_comparison import spread
from .plan import SENSITIVITY_SETS
from .published import METHODS, TITLES
from .result_files import result_path
from .tables import column_of


def further_sections(folder: Path) -> Iterator[str]:
    yield from _figure_1(folder / "figure1")
    yield from _figure_2(folder)
    yield from _sensitivity(folder / "sensitivity")
    yield from _runtime(folder)
    yield from _datasets(folder)


def _read(folder: Path) -> list[Evaluation]:
    return [evaluation for path in sorted(folder.glob("*.npz")) for evaluation in read_results(path)]


def _figure_1(folder: Path) -> Iterator[str]:
    found = {evaluation.run.learner: evaluation for evaluation in _read(folder)}
    if not found:
        return
    yield "## Figure 1: seven points, three metrics\n"
    yield (
        "The paper does not print its coordinates; ours are a layout on which the same happens. Exact leave-one-out "
        "radii of 1-NN: NCA makes them smaller than the Euclidean metric has them, ARML larger.\n"
    )
    yield row(["metric", "mean radius", "smallest", "wrong points"])
    yield rule(4)
    for learner in [name for name in METHODS if name in found]:
        radii, wrong = found[learner].radii.lower, int((~found[learner].radii.correct).sum())
        yield row([METHODS[learner], radius_down(float(radii.mean())), radius_down(float(radii.min())), str(wrong)])
    yield ""


def _figure_2(folder: Path) -> Iterator[str]:
    networks = _read(folder / "figure2")
    if not networks:
        return
    yield "## Figure 2: ARML beside neural networks\n"
    yield (
        "Certified robust errors. The paper shows them as curves without numbers and does not describe its networks; "
        "ours are fully connected, two hidden layers of 256. CROWN bounds an ordinary network, randomized smoothing "
        "(Cohen et al., N₀ = 100, N = 10,000, α = 0.001; abstaining counts as an error) one trained under Gaussian "
        "noise. A smoothed network's radius holds with probability 0.999, the other two are certain.\n"
    )
    for dataset in [name for name in TITLES if any(e.dataset == name for e in networks)]:
        path = result_path(folder, dataset, "arml")
        arml = [e for e in (read_results(path) if path.exists() else ()) if column_of(e) == "exact"]
        rows = [("1-NN with ARML, exact" + _points(e), e.bound) for e in arml]
        rows += [(f"network, {e.describe_method()}{_points(e)}", e.bound) for e in networks if e.dataset == dataset]
        yield f"### {TITLES[dataset]}\n"
        yield from errors_table("classifier", published.radii(dataset), rows)


def _points(evaluation: Evaluation) -> str:
    return f", {len(evaluation)} points" if len(evaluation) < published.POINTS else ""


def _sensitivity(folder: Path) -> Iterator[str]:
    found = _read(folder)
    if not found:
        return
    yield "## Sensitivity to the size of the neighbourhood (Figures 3 and 4)\n"
    yield (
        "ARML draws its triplets from so many nearest points; the paper takes 10 and sees little difference. Its "
        "empirical curve is the boundary attack's, ours the white-box attack's.\n"
    )
    for dataset in SENSITIVITY_SETS:
        for column, title in BOUNDED_CLASSIFIERS.items():
            chosen = [e for e in found if e.dataset == dataset and column_of(e) == column]
            if not chosen:
                continue
            chosen.sort(key=lambda e: int(e.run.parameters["n_neighbors"]))
            yield f"{TITLES[dataset]}, {title}{_points(chosen[0])}; {_spread(chosen)}:\n"
            rows = ((str(e.run.parameters["n_neighbors"]), e.bound) for e in chosen)
            yield from errors_table("size", published.radii(dataset), rows)


def _spread(chosen: list[Evaluation]) -> str:
    """How far apart the curves lie, in words."""
    apart = spread(chosen, published.radii(chosen[0].dataset))
    return f"the errors at a radius differ by at most {apart:.3f}"


def _runtime(folder: Path) -> Iterator[str]:
    found = measurements.read_measurements(folder, measurements.RUNTIME_FILE)
    if not found:
        return
    yield "## Runtime: 100 iterations on USPS\n"
    yield row(["metric", "the paper's seconds", "our seconds", "iterations", "on"])
    yield rule(5)
    theirs = published.runtime_seconds()
    for learner in [name for name in measurements.RUNTIME_PARAMETERS if name in found]:
        about = found[learner]
        paper = theirs["ARML_cpu" if learner == "arml" else METHODS[learner]]
        where = f"{about['machine']}, {about['threads']} thread{'s' if about['threads'] > 1 else ''}"
        yield row([METHODS[learner], f"{paper:g}", f"{about['seconds']:g}", str(about["iterations"]), where])
    yield (
        f"\nThe paper's ran on a Xeon E5-2620 v4, with metric-learn's code for the other three; ARML took "
        f"{theirs['ARML_gpu']:g} s on a GPU. An iteration is not the same amount of work for each.\n"
    )


def _datasets(folder: Path) -> Iterator[str]:
    found = measurements.read_measurements(folder, measurements.DATASETS_FILE)
    if not found:
        return
    yield "## Datasets: errors of the Euclidean metric on all test points\n"
    yield row(["dataset", "features", "classes", "train", "test", "1-NN, paper", "ours", "11-NN, paper", "ours"])
    yield rule(9)
    for name in [name for name in TITLES if name in found]:
        ours, paper = found[name], published.dataset_facts(name)
        sizes = [f"{ours[key]:,}" for key in ("features", "classes", "train", "test")]
        errors = [text for key in ("error_1nn", "error_11nn") for text in (f"{paper[key]:.3f}", f"{ours[key]:.4f}")]
        yield row([TITLES[name], *sizes, *errors])
    yield ""
