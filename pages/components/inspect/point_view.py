"""One point: its answer, its adversarial twin, the trail from proof to attack, and who votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.certificates.training_rows import KINDS
from arml_core.datasets import Dataset
from arml_core.figures.certified_table import BARS_SHOWN, change_alt, change_figure
from arml_core.figures.labels import as_label
from arml_core.figures.method_bounds import method_bounds_alt, method_bounds_figure, method_bounds_table
from arml_core.figures.pictures import MOST_TILES, strip_figure, twin_figure
from arml_core.vocabulary import (
    METHOD_WORDS,
    OPEN_BETWEEN,
    TRAINING_ROWS,
    TRAINING_ROWS_RULE,
    count_of_rows,
    exact_words,
    never_words,
    norm_name,
    number,
    proved_words,
    radius_down,
    radius_up,
    training_words,
)

from ..chart import show_chart
from ..formula import show_formula
from ..markdown import escaped
from ..theme import current_style
from .choices import CHOICES, PARTS, SECONDS, InspectView
from .metric_view import show_csv
from .study import PointStudy, PreparedSource, changes, twin_rows

HEADER, LINE = 38, 35
"""Pixels of a table's first line, with its frame, and of every other."""
MOST_LINES = 11
NOT_COUNTED = (
    "How many training rows must be wrong before the answer changes is not counted here: prototypes vote, and each of "
    "them was learned from many rows at once."
)
FORMULA = r"""
For a point $x$ with class $y$ the **robust radius** is the length of the smallest step that changes the answer,
$\varepsilon^*(x) = \min\{\lVert\delta\rVert : f(x+\delta) \ne y\}$; it is 0 if the answer is wrong already. A
training point $x_i$ of the class and one $x_j$ of another class are equally near to $x+\delta$ for a smallest step of

$$\tilde\varepsilon(i,j) = \frac{d(x,x_j) - d(x,x_i)}{2\,\lVert M(x_i-x_j)\rVert_*}.$$

**Theorem 1** takes the right order statistic of these lengths, **votes** counts the votes that would have to change,
and **search** solves the remaining cases one by one. All three prove a lower bound. The **white-box attack** knows the
training points and gives a step that works: an upper bound. The truth lies between the highest proof and the lowest
attack. A training point is certified without itself. Where prototypes vote, they take the place of the training points.
"""


def show_point(view: InspectView, prepared: PreparedSource, study: PointStudy) -> None:
    """Everything that is known by now."""
    data = prepared.data
    _tiles(data, study)
    st.markdown(point_words(data, study, prepared.voter))
    for note in study.notes:
        st.caption(escaped(note))
    if study.wrong:
        st.button(
            "Certify the answer it gives instead",
            key="inspect_own_instead",
            on_click=lambda: CHOICES.update(own=True),
            help="How far must it move until this wrong answer changes?",
        )
        if data.image_shape:
            _alone(data, study)
            _strips(view, prepared, study)
    else:
        left, right = st.columns([7, 5], gap="large")
        with left:
            _twin(view, data, study)
            if data.image_shape:
                _strips(view, prepared, study)
        with right:
            if "trail" not in view.hide:
                _trail(view, data, study)
    if "training" not in view.hide and not study.wrong:
        _training_rows(study)
    if "neighbours" not in view.hide:
        _neighbours(view, prepared, study)
    show_formula(FORMULA)


def _tiles(data: Dataset, study: PointStudy) -> None:
    norm = norm_name(study.question.norm)
    answer, label = data.class_names[study.predicted], data.class_names[study.label]
    with st.container(horizontal=True, key="inspect_tiles"):
        st.metric("Answer", escaped(answer), width="content")
        st.metric("True class", escaped(label), width="content")
        st.metric(
            f"Proved ({norm})", proved(study), width="content", help="No step up to this length changes the answer."
        )
        st.metric(f"Found ({norm})", reached(study), width="content", help="A step of this length changes the answer.")


def proved(study: PointStudy) -> str:
    """The highest proved radius, rounded down."""
    return radius_down(study.lower)


def reached(study: PointStudy) -> str:
    """The length of the smallest step known to change the answer, rounded up."""
    if np.isfinite(study.upper):
        return radius_up(study.upper)
    return "none" if study.exact or study.stage >= 3 else "…"


