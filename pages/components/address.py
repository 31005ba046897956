"""Choices in the address: readers for single parameters, and a page's choices as one value that a link reproduces.

A page's choices are a frozen dataclass of plain fields. Each field has a reader that takes the text of the address and
raises a ValueError, in words that continue "but …", for what makes no sense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode

import streamlit as st

from arml_core.numerics.directed_rounding import as_written

from .markdown import escaped
from .visitor import PARAMETER, with_key, without_key

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONGEST = 24
T = TypeVar("T", bound="DataclassInstance")


def number(text: str, low: float, high: float) -> float:
    """A number within limits."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"it takes a number from {low:g} to {high:g}")
    return value


def whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within limits."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > LONGEST or not low <= int(text) <= high:
            raise ValueError(f"it takes a whole number from {low} to {high}")
        return int(text)

    return read


def real(low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers within limits."""
    return lambda text: number(text, low, high)


def one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    """A reader of one name."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"it takes one of {', '.join(choices)}")
        return text

    return read


def several_of(choices: tuple[str, ...], fewest: int = 0, most: int = 99) -> Callable[[str], tuple[str, ...]]:
    """A reader of names joined by "~"."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(part for part in text.split("~") if part)
        if any(part not in choices for part in chosen) or not fewest <= len(chosen) <= most:
            amount = f"{fewest} to {most} of " if fewest else ""
            raise ValueError(f"it takes {amount}{', '.join(choices)}, joined by ~")
        return chosen

    return read


def flag(text: str) -> bool:
    """A reader of 0 and 1."""
    if text not in ("0", "1"):
        raise ValueError("it takes 0 or 1")
    return text == "1"


def written(value: Any) -> str:
    """A plain value as the address has it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return "~".join(map(str, value))
    return as_written(value) if isinstance(value, float) else str(value)


def short(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def read_changes(
    query: Mapping[str, str], readers: Mapping[str, Callable[[str], Any]]
) -> tuple[dict[str, Any], list[str]]:
    """What the address sets, and a sentence (Markdown) for each parameter that made no sense."""
    changes: dict[str, Any] = {}
    notices = []
    for name, text in without_key(dict(query)).items():
        if name not in readers:
            notices.append(f"The address has '{escaped(short(name))}', which is not a setting here; it was left out.")
            continue
        try:
            changes[name] = readers[name](text)
        except ValueError as reason:
            shown = f"{name}={escaped(short(text))}"
            notices.append(f"The address has {shown}, but {escaped(str(reason))}. The default is shown instead.")
    return changes, notices


def write_choices(choices: Any, base: Any, writers: Mapping[str, Callable[[Any], str]] | None = None) -> dict[str, str]:
    """The address parameters that turn `base` into `choices`."""
    known = writers or {}
    changed = {f.name: getattr(choices, f.name) for f in fields(choices)}
    return {
        name: known.get(name, written)(value)
        for name, value in changed.items()
        if value is not None and value != getattr(base, name)
    }


@dataclass
class Choices(Generic[T]):
    """A page's choices between two runs of its script: in the browser's session, and in the address.

    ``load`` at the top of the page, ``update`` in callbacks, ``publish`` at the end.
    """

    name: str
    base: T
    readers: Mapping[str, Callable[[str], Any]]
    writers: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)

    def load(self, stayed: bool) -> T:
        """From the address when it is new, else from the session.

        `stayed` is false when another page was shown before: the navigation then brings no parameters, and the visitor
        expects the view they left. After a change made on the page the address is not asked: a browser that has not
        heard yet of the address of the run before sends the one before that.
        """
        query = without_key(st.query_params.to_dict())
        known = self.known
        returned = known and not stayed and not query
        if st.session_state.pop(self._key("changed"), False) and known and stayed:
            return self.current()
        if not returned and not (known and query == st.session_state.get(self._key("published"))):
            value, notices = self.read(query)
            self.put(value)
            st.session_state[self._key("notices")] = notices
        st.session_state[self._key("published")] = query  # known now, even if a click ends this run early
        return self.current()

    def read(self, query: dict[str, str]) -> tuple[T, list[str]]:
        """The choices of an address, and a sentence for each parameter that made no sense."""
        changes, notices = read_changes(query, self.readers)
        return replace(self.base, **changes), notices

    @property
    def known(self) -> bool:
        return self._key("value") in st.session_state

    def current(self) -> T:
        value: T = st.session_state[self._key("value")]
        return value

    def update(self, **changes: Any) -> None:
        """Change the choices; the address follows at the end of the run."""
        self.put(replace(self.current(), **changes))
        st.session_state[self._key("notices")] = []
        self.mark_changed()

    def put(self, value: T) -> None:
        """Replace the choices without dropping the notices."""
        st.session_state[self._key("value")] = value

    def mark_changed(self) -> None:
        """The run that follows is about something done on the page, not about a new address."""
        st.session_state[self._key("changed")] = True

    def query(self) -> dict[str, str]:
        """The address parameters of the present choices, without the visitor's key."""
        return write_choices(self.current(), self.base, self.writers)

    def publish(self) -> None:
        """Write the choices into the address."""
        put_into_address(self.query())
        st.session_state[self._key("published")] = self.query()
        st.session_state.pop(self._key("changed"), None)

    def notices(self) -> list[str]:
        """What in the address made no sense."""
        found: list[str] = st.session_state.get(self._key("notices"), [])
        return found

    def show_notices(self) -> None:
        """Say quietly what in the address made no sense."""
        for notice in self.notices():
            st.caption(f"ℹ️ {notice}")

    def link(self) -> str:
        """The address that opens the same view in another browser."""
        return link_to(self.query())

    def _key(self, what: str) -> str:
        return f"{self.name}_choices_{what}"


def put_into_address(query: dict[str, str]) -> None:
    """Make these the parameters of the address, with the visitor's key where there is one."""
    wanted = with_key(query)
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def link_to(query: Mapping[str, str]) -> str:
    """This page's address with other parameters, fit to be given away."""
    address = (st.context.url or "").split("?")[0]
    text = urlencode({name: value for name, value in query.items() if name != PARAMETER})
    return f"{address}?{text}" if text else address
