"""From the visitor's choices to charts: which runs, which settings, and what has to be said about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from arml_core.comparison import BEST, NONE, EvaluationPair, Setting, evaluation_pairs, refusals, setting_of
from arml_core.figures import RobustLine
from arml_core.reproduce import published
from arml_core.results import Evaluation
from arml_core.threat import ThreatModel
from arml_core.vocabulary import METHOD_WORDS, NORMS, norm_of, time_spent_on

from ..address_keys import limits_of
from ..job_words import under_way
from .catalogue import MOST_OWN, OWN_PLACE, Run, RunCatalogue, evaluations_of
from .choices import CompareView

T = TypeVar("T")
LIMIT_WORDS = {"free": "steps anywhere", "box": "steps inside a box", "special": "costs or frozen features"}


@dataclass(frozen=True, eq=False)
class Chart:
    """One dataset, one K, one attacker: the lines that may stand together, and the sentences that go with them."""

    dataset: str
    title: str
    norm: str
    setting: Setting
    runs: tuple[Run, ...]
    pairs: tuple[EvaluationPair, ...]
    lines: tuple[RobustLine, ...]
    notes: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ResolvedView:
    """Everything below the controls, and what the controls may offer."""

    data: tuple[str, ...]
    chosen: dict[str, tuple[Run, ...]]
    evaluations: dict[str, dict[str, list[Evaluation]]]
    ks: tuple[int, ...]
    norms: tuple[str, ...]
    limits: tuple[str, ...]
    certificates: tuple[str, ...]
    attacks: tuple[str, ...]
    k: int | None
    norm: str | None
    limit: str | None
    notices: tuple[str, ...]

    @property
    def own_keys(self) -> tuple[str, ...]:
        """The chosen runs of the job store, as the address names them."""
        return tuple(dict.fromkeys(run.key for runs in self.chosen.values() for run in runs if run.job is not None))


def resolve(view: CompareView, catalogue: RunCatalogue) -> ResolvedView:
    """The datasets and runs that are meant, and the K, norm and limits: the visitor's, or the most telling ones."""
    notices = []
    data = view.data
    if data is not None:
        unknown = [name for name in data if name not in catalogue.datasets]
        notices += [f"There are no results for the dataset '{name}' here; it was left out." for name in unknown]
        data = tuple(name for name in data if name in catalogue.datasets)
    elif view.runs:
        data = tuple(dict.fromkeys(run.dataset for run in catalogue.own if run.key in view.runs))
    if not data:
        data = tuple(catalogue.datasets)[:1]
    chosen = {name: chosen_runs(view, catalogue, name) for name in data}
    notices += _unknown_runs(view, catalogue)
    evaluations: dict[str, dict[str, list[Evaluation]]] = {}
    for name, runs in chosen.items():
        evaluations[name] = {}
        for run in runs:
            evaluations[name][run.key], problems = evaluations_of(run)
            notices += problems
    every = [e for runs in evaluations.values() for found in runs.values() for e in found]
    settings = Counter(setting_of(e) for e in every)
    k = view.k if view.k is not None else _preferred([s.n_neighbors for s in settings.elements()], 11)
    with_k = [s for s in settings.elements() if s.n_neighbors == k]
    norm = view.norm or _preferred([norm_of(s.threat.norm).spelling for s in with_k], "l2")
    with_norm = [s for s in with_k if norm_of(s.threat.norm).spelling == norm]
    limit = view.limits or _preferred([limits_of(s.threat) for s in with_norm], "free")
    here = [e for e in every if e.spec.n_neighbors == k and norm_of(e.spec.threat.norm).spelling == norm]
    return ResolvedView(
        data,
        chosen,
        evaluations,
        tuple(sorted({s.n_neighbors for s in settings} | ({k} if k else set()))),
        tuple(n for n in NORMS if n in {norm_of(s.threat.norm).spelling for s in settings} | {norm}),
        tuple(n for n in LIMIT_WORDS if n in {limits_of(s.threat) for s in settings} | {limit}),
        tuple(dict.fromkeys(e.spec.method for e in here if e.spec.kind == "certify")),
        tuple(dict.fromkeys(e.spec.method for e in here if e.spec.kind == "attack")),
        k,
        norm,
        limit,
        tuple(dict.fromkeys(notices)),
    )


def chosen_runs(view: CompareView, catalogue: RunCatalogue, dataset: str) -> tuple[Run, ...]:
    """The runs shown for a dataset, each with a colour and marker of its own."""
    shipped = [run for run in catalogue.shipped if run.dataset == dataset]
    if view.methods is None:
        shipped = [run for run in shipped if run.is_default]
    else:
        shipped = [run for run in shipped if run.key in view.methods]
    own = [run for run in catalogue.own if run.dataset == dataset]
    if view.runs is None:
        mine = [run for run in own if run.job is not None and (run.job.mine or any(job.mine for job in run.jobs))]
        own = [run for run in mine if run.jobs][:MOST_OWN]
    else:
        own = [run for run in own if run.key in view.runs]
    places = {run.key: OWN_PLACE + number for number, run in enumerate(reversed(own))}
    return (*shipped, *(replace(run, place=places[run.key]) for run in own))