def point_words(data: Dataset, study: PointStudy, voter: str = "training row") -> str:
    """What is known about the point, as Markdown; `voter` is what those that vote are called."""
    norm, ask = norm_name(study.question.norm), study.question
    answer, label = escaped(data.class_names[study.predicted]), escaped(data.class_names[study.label])
    who = f"{PARTS[ask.part]} {ask.row}" + (", certified without itself" if ask.part == "train" else "")
    who += ", compared with prototypes" if voter == "prototype" else ""
    if study.wrong:
        return f"{who}: the answer is **{answer}**, but it is **{label}**. Wrong already, so the radius is 0."
    mistaken = " (wrong)" if study.predicted != study.label else ""
    start = f"{who}: the answer is **{answer}**{mistaken}. "
    if study.lower == np.inf:
        return start + never_words()
    to = f" to **{escaped(data.class_names[study.twin_answer])}**" if study.twin is not None else ""
    if study.exact:
        return f"{start}{exact_words(study.lower, norm, to=to)}: nothing smaller does."
    safe = f"{start}{proved_words(study.lower, norm)}: proved. "
    if study.twin is None:
        return safe + ("No step that changes it is known." if study.stage >= 3 else "")
    return f"{safe}One of length **{radius_up(study.upper)}** changes it{to}. {OPEN_BETWEEN}"


def _alone(data: Dataset, study: PointStudy) -> None:
    assert data.image_shape is not None
    show_chart(
        strip_figure(study.x[None], data.image_shape, current_style(), ["the row"], columns=3, row_height=250),
        key="inspect_alone",
        alt=f"A picture of class {data.class_names[study.label]}, answered {data.class_names[study.predicted]}.",
    )


def _twin(view: InspectView, data: Dataset, study: PointStudy) -> None:
    st.markdown("**Its adversarial twin**")
    if study.twin is None:
        if data.image_shape:
            _alone(data, study)
        words = "is being looked for" if study.stage < 3 else "was not found: no step that changes the answer is known"
        st.markdown(f"The twin {words}.")
        return
    answer, other = (data.class_names[code] for code in (study.predicted, study.twin_answer))
    if data.image_shape:
        show_chart(
            twin_figure(
                study.x,
                study.twin,
                data.image_shape,
                current_style(),
                (f"answered {as_label(answer, 12)}", f"answered {as_label(other, 12)}"),
            ),
            key="inspect_twin",
            alt=f"Three pictures: the row, answered {answer}; its twin, answered {other}; and what changed, by at most "
            f"{number(float(np.abs(study.twin - study.x).max()))} in a pixel.",
        )
        st.caption(
            "Can you tell the first two apart? The third has a scale of its own: blue pixels went up, orange ones down."
            f"{beyond_white(study)}"
        )
    else:
        moved = changes(data, study)
        show_chart(
            change_figure(moved, current_style()),
            key="inspect_changes",
            alt=change_alt(moved, "What changes the answer"),
        )
        more = f" The {BARS_SHOWN} largest of {len(moved)} features are drawn." if len(moved) > BARS_SHOWN else ""
        st.caption(
            f"Look for the longest bars: these features turn {escaped(answer)} into {escaped(other)}. Beside each bar "
            f"the change in the dataset's own units.{more}"
        )
    header, rows = twin_rows(data, study)
    show_csv(view, "twin", lambda: pd.DataFrame(rows, columns=header), data)


def beyond_white(study: PointStudy) -> str:
    """What no picture can show: pixels that are scaled to [0, 1] and left it."""
    outside = int(((study.twin < 0) | (study.twin > 1)).sum())
    if not outside:
        return ""
    many = "One pixel leaves" if outside == 1 else f"{outside} pixels leave"
    return f" {many} the range from black to white, where nothing can be drawn: a step may lead anywhere here."


def _trail(view: InspectView, data: Dataset, study: PointStudy) -> None:
    norm = norm_name(study.question.norm)
    st.markdown("**From proof to attack**")
    show_chart(
        method_bounds_figure(study.marks, current_style(), norm=norm),
        key="inspect_trail",
        alt=method_bounds_alt(study.marks, norm),
    )
    settings = f" White-box attack, no random numbers; search {study.searched:g} s." if study.searched else ""
    st.caption(f"Blue is proved, hatched was reached, what is left between is open.{settings}")
    longer = next((seconds for seconds in SECONDS if seconds > study.searched), None)
    with st.container(horizontal=True, vertical_alignment="center", key="inspect_trail_buttons"):
        if study.open and longer is not None:
            st.button(
                f"Search longer ({longer:g} s)",
                key="inspect_longer",
                on_click=lambda: CHOICES.update(seconds=longer),
                help="The search narrows the interval from both sides as long as it runs.",
            )
        show_csv(view, "trail", lambda: method_bounds_table(study.marks), data)
    st.caption("  \n".join(f"**{mark.title}**: {METHOD_WORDS[mark.method].promise}" for mark in study.marks))


