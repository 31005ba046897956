"""``train``: learn a metric, or references with one, from a dataset and save it to a file."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

from ..datasets import Dataset
from ..datasets.scaling import SCALING_KINDS
from ..datasets.table import Layout, layout_of
from ..knn import MahalanobisKNN
from ..learners.estimation import estimate
from ..learners.registry import LEARNERS, LearnerEntry
from ..learners.storage import save_metric
from ..neighbors.chosen import classifier_arguments
from ..references.registry import REFERENCES
from .files import is_table, load_data, load_table
from .progress import progress_bar

OFFERED = {**LEARNERS, **REFERENCES}


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="learn a metric or references and save them",
        description="Learn a metric from a dataset's training part, or which points to compare with, and save it to a "
        "file; 'certify' and 'attack' take it with --metric.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_describe_learners(),
    )
    parser.add_argument("dataset", metavar="data", help="a name from the command 'datasets', a .npz or a .csv file")
    parser.add_argument("learner", nargs="?", default="arml", choices=OFFERED, help="default: arml")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: DATASET-LEARNER.npz)")
    parser.add_argument(
        "--model-out",
        type=Path,
        metavar="MODEL.npz",
        help="write a whole model, with the training rows and the columns of a .csv file: 'certify' and 'attack' take "
        "it with --model and read tomorrow's file the same way",
    )
    parser.add_argument("-k", "--neighbors", type=int, default=1, help="K of the model (default: 1)")
    parser.add_argument("--label", help="the label column of a .csv file")
    parser.add_argument(
        "--category",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of a .csv file that holds categories",
    )
    parser.add_argument("--scaling", choices=SCALING_KINDS, default="minmax", help="of a .csv file (default: minmax)")
    parser.add_argument("-p", "--set", action="append", default=[], metavar="NAME=VALUE", help="set a parameter")
    parser.add_argument("--seed", type=int, default=42, help="default: 42")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Train and save; until the training is over nothing is written."""
    entry = OFFERED[arguments.learner]
    parameters = parse_parameters(entry, arguments.set)
    outputs = _outputs(arguments, entry.name)
    for output in outputs:
        _check_output(output, arguments.force)
    data, layout = _training_rows(arguments)
    learner = entry.build(
        parameters, random_state=arguments.seed, device=arguments.device, image_shape=data.image_shape
    )
    expected = estimate(entry, len(data.X_train), data.n_features, data.n_classes, parameters)
    print(f"{entry.title} on {data.title}: {len(data.X_train)} points, {data.n_features} features; {expected}")
    started = time.perf_counter()
    try:
        with progress_bar(entry.title, "it") as callback, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            learner.fit(data.X_train, data.y_train, callback=callback)
    except FloatingPointError as error:
        raise ValueError(str(error)) from error
    for message in {str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)}:
        print(f"warning: {message}")
    about = {"dataset": data.name, "fingerprint": data.fingerprint, "seed": arguments.seed}
    for output in outputs:
        if output == arguments.model_out:
            knn = MahalanobisKNN(arguments.neighbors, **classifier_arguments(learner)).fit(data.X_train, data.y_train)
            knn.save(output, layout)
        else:
            save_metric(output, learner, **about, class_names=data.class_names if entry.gives_references else None)
    found = f"{len(learner.references_):,} references" if entry.gives_references else f"{learner.n_iter_} iterations"
    written = " and ".join(map(str, outputs))
    print(f"saved {written} after {time.perf_counter() - started:.1f} s, {found}")


def _outputs(arguments: argparse.Namespace, learner: str) -> list[Path]:
    """The files to write: a metric unless only a model is asked for."""
    asked = [path for path in (arguments.output, arguments.model_out) if path is not None]
    return asked or [Path(f"{Path(arguments.dataset).stem}-{learner}.npz")]


def _training_rows(arguments: argparse.Namespace) -> tuple[Dataset, Layout]:
    """What is learned from, and how the columns of a later file become its features."""
    if is_table(arguments.dataset):
        table = load_table(arguments.dataset, arguments.label, arguments.scaling, arguments.category)
        return table.dataset(Path(arguments.dataset).stem), table.layout
    data = load_data(arguments.dataset, arguments.label, arguments.scaling)
    return data, layout_of(data)


def parse_parameters(entry: LearnerEntry, settings: list[str]) -> dict[str, Any]:
    parameters = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set wants NAME=VALUE; got {setting!r}")
        parameters[name] = entry.parameter(name).parse(text)
    return parameters


def _check_output(output: Path, force: bool) -> None:
    """Refuse before the training what could not be saved after it."""
    if output.suffix != ".npz":
        raise ValueError(f"the output must be a .npz file; got {output}")
    if not output.parent.is_dir():
        raise ValueError(f"there is no folder {output.parent} to write {output.name} to")
    if output.exists() and not force:
        raise ValueError(f"{output} exists; use --force to overwrite it")


def _describe_learners() -> str:
    lines = ["learners and their parameters (set with -p NAME=VALUE):"]
    for entry in OFFERED.values():
        lines.append(f"\n  {entry.name}: {entry.summary}")
        for p in entry.parameters:
            values = " | ".join(p.choices) if p.choices else f"{p.kind} | auto" if p.automatic else p.kind
            lines.append(f"    {p.name} = {str(p.default).lower()} ({values})  {p.help}")
    return "\n".join(lines)
