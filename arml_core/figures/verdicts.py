"""What is known at one radius: the shares of points proved safe, undecided and flipped, as a table and as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..curves import verdict_shares
from ..vocabulary import VERDICTS, percent
from .labels import as_label
from .layout import Trace, axis
from .lines import RobustLine
from .palette import LIGHT, Style, verdict_colours, with_opacity

PATTERNS = {"certified": "", "undecided": "/", "attackable": "x"}
BEST_IS = {
    "clean error": "low",
    "certified error": "low",
    "empirical error": "low",
    "certified": "high",
    "attackable": "low",
    "median radius": "high",
}
BARS = "bars"
"""Marks the layout of such bars for whoever draws them without Plotly."""


def verdicts_table(lines: Sequence[RobustLine], epsilon: float) -> pd.DataFrame:
    """What is known at one radius, the lowest certified error first: errors, shares of the verdicts, median radius.

    What was not computed is NaN. Equal rows keep the order of `lines`.
    """
    rows = []
    for line in lines:
        lower, upper = line.bounds()
        share = verdict_shares(lower, upper, epsilon)
        proved = line.certified is not None
        reached = line.empirical is not None or line.exact
        rows.append(
            {
                "method": line.name,
                "points": line.n_points,
                "clean error": np.nan if line.wrong is None else float(line.wrong.mean()),
                "certified error": 1 - share.certified if proved else np.nan,
                "empirical error": share.attackable if reached else np.nan,
                "certified": share.certified,
                "undecided": share.undecided,
                "attackable": share.attackable,
                "median radius": float(np.median(lower)) if proved else np.nan,
            }
        )
    order = ["certified error", "empirical error", "clean error"]
    return pd.DataFrame(rows).sort_values(order, kind="stable", na_position="last", ignore_index=True)


def best_rows(table: pd.DataFrame) -> dict[str, list[int]]:
    """For each column of a verdicts table the rows with the best value; none where all rows are equal."""
    best: dict[str, list[int]] = {}
    for column, pick in BEST_IS.items():
        known = {"certified": "certified error", "attackable": "empirical error"}.get(column, column)
        values = table.loc[table[known].notna(), column]
        if len(values) > 1 and values.nunique() > 1:
            target = values.min() if pick == "low" else values.max()
            best[column] = [int(row) for row in values.index[values == target]]
    return best


def verdicts_spec(lines: Sequence[RobustLine], epsilon: float, style: Style = LIGHT) -> Trace:
    """The shares of points proved safe, undecided and flipped at one radius, a bar for each line."""
    colours = verdict_colours(style)
    faint = with_opacity(style.paper, 0.3)
    lines_in = {"certified": faint, "undecided": with_opacity(style.muted, 0.6), "attackable": faint}
    shares = [verdict_shares(*line.bounds(), epsilon) for line in lines]
    names = [as_label(line.name, None) for line in lines]
    traces: list[Trace] = []
    for verdict, words in VERDICTS.items():
        values = [float(getattr(share, verdict)) for share in shares]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": words.share,
                "y": names,
                "x": values,
                "text": [percent(value) if value >= 0.1 else "" for value in values],
                "textposition": "inside",
                "constraintext": "none",
                "insidetextanchor": "middle",
                "textangle": 0,
                "textfont": {"color": style.ink if verdict == "undecided" else style.paper, "size": 13},
                "marker": {
                    "color": with_opacity(colours[verdict], 0.25 if verdict == "undecided" else 1.0),
                    "line": {"color": style.paper, "width": 1},
                    "pattern": {
                        "shape": PATTERNS[verdict],
                        "fillmode": "overlay",
                        "fgcolor": lines_in[verdict],
                        "size": 7,
                    },
                },
                "hovertemplate": f"%{{y}}<br>{words.share}: %{{x:.3f}}<extra></extra>",
            }
        )
    layout = {
        "meta": BARS,
        "height": 96 + 34 * len(lines),
        "barmode": "stack",
        "bargap": 0.3,
        "margin": {"l": 8, "r": 16, "t": 32, "b": 44},
        "xaxis": axis(style, size=12, range=[0, 1], tickformat=".0%"),
        "yaxis": {
            **axis(style, grid=False),
            "autorange": "reversed",
            "automargin": True,
            "tickfont": {"color": style.ink, "size": 13},
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
        },
        "legend": {
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 0,
            "traceorder": "normal",
            "font": {"color": style.ink, "size": 12},
        },
        **style.ground,
    }
    return {"data": traces, "layout": layout}
