"""Evaluate a run: certificates and attacks as jobs, with curves that grow while they run."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from arml_core.attack.boundary import STEPS
from arml_core.certify import METHODS
from arml_core.comparison import ATTACKS as STRONGEST
from arml_core.comparison import CERTIFICATES as TIGHTEST
from arml_core.comparison import Contender, Setting, alone, join, plain_threat, setting_of
from arml_core.curves import mean_radius
from arml_core.figures import RobustLine, curves_alt, curves_spec, curves_table
from arml_core.figures.words import radius_down, radius_up
from arml_core.jobs import Client, EvaluationSpec, JobStatus, PointsSpec, RunSpec, StoreError
from arml_core.results import Evaluation
from arml_core.threat import NORM_NAMES, ThreatModel

from ..chart import show_chart
from ..compare.catalogue import limits_of
from ..csv_out import csv_button
from ..curve_words import MEAN_RULE, NO_SCRIPT, curves_caption
from ..norms import NORM_TITLES
from ..on_demand import on_demand
from ..plain import plain
from ..theme import current_style
from ..visitor import asking, looking
from .catalog import Offer
from .choices import (
    ATTACKS,
    MOST_NEIGHBOURS,
    MOST_POINTS,
    MOST_STEPS,
    NORMS,
    Chosen,
    bound,
    choices,
    set_field,
)
from .detail import file_name
from .queue import cancel_button, retry
from .snippet import evaluation_lines
from .words import ATTACKS as ATTACK_TITLES
from .words import CERTIFICATES, clause, evaluation_words, progress_words, setting_words, under_way

REFRESH_SECONDS = 0.9
COMPARE_NAME = 12  # Compare names runs and files by so many characters
FAILED = "train_evaluation_failed"
CERTIFICATE_HELP = """
- **Exact**: the true radius of 1-NN in ℓ2.
- **Votes**: the lower bound that counts votes, for any K.
- **Theorem 1**: the paper's lower bound, for odd K.
- **Search**: lower and upper bound for any K, the tighter the more seconds a point gets.
"""
FORMULA = r"""
The robust error at $\varepsilon$ is the share of points whose radius is at most $\varepsilon$:

$$R(\varepsilon) = \tfrac1n\,\#\{i : \varepsilon_i \le \varepsilon\},$$

with $\varepsilon_i = 0$ where the answer is wrong already. With certified lower bounds for $\varepsilon_i$ it is at
least the true robust error, with the steps an attack found it is at most that.
"""
ATTACK_HELP = """
- **White-box**: knows the training points; strong and fast, no chance involved.
- **Boundary**: only asks for answers; the attack of the paper's experiments.
"""


def show_evaluate(run: JobStatus, chosen: Chosen, offer: Offer | None, jobs: list[JobStatus]) -> None:
    """The form, the evaluations of this run with their curves, and the way to Compare."""
    st.subheader("Evaluate", help="How far can points move before their answer changes, under this metric?")
    evaluations = [job for job in jobs if job.needs == run.id]
    if run.state in ("failed", "cancelled", "lost") and not under_way(run):
        st.caption("There is no metric to evaluate. Retry the training first.")
    elif offer is None:
        st.caption("Its dataset is not here any more, so it cannot be evaluated. Upload the file again.")
    else:
        _form(run, replace(chosen, k=min(chosen.k, most_neighbours(offer))), offer)
    if not evaluations:
        return
    active = any(under_way(job) for job in evaluations)
    st.fragment(_evaluations, run_every=REFRESH_SECONDS if active else None)(run.id, active, chosen, offer)


def supported(n_neighbors: int, norm: str, box: bool) -> list[str]:
    """The certificates that exist for this K, norm and box, the tightest first."""
    wanted = ThreatModel(norm).norm
    return [
        name
        for name in TIGHTEST
        if METHODS[name].allows(n_neighbors) and wanted in METHODS[name].norms and (METHODS[name].box or not box)
    ]


def certificate_for(chosen: Chosen, box: bool) -> str:
    """The chosen certificate where it is supported, else the one that always is."""
    return chosen.certificate if chosen.certificate in supported(chosen.k, chosen.norm, box) else "votes"


def points_spec(chosen: Chosen, offer: Offer) -> PointsSpec:
    """The first test points in the paper's order; without a test part, training points, each left out."""
    if offer.n_test:
        return PointsSpec("evaluation", min(chosen.points, offer.n_test))
    return PointsSpec("train", min(chosen.points, offer.n_train))