def make_charts(view: CompareView, resolved: ResolvedView, catalogue: RunCatalogue) -> tuple[list[Chart], list[str]]:
    """The charts, and sentences about what has no place on any of them."""
    charts, missing = [], []
    for name in resolved.data:
        runs = {run.key: run for run in resolved.chosen[name]}
        found = resolved.evaluations[name]
        settings = list(
            dict.fromkeys(
                setting
                for evaluations in found.values()
                for setting in map(setting_of, evaluations)
                if setting.n_neighbors == resolved.k
                and norm_of(setting.threat.norm).spelling == resolved.norm
                and limits_of(setting.threat) == resolved.limit
            )
        )
        drawn: set[str] = set()
        for setting in settings:
            there = evaluation_pairs(found, setting, view.certificate, view.attack)
            if there:
                charts.append(_chart(name, catalogue.datasets[name], setting, runs, there, found, view, resolved))
                drawn |= set(there)
        missing += _left_out(
            catalogue.datasets[name], [runs[key] for key in runs if key not in drawn], found, resolved, view
        )
    return charts, missing


def _chart(
    name: str,
    title: str,
    setting: Setting,
    runs: dict[str, Run],
    there: dict[str, EvaluationPair],
    found: dict[str, list[Evaluation]],
    view: CompareView,
    resolved: ResolvedView,
) -> Chart:
    shown = [(runs[key], pair) for key, pair in there.items()]
    lines, with_paper = [], set()
    for run, pair in shown:
        first = run.learner not in with_paper and run.is_default
        lines.append(_line(name, run, pair, setting, view.paper and first))
        if first:
            with_paper.add(run.learner)
    refused = []
    if view.attack != NONE:
        for run, pair in shown:
            asked = [
                e
                for e in found[run.key]
                if (view.certificate if e.spec.kind == "certify" else view.attack) in (BEST, e.spec.method)
            ]
            refused += [(reason, run.label) for reason in refusals(asked, pair, setting)]
    threat = setting.threat.describe() if limits_of(setting.threat) != "free" else f"{setting.threat.norm_name} norm"
    parts = [title, f"K = {setting.n_neighbors}", threat, setting.points_words()]
    return Chart(
        name,
        " · ".join(part for part in parts if part),
        setting.threat.norm_name,
        setting,
        tuple(run for run, _ in shown),
        tuple(pair for _, pair in shown),
        tuple(lines),
        (*_notes(shown, lines), *_paper_notes(name, lines, setting, view, "box" in resolved.limits)),
        tuple(
            f"{', '.join(label for why, label in refused if why == reason)}: certificate and attack are not drawn "
            f"together, because {reason}. Radii against different attackers do not belong on one chart."
            for reason in dict.fromkeys(why for why, _ in refused)
        ),
    )


def _line(name: str, run: Run, pair: EvaluationPair, setting: Setting, paper: bool) -> RobustLine:
    values = _paper_values(name, run.learner, setting) if paper else {}
    if pair.lower is None:
        values.pop("paper_certified", None)
    if pair.upper is None:
        values.pop("paper_empirical", None)
    radii = {"paper_radii": published.radii(name)} if values else {}
    return RobustLine(
        label=run.label,
        certified=pair.lower,
        empirical=pair.upper,
        exact=pair.exact,
        certificate="" if pair.certificate is None else pair.certificate.describe_method(),
        attack=pair.attack_words(),
        place=run.place,
        partial=not pair.whole,
        wrong=~pair.radii.correct,
        **radii,
        **values,
    )


def _paper_values(name: str, learner: str, setting: Setting) -> dict[str, np.ndarray]:
    """The paper's columns about this very question: its certificates allow every step, its attack stays in [0, 1]."""
    if name not in published.TITLES or learner not in published.METHODS:
        return {}
    if setting.part != "evaluation" or not setting.labels:
        return {}
    if setting.threat == ThreatModel() and setting.n_neighbors == 1:
        return {"paper_certified": published.errors(name, learner, "exact")}
    if setting.threat == ThreatModel() and setting.n_neighbors == published.K:
        return {"paper_certified": published.errors(name, learner, "certified")}
    if setting.threat == ThreatModel(box=(0.0, 1.0)) and setting.n_neighbors == published.K:
        return {"paper_empirical": published.errors(name, learner, "empirical")}
    return {}


