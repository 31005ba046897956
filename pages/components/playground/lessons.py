"""Four guided lessons on the live playground: each step sets the scene, names a control and asks a question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..plane_models import ROBUST
from .view import DEFAULT, PlaygroundView


@dataclass(frozen=True)
class LessonStep:
    """`text` says what to look at, `control` is the setting to try (a name in CONTROLS), `view` is the scene."""

    text: str
    control: str
    task: str
    question: str
    answer: str
    view: PlaygroundView


@dataclass(frozen=True)
class Lesson:
    name: str
    title: str
    steps: tuple[LessonStep, ...]


_PAIR = replace(DEFAULT, methods=("euclidean", "arml"))
_NCA = replace(DEFAULT, methods=("euclidean", "nca"))

FOOLED = Lesson(
    "fooled",
    "Why nearest neighbours can be fooled",
    (
        LessonStep(
            "A 1-nearest-neighbour classifier copies the label of the closest training point. "
            "The black line is where the closest triangle and the closest square are equally far.",
            "click",
            "Click left and right of the line and watch the thin line to the deciding neighbour.",
            "What happens to the answer when you cross the black line?",
            "The closest training point is now of the other class, so the answer flips at once. "
            "Nothing in between: a nearest neighbour never says 'I am not sure'.",
            replace(_PAIR, row=None, at=(0.2, 0.4)),
        ),
        LessonStep(
            "Here the chosen point is one of the squares. An attacker wants a tiny step that changes the answer; "
            "the arrow is the smallest one there is.",
            "click",
            "Click the other training points. Each is classified by the other six.",
            "Which square is the easiest to fool, and why?",
            "The square at (0.77, 0.95): a step of 0.077 is enough. It is the square closest to a triangle, so its "
            "place is almost as near to a triangle as to the next square.",
            replace(_PAIR, row=5),
        ),
        LessonStep(
            "One triangle is wrong before anybody attacks: without itself, its nearest point is a square. "
            "For such a point the radius is 0.",
            "click",
            "Look at the top triangle at (0.29, 1.45), then click the others.",
            "How many of the seven points are wrong when each is left out in turn?",
            "One with the Euclidean distance: only the top triangle. Its nearest other point is a square.",
            replace(_PAIR, row=2),
        ),
        LessonStep(
            "More neighbours vote: with K = 3 the majority of the three closest points decides.",
            "k",
            "Change K between 1, 3 and 5 and watch the line.",
            "Does a larger K always make this point safer?",
            "No. In the left picture K = 3 makes this square safer than K = 1. With K = 5 it is wrong: only two other "
            "squares are left to vote, and three triangles outvote them.",
            replace(_PAIR, row=4),
        ),
        LessonStep(
            "The attacker may measure a step differently. In ℓ2 the safe set is a disc; ℓ∞ lets both features move "
            "by the same amount, which is a square; ℓ1 shares one budget between them, a diamond.",
            "norm",
            "Switch the norm between ℓ1, ℓ2 and ℓ∞.",
            "For the same point, which norm gives the smallest radius?",
            "ℓ∞: a step of ℓ∞ length r may have ℓ2 length up to √2·r, so the attacker gets more for the same number. "
            "ℓ1 is the other way round. Never compare radii in different norms.",
            replace(_PAIR, row=6, norm="linf"),
        ),
    ),
)

LESS_SAFE = Lesson(
    "metric",
    "A better metric can be less safe",
    (
        LessonStep(
            "A metric decides what 'near' means. The dotted ellipse around the point joins all places that are "
            "equally far from it; the left picture uses plain Euclidean distance, where it is a circle.",
            "hand",
            "Turn the hand-made metric with its angle and stretch it with its two scales.",
            "What does the ellipse look like along a direction in which the metric counts distances double?",
            "Half as long: in that direction you reach the same distance after half the way.",
            replace(DEFAULT, methods=("euclidean", "hand"), row=6, hand=(2.0, 1.0, 30.0)),
        ),
        LessonStep(
            "NCA learns a metric that makes the right class likely among near neighbours. It cares about the answer, "
            "not about how close the boundary runs.",
            "click",
            "Compare the discs of the two pictures for several points.",
            "For this triangle, whose disc is larger?",
            "The Euclidean one, more than six times. NCA tilts the plane so that the classes part, and the boundary "
            "ends up hugging the points.",
            replace(_NCA, row=1),
        ),
        LessonStep(
            "Under each picture stands the mean radius over all seven points, each left out in turn. "
            "It is the average safety of the metric.",
            "methods",
            "Replace NCA by LMNN, ITML or LFDA and compare the means.",
            "Is a learned metric always safer than the Euclidean one?",
            "No. On these seven points NCA halves the mean radius. These methods were made for accuracy; safety is "
            "another goal, and it has to be asked for.",
            replace(_NCA, row=0),
        ),
        LessonStep(
            "ARML asks for it: it enlarges the smallest step that would bring a point nearer to the other class. "
            "Its training starts at the Euclidean metric.",
            "epoch",
            "Press Play under the ARML picture, or drag the slider.",
            "What happens to the ellipse and to the boundary during the training?",
            "The ellipse grows tall: the metric learns to look mostly along x1, and the boundary moves away from the "
            "points.",
            replace(_PAIR, row=6, epoch=0),
        ),
        LessonStep(
            "All three at once, on another set. Two long thin classes lie side by side: x1 decides, x2 only spreads.",
            "methods",
            "Click some points, compare the ellipses and the means; try other methods too.",
            "Which metrics hardly look at x2, and does that make the points safer?",
            "NCA and ARML: their ellipses are tall, so x2 hardly counts. Both have a larger mean radius than the "
            "Euclidean metric here, although single points lose: judge a metric by all points, not by one.",
            replace(DEFAULT, data="stretched", row=0),
        ),
    ),
)

PROMISE = Lesson(
    "promise",
    "What a certificate promises",
    (
        LessonStep(
            "The yellow disc is a certificate: no point inside it gets another answer. It is proved, not tried out.",
            "click",
            "Click inside the yellow disc, then just outside where the arrow ends.",
            "Can there be a fooling point inside the disc that nobody has found yet?",
            "No. That is what proved means: every point of the disc has the same answer, including those nobody "
            "ever tried.",
            replace(_PAIR, row=None, at=(1.2, 0.5)),
        ),
        LessonStep(
            "For one neighbour the radius is exact: the proof (disc) and the attack (arrow) meet. "
            "The arrow ends where the answer has just changed.",
            "click",
            "Compare the length in the sentence with the arrow.",
            "What would it mean if the arrow were longer than the disc's radius?",
            "Then the truth would lie between the two: safe up to the disc, broken at the arrow, open in between.",
            replace(_PAIR, row=1),
        ),
        LessonStep(
            "With more neighbours the exact radius is harder to compute, and the page shows an interval where the "
            "computation did not close it in time: the solid line is proved, the dashed one was attacked.",
            "k",
            "Try K = 3, 5 and 7.",
            "At a radius between the two lines, is the point safe?",
            "Undecided. A careful report has three words: certified, attackable, undecided.",
            replace(_PAIR, data="moons", row=3, k=5),
        ),
        LessonStep(
            "A certificate is about one model. Change a training point and it must be computed again.",
            "tools",
            "Choose 'Move', click a training point, then click where it should go.",
            "Does moving a far-away training point change this certificate?",
            "Usually not: only the points that shape the boundary near the chosen one matter. But nobody may assume "
            "it; the new certificate is the proof.",
            replace(_PAIR, row=6),
        ),
        LessonStep(
            "A certificate says how far the answer stays the same. It does not say that the answer is right.",
            "click",
            "Click places far away from every training point.",
            "Why are the discs far away from the data so large, and should you trust those answers?",
            "Far from the data the boundary is far too, so the answer is stable. Stable is not the same as right: "
            "no training point is near enough to tell.",
            replace(_PAIR, row=None, at=(2.6, 0.4)),
        ),
    ),
)

_FEWER = replace(
    DEFAULT,
    data="moons",
    n=80,
    noise=0.25,
    seed=1,
    methods=("euclidean", ROBUST),
    row=None,
    at=(0.47, 1.25),
    prototypes=3,
    target=0.3,
)

FEWER = Lesson(
    "fewer",
    "Fewer points, safer answers",
    (
        LessonStep(
            "On the left all 80 points answer, and an odd one among the other class keeps an island of its own. "
            "On the right only six learned points answer: the large marks.",
            "click",
            "Click near the islands and compare the two discs.",
            "At the first place both pictures answer 'upper'. Why is the left disc so much smaller?",
            "One odd square near it is enough to change the answer. A prototype stands for many points, so a single "
            "odd one draws no border.",
            _FEWER,
        ),
        LessonStep(
            "Prototypes start amid groups of points. Then they move, until as many points as possible keep their "
            "answer under any step up to the target radius.",
            "epoch",
            "Press Play and watch the large marks.",
            "How does the boundary change, and which points are given up for it?",
            "Its deep bend flattens, away from most of the points. A few of both classes, each close to the other "
            "class, end on its wrong side.",
            replace(_FEWER, target=0.7, prototype_epoch=0),
        ),
        LessonStep(
            "How many points does an answer need? With one in each class the boundary is where both are equally far: "
            "a straight line.",
            "prototypes",
            "Set the number in each class to 1, 3 and 5 and read how many points are wrong on the right.",
            "Is one in each class enough here, and do five beat three?",
            "One is not: a straight line cannot part the moons, and about every sixth point is wrong. Three bend it "
            "around them. Five gain hardly anything.",
            _FEWER,
        ),
        LessonStep(
            "The target radius says how safe the points should be. Radii beyond it earn nothing, so a small target "
            "leaves room to get more points right.",
            "prototypes",
            "Set the target radius to 0.05, 0.3 and 1. Read the mean and the wrong answers on the right.",
            "What does a large target buy, and what is its price?",
            "It buys larger discs: at 1 the mean is half as large again as at 0.05. The price is right answers: at "
            "least three times as many points are wrong.",
            replace(_FEWER, target=0.05),
        ),
        LessonStep(
            "The disc on the right is as much a proof as the left one: it is computed for the finished prototypes, "
            "however they were found.",
            "click",
            "Click inside the right disc, then click a training point.",
            "Which number on the right is not as fair as the one on the left?",
            "The mean. On the left each point is judged without itself; the prototypes have seen all of them, and more "
            "of the points they have not seen are wrong. The disc stays proved.",
            replace(_FEWER, at=(1.2, -0.9)),
        ),
    ),
)

LESSONS = {lesson.name: lesson for lesson in (FOOLED, LESS_SAFE, PROMISE, FEWER)}
CONTROLS = {
    "click": "the pictures",
    "k": "'Neighbours (K)'",
    "norm": "'Length of a step'",
    "methods": "the method above a picture",
    "hand": "'Hand-made metric'",
    "epoch": "the epoch slider",
    "tools": "'A click will'",
    "prototypes": "'Robust prototypes'",
}


def control_of(view: PlaygroundView) -> str:
    """The control that the lesson's step is about; empty outside lessons."""
    return LESSONS[view.lesson].steps[view.step - 1].control if view.lesson else ""


def next_lesson(lesson: str) -> Lesson | None:
    """The lesson after this one; None after the last."""
    names = [*LESSONS, ""]
    return LESSONS.get(names[names.index(lesson) + 1])


def base_view(lesson: str, step: int) -> PlaygroundView:
    """The scene a lesson's step starts from; the default picture outside lessons."""
    if lesson not in LESSONS:
        return DEFAULT
    steps = LESSONS[lesson].steps
    return replace(steps[min(step, len(steps)) - 1].view, lesson=lesson, step=step)
