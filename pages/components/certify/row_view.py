"""One row: what was proved about it, and the smallest known change that flips it, before and after."""

from __future__ import annotations

import numpy as np
import streamlit as st

from arml_core.certificates.training_rows import KINDS
from arml_core.figures.certified_table import BARS_SHOWN, change_alt, change_figure, changes_table
from arml_core.report import CertifiedTable, Flips, changes_of
from arml_core.vocabulary import (
    OPEN_BETWEEN,
    exact_words,
    never_words,
    proved_words,
    radii_down,
    radius_up,
    training_words,
    verdicts_at,
)

from ..chart import show_chart
from ..csv_out import csv_button
from ..markdown import escaped
from ..theme import current_style
from .results import Results

ROW = {"step": "change", "changes": "flips"}
"""How sentences speak of a row: it is changed, which flips its answer."""


def show_row(results: Results, position: int, decided: tuple[float, ...] = ()) -> None:
    """The picked row in words, as a before/after table and as a bar per feature; `decided` as in :func:`row_words`."""
    rows, flips = results.flips([position])
    st.markdown(f"#### Line {int(rows.lines[0])}")
    st.markdown(row_words(rows, flips, decided))
    if rows.training is not None and rows.training.correct[0]:
        st.markdown(training_words(*(float(getattr(rows.training, kind)[0]) for kind in KINDS)))
    if not flips.known[0]:
        return
    changes = changes_of(rows, 0, flips.raw[0])
    show_chart(
        change_figure(changes, current_style()),
        key="cf_changes",
        alt=change_alt(changes, "What flips this row"),
    )
    more = f" The {BARS_SHOWN} largest of {len(changes)} features are drawn." if len(changes) > BARS_SHOWN else ""
    st.caption(f"Look for the longest bars: these features flip the row. Numbers are in the file's units.{more}")
    frame = changes_table(changes)
    shown = frame.assign(**{"safe alone": radii_down(frame["safe alone"].to_numpy(dtype=float))})
    st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        key="cf_before_after",
        height=min(38 + 35 * len(frame), 290),
        placeholder="category",
        column_order=["feature", "before", "after", "change", "safe alone"],
        column_config={name: st.column_config.NumberColumn(format="%.6g") for name in ("before", "after", "change")}
        | {
            "safe alone": st.column_config.NumberColumn(
                "safe alone ±",
                format="%.4g",
                help="If only this feature changes, by less than this, the answer stays: proved.",
            )
        },
        alt="Each feature before and after the change, in the file's units.",
    )
    csv_button(
        "Before and after as CSV",
        lambda: frame,
        file_name=f"line-{int(rows.lines[0])}.csv",
        key="cf_before_after_csv",
    )


def _whole_words(flips: Flips, upper: float) -> str:
    """What whole categories and whole numbers do to a change of size `upper`; empty where they do nothing."""
    if flips.upper is None or flips.upper[0] <= upper * (1 + 1e-9):
        return ""
    if not np.isfinite(flips.upper[0]):
        return " It takes parts of a category or of a whole number: no change without them was found."
    return (
        f" It takes parts of a category or of a whole number; the change shown here takes none and has length "
        f"**{radius_up(float(flips.upper[0]))}**."
    )


def row_words(rows: CertifiedTable, flips: Flips, decided: tuple[float, ...] = ()) -> str:
    """What is known about the first of `rows`, as Markdown.

    With `decided`, ascending radii, only the verdicts at these were looked for.
    """
    classes = [escaped(name) for name in rows.layout.class_names]
    answer, norm = classes[int(rows.radii.predicted[0])], rows.radii.threat.norm_name
    lower, upper = float(rows.radii.lower[0]), float(rows.radii.upper[0])
    if not rows.radii.correct[0]:
        assert rows.labels is not None
        return (
            f"The answer is **{answer}**, but the label is **{classes[int(rows.labels[0])]}**: wrong already, so the "
            "radius is 0."
        )
    start = f"The answer is **{answer}**. "
    if lower == np.inf:
        return start + never_words(**ROW)
    to = f" to **{classes[int(flips.answers[0])]}**" if flips.known[0] else ""
    if rows.radii.exact[0] and np.isfinite(upper):
        return f"{start}{exact_words(lower, norm, to=to, **ROW)}: nothing smaller does.{_whole_words(flips, upper)}"
    proved = f"{start}{proved_words(lower, norm, **ROW)}: proved."
    if not np.isfinite(upper) and decided and lower > decided[-1]:
        return f"{proved} A larger change was not looked for: time was spent on {verdicts_at(decided)} only."
    if not np.isfinite(upper):
        return f"{proved} No change that flips it is known yet."
    if not flips.known[0]:
        why = (
            "but not after rounding to the file's units." if flips.upper is None else _whole_words(flips, upper).strip()
        )
        return f"{proved} One of length {radius_up(upper)} flips it{', ' if flips.upper is None else '. '}{why}"
    if flips.upper is None:
        move = rows.layout.from_units(flips.raw) - rows.X
        listed = float(rows.radii.threat.resolve(move.shape[1]).size(move)[0])  # in the file's units it may have grown
    else:
        listed = float(flips.upper[0])
    length = radius_up(max(upper, listed))
    return f"{proved} The one shown here, of length **{length}**, flips it{to}. {OPEN_BETWEEN}"