def _notes(shown: Sequence[tuple[Run, EvaluationPair]], lines: Sequence[RobustLine]) -> list[str]:
    notes = []
    shared: dict[str, list[str]] = {}
    for run, pair in shown:
        sizes = [len(e) for e in pair.evaluations]
        notes += [_partial(run, evaluation) for evaluation in pair.evaluations if not evaluation.whole]
        if len(set(sizes)) > 1:
            sentence = (
                f"{sizes[0]:,} points were certified and {sizes[1]:,} attacked; "
                f"both curves show the {pair.n_points:,} they share."
            )
            shared.setdefault(sentence, []).append(run.label)
        if pair.certificate is not None and pair.certificate.spec.at is not None:
            shared.setdefault(time_spent_on(pair.certificate.spec.at), []).append(run.label)
    notes += [f"{', '.join(labels)}: {sentence}" for sentence, labels in shared.items()]
    counts = {pair.n_points for _, pair in shown}
    if len(counts) > 1:
        each = ", ".join(f"{run.label} {pair.n_points:,}" for run, pair in shown)
        notes.append(f"The curves do not rest on the same number of points: {each}. Small differences may be chance.")
    if len({line.certificate for line in lines if line.certificate}) > 1:
        notes.append("The certificates differ between the methods; a tighter one makes a method look safer.")
    if len({line.attack for line in lines if line.attack}) > 1:
        notes.append("The attacks differ between the methods; a stronger one makes a method look weaker.")
    return list(dict.fromkeys(notes))


def _partial(run: Run, evaluation: Evaluation) -> str:
    job = next((job for job in run.jobs if job.id == evaluation.made.get("job")), None)
    what = "certified" if evaluation.spec.kind == "certify" else "attacked"
    count = f"{run.label} is partial: {len(evaluation):,} of {evaluation.planned:,} points {what}"
    if job is not None and not under_way(job) and job.state != "done":
        ended = "cancelled" if job.state == "cancelled" else "interrupted"
        return f"{count}, then the job was {ended}. Retry it on Train."
    return f"{count} so far; the curve follows while the job runs."


def _paper_notes(
    name: str, lines: Sequence[RobustLine], setting: Setting, view: CompareView, box_offered: bool
) -> list[str]:
    if not view.paper or name not in published.TITLES or setting.n_neighbors != published.K:
        return []
    notes = []
    if any(line.paper_certified is not None for line in lines):
        theorem1 = METHOD_WORDS["theorem1"].title
        if any(line.certificate != theorem1 for line in lines if line.paper_certified is not None):
            notes.append(
                "The paper's values come from its Theorem 1; choose that certificate to compare like with like."
            )
        if any(line.empirical is not None for line in lines):
            where = "Choose “In a box” to see its values." if box_offered else "Its values are not drawn here."
            notes.append(f"The paper's attack stays inside [0, 1], which is another attacker. {where}")
    return notes


def _left_out(
    title: str, runs: Sequence[Run], found: dict[str, list[Evaluation]], resolved: ResolvedView, view: CompareView
) -> list[str]:
    """Runs that are chosen but have nothing for this K, norm, limits, certificate and attack."""
    sentences: dict[str, list[str]] = {}
    for run in runs:
        settings = dict.fromkeys(setting_of(e) for e in found[run.key])
        if not settings:
            if not run.jobs:
                sentences.setdefault("has not been evaluated yet", []).append(run.label)
            continue
        fits = [s for s in settings if s.n_neighbors == resolved.k and norm_of(s.threat.norm).spelling == resolved.norm]
        if any(limits_of(s.threat) == resolved.limit for s in fits) and (view.certificate, view.attack) != (BEST, BEST):
            words = "has no such certificate or attack"
        else:
            there = "; ".join(dict.fromkeys(f"K = {s.n_neighbors}, {s.threat.describe()}" for s in settings))
            words = f"has no results for this choice; it has some for {there}"
        sentences.setdefault(words, []).append(run.label)
    return [
        f"{title}: {', '.join(labels)} {words if len(labels) == 1 else _plural(words)}."
        for words, labels in sentences.items()
    ]


def _plural(words: str) -> str:
    return words.replace("has ", "have ", 1).replace("; it has", "; they have")


def _unknown_runs(view: CompareView, catalogue: RunCatalogue) -> list[str]:
    known = {run.key for run in catalogue.own}
    lost = [key for key in view.runs or () if key not in known]
    ours = {run.key for run in catalogue.shipped}
    strange = [key for key in view.methods or () if key not in ours]
    return [
        *(f"The address names run {key}, which is not here or not yours to see; it was left out." for key in lost),
        *(f"No results with the name '{key}' ship with the project; it was left out." for key in strange),
    ]


def _preferred(values: Sequence[T], favourite: T) -> T | None:
    """The favourite if it is there, else the most frequent."""
    if favourite in values:
        return favourite
    return Counter(values).most_common(1)[0][0] if values else None
