"""Which certificates and attacks belong together: the same classifier, the same attacker, the same points.

A certificate says how far every attacker of its threat model stays harmless, an attack how far one got. Only if both
mean the same attacker do the two radii of a point enclose the truth. What does not belong together is not joined, and
the reason is given in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .attacks import METHODS as ATTACKS
from .jobs.spec import EvaluationSpec, PointsPart
from .numerics.arrays import FloatArray
from .radii import Radii
from .results import Evaluation
from .threat import ByFeature, Side, ThreatModel
from .vocabulary import cross_fitted_words, question_words

CERTIFICATES = ("exact", "search", "votes", "theorem1")
"""The tightest first."""
BEST, NONE = "best", "none"
OWN_ATTACK = ("exact", "search")
"""Certificates whose upper side was reached by a step of their own."""
OWN_ANSWERS = "the classifier's own answers, not the labels"


@dataclass(frozen=True)
class Setting:
    """What everything on one chart shares: the dataset, K, the attacker, and which points with which question."""

    fingerprint: str
    n_neighbors: int
    threat: ThreatModel
    part: PointsPart
    digest: str | None
    labels: bool
    ties: str = "order"
    target: Any = None
    folds: int | None = None
    fold_seed: int = 0

    @classmethod
    def of(cls, fingerprint: str, spec: EvaluationSpec) -> Setting:
        """The setting of a question about a dataset."""
        points = spec.points
        threat, rows = canonical_threat(spec.threat), (points.part, points.digest, points.labels)
        folds = points.folds, points.seed
        return cls(fingerprint, spec.n_neighbors, threat, *rows, spec.ties, spec.target, *folds)

    def points_words(self) -> str:
        """Which points these are; empty for the usual ones."""
        rows = {
            "evaluation": "",
            "test": "test rows in their own order",
            "train": "training rows, each left out of its own vote",
            "cross": f"training rows, {cross_fitted_words(self.folds, self.fold_seed)}",
            "given": "rows of a query file",
        }[self.part]
        question = "" if self.labels else OWN_ANSWERS
        return "; ".join(part for part in (rows, question, *question_words(self.ties, self.target)) if part)


@dataclass(frozen=True, eq=False)
class EvaluationPair:
    """One classifier in one setting: its certificate, its attack, and their radii on the rows both have."""

    certificate: Evaluation | None
    attack: Evaluation | None
    radii: Radii

    @property
    def lower(self) -> FloatArray | None:
        """What is proved; None without a certificate."""
        return None if self.certificate is None else self.radii.lower

    @property
    def upper(self) -> FloatArray | None:
        """What was found: by the attack or, without one, by the certificate itself; None if nothing was looked for."""
        if self.attack is None and (self.certificate is None or self.certificate.spec.method not in OWN_ATTACK):
            return None
        return self.radii.upper

    @property
    def n_points(self) -> int:
        return len(self.radii)

    @property
    def exact(self) -> bool:
        """Whether every point's radius is known: one curve says everything."""
        return self.certificate is not None and self.attack is None and bool(self.radii.exact.all())

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        return tuple(found for found in (self.certificate, self.attack) if found is not None)

    @property
    def whole(self) -> bool:
        return all(found.whole for found in self.evaluations)

    def attack_words(self) -> str:
        """The name, steps and seed of the attack."""
        if self.attack is not None:
            return self.attack.describe_method()
        return "the search's own attack" if self.upper is not None else ""


def canonical_threat(threat: ThreatModel) -> ThreatModel:
    """The same attacker, written in one way: costs of 1, empty lists of features and an endless box are left out."""
    costs = None if threat.costs is None or all(cost == 1.0 for cost in _numbers(threat.costs)) else threat.costs
    box: Any = None
    if isinstance(threat.box, ByFeature):
        box = dict(threat.box)
    elif threat.box is not None:
        low, high = (_one_number(side) for side in threat.box)
        box = None if (low, high) == (-np.inf, np.inf) else (low, high)
    lists = {name: getattr(threat, name) or None for name in ("frozen", "only_up", "only_down", "free")}
    switches = [switch for switch in threat.switches if switch.values is None or len(switch.values) > 1]
    most = None if threat.max_switches is None or threat.max_switches >= len(switches) else threat.max_switches
    return ThreatModel(threat.norm, costs, box=box, **lists, switches=switches, max_switches=most if switches else None)


