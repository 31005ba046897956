"""Every word, title and rounding rule that pages, reports, figures and the command line share.

From top to bottom: norms, methods, verdicts, numbers, sentences about a radius, wrong training rows, captions, settings
and sizes, the glossary. What only one place says stays there. Keys (``"l2"``, ``"votes"``, ``"certified"``) stand in
addresses and stored files and never change; what is shown for them may.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .numerics.arrays import FloatArray
from .numerics.directed_rounding import digits_down, digits_up, places_down, places_up

# Norms: how the length of a step is measured.


@dataclass(frozen=True)
class Norm:
    """The norm ℓp: how it is written in addresses and files, how people write it, and the shape of its ball in 2-D."""

    p: float
    spelling: str
    name: str
    ball: str


NORMS = {
    norm.spelling: norm
    for norm in (
        Norm(1.0, "l1", "ℓ1", "diamond"),
        Norm(2.0, "l2", "ℓ2", "disc"),
        Norm(math.inf, "linf", "ℓ∞", "square"),
    )
}
"""By spelling."""
NORM_HELP = "ℓ2 is the ordinary length, ℓ∞ the largest change of a feature, ℓ1 the sum of all changes."


def norm_of(p: float) -> Norm:
    """The norm with this p: 1, 2 or inf."""
    return next(norm for norm in NORMS.values() if norm.p == p)


def norm_name(spelling: str) -> str:
    """What is shown for a norm in an address: ``"l2"`` is "ℓ2"."""
    return NORMS[spelling].name


# Methods: what proves a radius, and what finds one.


@dataclass(frozen=True)
class MethodWords:
    """What is said of one certificate or attack.

    `title` stands in lists, tables and legends, `inline` within a sentence. `help` says what it is and `promise` what
    its numbers mean for one point. `offer` and `effect` are for somebody who brings rows and wants them certified:
    what can be chosen, and what is then done.
    """

    kind: Literal["certificate", "attack"]
    title: str
    inline: str = ""
    from_paper: bool = False
    help: str = ""
    promise: str = ""
    offer: str = ""
    effect: str = ""

    @property
    def full_title(self) -> str:
        """The title where nothing around it says that this is an attack."""
        return f"{self.title} attack" if self.kind == "attack" else self.title

    @property
    def title_beside_others(self) -> str:
        """The title in a list where the paper's own method has to be found."""
        return f"{self.title} (the paper's)" if self.from_paper else self.title


METHOD_WORDS = {
    "exact": MethodWords(
        "certificate",
        "Exact",
        inline="smallest changes",
        help="the true radius of 1-NN in ℓ2.",
        promise="Solved to the end (one neighbour, ℓ2): proved and reached meet.",
        offer="Exact: both sides meet",
        effect="the smallest change is computed exactly",
    ),
    "search": MethodWords(
        "certificate",
        "Search",
        inline="search",
        help="lower and upper bound for any K, the tighter the more seconds a point gets.",
        promise="Tries cases in order until time is up: proved up to its left end, reached at its right end.",
        offer="Search: both sides, as tight as time allows",
        effect="both sides are narrowed as long as the time a row allows",
    ),
    "votes": MethodWords(
        "certificate",
        "Votes",
        inline="votes",
        help="the lower bound that counts votes, for any K.",
        promise="Counts who would have to win or lose a vote: proved, at least as far as Theorem 1.",
        offer="Votes: a proven lower side, and an attack",
        effect="a proven lower side for every row, and a white-box attack for the upper side",
    ),
    "theorem1": MethodWords(
        "certificate",
        "Theorem 1",
        inline="Theorem 1",
        from_paper=True,
        help="the paper's lower bound, for odd K.",
        promise="The paper's certificate, from pairs of neighbours: proved, often too modest.",
        offer="Theorem 1 of the paper, and an attack",
        effect="the paper's certificate, and a white-box attack for the upper side",
    ),
    "crown": MethodWords("certificate", "CROWN", inline="CROWN"),
    "smoothing": MethodWords("certificate", "Randomized smoothing", inline="randomized smoothing"),
    "whitebox": MethodWords(
        "attack",
        "White-box",
        inline="white-box attack",
        help="knows the training points; strong and fast, no chance involved.",
        promise="A step that was tried and changes the answer: the truth is not above it.",
    ),
    "boundary": MethodWords(
        "attack",
        "Boundary",
        inline="boundary attack",
        from_paper=True,
        help="only asks for answers; the attack of the paper's experiments.",
    ),
}
NO_ATTACK = "No attack"
BOUNDED_CLASSIFIERS = {"exact": "1-NN, exact", "theorem1": "11-NN, Theorem 1", "whitebox": "11-NN, white-box attack"}
"""The paper's classifiers with the method that bounds their error."""


