"""What people ask of a classifier beyond one radius for a row: each an answer made of several ordinary questions.

``fairness.py``: whose answer depends on sensitive columns. ``missing_cells.py``: rows with missing cells, whatever
their values are. ``protection.py``: which columns to protect, so that most rows become safe.
"""

from .fairness import AnswerChange, Fairness, fairness
from .missing_cells import attack_missing, certify_missing
from .protection import ProtectedColumn, Protection, columns_to_protect

__all__ = [
    "AnswerChange",
    "Fairness",
    "ProtectedColumn",
    "Protection",
    "attack_missing",
    "certify_missing",
    "columns_to_protect",
    "fairness",
]
