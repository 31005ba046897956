"""The prototypes of a class, as pictures or as rows, and the training rows that each one answers for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.figures.labels import as_label
from arml_core.figures.pictures import strip_figure
from arml_core.report import ReferenceCells
from arml_core.vocabulary import percent

from ..chart import show_chart
from ..markdown import escaped
from ..theme import current_style
from .choices import InspectView
from .controls import WIDGETS
from .metric_view import show_csv
from .point_view import height_of
from .sources import Source
from .study import PreparedSource

MOST_PICTURES = 24
LINE = "<br>"
"""Between the two lines above a picture."""
NUMBER = st.column_config.NumberColumn(format="%.4g")
UNUSED = "No training row has it as its nearest, so with one neighbour it decides nothing here."
NONE_LEFT = "This class has none left: with one neighbour no row is answered with it, and its rows have radius 0."


def show_references(view: InspectView, source: Source, prepared: PreparedSource, cells: ReferenceCells) -> None:
    """Everything about the references of one class."""
    data, voter = prepared.data, prepared.voter
    st.markdown(f"#### {escaped(source.title)} on {escaped(data.title)}")
    st.markdown(summary_words(prepared, cells))
    of = view.of if view.of < data.n_classes else 0
    WIDGETS.selectbox("Class", "of", of, dict(enumerate(data.class_names)), {"ref": None}, width=260)
    members = members_of(prepared, cells, of)
    if not len(members):
        st.info(NONE_LEFT)
        return
    if data.image_shape:
        _pictures(prepared, cells, members)
    table = reference_table(prepared, cells, members)
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        key="inspect_references",
        height=height_of(len(table)),
        placeholder="–",
        column_config={
            "right": st.column_config.NumberColumn(
                format="percent", help=f"Of these rows, the share that is of the {voter}'s own class."
            ),
            "rows": st.column_config.NumberColumn(help=f"Training rows that have this {voter} as their nearest."),
            **dict.fromkeys(table.columns[4:], NUMBER),
        },
        alt=f"The {voter}s of class {data.class_names[of]} with the training rows they answer for.",
    )
    st.caption(_table_words(prepared))
    show_csv(view, "prototypes" if prepared.gives == "references" else "kept-rows", lambda: table, data)
    _one(view, prepared, cells, members)


def summary_words(prepared: PreparedSource, cells: ReferenceCells) -> str:
    """How many there are, and how far they agree with the rows they were learned from."""
    n, right, count = len(cells.reference_of), int(cells.right.sum()), len(cells.rows)
    come = "were learned from" if prepared.gives == "references" else "are some of"
    many = f"{count:,} {prepared.voter}s answer" if count > 1 else f"1 {prepared.voter} answers"
    return (
        f"{many} for {n:,} training rows; {percent(right / n)} of these are nearest to one of their own class. They "
        f"{come} these rows, so this says what each one stands for, not how well new rows are answered."
    )


def members_of(prepared: PreparedSource, cells: ReferenceCells, of: int) -> Any:
    """The places of a class's references, first those that answer for most rows."""
    places = np.flatnonzero(prepared.point_labels == of)
    return places[np.argsort(-cells.rows[places], kind="stable")]


def reference_table(prepared: PreparedSource, cells: ReferenceCells, members: Any) -> pd.DataFrame:
    """A line per reference: its number, the rows it answers for, the right ones, the nearest, and its features."""
    data = prepared.data
    columns: dict[str, Any] = {
        prepared.voter: prepared.numbers(members),
        "rows": cells.rows[members],
        "right": cells.share_right[members],
        "nearest training rows": [", ".join(map(str, _nearest(cells, place))) for place in members],
    }
    if data.image_shape:
        return pd.DataFrame(columns)
    return with_features(prepared, columns, prepared.points[members])


def with_features(prepared: PreparedSource, columns: dict[str, Any], rows: Any) -> pd.DataFrame:
    """The columns, and behind them each feature of the rows in the dataset's units."""
    found, values = dict(columns), prepared.data.scaling.inverse(np.asarray(rows, dtype=float))
    for k, name in enumerate(prepared.data.feature_names):
        found[f"{name} (feature)" if name in columns else name] = values[:, k]
    return pd.DataFrame(found)


