"""The words of this dashboard, each in a sentence or two."""

from __future__ import annotations

TERMS = {
    "Nearest neighbours (K-NN)": "A classifier without formulas: the K training points closest to the question vote, "
    "and the majority is the answer.",
    "Metric": "The rule that says how far apart two points are. Here d(x, x') = (x − x')ᵀM(x − x'): the matrix M "
    "stretches some directions and shrinks others.",
    "Perturbation, step": "A change δ added to a point. Its length is measured in a norm.",
    "Norm": "How the length of a step is measured. ℓ2 is the ordinary length, ℓ∞ the largest change of any feature, "
    "ℓ1 the sum of all changes.",
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
