"""Whatever stands in the address: the page opens, with a default and a quiet notice where a value makes no sense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.components.address import Choices, read_changes, whole, write_choices, written
from pages.components.certify.choices import CHOICES as CERTIFY
from pages.components.compare.choices import CHOICES as COMPARE
from pages.components.inspect.choices import CHOICES as INSPECT
from pages.components.paper.choices import CHOICES as PAPER
from pages.components.playground import view as playground
from pages.components.train.choices import CHOICES as TRAIN

ROOT = Path(__file__).parents[2]
PLAYGROUND = Choices("playground", playground.DEFAULT, playground._READ, playground._WRITE)
CHOICES: dict[str, Choices[Any]] = {
    "playground": PLAYGROUND,
    "train": TRAIN,
    "compare": COMPARE,
    "certify": CERTIFY,
    "inspect": INSPECT,
    "paper": PAPER,
}
OTHERS = ("colour", "__proto__", "embed_options", "'", "<b>", "key", "a" * 3000)
JOB, DIGEST = "0123456789abcdef" * 2, "fedcba9876543210" * 4
HOSTILE = (
    "",
    " ",
    "-1",
    "0",
    "1e999",
    "-1e999",
    "nan",
    "9" * 5000,
    "0000000019999999999",
    "²",
    "١",
    "1_0",
    "a" * 3000,
    "~" * 500,
    "__",
    "<script>alert(1)</script>",
    "![x](http://evil) **b** :smile: $x$",
    "'; DROP TABLE jobs; --",
    "../../../../etc/passwd",
    "C:\\con",
    "\x00",
    "\u202e\u200b\ufeff",
    "😀" * 50,
    "%00%2e%2e",
    "=1+1",
    "null",
    "[]",
    "{}",
    "[" * 3000,
    '{"a":' * 2000,
    '["\\ud800"]',
    '{"\\ud800":1}',
    '{"k": 1e999}',
    JOB,
    DIGEST,
    f"{JOB}~{JOB}",
)
MEANT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "playground": {
        "data": playground.PRESETS,
        "n": ("6", "25"),
        "noise": ("0", "1"),
        "points": ("0_0_0~1_1_1~2_0_1", "0_0_0~0_0_1~0_0_2", "1000_-1000_0~-1000_1000_1~0_0_3"),
        "methods": ("hand~euclidean", "lfda~lfda", "nca~itml", "robust_prototypes~robust_prototypes"),
        "k": ("1", "15"),
        "norm": tuple(playground.NORMS),
        "row": ("0", "199"),
        "at": ("0_0", "1000_-1000"),
        "hand": ("0.1_5_90",),
        "epoch": ("0", "1000"),
        "prototypes": ("auto", "1", "20"),
        "target": ("auto", "0.001", "1000"),
        "prototype_epoch": ("0", "7", "100000", "end"),
        "lesson": ("fooled", "metric", "promise", "fewer"),
        "step": ("1", "5"),
        "hide": ("~".join(playground.HIDEABLE),),
    },
    "train": {
        "datasets": ("iris~wine", "mnist", DIGEST, "seven_points"),
        "methods": ("arml~lmnn", "itml", "euclidean"),
        "seeds": ("0-19", "2147483647"),
        "settings": ("arml:n_epochs:1000000000", "arml:n_epochs:-5", "lmnn:k:999", "arml:loss:none", "x:y:z"),
        "job": (JOB,),
        "curve": (JOB,),
        "k": ("99",),
        "norm": ("l1", "linf"),
        "certificate": ("votes", "search", "theorem1"),
        "points": ("10000",),
    },
    "compare": {
        "data": ("splice~pendigits", "iris", "none", "x" * 40),
        "methods": ("arml~lmnn", "none", "nobody"),
        "runs": ("abcd~0123", JOB[:8], "none"),
        "k": ("1", "11", "999"),
        "norm": ("l1", "linf"),
        "limits": ("box", "special"),
        "certificate": ("theorem1", "exact"),
        "attack": ("none", "boundary"),
        "eps": ("0", "1e6", "0.3"),
        "band": ("1",),
    },
    "certify": {
        "mode": ("two", "run"),
        "file": ("pumps", "bottles", "messy", "nothing", DIGEST),
        "query": ("pumps", "messy", "nothing", DIGEST),
        "run": (JOB,),
        "read": (
            '{"encoding":"utf-16"}',
            '{"encoding":"idna"}',
            '{"encoding":"hex"}',
            '{"separator":"1"}',
            '{"separator":" "}',
            '{"separator":"\\u0000"}',
            '{"separator":","}',
            '{"decimal":","}',
            '{"decimal":",","separator":","}',
            '{"header":false}',
            '{"skip_ragged":true,"keep_row_numbers":true}',
        ),
        "use": (
            '{"label":"state"}',
            '{"label":"machine","drop_incomplete":true}',
            '{"label":"nobody"}',
            '{"label":""}',
            '{"label":"state","drop":["state"]}',
            '{"label":"state","one_hot":["state"]}',
            '{"label":"state","drop":["hours","hours"],"one_hot":["x"]}',
            '{"labels_are_classes":true,"labelled":false}',
        ),
        "scaling": ("none", "standard"),
        "frozen": ('["state"]', '["hours","nobody"]', "[]", '[""]'),
        "size": ("file", "own"),
        "costs": ('{"hours":0.000001}', '{"x":1000000}', '{"hours":0}', '{"hours":NaN}'),
        "metric": ("arml", "lmnn", "run"),
        "params": ('{"n_epochs":-1}', '{"nothing":"x"}', '{"n_epochs":"many"}', '{"n_epochs":1e300}', '{"k":null}'),
        "k": ("2", "97", "98", "999"),
        "norm": ("l1", "linf"),
        "method": ("theorem1", "exact", "search", "votes"),
        "jobs": (JOB, f"{JOB}~{JOB}"),
        "eps": ("0", "1e9", "1e150"),
        "row": ("1", "100000000"),
    },
    "inspect": {
        "data": ("iris", "wine", "seven_points", "nobody", JOB[:8]),
        "metric": ("euclidean", "arml", "nobody", JOB[:8]),
        "show": ("metric", "point"),
        "part": ("train", "test"),
        "row": ("0", "9999999"),
        "k": ("1", "99"),
        "norm": ("l1", "linf"),
        "want": ("wrong", "right"),
    },
    "paper": {
        "show": ("table1", "table2", "figure1", "figure2", "sensitivity", "runtime", "datasets"),
        "data": ("mnist", "usps"),
        "method": ("arml", "itml"),
        "column": ("theorem1", "whitebox", "boundary"),
    },
    "start": {},
}
NAMES = {page: tuple(MEANT[page]) for page in MEANT} | {page: tuple(CHOICES[page].readers) for page in CHOICES}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARML_HOME", str(tmp_path))
    monkeypatch.setenv("ARML_DATA", str(tmp_path))  # nothing large is loaded, whatever the address says


def opened(page: str, query: Mapping[str, str | list[str]]) -> AppTest:
    """The page at this address; nothing may be raised."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["train_warmed"] = True  # no worker unless somebody asks for work
    for name, text in query.items():
        app.query_params[name] = text
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, (page, query, [raised.value for raised in app.exception])
    return app


