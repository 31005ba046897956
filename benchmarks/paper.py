"""The paper's published numbers, by our names of the datasets."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

TITLES = {
    "splice": "Splice",
    "pendigits": "Pendigits",
    "satimage": "Satimage",
    "usps": "USPS",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
}
SMALL = ("splice", "pendigits", "satimage", "usps")


@cache
def _results() -> dict[str, Any]:
    file = Path(__file__).parents[1] / "data" / "paper_results.json"
    return json.loads(file.read_text(encoding="utf-8"))


def radii(name: str) -> list[float]:
    return _results()["table_1_exact_1nn_robust_error"][TITLES[name]]["radii"]


def table_1(name: str, method: str) -> list[float]:
    """Robust errors of 1-NN, exact."""
    return _results()["table_1_exact_1nn_robust_error"][TITLES[name]][method]


def table_2(name: str, method: str, side: str = "certified") -> list[float]:
    """Robust errors of 11-NN; `side` is "certified" or "empirical"."""
    return _results()["table_2_knn_robust_error"][TITLES[name]][method][side]
