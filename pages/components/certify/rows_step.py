"""Step 1: which rows are what."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from arml_core.datasets.table import MAX_BYTES, Problem
from arml_core.datasets.table.problems import SEPARATOR_NAMES
from arml_core.jobs import is_shared, upload_lifetime
from arml_core.references.registry import REFERENCES

from ..markdown import escaped
from ..visitor import read_client
from .choices import WIDGETS, CertifyView, current, update_inputs
from .files import Loaded, choose_file, take_pasted, take_upload
from .problems import show_problems, take_remedy
from .samples import SAMPLES
from .saved_runs import day, pick_run, saved_runs
from .sources import Sources
from .start import start_sample

MODE_TITLES = {
    "one": "One file",
    "two": "A reference and a query file",
    "run": "A saved run and a query file",
}
QUERY_WORDS = "Every row of the query file is certified; it needs no labels."
MODE_WORDS = {
    "one": "Every row is certified against all the others: the row itself is left out of its own vote.",
    "two": f"The reference file holds the labelled rows that vote. {QUERY_WORDS}",
    "run": f"The rows that a metric was trained on vote, or the prototypes of the run. {QUERY_WORDS}",
}
REFERENCE_WORDS = {
    "one": "Every row is certified by a model that was learned from other rows only (cross-fitting).",
    "two": f"The model is learned from the labelled rows of the reference file. {QUERY_WORDS}",
}
"""The same where references are learned (step 3)."""
FORMAT_WORDS = (
    "A table as text (.csv, .tsv, also packed as .csv.gz), the first sheet of an Excel file (.xlsx), or Parquet. "
    "The content decides, not the name."
)
ENCODINGS = ("utf-8-sig", "cp1252", "latin-1", "cp1251", "shift_jis", "gb18030", "utf-16")
SEPARATORS = (",", ";", "\t", "|")


def summary(view: CertifyView, sources: Sources) -> str:
    """The step in a few words, for its heading."""
    parts = [escaped(_named(loaded)) for loaded in (sources.reference, sources.query) if loaded is not None]
    if sources.run is not None:
        parts.insert(0, escaped(sources.run.title))
    return " and ".join(parts) if parts else MODE_TITLES[view.mode]


def _named(loaded: Loaded) -> str:
    if loaded.table is None:
        return loaded.title
    n = loaded.table.n_rows
    return f"{loaded.title} ({n:,} {'row' if n == 1 else 'rows'})"


def show_rows_step(view: CertifyView, sources: Sources, missing: dict[str, str]) -> None:
    """The mode, the files and what is wrong with them."""
    WIDGETS.segmented_control("What is certified against what?", "mode", view.mode, MODE_TITLES)
    learned = view.metric in REFERENCES and view.mode in REFERENCE_WORDS
    st.caption((REFERENCE_WORDS if learned else MODE_WORDS)[view.mode])
    if view.mode == "one":
        _show_slot("file", view, sources.reference, missing)
    elif view.mode == "two":
        left, right = st.columns(2, gap="large")
        with left:
            _show_slot("file", view, sources.reference, missing, "Reference file")
        with right:
            _show_slot("query", view, sources.query, missing, "Query file")
    else:
        _show_runs(view, sources, missing)
        _show_slot("query", view, sources.query, missing, "Query file")
    _show_keeping()


def _show_keeping() -> None:
    size = MAX_BYTES >> 20
    if is_shared():
        days = upload_lifetime() / 86_400
        st.caption(f"🔒 Uploads (up to {size} MB) are seen by you alone and deleted after {days:g} days.")
    else:
        st.caption(
            f"Uploads (up to {size} MB) stay on this machine, in the app's own folder, until you delete them there."
        )


def _show_slot(slot: str, view: CertifyView, loaded: Loaded | None, missing: dict[str, str], title: str = "") -> None:
    if slot in missing:
        st.error(missing[slot])
    if loaded is None:
        _show_choosing(slot, view, title or "Your file")
        return
    _show_file(slot, loaded, title)
    show_problems(loaded.problems, slot, lambda remedy: take_remedy(slot, remedy))


def _show_choosing(slot: str, view: CertifyView, title: str) -> None:
    key = f"cf_upload_{slot}"
    st.file_uploader(
        title,
        type=None,
        key=key,
        on_change=take_upload,
        args=(slot, key),
        max_upload_size=MAX_BYTES >> 20,
        help=FORMAT_WORDS,
    )
    _show_pasting(slot)
    refused = st.session_state.get(f"cf_refused_{slot}")
    if isinstance(refused, Problem):
        show_problems([refused], f"refused_{slot}", lambda remedy: None)
    elif refused:
        st.error(escaped(refused))
    _show_samples(slot, view)
    earlier = {u.digest: u for u in read_client().uploads() if u.kind == "file"}
    if earlier:
        st.selectbox(
            "… or a file uploaded earlier",
            list(earlier),
            index=None,
            format_func=lambda digest: f"{earlier[digest].title} ({day(earlier[digest].created)})",
            key=f"cf_earlier_{slot}",
            on_change=lambda: choose_file(slot, st.session_state[f"cf_earlier_{slot}"]),
            placeholder="Choose one",
        )


def _show_pasting(slot: str) -> None:
    with st.popover("Paste a table", icon=":material/content_paste:"):
        key = f"cf_pasted_{slot}"
        st.text_area(
            "Rows copied from a spreadsheet, or CSV text; the first row holds the column names",
            key=key,
            height=120,
            placeholder="length,width,label\n1.5,2,a\n1.7,3,b",
        )
        st.button("Use this text", key=f"cf_take_pasted_{slot}", on_click=take_pasted, args=(slot, key))


def _show_samples(slot: str, view: CertifyView) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, sample in SAMPLES.items():
            if slot == "file" and name == "pumps" and view.mode == "one":
                st.button(
                    "Take the sample: 98 pumps",
                    key="cf_sample_pumps",
                    type="primary",
                    on_click=start_sample,
                    help="One click: the file, its label, and the verdicts.",
                )
            else:
                use = sample.use if slot == "file" else {}
                st.button(
                    f"{name}.csv",
                    key=f"cf_sample_{slot}_{name}",
                    on_click=choose_file,
                    args=(slot, name, use),
                    help=sample.words,
                )


def _show_file(slot: str, loaded: Loaded, role: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"cf_file_{slot}"):
        table = loaded.table
        shape = "" if table is None else f" · {table.n_rows:,} rows, {len(table.names):,} columns"
        prefix = f"{role}: " if role else ""
        st.markdown(f"{prefix}**{escaped(loaded.title)}** · {loaded.n_bytes / 1024:,.1f} KB{shape}")
        st.button("Another file", key=f"cf_another_{slot}", on_click=choose_file, args=(slot, ""))
        if table is not None:
            with st.popover("How it is read"):
                _show_reading(slot, loaded)
    if table is not None:
        frame = pd.DataFrame(list(table.preview), columns=list(table.names), index=table.lines[: len(table.preview)])
        st.dataframe(
            frame.head(5),
            width="stretch",
            height=214 if len(frame) >= 5 else "auto",
            key=f"cf_preview_{slot}",
            alt=f"The first rows of the file as text, with their line numbers; {table.n_rows} rows in all.",
        )


def _show_reading(slot: str, loaded: Loaded) -> None:
    """Undo or choose how the file is written."""
    name = "read" if slot == "file" else "qread"
    table = loaded.table
    assert table is not None

    def choose(option: str) -> None:
        update_inputs(**{name: {**getattr(current(), name), option: WIDGETS.value(f"{name}_{option}")}})

    def pick(label: str, option: str, values: tuple[Any, ...], value: Any, words: Any = str) -> None:
        st.selectbox(
            label,
            list(dict.fromkeys([*values, value])),
            format_func=words,
            key=WIDGETS.key(f"{name}_{option}", value),
            on_change=choose,
            args=(option,),
        )

    if table.format == "text":
        pick("Encoding", "encoding", ENCODINGS, table.encoding)
        pick("Values are separated by", "separator", SEPARATORS, table.separator, _separator_name)
    if table.format != "parquet":
        pick("Decimal sign", "decimal", (".", ","), table.decimal, {".": "point (1.5)", ",": "comma (1,5)"}.__getitem__)
    switches: dict[str, tuple[str, bool]] = {}
    if table.format != "parquet":
        switches["header"] = ("Row 1 holds the column names", table.header)
        switches["skip_ragged"] = (
            "Leave lines with too many or too few values out",
            bool(_option(name, "skip_ragged")),
        )
    switches["keep_row_numbers"] = ("Keep a first column of row numbers", bool(_option(name, "keep_row_numbers")))
    for option, (label, value) in switches.items():
        st.toggle(label, key=WIDGETS.key(f"{name}_{option}", value), on_change=choose, args=(option,))


def _separator_name(separator: str) -> str:
    return SEPARATOR_NAMES.get(separator, repr(separator))


def _option(name: str, option: str) -> Any:
    return getattr(current(), name).get(option)


def _show_runs(view: CertifyView, sources: Sources, missing: dict[str, str]) -> None:
    if "run" in missing:
        st.error(escaped(missing["run"]))
    runs = saved_runs()
    if sources.run is not None:
        runs.setdefault(sources.run.id, sources.run)
    if not runs:
        st.info("There is no saved run yet. Train a metric on the Train page, or take two files.")
        return
    pick_run("Saved run", runs, view)