def most_neighbours(offer: Offer) -> int:
    """The largest K the training points allow, one of them left out if need be."""
    return max(1, min(MOST_NEIGHBOURS, offer.n_train - (0 if offer.n_test else 1)))


def _form(run: JobStatus, chosen: Chosen, offer: Offer) -> None:
    box = chosen.box and offer.unit_scale
    rows = offer.n_test or offer.n_train
    first, second, third = st.columns(3)
    with first:
        st.number_input(
            "Neighbours (K)",
            1,
            most_neighbours(offer),
            key=bound("k", chosen.k),
            on_change=set_field("k"),
            help="How many nearest training points vote. The paper shows 1 and 11.",
        )
    with second:
        st.segmented_control(
            "Length of a step",
            NORMS,
            required=True,
            format_func=NORM_TITLES.__getitem__,
            key=bound("norm", chosen.norm),
            on_change=set_field("norm"),
            width="stretch",
        )
    with third:
        most = min(MOST_POINTS, rows)
        st.number_input(
            "Test points" if offer.n_test else "Training points",
            1,
            most,
            key=bound("points", min(chosen.points, most)),
            on_change=set_field("points"),
            help=f"Of {rows:,}; the paper takes the first 1,000 in its own order."
            if offer.n_test
            else "There are no test points: each training point is judged by all the others.",
        )
    first, second, third = st.columns(3)
    with first:
        st.selectbox(
            "Certificate",
            supported(chosen.k, chosen.norm, box),
            format_func=CERTIFICATES.__getitem__,
            key=bound("certificate", certificate_for(chosen, box)),
            on_change=set_field("certificate"),
            help=CERTIFICATE_HELP,
        )
    with second:
        st.selectbox(
            "Attack",
            ATTACKS,
            format_func=ATTACK_TITLES.__getitem__,
            key=bound("attack", chosen.attack),
            on_change=set_field("attack"),
            help=ATTACK_HELP,
        )
    with third:
        _more(chosen, box, offer)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Evaluate",
            type="primary",
            on_click=_start,
            args=(run.id, chosen, offer),
            key="train_evaluate",
        )
        if run.state != "done":
            st.caption("It waits until the training is done.", width="content")
    if FAILED in st.session_state:
        st.error(st.session_state.pop(FAILED))


def _more(chosen: Chosen, box: bool, offer: Offer) -> None:
    """What only some methods have."""
    if certificate_for(chosen, box) == "search":
        st.number_input(
            "Seconds a point", 0.05, 60.0, step=0.5, key=bound("budget", chosen.budget), on_change=set_field("budget")
        )
    if chosen.attack == "boundary":
        st.number_input(
            "Steps of the attack",
            1,
            MOST_STEPS,
            step=100,
            key=bound("steps", chosen.steps),
            on_change=set_field("steps"),
            help=f"More steps, shorter ways. The default is {STEPS:,}.",
        )
        st.number_input(
            "Seed of the attack",
            0,
            999_999,
            key=bound("attack_seed", chosen.attack_seed),
            on_change=set_field("attack_seed"),
        )
    if offer.unit_scale:
        st.toggle(
            "Stay inside [0, 1]",
            key=bound("box", chosen.box),
            on_change=set_field("box"),
            help="The attacker may not leave the range of the scaled features, e.g. of pixel values.",
        )


def _start(run: str, chosen: Chosen, offer: Offer) -> None:
    box = chosen.box and offer.unit_scale
    threat = ThreatModel(chosen.norm, box=(0.0, 1.0) if box else None)
    points = points_spec(chosen, offer)
    try:
        client = asking()
        asked = client.certify(run, chosen.k, certificate_for(chosen, box), threat, points, chosen.budget)
        if chosen.attack != "none":
            options = {"steps": chosen.steps} if chosen.attack == "boundary" else {}
            client.attack(run, chosen.k, chosen.attack, threat, points, chosen.attack_seed, options)
    except (ValueError, StoreError) as reason:
        st.session_state[FAILED] = f"It was not started: {plain(str(reason))}"
        return
    choices.update(job=run, curve=asked.id)