def _training_rows(study: PointStudy) -> None:
    """How many training rows must be wrong before the answer changes."""
    if study.training is None:
        st.caption(NOT_COUNTED)
        return
    counts = {kind: float(getattr(study.training, kind)[0]) for kind in KINDS}
    st.markdown("**If training rows are wrong**")
    with st.container(horizontal=True, key="inspect_training_rows"):
        for kind, words in TRAINING_ROWS.items():
            st.metric(words.title.capitalize(), count_of_rows(counts[kind]), width="content", help=words.help)
    st.markdown(training_words(**counts))
    st.caption(TRAINING_ROWS_RULE)


def _neighbours(view: InspectView, prepared: PreparedSource, study: PointStudy) -> None:
    st.markdown("**Who votes**" if study.question.k > 1 else "**Who decides**")
    table = pd.DataFrame(study.voters)
    places = [name for name in ("place", "place for the twin") if name in table]
    table[places] = table[places].astype("Int64")
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        key="inspect_voters",
        height=height_of(len(table)),
        placeholder="–",
        column_config={
            name: st.column_config.NumberColumn(format="%.4f") for name in ("distance", "distance to the twin")
        },
        alt=f"The {prepared.voter}s that vote for the point and for its twin, with class, place and distance.",
    )
    st.caption(voters_words(study, prepared.voter))
    show_csv(view, "neighbours", lambda: table, prepared.data)


def height_of(lines: int) -> int:
    """Pixels of a table that shows whole lines only; beyond the most of them it scrolls."""
    return HEADER + LINE * min(lines, MOST_LINES)


def _strips(view: InspectView, prepared: PreparedSource, study: PointStudy) -> None:
    if "neighbours" in view.hide:
        return
    prototypes = "prototype" if study.question.k == 1 else "prototypes"
    nearest = f"nearest {prototypes if prepared.gives == 'references' else 'neighbours'}"
    st.markdown(f"**Its {nearest}**")
    _tiles_of(prepared, study, "before")
    if study.twin is not None:
        st.markdown(f"**The {nearest} of its twin**")
        _tiles_of(prepared, study, "after")
    more = f" The first {MOST_TILES} are drawn." if study.question.k > MOST_TILES else ""
    st.caption(f"Above each its class and its distance. See who comes in for the twin.{more}")


def voters_words(study: PointStudy, voter: str = "training row") -> str:
    """Who votes, and what the twin changes about it."""
    measured = "distances as this metric measures them, √d."
    gone = sum(1 for voter in study.voters if study.twin is not None and voter["place for the twin"] is None)
    if study.question.k == 1:
        return f"The nearest {voter} decides; {measured}" + (" For the twin it is another one." if gone else "")
    swap = f" For the twin, {gone} of them {'gives' if gone == 1 else 'give'} way to others." if gone else ""
    return f"The {study.question.k} nearest {voter}s vote, nearest first; {measured}{swap}"


def _tiles_of(prepared: PreparedSource, study: PointStudy, when: str) -> None:
    data = prepared.data
    rows = (study.neighbours if when == "before" else study.twin_neighbours)[:MOST_TILES]
    key = "distance" if when == "before" else "distance to the twin"
    known = {voter[prepared.voter]: voter for voter in study.voters}
    shown = [known[int(row)] for row in prepared.numbers(rows)]
    titles = [f"{as_label(voter['class'], 9)} · {number(voter[key])}" for voter in shown]
    assert data.image_shape is not None
    show_chart(
        strip_figure(
            prepared.points[rows],
            data.image_shape,
            current_style(),
            titles,
            columns=4 if len(rows) <= 4 else 6,
            row_height=112,
        ),
        key=f"inspect_tiles_{when}",
        alt=f"Nearest {prepared.voter}s as pictures, class and distance: " + "; ".join(titles),
    )
