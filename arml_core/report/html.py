"""One HTML file that opens offline: no script, nothing fetched, every text from the user's file escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ..curves import robust_error_curve
from ..numerics.arrays import BoolArray
from ..numerics.directed_rounding import as_written
from ..vocabulary import (
    NO_WHOLE_CHANGE,
    TRAINING_ROWS,
    TRAINING_ROWS_RULE,
    VERDICTS,
    WRONG_ALREADY,
    beyond_words,
    count_of_rows,
    radii_down,
    radii_up,
    wrong_rows,
)
from .certified_table import (
    CertifiedTable,
    Flips,
    alone_words,
    changes_of,
    measured_in,
    only_by_parts,
    step_alone,
    with_possible_changes,
)
from .summary import count_verdicts, largest_finite_radius, radius_histogram
from .svg import curve_svg, histogram_svg

ROWS_SHOWN = 500
CHANGES_SHOWN = 4
FEATURES_SHOWN = 50
TWO_LINES = (
    "Share of rows that are not certified at ε (solid) and share that a known change flips (dashed). The truth lies "
    "between the two lines."
)
EXACT_LINE = (
    "Share of rows that a change of size ε flips. What is proved and what is found meet: every radius is exact."
)
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--muted:#5a626c;--paper:#fff;--line:#d5dae0;--soft:#f3f5f7;
--certified:#0072b2;--attackable:#d55e00;--undecided:#5a626c}
@media (prefers-color-scheme:dark){:root{--ink:#f2f4f7;--muted:#aab2bd;--paper:#14181d;--line:#39424c;--soft:#1e242b;
--certified:#56b4e9;--attackable:#e69f00;--undecided:#aab2bd}}
body{margin:0 auto;max-width:72rem;padding:1.5rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper)}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}
p{max-width:46rem}.muted{color:var(--muted)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
th{background:var(--soft)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.cards{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}
.card{border:1px solid var(--line);border-left-width:5px;border-radius:6px;padding:.5rem .9rem;min-width:8rem}
.card b{display:block;font-size:1.5rem}
.card.certified{border-left-color:var(--certified)}.card.attackable{border-left-color:var(--attackable)}
.card.undecided{border-left-color:var(--undecided)}
.charts{display:flex;flex-wrap:wrap;gap:1.5rem}.charts figure{flex:1 1 26rem;margin:0}
svg{width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--muted)}
.grid{stroke:var(--line)}.mark{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:2 3}
.certified{fill:var(--certified)}.attackable-back{fill:var(--attackable)}.attackable-dot{fill:var(--paper)}
.undecided-back{fill:var(--paper)}.undecided-line{stroke:var(--undecided);stroke-width:3}
polyline.proved{stroke:var(--certified);stroke-width:2.5}
polyline.found{stroke:var(--attackable);stroke-width:2;stroke-dasharray:7 4}
figcaption{color:var(--muted);font-size:.9rem}
@media print{.scroll{overflow:visible}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_report(
    title: str,
    rows: CertifiedTable,
    radius: float,
    flips: Flips,
    settings: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
) -> str:
    """The report of one file at one radius; `settings` are pairs of a name and a value, `notes` whole sentences."""
    heading = f"Robustness of {title}"
    parts = only_by_parts(rows, flips, radius)
    rows = with_possible_changes(rows, flips)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(heading)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(heading)}</h1>\n"
        f"{_summary(rows, radius)}\n{_charts(rows, radius)}\n{_meaning(rows, radius)}\n"
        f"{_table(rows, radius, flips, parts)}\n{_settings(settings, notes)}\n</body>\n</html>\n"
    )


def _summary(rows: CertifiedTable, radius: float) -> str:
    counts = count_verdicts(rows.radii.verdict(radius))
    cards = "".join(
        f'<div class="card {name}"><b>{counts[name]:,}</b>{name}<br><span class="muted">{words.meaning}</span></div>'
        for name, words in VERDICTS.items()
    )
    wrong = int((~rows.radii.correct).sum())
    known = f" {wrong_rows(wrong)}: radius 0." if wrong else ""
    how = escape(rows.radii.threat.describe(rows.layout.feature_names))
    words = f"{len(rows):,} rows, each with its verdict at ε = {as_written(radius)} ({how}).{known}"
    return f'<p>{words}</p>\n<div class="cards">{cards}</div>'


def _charts(rows: CertifiedTable, radius: float) -> str:
    histogram = radius_histogram(rows.radii.lower, rows.radii.verdict(radius))
    bars = histogram_svg(histogram, radius, "Rows by their proven radius; the dotted line is ε.")
    curves = [("proved", robust_error_curve(rows.radii.lower))]
    meet = bool(rows.radii.exact.all())
    if np.isfinite(rows.radii.upper).any() and not meet:
        curves.append(("found", robust_error_curve(rows.radii.upper)))
    top = 1.05 * largest_finite_radius(rows.radii.lower, rows.radii.upper)
    shares = EXACT_LINE if meet else "Share of rows that a change of size ε may flip, or is known to flip."
    lines = curve_svg(curves, radius, top, shares)
    beyond = beyond_words(histogram.beyond)
    return (
        '<div class="charts">'
        f"<figure>{bars}<figcaption>Rows by their proven radius. Solid: certified, striped: undecided, dotted: "
        f"attackable at ε (the dotted line). Look for rows far to the left.{beyond}</figcaption></figure>"
        f"<figure>{lines}<figcaption>{EXACT_LINE if meet else TWO_LINES}</figcaption></figure></div>"
    )


def _meaning(rows: CertifiedTable, radius: float) -> str:
    alone = list(step_alone(rows.layout, rows.radii.threat, radius).items())
    lines = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{alone_words(step)}</td></tr>'
        for name, step in alone[:FEATURES_SHOWN]
    )
    more = len(alone) - FEATURES_SHOWN
    rest = f'<p class="muted">… and {more:,} more features.</p>' if more > 0 else ""
    return (
        f"<h2>What ε = {as_written(radius)} means for each feature alone</h2>\n"
        f"<p>{measured_in(rows.layout, rows.radii.threat)} If only this feature changes and the others stay, a "
        "change of size ε is this much in the file's units:</p>\n"
        '<div class="scroll"><table><tr><th>feature</th>'
        f'<th class="n">±</th></tr>{lines}</table></div>{rest}'
    )


def _table(rows: CertifiedTable, radius: float, flips: Flips, parts: BoolArray) -> str:
    order = np.lexsort((rows.lines, rows.radii.lower))[:ROWS_SHOWN]
    verdicts = rows.radii.verdict(radius)
    lower, upper = radii_down(rows.radii.lower), radii_up(rows.radii.upper)
    classes = [escape(name) for name in rows.layout.class_names]
    label_head = "" if rows.labels is None else "<th>label</th>"
    body = []
    for i in order.tolist():
        label = "" if rows.labels is None else f"<td>{classes[int(rows.labels[i])]}</td>"
        shown_upper = f"{upper[i]:g}" if np.isfinite(upper[i]) else "–"
        shown_lower = f"{lower[i]:g}" if np.isfinite(lower[i]) else "∞"
        body.append(
            f'<tr><td class="n">{int(rows.lines[i])}</td>{label}<td>{classes[int(rows.radii.predicted[i])]}</td>'
            f'<td class="n">{shown_lower}</td><td class="n">{shown_upper}</td>'
            f"<td>{verdicts[i]}</td>{_training(rows, i)}<td>{_change(rows, i, flips, classes, parts[i])}</td></tr>"
        )
    title = "All rows" if len(rows) <= ROWS_SHOWN else f"The {ROWS_SHOWN} most fragile of {len(rows):,} rows"
    return (
        f"<h2>{title}</h2>\n<p>The most fragile first. No change smaller than “proved” flips the answer; one of size "
        "“found” does. The last column has it in the file's units, which may need a little more, rounded to five "
        "digits: typed in like that it may just fail to flip. The CSV file of the changed rows has every digit."
        f"{_whole_meaning(rows)}{_training_meaning(rows)}</p>\n"
        f'<div class="scroll"><table><tr><th class="n">line</th>{label_head}<th>answer</th><th class="n">proved</th>'
        f'<th class="n">found</th><th>verdict</th>{_training_head(rows)}<th>what flips it</th></tr>'
        f"{''.join(body)}</table></div>"
    )


def _whole_meaning(rows: CertifiedTable) -> str:
    """What such a change keeps to, where a column holds categories or whole numbers."""
    return "" if rows.layout.is_continuous else " Categories switch whole, and whole numbers stay whole."


def _training_head(rows: CertifiedTable) -> str:
    """The columns about wrong training rows, where these were counted."""
    if rows.training is None:
        return ""
    return "".join(f'<th class="n">{words.title}</th>' for words in TRAINING_ROWS.values())


def _training_meaning(rows: CertifiedTable) -> str:
    if rows.training is None:
        return ""
    titles = "”, “".join(words.title for words in TRAINING_ROWS.values())
    return (
        f" “{titles}”: so many wrong training rows could change the answer, with fewer it stands. {TRAINING_ROWS_RULE}"
    )


def _training(rows: CertifiedTable, i: int) -> str:
    if rows.training is None:
        return ""
    counts = (float(getattr(rows.training, kind)[i]) for kind in TRAINING_ROWS)
    return "".join(f'<td class="n">{count_of_rows(count)}</td>' for count in counts)


def _change(rows: CertifiedTable, i: int, flips: Flips, classes: Sequence[str], in_parts: bool) -> str:
    if not rows.radii.correct[i]:
        return WRONG_ALREADY
    if not flips.known[i]:
        return NO_WHOLE_CHANGE if in_parts else "no change is known"
    moved = [change for change in changes_of(rows, i, flips.raw[i]) if change.step != 0]
    parts = [f"{escape(c.feature)} {c.before:.5g} → {c.after:.5g}" for c in moved[:CHANGES_SHOWN]]
    more = f" and {len(moved) - CHANGES_SHOWN} smaller changes" if len(moved) > CHANGES_SHOWN else ""
    return f"{', '.join(parts)}{more}: {classes[int(flips.answers[i])]}" + (f"; {NO_WHOLE_CHANGE}" if in_parts else "")


def _settings(settings: Sequence[tuple[str, str]], notes: Sequence[str]) -> str:
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in settings)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<h2>How this was computed</h2>\n<table>{lines}</table>" + (f"<ul>{said}</ul>" if said else "")