def _evaluations(run_id: str, was_active: bool, chosen: Chosen, offer: Offer | None) -> None:
    """Rows of this run's evaluations, and the curves of those that belong together."""
    try:
        client = looking()
        run = client.status(run_id)
        jobs = [job for job in client.list(limit=500) if job.needs == run_id]
    except (ValueError, StoreError) as reason:
        st.error(plain(f"The evaluations cannot be read: {reason}"))
        return
    if was_active and not any(under_way(job) for job in jobs):
        st.rerun()
    groups = grouped(jobs)
    for job in jobs:
        if under_way(job):
            _active_row(job)
    if not groups:
        return
    names = list(groups)
    shown = next((name for name, group in groups.items() if any(job.id == chosen.curve for job in group)), names[0])
    if len(names) > 1:
        picked = st.selectbox(
            "Curves of",
            names,
            index=names.index(shown),
            key=f"train_group_{run_id}_{len(names)}_{shown}",
        )
        if picked != shown:
            choices.update(curve=groups[picked][0].id)
            st.rerun()
    _show_group(client, run, groups[shown], shown, chosen, offer)


def grouped(jobs: list[JobStatus]) -> dict[str, list[JobStatus]]:
    """Evaluations that may be drawn together, under the words for what they share; the newest request first.

    Words do not tell two files or two lists of frozen features apart: such groups are counted, the oldest first.
    """
    groups: dict[tuple[Setting, int | None], list[JobStatus]] = {}
    alike: dict[str, list[list[JobStatus]]] = {}
    for job in sorted(jobs, key=lambda job: job.created, reverse=True):
        spec = job.spec
        assert isinstance(spec, EvaluationSpec)
        setting = Setting.of(job.dataset, spec.n_neighbors, spec.threat, spec.points.content())
        group = groups.setdefault((setting, spec.points.n), [])
        if not group:
            alike.setdefault(setting_words(spec), []).append(group)
        group.append(job)
    return {
        words if len(found) == 1 else f"{words} ({len(found) - place} of {len(found)})": group
        for words, found in alike.items()
        for place, group in enumerate(found)
    }


def _active_row(job: JobStatus) -> None:
    spec = job.spec
    assert isinstance(spec, EvaluationSpec)
    with st.container(horizontal=True, vertical_alignment="center", key=f"train_evaluation_{job.id}"):
        st.progress(job.fraction, text=f"{evaluation_words(spec)}: {progress_words(job)}", width="stretch")
        if job.mine:
            cancel_button(job, f"train_cancel_evaluation_{job.id}")


