"""A chart travels as one message: the figure, its words, and where plotly.js is; the library is the pinned one."""

import base64
import hashlib
import json

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs_version
from streamlit.testing.v1 import AppTest

from pages.components import chart
from pages.components.chart import ASSETS, SCRIPT


def sent(app: AppTest, key: str) -> dict:
    (found,) = (one.proto for one in app.get("bidi_component") if one.proto.id.endswith(key))
    return json.loads(found.bytes)


def a_page() -> None:
    import plotly.graph_objects as go

    from pages.components.chart import Mark, show_chart

    show_chart(go.Figure(go.Scatter(x=[1, 2], y=[3, 4])), key="one", alt='Two "points"', mark=Mark(1.5, "ε", "#000"))


def test_the_message_has_the_figure_its_words_and_the_library() -> None:
    app = AppTest.from_function(a_page).run()
    assert not app.exception
    message = sent(app, "one")
    assert message["alt"] == 'Two "points"'
    assert message["mark"] == {"x": 1.5, "text": "ε", "color": "#000"}
    assert message["figure"]["data"][0]["y"] == [3, 4]
    assert message["address"] == f"/component/pages.components.chart.plotly/{SCRIPT}"


def test_a_run_that_is_out_of_date_ends_while_the_browser_draws(monkeypatch) -> None:
    class OutOfDate(Exception):
        pass

    class State(dict[str, bool]):
        asked = 0

        def get(self, key: str) -> bool | None:
            self.asked += 1
            if self.asked == 3:
                raise OutOfDate
            return super().get(key)

    monkeypatch.setattr(chart, "FIRST_SECONDS", 60.0)
    monkeypatch.setattr(chart.st, "session_state", State())
    with pytest.raises(OutOfDate):
        chart.wait_for_drawing()


def test_only_the_first_charts_of_a_visit_get_a_long_time(monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(chart.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(chart.time, "sleep", slept.append)
    monkeypatch.setattr(chart.st, "session_state", {})
    chart.wait_for_drawing()
    assert sum(slept) == pytest.approx(chart.FIRST_SECONDS, abs=chart.MOMENT)
    slept.clear()
    chart.wait_for_drawing()
    assert sum(slept) == pytest.approx(chart.AGAIN_SECONDS, abs=chart.MOMENT)


def a_plain_figure() -> None:
    import numpy as np

    from pages.components.chart import show_chart

    z = np.arange(6, dtype=np.float32).reshape(2, 3)
    trace = {"type": "contour", "x": np.array([0.1, 0.2, 0.3]), "z": z, "name": "n"}
    show_chart({"data": [trace], "layout": {}}, key="plain", alt="Six numbers")


def test_arrays_of_a_plain_figure_are_packed_and_mean_the_same() -> None:
    (trace,) = sent(AppTest.from_function(a_plain_figure).run(), "plain")["figure"]["data"]
    assert trace["name"] == "n"
    assert trace["z"]["shape"] == "2, 3"
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(trace["z"]["bdata"]), trace["z"]["dtype"]), range(6))
    by_plotly = go.Figure(go.Scatter(x=np.array([0.1, 0.2, 0.3]))).to_dict()["data"][0]["x"]
    assert trace["x"] == {"dtype": "f8", "bdata": by_plotly["bdata"]}


@pytest.mark.release
def test_the_library_is_plotlys_own_of_the_version_the_package_speaks() -> None:
    script = (ASSETS / SCRIPT).read_bytes()
    digest = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
    assert hashlib.sha256(script).hexdigest() == digest
    assert f"v{get_plotlyjs_version()}".encode() in script[:200], plotly.__version__
    assert "Plotly" in (ASSETS / "LICENSE").read_text()
