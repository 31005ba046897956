"""The Compare page, read without a browser, and results like those that ship, in small."""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from arml_core import ThreatModel
from arml_core.results import Evaluation
from pages.components.compare.catalogue import load_catalogue
from pages.components.compare.charts import Chart, make_charts, resolve
from pages.components.compare.choices import CompareView
from tests.test_comparison import attack, certificate

from ..app import alone

PATIENCE = 90.0
N = 200


def made(learner: str, title: str, spread: float, dataset: str = "splice", **changes: Any) -> list[Evaluation]:
    """What ships for one metric, in small: exact for K = 1, two certificates and two attacks for K = 11."""
    rng = np.random.default_rng(7)
    true = np.concatenate([np.zeros(N // 10), spread * rng.random(N - N // 10)])
    about = {
        "dataset": dataset,
        "dataset_title": dataset.capitalize(),
        "learner": learner,
        "learner_title": title,
        "parameters": {},
        "seed": 42,
        "correct": true > 0,
        "planned": N,
        "points": {"part": "evaluation", "n": N, "digest": None, "labels": True},
        **changes,
    }
    exact = about | {"lower": true, "upper": true, "exact": np.ones(N, dtype=bool), "n_neighbors": 1}
    proof = about | {"upper": np.full(N, np.inf), "exact": np.zeros(N, dtype=bool), "n_neighbors": 11}
    few = {
        "n_neighbors": 11,
        "planned": 50,
        "points": about["points"] | {"n": 50},
        "upper": 1.2 * true[:50],
        "lower": np.zeros(50),
        "exact": np.zeros(50, dtype=bool),
        "correct": true[:50] > 0,
    }
    boundary = {"options": {"steps": 500}, "attack_seed": 3}
    return [
        certificate("exact", **exact),
        certificate("theorem1", **(proof | {"lower": 0.7 * true})),
        certificate("votes", **(proof | {"lower": 0.9 * true})),
        attack("whitebox", **(about | few)),
        attack("boundary", **(about | few | boundary | {"threat": ThreatModel(box=(0, 1))})),
    ]


EVERY = [
    *made("euclidean", "Euclidean", 0.4),
    *made("arml", "ARML", 0.8),
    *made("euclidean", "Euclidean", 0.3, "pendigits", fingerprint="p" * 32),
]


def page(**query: str) -> AppTest:
    return alone("pages/compare.py", **query)


def words(app: AppTest) -> str:
    """What is read on the page: a backslash only keeps the next sign from meaning anything."""
    kinds = (app.caption, app.info, app.markdown, app.warning)
    return "\n".join(found.value for kind in kinds for found in kind).replace("\\", "")


def column(app: AppTest, name: str, table: int = 0) -> dict[str, str]:
    shown = app.table[table].value
    found = zip(shown["Model"], shown[name], strict=True)
    return {method.replace("\\", ""): value.strip("*★ ") for method, value in found}


def charts_of(**view: Any) -> list[Chart]:
    found = load_catalogue()
    chosen = CompareView(**view)
    return make_charts(chosen, resolve(chosen, found), found)[0]
