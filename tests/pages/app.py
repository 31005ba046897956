"""A page as streamlit computes it, without a browser."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]


def alone(script: str, seconds: float = 60, /, **query: str) -> AppTest:
    """One script at an address, by itself: not through the navigation, and not for the first time."""
    app = AppTest.from_file(str(ROOT / script), default_timeout=seconds)
    app.session_state["shell_opened"] = True
    for name, text in query.items():
        app.query_params[name] = text
    app.run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, str]:
    """What stands in the address."""
    return {name: found[0] if isinstance(found, list) else found for name, found in app.query_params.items()}
