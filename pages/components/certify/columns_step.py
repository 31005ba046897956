"""Step 2: what each column is, what may change, and how a change is measured."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from arml_core.datasets.table import ONE_HOT_MEANING, Table, label_candidates

from ..markdown import escaped
from .choices import WIDGETS, CertifyView, current, update_inputs
from .prepare import PreparedTable, frozen_columns, known_options
from .problems import show_problems, take_remedy
from .sources import Sources

SCALING_TITLES = {"minmax": "To 0 … 1", "standard": "Mean 0, deviation 1", "none": "Leave as it is"}
SIZE_TITLES = {"scaled": "After scaling", "file": "In the file's units", "own": "With my own costs"}
SIZE_WORDS = {
    "scaled": "A change of every feature counts after scaling: features with different units become comparable.",
    "file": "A change counts as it stands in the file, grams added to millimetres. This is another threat model and "
    "is certified anew.",
    "own": "A feature with cost 2 is twice as expensive to change: its changes count twice.",
}
ANSWERED = {
    "drop_incomplete": "Leave rows with empty or infinite values out (they are counted)",
    "labels_are_classes": "Labels such as 1.5 are classes",
}
"""Questions about the columns that a button answered; the answer can be taken back."""
NO_LABEL = "No labels: certify the predictions"


def summary(view: CertifyView, prepared: PreparedTable | None) -> str:
    """The step in a few words, for its heading."""
    if prepared is None or prepared.dataset is None or prepared.layout is None:
        return "what each column is for"
    dataset = prepared.dataset
    label = f", label {escaped(str(view.use.get('label', '')))}" if view.mode != "run" else ""
    n_frozen = len(frozen_columns(view, prepared.layout))
    frozen = f", {n_frozen} frozen" if n_frozen else ""
    features = "1 feature" if dataset.n_features == 1 else f"{dataset.n_features:,} features"
    return f"{features}, {dataset.n_classes} classes{label}{frozen}"


def show_columns_step(view: CertifyView, sources: Sources, prepared: PreparedTable) -> None:
    """Label, columns, categories, frozen features, scaling and costs, and what is wrong with them."""
    if sources.reference is not None and sources.reference.table is not None and view.mode != "run":
        _show_reference(view, sources.reference.table)
    show_problems(prepared.problems, "file", lambda remedy: take_remedy("file", remedy))
    if prepared.layout is None or prepared.dataset is None:
        return
    if sources.query is not None and sources.query.table is not None and view.mode != "one":
        _show_query_label(view, sources.query.table, prepared)
    show_problems(prepared.query_problems, "query", lambda remedy: take_remedy("query", remedy))
    _show_threat(view, prepared)
    _show_counts(prepared)


def _show_reference(view: CertifyView, table: Table) -> None:
    use = known_options(table, view.use)
    label, left_out, encoded = st.columns(3, gap="medium")
    candidates = label_candidates(table)
    with label:
        st.selectbox(
            "Label",
            candidates,
            index=None,
            key=WIDGETS.key("use_label", use.get("label")),
            on_change=_use_label,
            placeholder="Choose one",
            help="The column with the class of each row.",
        )
    others = [name for name in table.names if name != use.get("label")]
    with left_out:
        st.multiselect(
            "Leave columns out",
            others,
            key=WIDGETS.key("use_drop", [name for name in use.get("drop", ()) if name in others]),
            on_change=_use,
            args=("drop",),
            placeholder="None",
        )
    with encoded:
        st.multiselect(
            "Encode as categories",
            [name for name in others if name not in use.get("drop", ())],
            key=WIDGETS.key("use_one_hot", [name for name in use.get("one_hot", ()) if name in others]),
            on_change=_use,
            args=("one_hot",),
            placeholder="None",
            help=ONE_HOT_MEANING,
        )
    for name, words in ANSWERED.items():
        if use.get(name):
            st.toggle(words, key=WIDGETS.key(f"use_{name}", True), on_change=_use, args=(name,))


def _use_label() -> None:
    label = WIDGETS.value("use_label")
    use = {name: value for name, value in current().use.items() if name not in ("label", "labels_are_classes")}
    drop = tuple(name for name in use.get("drop", ()) if name != label)
    update_inputs(use={**use, **({"drop": drop} if drop else {}), **({} if label is None else {"label": label})})


def _use(name: str) -> None:
    """Take over chosen columns or a flag; nothing chosen is no option."""
    use = {key: value for key, value in current().use.items() if key != name}
    chosen = WIDGETS.value(f"use_{name}")
    value = chosen if isinstance(chosen, bool) else tuple(chosen)
    update_inputs(use={**use, **({name: value} if value else {})})


def _show_query_label(view: CertifyView, table: Table, prepared: PreparedTable) -> None:
    assert prepared.layout is not None
    features = {column.name for column in prepared.layout.columns} | set(prepared.layout.feature_names)
    own = prepared.layout.label
    options = [None, *(name for name in table.names if name not in features)]
    label = view.quse.get("label", own)
    value = label if label in options and view.quse.get("labelled") is not False else None
    st.columns(3, gap="medium")[0].selectbox(
        "Label of the query rows",
        options,
        format_func=lambda name: NO_LABEL if name is None else name,
        key=WIDGETS.key("quse_label", value),
        on_change=_use_query_label,
        help="With labels, a row that is classified wrongly has radius 0. Without, the answer itself is certified.",
    )


def _use_query_label() -> None:
    label = WIDGETS.value("quse_label")
    rest = {name: value for name, value in current().quse.items() if name not in ("label", "labelled")}
    update_inputs(quse={**rest, **({"labelled": False} if label is None else {"label": label})})


def _show_threat(view: CertifyView, prepared: PreparedTable) -> None:
    assert prepared.layout is not None
    columns = [column.name for column in prepared.layout.columns]
    frozen, scaling, size = st.columns(3, gap="medium")
    with frozen:
        st.multiselect(
            "Frozen: cannot change",
            columns,
            **WIDGETS.bind("frozen", frozen_columns(view, prepared.layout), tuple),
            placeholder="None",
            help="Features that nobody can change, such as an age. Changes that would need them are not looked for.",
        )
    if view.mode != "run":
        with scaling:
            WIDGETS.selectbox(
                "Scale the features",
                "scaling",
                view.scaling,
                SCALING_TITLES,
                help="Nearest neighbours compare all features together, so they should be of similar size.",
            )
    with size:
        WIDGETS.selectbox("Measure a change", "size", view.size, SIZE_TITLES, help=SIZE_WORDS[view.size])
    if view.size != "scaled":
        st.caption(SIZE_WORDS[view.size])
    if view.size == "own":
        _show_costs(view, columns)


def _show_costs(view: CertifyView, columns: list[str]) -> None:
    frame = pd.DataFrame({"feature": columns, "cost": [float(view.costs.get(name, 1.0)) for name in columns]})
    key = f"cf_costs_{abs(hash((tuple(columns), tuple(frame['cost']))))}"

    def take_over() -> None:
        costs = dict(view.costs)
        for position, edit in st.session_state[key]["edited_rows"].items():
            if edit.get("cost") is not None:
                costs[columns[int(position)]] = float(edit["cost"])
        update_inputs(costs={name: cost for name, cost in costs.items() if cost != 1.0})

    st.data_editor(
        frame,
        key=key,
        on_change=take_over,
        hide_index=True,
        disabled=["feature"],
        width=420,
        column_config={"cost": st.column_config.NumberColumn(min_value=1e-6, max_value=1e6, required=True)},
        alt="The cost of changing each feature; 1 unless changed here.",
    )


def _show_counts(prepared: PreparedTable) -> None:
    """How many rows of which class vote or teach, and how many are certified."""
    dataset, rows = prepared.dataset, prepared.rows
    if dataset is None:
        return
    counts = [int((dataset.y_train == code).sum()) for code in range(dataset.n_classes)]
    listed = ", ".join(f"{name} ({n:,})" for name, n in list(zip(dataset.class_names, counts, strict=True))[:8])
    more = f" and {dataset.n_classes - 8} more" if dataset.n_classes > 8 else ""
    do = "vote" if prepared.gives == "metric" else "teach"
    words = f"{len(dataset.y_train):,} rows {do}. Classes: {escaped(listed)}{more}."
    if rows is not None and prepared.has_query:
        known = "with labels" if rows.y is not None else "without labels"
        words += f" {len(rows.X):,} query {'row' if len(rows.X) == 1 else 'rows'} {known}."
    st.markdown(words)
