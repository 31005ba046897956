"""``datasets list | info | fetch | check``: what there is, what is here, and what is wrong with a file."""

from __future__ import annotations

import argparse
from typing import Any

from ..datasets import DatasetInfo, dataset_info, fetch_dataset, list_datasets, load_dataset
from ..datasets.table import Problems, read_table, select
from .progress import progress_bar


def register(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser("datasets", help="list, describe and download datasets; check a file")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every dataset: size, classes, and whether it is on this machine")
    listing.set_defaults(run=_list)
    info = actions.add_parser("info", help="one dataset: size, classes, source, terms, fingerprint")
    info.add_argument("name", help="a name from 'datasets list'")
    info.set_defaults(run=_info)
    fetch = actions.add_parser("fetch", help="download datasets of the paper that are not on this machine")
    fetch.add_argument("names", nargs="+", metavar="name", help="names from 'datasets list', or 'all'")
    fetch.set_defaults(run=_fetch)
    check = actions.add_parser("check", help="say what is wrong with a table in a file")
    check.add_argument("file", help="the file")
    check.add_argument("--label", help="the column that holds the label")
    check.set_defaults(run=_check)


def _list(arguments: argparse.Namespace) -> None:
    rows = [("name", "train", "test", "features", "classes", "here")]
    for info in list_datasets():
        sizes = (info.n_train, info.n_test, info.n_features, info.n_classes)
        rows.append((info.name, *(str(size) for size in sizes), _here(info)))  # type: ignore[arg-type]
    widths = [max(len(row[k]) for row in rows) for k in range(6)]
    for row in rows:
        numbers = "  ".join(row[k].rjust(widths[k]) for k in range(1, 5))
        print(f"{row[0].ljust(widths[0])}  {numbers}  {row[5]}")


def _here(info: DatasetInfo) -> str:
    if not info.available:
        return "no (datasets fetch)"
    return "built in" if info.location is None else str(info.location)


def _info(arguments: argparse.Namespace) -> None:
    info = dataset_info(arguments.name)
    lines = {
        "name": info.name,
        "title": info.title,
        "about": info.description,
        "rows": f"{info.n_train:,} train, {info.n_test:,} test",
        "features": f"{info.n_features:,}",
        "classes": f"{info.n_classes:,}",
        "source": info.source,
        "terms": info.terms,
        "here": _here(info),
    }
    if info.options:
        lines["options"] = ", ".join(f"{name} = {default:g}" for name, default in info.options.items())
    if info.available:
        dataset = load_dataset(info.name)
        lines["class names"] = ", ".join(dataset.class_names)
        lines["fingerprint"] = dataset.fingerprint
    width = max(len(key) for key in lines)
    for key, value in lines.items():
        print(f"{key.ljust(width)}  {value}")


def _fetch(arguments: argparse.Namespace) -> None:
    paper = [info.name for info in list_datasets() if info.group == "paper"]
    names = paper if arguments.names == ["all"] else arguments.names
    for info in [dataset_info(name) for name in names]:
        if info.available:
            print(f"{info.title} is on this machine: {_here(info)}")
            continue
        with progress_bar(info.name, "B") as callback:
            path = fetch_dataset(info.name, callback)
        print(f"{info.title}: {path}")


def _check(arguments: argparse.Namespace) -> None:
    table, found = read_table(arguments.file)
    _print_problems(found)
    if table is None:
        raise ValueError("the file cannot be read")
    print(f"{table.n_rows:,} rows, {len(table.columns):,} columns: {', '.join(table.names[:10])}")
    data, more = select(table, label=arguments.label)
    _print_problems(more)
    if data is None or found.blocking:
        raise ValueError("the file cannot be used before this is settled")
    print(f"classes: {', '.join(data.layout.class_names)}")


def _print_problems(found: Problems) -> None:
    for problem in found:
        print(f"{problem.severity}: {problem.message}")
        for remedy in problem.remedies[:10] if problem.severity != "note" else ():
            settings = ", ".join(f"{key}={value!r}" for key, value in remedy.options.items())
            print(f"    - {remedy.words.split('. ')[0]}" + (f"  [{settings}]" if settings else ""))
