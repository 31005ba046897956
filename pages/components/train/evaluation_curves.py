"""The curves of evaluations that belong together, their numbers, and what can be taken away."""

from __future__ import annotations

import streamlit as st

from arml_core.attacks import METHODS as STRONGEST
from arml_core.comparison import EvaluationPair, alone, canonical_threat, join, setting_of
from arml_core.curves import mean_attack_radius, mean_radius
from arml_core.figures import RobustLine, curves_alt, curves_caption, curves_spec, curves_table
from arml_core.jobs import EvaluationSpec, JobStatus, RunSpec
from arml_core.results import Evaluation
from arml_core.vocabulary import MEAN_RULE, NO_SCRIPT, NOTHING_FOUND, radius_down, radius_up, share_up

from ..address_keys import KEY_LENGTH, limits_of
from ..chart import show_chart
from ..csv_out import csv_button
from ..dataset_options import DatasetOption
from ..formula import show_formula
from ..on_demand import on_demand
from ..theme import current_style
from .choices import TrainView
from .detail import file_name
from .snippet import evaluation_lines

FORMULA = r"""
The robust error at $\varepsilon$ is the share of points whose radius is at most $\varepsilon$:

$$R(\varepsilon) = \tfrac1n\,\#\{i : \varepsilon_i \le \varepsilon\},$$

with $\varepsilon_i = 0$ where the answer is wrong already. With certified lower bounds for $\varepsilon_i$ it is at
least the true robust error, with the steps an attack found it is at most that.
"""


def lines_of(title: str, found: list[Evaluation]) -> list[RobustLine]:
    """A line per certificate, joined with the strongest attack on the points both have; other attacks on their own."""
    attacks = sorted((e for e in found if e.spec.kind == "attack"), key=lambda e: STRONGEST.index(e.spec.method))
    pairs, joined = [], set()
    for certificate in (e for e in found if e.spec.kind == "certify"):
        try:
            pairs.append(join(certificate, attacks[0]) if attacks else alone(certificate))
            joined |= {id(attack) for attack in attacks[:1]}
        except ValueError:  # the attack has no point in common with it yet
            pairs.append(alone(certificate))
    pairs += [alone(attack) for attack in attacks if id(attack) not in joined]
    return [_line(title, pair, place, len(pairs) > 1) for place, pair in enumerate(pairs)]


def _line(title: str, pair: EvaluationPair, place: int, several: bool) -> RobustLine:
    certificate, attack = pair.certificate, pair.attack
    first = pair.evaluations[0].describe_method()
    known = certificate is not None and bool(certificate.radii.exact.all())
    return RobustLine(
        label=f"{title}, {first}" if several else title,
        certified=pair.lower,
        empirical=pair.upper,
        exact=known and (attack is None or attack.spec.method == "whitebox"),  # which finds the same numbers
        certificate="" if certificate is None else certificate.describe_method(),
        attack=pair.attack_words(),
        place=place,
        partial=not pair.whole,
    )


def show_curves(
    run: JobStatus,
    jobs: list[JobStatus],
    found: list[Evaluation],
    shared: str,
    view: TrainView,
    dataset: DatasetOption | None,
) -> None:
    """What was found so far, as curves and numbers; `shared` says in words what the evaluations have in common."""
    lines = lines_of(found[0].learner_title, found)
    norm = found[0].spec.threat.norm_name
    partial = [e for e in found if not e.whole]
    st.markdown(f"**Robust error**, {shared}")
    show_chart(
        curves_spec(lines, current_style(), norm=norm, height=400),
        key="train_chart_curves",
        alt=curves_alt(lines, 0.1, norm),
    )
    st.caption(curves_caption(lines))
    if partial:
        counts = ", ".join(f"{e.describe_method()} {len(e):,} of {e.planned:,} points" for e in partial)
        st.caption(f"Partial: {counts}. The curves still move.")
    _numbers(found)
    _after(run, jobs, lines, view, dataset)


def _numbers(found: list[Evaluation]) -> None:
    """The mean radius of each evaluation and, where the labels count, the clean error."""
    clean = found[0]
    cells = []
    if setting_of(clean).labels:
        wrong = 1 - clean.radii.correct.mean()
        cells.append(("Clean error", share_up(float(wrong)), "The share of points whose answer is wrong as they are."))
    for evaluation in found:
        proved = evaluation.spec.kind == "certify"
        method = evaluation.describe_method()
        alike = sum(other.spec.kind == evaluation.spec.kind for other in found)
        which = f", {method}" if alike > 1 else ""
        if proved:
            mean, rule = radius_down(mean_radius(evaluation.bound)), MEAN_RULE
            cells.append((f"Mean certified radius{which}", mean, f"{method}. {rule}"))
            continue
        reached, flipped = mean_attack_radius(evaluation.bound)
        every = flipped == len(evaluation)
        which += "" if every else f", {flipped:,} of {len(evaluation):,} flipped"
        rule = "A wrong answer counts as 0." if every else f"A wrong answer counts as 0. {NOTHING_FOUND}"
        cells.append((f"Mean attack radius{which}", radius_up(reached) if flipped else "–", f"{method}. {rule}"))
    with st.container(horizontal=True):
        for label, value, meaning in cells:
            st.metric(label, value, help=meaning, width="content")


def _after(
    run: JobStatus, jobs: list[JobStatus], lines: list[RobustLine], view: TrainView, dataset: DatasetOption | None
) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if dataset is not None:
            st.page_link(
                "pages/compare.py", label="Compare with others", query_params=compare_query(run, jobs[0], dataset)
            )
        if "data-out" not in view.hide:
            csv_button(
                "The curves as CSV",
                lambda: curves_table(lines),
                file_name=file_name(run, "csv").replace(".csv", "-curves.csv"),
                key="train_curves_csv",
            )
    show_formula(FORMULA, "The formula of the curves")
    if "python" not in view.hide:
        on_demand("Copy Python of these curves", "train_open_curve_python", lambda: _python(run, jobs, dataset))


def compare_query(run: JobStatus, evaluation: JobStatus, dataset: DatasetOption) -> dict[str, str]:
    """The address parameters of Compare that show this run beside the others on its dataset."""
    spec = evaluation.spec
    assert isinstance(spec, EvaluationSpec)
    return {
        "data": dataset.key[:KEY_LENGTH] if dataset.group == "file" else dataset.key,
        "runs": run.id[:KEY_LENGTH],
        "k": str(spec.n_neighbors),
        "norm": spec.threat.arguments()["norm"],
        "limits": limits_of(canonical_threat(spec.threat)),
    }


def _python(run: JobStatus, jobs: list[JobStatus], dataset: DatasetOption | None) -> None:
    spec = run.spec
    assert isinstance(spec, RunSpec)
    specs = [job.spec for job in jobs if isinstance(job.spec, EvaluationSpec)]
    lines = evaluation_lines(spec, specs, dataset)
    if lines is None:
        st.caption(NO_SCRIPT)
    else:
        st.code(lines, language="python", wrap_lines=True)