def help_list(methods: Iterable[str]) -> str:
    """What each of some methods is, a line each (Markdown)."""
    return "\n".join(f"- **{METHOD_WORDS[name].title}**: {METHOD_WORDS[name].help}" for name in methods)


# Verdicts: what is known of a point at a radius ε. The rule itself is `radii.verdicts`.


@dataclass(frozen=True)
class VerdictWords:
    """What is said of the points with one verdict: `share` names their part of all points."""

    share: str
    mark: str
    meaning: str


VERDICTS = {
    "certified": VerdictWords("proved safe", "✔", "no change up to ε flips the answer: proved"),
    "undecided": VerdictWords("undecided", "?", "no proof reaches ε, and no change of at most ε is known"),
    "attackable": VerdictWords("can be flipped", "✖", "a change of at most ε that flips the answer is known"),
}
"""From what is proved to what was found; the keys are what the engine answers and files hold."""
WRONG_ALREADY = "wrong already"
NO_WHOLE_CHANGE = "no whole-number change of that size was found"
"""Why a row is open that a change with parts of categories or of whole numbers would flip."""


def marked_verdict(verdict: str) -> str:
    """A verdict with its sign, for tables where colour must not be all that tells them apart."""
    return f"{VERDICTS[verdict].mark} {verdict}"


def wrong_rows(count: int) -> str:
    """How many of the attackable rows are so because their answer is wrong."""
    return f"{count:,} of the attackable rows {'are' if count > 1 else 'is'} {WRONG_ALREADY}"


# Numbers. What is proved is never written larger than it is, what was found never smaller.

TEXT_DIGITS, TABLE_DIGITS = 3, 4
"""Significant digits of a radius in a sentence and in a column of many."""
SHARE_PLACES = 9  # of a share: more are rounding, with fewer than a thousand million points
SMALLEST_WRITTEN_OUT, LARGEST_WRITTEN_OUT = 1e-4, 1e9