def _numbers(costs: ByFeature | tuple[float, ...]) -> list[float]:
    return [cost for _, cost in costs] if isinstance(costs, ByFeature) else list(costs)


def setting_of(evaluation: Evaluation) -> Setting:
    """The chart an evaluation belongs to."""
    return Setting.of(evaluation.run.dataset, evaluation.spec)


def threat_differences(certificate: ThreatModel, attack: ThreatModel) -> tuple[str, ...]:
    """In what the attackers of a certificate and an attack differ, a clause each; empty if they are the same."""
    one, other = canonical_threat(certificate), canonical_threat(attack)
    found = []
    if one.norm != other.norm:
        found.append(f"the certificate measures a step in {one.norm_name}, the attack in {other.norm_name}")
    if one.box != other.box:
        found.append(f"the certificate {_inside(one)}, the attack {_inside(other)}")
    if one.frozen != other.frozen:
        found.append(f"the certificate {_freezes(one)}, the attack {_freezes(other)}")
    if (one.only_up, one.only_down) != (other.only_up, other.only_down):
        found.append("they let the features go different ways")
    if one.free != other.free:
        found.append(f"the certificate {_frees(one)}, the attack {_frees(other)}")
    if (one.switches, one.max_switches) != (other.switches, other.max_switches):
        found.append("they switch different features, or to different values")
    if one.costs != other.costs:
        found.append("they count the features at different costs")
    return tuple(found)


def join(certificate: Evaluation, attack: Evaluation) -> EvaluationPair:
    """Both on the rows they share; a ValueError that says why if they do not belong together."""
    different = threat_differences(certificate.spec.threat, attack.spec.threat)
    if different:
        raise ValueError(f"{'; '.join(different)}: these are radii against different attackers")
    if classifier_of(certificate) != classifier_of(attack):
        raise ValueError("the certificate and the attack belong to different classifiers")
    if certificate.spec.rule() != attack.spec.rule():
        raise ValueError("the certificate and the attack differ in what counts as another answer: ties or a target")
    if setting_of(certificate) != setting_of(attack):
        raise ValueError("the certificate and the attack belong to different points")
    shared = np.isin(certificate.radii.index, attack.radii.index)
    if not shared.any():
        raise ValueError("the certificate and the attack have no row in common yet")
    return EvaluationPair(certificate, attack, certificate.radii.take(shared).join(attack.radii))


def alone(evaluation: Evaluation) -> EvaluationPair:
    """A certificate without an attack, or an attack without a certificate."""
    if evaluation.spec.kind == "attack":
        return EvaluationPair(None, evaluation, evaluation.radii)
    return EvaluationPair(evaluation, None, evaluation.radii)


def evaluation_pairs(
    runs: Mapping[str, Sequence[Evaluation]], setting: Setting, certificate: str = BEST, attack: str = BEST
) -> dict[str, EvaluationPair]:
    """Each run in a setting; runs without results there are left out.

    `certificate` and `attack` name a method, or ``"best"``: the best one that all runs have, so that the comparison is
    fair; where they have none in common, each run's own best. Attack ``"none"`` leaves attacks out. Where the radii
    are known exactly, the best attack is none.
    """
    there = {name: [e for e in evaluations if setting_of(e) == setting] for name, evaluations in runs.items()}
    proofs = _chosen(there, "certify", CERTIFICATES, certificate)
    attacks = {} if attack == NONE else _chosen(there, "attack", ATTACKS, attack)
    found = {}
    for name in runs:
        proof, hit = proofs.get(name), attacks.get(name)
        if proof is not None and hit is not None and not (attack == BEST and proof.radii.exact.all()):
            try:
                found[name] = join(proof, hit)
                continue
            except ValueError:  # a row in common is still missing
                hit = None
        only = proof if proof is not None else hit
        if only is not None:
            found[name] = alone(only)
    return found


