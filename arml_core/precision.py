"""Full precision, whatever the caller has switched on in torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


def in_full_precision(work: Callable[P, R]) -> Callable[P, R]:
    """`work` outside of torch's autocast, which computes products in half precision: bounds are for float32."""

    @wraps(work)
    def precise(*args: P.args, **kwargs: P.kwargs) -> R:
        with ExitStack() as stack:
            for kind in ("cpu", "cuda"):
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            return work(*args, **kwargs)

    return precise
