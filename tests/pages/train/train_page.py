"""The Train page, read without a browser, and what its jobs look like."""

from __future__ import annotations

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from arml_core.jobs import JobStatus
from pages.components.dataset_options import DatasetOption

from ..app import ROOT

PATIENCE = 120.0
TABLE = "x1,x2,label\n" + "".join(f"{i % 7},{(i * 5) % 11},{'ab'[i % 2]}\n" for i in range(40))


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["train_warmed"] = True  # no worker unless a test asks for work
    for name, text in query.items():
        app.query_params[name] = text
    app.switch_page("pages/train.py").run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.success, app.subheader)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def drawn(app: AppTest) -> str:
    """The figures and their alternative texts, as they are sent."""
    return "\n".join(str(chart.proto) for chart in app.get("bidi_component"))


def offer(**changes) -> DatasetOption:
    return replace(DatasetOption("wine", "Wine", "bundled", 124, 54, 13, 3, unit_scale=True), **changes)


def status(state: str, **changes) -> JobStatus:
    plain_values = {
        "id": "0" * 32,
        "kind": "train",
        "state": state,
        "title": "ARML on Wine",
        "phase": "training",
        "done": 312,
        "total": 1000,
        "seconds_left": 12.0,
        "position": None,
        "attempt": 1,
        "reason": "",
        "note": "",
        "needs": None,
        "dataset": "",
        "private": False,
        "mine": True,
        "created": 0.0,
        "started": 10.0,
        "finished": None,
        "silent": None,
        "content": {"kind": "train", "learner": "arml", "seed": 42},
    }
    return JobStatus(**{**plain_values, **changes})