def refusals(evaluations: Iterable[Evaluation], pair: EvaluationPair, setting: Setting) -> tuple[str, ...]:
    """Why this classifier's certificate (or attack) stands alone although there are attacks (or certificates) of it."""
    if pair.exact or (pair.certificate is not None and pair.attack is not None):
        return ()
    here = pair.evaluations[0]
    wanted = "attack" if here.spec.kind == "certify" else "certify"
    others = [e for e in evaluations if e.spec.kind == wanted and classifier_of(e) == classifier_of(here)]
    if any(setting_of(e) == setting for e in others):
        return ()
    found = []
    for other in others:
        certificate, attack = (here, other) if wanted == "attack" else (other, here)
        different = threat_differences(certificate.spec.threat, attack.spec.threat)
        if different:
            found.append("; ".join(different))
    return tuple(dict.fromkeys(found))


def classifier_of(evaluation: Evaluation) -> tuple[str, ...]:
    """The metric and K, as something that can be compared."""
    run = evaluation.run
    return (
        run.dataset,
        run.learner,
        str(sorted((name, str(value)) for name, value in run.parameters.items())),
        str(run.seed),
        str(evaluation.spec.n_neighbors),
    )


def _chosen(
    there: Mapping[str, Sequence[Evaluation]], kind: str, order: Sequence[str], wanted: str
) -> dict[str, Evaluation]:
    by_method: dict[str, dict[str, list[Evaluation]]] = {}
    for name, evaluations in there.items():
        methods: dict[str, list[Evaluation]] = {}
        for evaluation in evaluations:
            if evaluation.spec.kind == kind and len(evaluation):
                methods.setdefault(evaluation.spec.method, []).append(evaluation)
        if methods:
            by_method[name] = methods
    if wanted != BEST:
        return {name: max(m[wanted], key=_extent) for name, m in by_method.items() if wanted in m}
    shared = [method for method in order if by_method and all(method in methods for methods in by_method.values())]
    return {
        name: max(methods[next(m for m in (*shared, *order) if m in methods)], key=_extent)
        for name, methods in by_method.items()
    }


def _extent(evaluation: Evaluation) -> tuple[Any, ...]:
    """Of several evaluations by the same method the whole, larger, longer and newer one is taken.

    A search that was to decide some radii comes after one for all of them, however long it was: the curve is read at
    every radius.
    """
    return (
        evaluation.whole,
        len(evaluation),
        evaluation.spec.options.get("steps", 0),
        evaluation.spec.at is None,
        evaluation.spec.budget or 0.0,
        str(evaluation.made.get("date", "")),
    )


def _one_number(side: Side) -> Side:
    return side[0] if isinstance(side, tuple) and len(set(side)) == 1 else side


def _inside(threat: ThreatModel) -> str:
    if threat.box is None:
        return "allows every step"
    if isinstance(threat.box, ByFeature):
        return "stays inside limits of each feature"
    low, high = threat.box
    if isinstance(low, tuple) or isinstance(high, tuple):
        return "stays inside limits of each feature"
    return f"stays inside [{low:g}, {high:g}]"


def _frees(threat: ThreatModel) -> str:
    count = len(threat.free or ())
    return "counts every feature" if count == 0 else f"lets {count} feature{'s' if count > 1 else ''} move freely"


def _freezes(threat: ThreatModel) -> str:
    count = len(threat.frozen or ())
    return "moves every feature" if count == 0 else f"freezes {count} feature{'s' if count > 1 else ''}"