def _nearest(cells: ReferenceCells, place: int) -> list[int]:
    return [int(row) for row in cells.nearest[place] if row >= 0]


def _table_words(prepared: PreparedSource) -> str:
    units = "" if prepared.data.image_shape else " Features are in the dataset's own units."
    return f"The {prepared.voter} that answers for most rows comes first; “right” are rows of its own class.{units}"


def _pictures(prepared: PreparedSource, cells: ReferenceCells, members: Any) -> None:
    shown = members[:MOST_PICTURES]
    titles = [
        f"{number}{LINE}{_rows(int(cells.rows[place]))}"
        for number, place in zip(prepared.numbers(shown), shown, strict=True)
    ]
    assert prepared.data.image_shape is not None
    said = "; ".join(titles).replace(LINE, ", ")
    show_chart(
        strip_figure(prepared.points[shown], prepared.data.image_shape, current_style(), titles),
        key="inspect_reference_pictures",
        alt=f"The {prepared.voter}s of the class as pictures, number and rows: {said}",
    )
    more = f" The first {MOST_PICTURES} of {len(members):,} are drawn." if len(members) > MOST_PICTURES else ""
    st.caption(f"Above each its number and how many training rows it answers for.{more}")


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _one(view: InspectView, prepared: PreparedSource, cells: ReferenceCells, members: Any) -> None:
    """One of them, and the training rows nearest to it."""
    offered = {int(number): int(place) for number, place in zip(prepared.numbers(members), members, strict=True)}
    chosen = view.ref if view.ref in offered else next(iter(offered))
    titles = {number: f"{prepared.voter.capitalize()} {number}" for number in offered}
    WIDGETS.selectbox(f"One {prepared.voter}", "ref", chosen, titles, width=260)
    place = offered[chosen]
    st.markdown(reference_words(prepared, cells, place))
    near = _nearest(cells, place)
    if not near:
        return
    data = prepared.data
    if data.image_shape:
        titles_of = [
            prepared.voter,
            *(f"row {row}{LINE}{as_label(data.class_names[data.y_train[row]], 9)}" for row in near),
        ]
        show_chart(
            strip_figure(
                np.vstack([prepared.points[[place]], data.X_train[near]]),
                data.image_shape,
                current_style(),
                titles_of,
                columns=7,
                row_height=120,
            ),
            key="inspect_reference_rows",
            alt=f"The {prepared.voter} and its nearest training rows: " + "; ".join(titles_of[1:]).replace(LINE, ", "),
        )
        return
    labels = (prepared.point_labels[place], *data.y_train[near])
    names: dict[str, Any] = {
        "compared": [prepared.voter, *(f"training row {row}" for row in near)],
        "class": [data.class_names[label] for label in labels],
    }
    frame = with_features(prepared, names, np.vstack([prepared.points[[place]], data.X_train[near]]))
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        key="inspect_reference_rows_table",
        height=height_of(len(frame)),
        column_config={"compared": "", **dict.fromkeys(frame.columns[2:], NUMBER)},
        alt=f"The {prepared.voter} and its nearest training rows, in the dataset's units.",
    )


def reference_words(prepared: PreparedSource, cells: ReferenceCells, place: int) -> str:
    """Which rows one of them answers for, as Markdown."""
    data, count, right = prepared.data, int(cells.rows[place]), int(cells.right[place])
    if count == 0:
        return UNUSED
    own = escaped(data.class_names[int(prepared.point_labels[place])])
    if right == count:
        return f"It answers for {_rows(count)}, all of them of class **{own}**. The nearest of them:"
    labels = data.y_train[cells.reference_of == place]
    others = np.bincount(labels, minlength=data.n_classes)
    others[int(prepared.point_labels[place])] = 0
    listed = ", ".join(
        f"{others[c]} of {escaped(data.class_names[c])}" for c in np.argsort(-others, kind="stable")[:3] if others[c]
    )
    return (
        f"It answers for {_rows(count)}: {right:,} of its own class **{own}**, {listed}{_more(others)}. "
        "The nearest of them:"
    )


def _more(others: Any) -> str:
    rest = int(np.sort(others)[:-3].sum())
    return f" and {rest:,} of others" if rest else ""
