"""A read table between two processes: arrays as .npz, words as JSON inside it. Nothing is pickled."""

from __future__ import annotations

import json
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...npz import read_npz
from .columns import Column
from .problems import Problem, Problems, Remedy
from .table import ReadResult, Table

OUT_OF_MEMORY, REFUSED = 3, 4
"""How the process that reads a file ends: the memory did not suffice; the options are the caller's mistake."""
_WORDS, _LINES = "words", "lines"
_SETTINGS = ("encoding", "separator", "decimal", "header", "format")


def write_result(result: ReadResult, file: IO[bytes]) -> None:
    """The table, if there is one, and the problems."""
    words: dict[str, Any] = {"problems": [_from_problem(problem) for problem in result.problems]}
    arrays: dict[str, NDArray[Any]] = {}
    if result.table is not None:
        words["table"] = _table_words(result.table)
        arrays[_LINES] = result.table.lines
        for k, column in enumerate(result.table.columns):
            arrays[f"values_{k}"], arrays[f"kinds_{k}"] = column.values, column.kinds
            if column.codes is not None:
                arrays[f"codes_{k}"] = column.codes
    arrays[_WORDS] = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **arrays)


def read_result(file: IO[bytes], limit: int) -> ReadResult:
    """What :func:`write_result` wrote; a ValueError for anything else."""
    arrays = read_npz(file, limit)
    try:
        words = json.loads(arrays[_WORDS].tobytes())
        found = Problems(_to_problem(problem) for problem in words["problems"])
        return ReadResult(_to_table(words["table"], arrays) if "table" in words else None, found)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"it holds no table ({error})") from error


def _table_words(table: Table) -> dict[str, Any]:
    columns = [
        {"name": c.name, "texts": c.texts, "first_text": c.first_text and [int(c.first_text[0]), c.first_text[1]]}
        for c in table.columns
    ]
    return {"columns": columns, "preview": table.preview} | {name: getattr(table, name) for name in _SETTINGS}


def _to_table(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Table:
    return Table(
        columns=tuple(_to_column(column, k, arrays) for k, column in enumerate(words["columns"])),
        lines=arrays[_LINES],
        preview=tuple(tuple(row) for row in words["preview"]),
        **{name: words[name] for name in _SETTINGS},
    )


def _to_column(words: dict[str, Any], k: int, arrays: dict[str, NDArray[Any]]) -> Column:
    return Column(
        name=words["name"],
        values=arrays[f"values_{k}"],
        kinds=arrays[f"kinds_{k}"],
        texts=None if words["texts"] is None else tuple(words["texts"]),
        codes=arrays.get(f"codes_{k}"),
        first_text=None if words["first_text"] is None else (words["first_text"][0], words["first_text"][1]),
    )


def _from_problem(problem: Problem) -> dict[str, Any]:
    remedies = [{"words": r.words, "options": dict(r.options), "step": r.step} for r in problem.remedies]
    return {**vars(problem), "remedies": remedies}


def _to_problem(words: dict[str, Any]) -> Problem:
    remedies = [
        Remedy(r["words"], {k: tuple(v) if isinstance(v, list) else v for k, v in r["options"].items()}, r["step"])
        for r in words["remedies"]
    ]
    return Problem(**{**words, "lines": tuple(words["lines"]), "remedies": tuple(remedies)})