def addresses(page: str) -> st.SearchStrategy[dict[str, str | list[str]]]:
    """Parameters of the page and others, with values that are meant, hostile, random or repeated."""

    def values(name: str) -> st.SearchStrategy[str | list[str]]:
        meant = MEANT[page].get(name, ("1",))
        one = st.one_of(st.sampled_from(meant), st.sampled_from(meant), st.sampled_from(HOSTILE), st.text(max_size=12))
        return one | st.lists(one, min_size=2, max_size=3)

    name = st.sampled_from(NAMES[page]) if NAMES[page] else st.just("colour")
    known = st.lists(name, max_size=6, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: values(name) for name in names})
    )
    other = st.dictionaries(st.sampled_from(OTHERS), st.text(max_size=8))
    return st.builds(lambda one, two: {**two, **one}, known, other)


@pytest.mark.parametrize("page", CHOICES)
def test_every_parameter_has_a_reader_and_a_default(page: str) -> None:
    choices = CHOICES[page]
    assert {field.name for field in fields(choices.base)} == set(choices.readers)
    assert set(MEANT[page]) <= set(choices.readers)


@pytest.mark.fuzz
@pytest.mark.parametrize("page", CHOICES)
@given(st.data())
def test_what_a_reader_accepts_can_be_written_and_read_again(page: str, data: st.DataObject) -> None:
    """So a page that publishes its choices never brings up an address that it would refuse itself."""
    choices = CHOICES[page]
    name = data.draw(st.sampled_from(tuple(choices.readers)))
    meant = MEANT[page].get(name, ("1",))
    text = data.draw(st.one_of(st.sampled_from(meant), st.sampled_from(HOSTILE), st.text(), JSON_TEXT))
    check_reader(choices, name, text)


JSON_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
).map(json.dumps)  # fmt: skip