def number(value: float) -> str:
    """Three significant digits, as students write them: 0.438, 1.20, 12.0; very small or large as 3.20e-05."""
    if not math.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    if not SMALLEST_WRITTEN_OUT <= abs(value) < LARGEST_WRITTEN_OUT:
        return f"{value:.{TEXT_DIGITS - 1}e}"
    places = max(0, TEXT_DIGITS - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def radius_down(value: float) -> str:
    """A certified radius cut, not rounded, to three significant digits: what is shown is still proved."""
    return number(digits_down(value, TEXT_DIGITS))


def radius_up(value: float) -> str:
    """The length of a step that was found, rounded up: one so long is really enough."""
    return number(digits_up(value, TEXT_DIGITS))


def radius_near(value: float) -> str:
    """A radius that is known exactly, to the nearest number of three digits: never to be called safe or enough."""
    return number(float(f"{value:.{TEXT_DIGITS - 1}e}"))


def radii_down(values: FloatArray, digits: int = TABLE_DIGITS) -> FloatArray:
    """A column of certified radii, cut to so many significant digits."""
    return np.array([digits_down(value, digits) for value in values])


def radii_up(values: FloatArray, digits: int = TABLE_DIGITS) -> FloatArray:
    """A column of lengths that were found, rounded up."""
    return np.array([digits_up(value, digits) for value in values])


def percent(share: float) -> str:
    """A share in whole percents; 0% and 100% are written for none and all only."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return ">99%"
    return "<1%" if text == "0%" and share > 0 else text


def share_down(share: float) -> str:
    """A share that is proved, with three digits: never more than it is, nor 1 where something is missing."""
    return f"{places_down(round(share, SHARE_PLACES), 3):.3f}"


def share_up(share: float) -> str:
    """The share of errors, with three digits: never less than it is, nor 0 where there are some."""
    return f"{places_up(round(share, SHARE_PLACES), 3):.3f}"


# Sentences about the radius of one point (Markdown). A point of a picture takes a step that changes its answer; a row
# of a file is changed, which flips it.


def exact_words(radius: float, norm: str, *, step: str = "step", changes: str = "changes", to: str = "") -> str:
    """The radius is known; `to` names the answer after the step."""
    shown = f"**{radius_near(radius)}** (exact, to three digits)"
    return f"The smallest {step} that {changes} it{to} has {norm} length {shown}"


def proved_words(radius: float, norm: str, *, step: str = "step", changes: str = "changes") -> str:
    """A lower bound."""
    return f"No {step} of {norm} length below **{radius_down(radius)}** {changes} it"


def never_words(*, step: str = "step", changes: str = "changes") -> str:
    """The radius is infinite."""
    return f"No {step} of any length {changes} it: proved."


OPEN_BETWEEN = "Between the two it is open."

# Wrong training rows: how many it takes until an answer changes, by what is wrong with them.


@dataclass(frozen=True)
class TrainingRowWords:
    """The title of a column with such numbers, and what they mean."""

    title: str
    help: str


TRAINING_ROWS = {
    "relabelled": TrainingRowWords(
        "wrong labels", "So many wrong labels could change the answer; with fewer it stands."
    ),
    "removed": TrainingRowWords("rows removed", "So many missing rows could change the answer; with fewer it stands."),
    "added": TrainingRowWords("rows added", "So many rows put in could change the answer; with fewer it stands."),
}
"""By kind; each is the fewest training rows that must be wrong."""
TRAINING_ROWS_RULE = (
    "Counted exactly, with the metric and the scaling held fixed; at least K rows remain, and added rows come first "
    "among equal distances."
)


def count_of_rows(count: float) -> str:
    """A number of training rows; ∞ where no number is enough."""
    return "∞" if math.isinf(count) else f"{int(count):,}"


def training_words(removed: float, added: float, relabelled: float) -> str:
    """How many training rows must be wrong before the answer of one row changes, as sentences."""

    def rows(count: float) -> str:
        return "1 row" if count == 1 else f"{count_of_rows(count)} rows"

    if relabelled == 1:
        first = "One wrong label among the training rows could change the answer."
    else:
        fewer = "one training row is" if relabelled == 2 else f"{count_of_rows(relabelled - 1)} training rows are"
        first = (
            f"The answer stands however {fewer} relabelled; {count_of_rows(relabelled)} wrong labels could change it."
        )
    if math.isinf(removed):
        return f"{first} So could {rows(added)} added. It stands whatever is taken away, as long as K rows remain."
    return f"{first} So could {rows(removed)} taken away or {rows(added)} added."


# Where a search spent its time: on verdicts at some radii, if it was given any.


def radii_list(radii: Iterable[float]) -> str:
    """Radii in a sentence: "ε = 0.1, 0.2"."""
    return f"ε = {', '.join(f'{radius:g}' for radius in radii)}"


def verdicts_at(radii: Iterable[float]) -> str:
    """What a search was asked for, as a setting of its."""
    return f"verdicts at {radii_list(radii)}"


def question_words(ties: str, target: object = None) -> tuple[str, ...]:
    """What counts as another answer, where it is not the usual."""
    found = ("ties in any order",) if ties == "any" else ()
    return found if target is None else (*found, f"until the answer is {target}")


def time_spent_on(radii: Iterable[float], points: str = "points") -> str:
    """What that means for other radii, as a sentence."""
    return (
        f"Time was spent on {verdicts_at(radii)} only: at another ε more {points} may be undecided, and more could be "
        "proved."
    )


# Captions beside robust-error curves and mean radii.

BOTH_CAPTION = (
    "Lower is safer. Solid is proved: no step of length ε makes more points wrong. Dashed was reached by an attack. "
    "The truth lies in the shaded part between."
)
EXACT_CAPTION = "Lower is safer. Every radius is known exactly here: one line for each model, nothing undecided."
PROVED_CAPTION = "Lower is safer. Solid is proved: no step of length ε makes more points wrong."
REACHED_CAPTION = (
    "Lower is safer. Dashed was reached by an attack; a stronger one may reach more. Nothing is proved here."
)
MEAN_RULE = "A wrong answer counts as 0, a point nothing can flip with the largest radius of the others."
"""As :func:`arml_core.curves.mean_radius` has it."""
NOTHING_FOUND = "A point at which the attack found nothing is left out: that says nothing of its radius."
NO_SCRIPT = "The rows come from a private file, so they cannot be computed again from a script."


def cross_fitted_words(folds: int | None, seed: int) -> str:
    """How training rows are judged by a model that learned from them: in each fold by one that did not."""
    return f"each answered by a model learned without it ({folds} folds, seed {seed})"


def beyond_words(count: int) -> str:
    """What is added to a histogram that leaves out rows with an infinite radius; empty if there are none."""
    return f" {count:,} rows that nothing can flip are not drawn." if count else ""


# Settings of learners, times and sizes.

_PARAMETER_LABELS = {
    "max_iter": "Most iterations",
    "min_iter": "Fewest iterations",
    "tol": "Tolerance",
    "k": "Scale neighbour",
}


def parameter_label(name: str) -> str:
    """A learner's parameter as people read it: "n_epochs" is "Epochs"."""
    usual = name.replace("_", " ").removeprefix("n ").replace("neighbor", "neighbour").capitalize()
    return _PARAMETER_LABELS.get(name, usual)


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate is."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def gigabytes(size: float) -> str:
    """A size in bytes in words."""
    return f"{size / 2**30:.1f} GB"


GLOSSARY = {
    "Nearest neighbours (K-NN)": "A classifier without formulas: the K training points closest to the question vote, "
    "and the majority is the answer.",
    "Metric": "The rule that says how far apart two points are. Here d(x, x') = (x − x')ᵀM(x − x'): the matrix M "
    "stretches some directions and shrinks others.",
    "Perturbation, step": "A change δ added to a point. Its length is measured in a norm.",
    "Norm": f"How the length of a step is measured. {NORM_HELP}",
    r"Robust radius ε\*": "The length of the smallest step that changes the answer. 0 if the answer is already wrong.",
    "Certificate, lower bound": "A proven number: no step shorter than this changes the answer.",
    "Attack, upper bound": "A step that was found and really changes the answer. The robust radius cannot be larger.",
    "Exact": "Lower and upper bound meet: the robust radius is known.",
    "Certified, attackable, undecided": "The three verdicts at a radius ε: proved safe, shown to be breakable, or "
    "neither yet.",
    "Adversarial point": "The point where the attack ends: close to the original, with another answer.",
    "Leave-one-out": "A training point is judged by all the others, otherwise it would be its own nearest neighbour.",
    "Robust error at ε": "The share of points that are wrong or can be made wrong by a step of length up to ε.",
    "ARML": "Adversarially robust metric learning: learns M so that the steps that would change an answer get longer.",
    "NCA, LMNN, ITML, LFDA": "Four older ways to learn M. They aim at accuracy, not at robustness.",
}
