"""Results of calls with arrays, remembered by content.

Streamlit's own cache asks for the signature of the function, pickles what it hashes and unpickles what it returns: a
millisecond for each call. A picture needs a handful of such calls, and four pictures are drawn for every click.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def cached_by_content(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the last `most` results of a function of arrays and plain values, for all visitors of this server.

    The result itself is handed out, not a copy: nobody may change it, and its arrays are made so that nobody can.
    An exception is not kept.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        kept: OrderedDict[Hashable, T] = OrderedDict()
        guard = threading.Lock()

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            key = (tuple(map(_key, args)), tuple((name, _key(value)) for name, value in sorted(kwargs.items())))
            with guard:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            value = function(*args, **kwargs)
            _protect(value)
            with guard:
                kept[key] = value
                while len(kept) > most:
                    kept.popitem(last=False)
            return value

        return call

    return decorate


def _key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), value


def _protect(value: Any) -> None:
    """Make the arrays of a result, and of what it consists of, read-only."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for part in value:
            _protect(part)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            _protect(getattr(value, name))