@pytest.mark.parametrize("page", CHOICES)
def test_hostile_values_are_read_or_refused_by_every_reader(page: str) -> None:
    choices = CHOICES[page]
    for name in choices.readers:
        for text in (*HOSTILE, *MEANT[page].get(name, ())):
            check_reader(choices, name, text)


def check_reader(choices: Choices[Any], name: str, text: str) -> None:
    changes, notices = read_changes({name: text}, choices.readers)
    for notice in notices:
        assert len(notice) < 1500
        assert text == "" or len(text) < 60 or text not in notice
    if not changes:
        assert notices
        return
    chosen = replace(choices.base, **changes)
    query = write_choices(chosen, choices.base, choices.writers)
    for text in query.values():
        text.encode()
    again, refused = read_changes(query, choices.readers)
    assert not refused
    assert write_choices(replace(choices.base, **again), choices.base, choices.writers) == query


@given(st.floats(allow_nan=False))
def test_a_number_in_the_address_is_the_number_itself(value: float) -> None:
    """A verdict at 0.37825798 may be another one at 0.378258."""
    assert float(written(value)) == value


@pytest.mark.parametrize("text", ["0000000019999999999", "9" * 5000, "0" * 5000, "1" + "0" * 9])
def test_a_whole_number_is_within_its_limits_however_it_is_written(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 100000000"):
        whole(1, 100_000_000)(text)


SEVERAL: Mapping[str, tuple[dict[str, str | list[str]], ...]] = {
    "start": ({"colour": "red", "key": "x", "job": JOB},),
    "playground": (
        {"k": "0000000019999999999", "row": "9" * 5000, "lesson": "<script>", "n": "-1"},
        {"points": "1000_-1000_0~-1000_1000_1~0_0_3", "k": "15", "row": "199", "methods": "hand~lfda"},
        {"points": "0_0_0~0_0_1~0_0_2", "k": "1", "methods": "hand~euclidean"},
        {"data": ["moons", "<b>"], "norm": ["l1", "linf"], "noise": "1", "at": "1000_-1000"},
    ),
    "train": (
        {"datasets": "<script>", "seeds": "0-99999", "settings": "arml:n_epochs:1e999", "job": JOB, "k": "-1"},
        {"datasets": f"iris~{DIGEST}", "methods": "arml~lmnn~itml", "seeds": "0-19", "curve": JOB},
    ),
    "compare": (
        {"data": "../../etc/passwd", "runs": JOB[:8], "k": "999", "eps": "nan", "hide": "x" * 3000},
        {"data": "none", "methods": "none", "norm": "linf", "limits": "special", "eps": "1e6", "band": "1"},
    ),
    "certify": (
        {"file": "nothing", "query": "nothing", "mode": "two"},
        {"file": DIGEST, "read": '{"encoding":"hex"}', "use": "[" * 3000, "costs": '{"a":NaN}', "jobs": JOB},
        {"file": "pumps", "use": '{"label":"state","one_hot":["state"]}', "frozen": '["\\ud800"]', "k": "999"},
        {"file": "messy", "read": '{"separator":" ","header":false}', "use": '{"label":""}', "method": "theorem1"},
        {"mode": "two", "file": "pumps", "query": "bottles", "use": '{"label":"state"}', "metric": "run", "run": JOB},
        {"file": "pumps", "use": '{"label":"state"}', "metric": "arml", "params": '{"n_epochs":"many","x":1e300}'},
    ),
    "inspect": (
        {"data": "<script>", "metric": "..", "row": "9999999", "k": "99"},
        {"data": "iris", "show": "metric", "metric": JOB[:8], "want": "wrong", "seconds": "1e999"},
    ),
    "paper": ({"show": "table1", "data": "<script>", "column": "\x00", "size": "9" * 5000, "method": ["arml", "x"]},),
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "query"),
    [
        pytest.param(page, query, marks=pytest.mark.more if nth else ())
        for page, found in SEVERAL.items()
        for nth, query in enumerate(found)
    ],
)
def test_a_page_opens_at_a_hostile_address(page: str, query: dict[str, str | list[str]]) -> None:
    shown = opened(page, query)
    for element in shown.markdown:
        assert not getattr(element.proto, "allow_html", False)
        assert "<script>" not in element.value


@pytest.mark.more
@pytest.mark.fuzz
@settings(phases=[Phase.generate], suppress_health_check=list(HealthCheck))  # shrinking takes minutes
@given(st.data())
def test_a_page_opens_at_any_address(data: st.DataObject) -> None:
    page = data.draw(st.sampled_from(sorted(NAMES)))
    opened(page, data.draw(addresses(page)))
