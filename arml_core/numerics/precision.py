"""Full precision, whatever the caller has switched on in torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from .threads import Together

P = ParamSpec("P")
R = TypeVar("R")


def in_full_precision(work: Callable[P, R]) -> Callable[P, R]:
    """`work` without torch's autocast and coarser products: the bounds on rounding errors are those of float32."""

    @wraps(work)
    def precise(*args: P.args, **kwargs: P.kwargs) -> R:
        with ExitStack() as stack:
            stack.enter_context(_full)
            for kind in ("cpu", "cuda"):
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            return work(*args, **kwargs)

    return precise


@contextmanager
def _full_products() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


_full = Together(_full_products)