def _ended_row(job: JobStatus) -> None:
    spec = job.spec
    assert isinstance(spec, EvaluationSpec)
    reason = f": {clause(job.reason)}" if job.reason else "."
    words = {
        "failed": f"failed{reason} Change what it names, or retry once what was missing is there.",
        "cancelled": "was stopped on request; what was finished is drawn. Retry goes on from there.",
        "lost": f"was lost with its process{reason} Retry takes it up again.",
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(f"{evaluation_words(spec)} {words[job.state]}", width="stretch")
        if job.mine:
            st.button("Retry", key=f"train_retry_evaluation_{job.id}", on_click=retry, args=(job.id,))


def _show_group(
    client: Client, run: JobStatus, jobs: list[JobStatus], shared: str, chosen: Chosen, offer: Offer | None
) -> None:
    for job in jobs:
        if job.state in ("failed", "cancelled", "lost") and not under_way(job):
            _ended_row(job)
    found = []
    for job in sorted(jobs, key=lambda job: job.kind != "certify"):
        try:
            evaluation = client.evaluation(job.id)
        except (ValueError, StoreError) as reason:
            st.warning(plain(f"{reason}."))
            continue
        if evaluation is not None:
            found.append(evaluation)
    if not found:
        if any(under_way(job) for job in jobs):
            st.caption("The curves appear here with the first finished points.")
        return
    _curves(run, jobs, found, shared, chosen, offer)


def lines_of(title: str, found: list[Evaluation]) -> list[RobustLine]:
    """A line per certificate, joined with the strongest attack on the points both have; other attacks on their own."""
    attacks = sorted((e for e in found if e.kind == "attack"), key=lambda e: STRONGEST.index(e.method))
    contenders, joined = [], set()
    for certificate in (e for e in found if e.kind == "certify"):
        try:
            contenders.append(join(certificate, attacks[0]) if attacks else alone(certificate))
            joined |= {id(attack) for attack in attacks[:1]}
        except ValueError:  # the attack has no point in common with it yet
            contenders.append(alone(certificate))
    contenders += [alone(attack) for attack in attacks if id(attack) not in joined]
    return [_line(title, contender, place, len(contenders) > 1) for place, contender in enumerate(contenders)]


def _line(title: str, contender: Contender, place: int, several: bool) -> RobustLine:
    certificate, attack = contender.certificate, contender.attack
    first = contender.evaluations[0].describe_method()
    known = certificate is not None and bool(certificate.exact.all())
    return RobustLine(
        label=f"{title}, {first}" if several else title,
        certified=contender.lower,
        empirical=contender.upper,
        exact=known and (attack is None or attack.method == "whitebox"),  # which finds the same numbers
        certificate="" if certificate is None else certificate.describe_method(),
        attack=contender.attack_words(),
        place=place,
        partial=not contender.whole,
    )


def _curves(
    run: JobStatus, jobs: list[JobStatus], found: list[Evaluation], shared: str, chosen: Chosen, offer: Offer | None
) -> None:
    lines = lines_of(found[0].learner_title, found)
    norm = NORM_NAMES[found[0].threat.norm]
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
    _after(run, jobs, lines, chosen, offer)


def _numbers(found: list[Evaluation]) -> None:
    """The mean radius of each evaluation and, where the labels count, the clean error."""
    clean = found[0]
    cells = []
    if setting_of(clean).labels:
        wrong = 1 - clean.correct.mean()
        cells.append(("Clean error", f"{wrong:.3f}", "The share of points whose answer is wrong as they are."))
    for evaluation in found:
        proved = evaluation.kind == "certify"
        method = evaluation.describe_method()
        alike = sum(other.kind == evaluation.kind for other in found)
        mean = mean_radius(evaluation.radii)
        cells.append(
            (
                f"Mean {'certified' if proved else 'attack'} radius{f', {method}' if alike > 1 else ''}",
                radius_down(mean) if proved else radius_up(mean),
                f"{method}. {MEAN_RULE}",
            )
        )
    with st.container(horizontal=True):
        for label, value, meaning in cells:
            st.metric(label, value, help=meaning, width="content")


def _after(run: JobStatus, jobs: list[JobStatus], lines: list[RobustLine], chosen: Chosen, offer: Offer | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if offer is not None:
            st.page_link(
                "pages/compare.py", label="Compare with others", query_params=compare_query(run, jobs[0], offer)
            )
        if "data-out" not in chosen.hide:
            csv_button(
                "The curves as CSV",
                lambda: curves_table(lines),
                file_name=file_name(run, "csv").replace(".csv", "-curves.csv"),
                key="train_curves_csv",
            )
    with st.expander("The formula of the curves"):
        st.markdown(FORMULA)
    if "python" not in chosen.hide:
        on_demand("Copy Python of these curves", "train_open_curve_python", lambda: _python(run, jobs, offer))


def compare_query(run: JobStatus, evaluation: JobStatus, offer: Offer) -> dict[str, str]:
    """The address parameters of Compare that show this run beside the others on its dataset."""
    spec = evaluation.spec
    assert isinstance(spec, EvaluationSpec)
    return {
        "data": offer.key[:COMPARE_NAME] if offer.group == "file" else offer.key,
        "runs": run.id[:COMPARE_NAME],
        "k": str(spec.n_neighbors),
        "norm": spec.threat.arguments()["norm"],
        "limits": limits_of(plain_threat(spec.threat)),
    }


def _python(run: JobStatus, jobs: list[JobStatus], offer: Offer | None) -> None:
    spec = run.spec
    assert isinstance(spec, RunSpec)
    specs = [job.spec for job in jobs if isinstance(job.spec, EvaluationSpec)]
    lines = evaluation_lines(spec, specs, offer)
    if lines is None:
        st.caption(NO_SCRIPT)
    else:
        st.code(lines, language="python", wrap_lines=True)
