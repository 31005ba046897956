"""Widgets that show a page's choices and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

Titles = Mapping[Any, str]
"""Options, each with its title."""
Also = Mapping[str, Any] | None
"""Other choices that are set with every change."""


@dataclass(frozen=True)
class BoundWidgets:
    """A page's widgets: their keys begin with `prefix`, and `update` takes what the visitor chooses, by name."""

    prefix: str
    update: Callable[..., None]

    def key(self, name: str, value: Any) -> str:
        """The key of a widget, which then shows `value`."""
        key = f"{self.prefix}_{name}"
        if key not in st.session_state or st.session_state[key] != value:
            st.session_state[key] = value
        return key

    def value(self, name: str) -> Any:
        """What a widget shows; for callbacks."""
        return st.session_state[f"{self.prefix}_{name}"]

    def bind(
        self, name: str, value: Any, convert: Callable[[Any], Any] = lambda value: value, also: Also = None
    ) -> dict[str, Any]:
        """`key` and `on_change` of a widget that shows the choice `name`; `also` are set with every change of it."""
        return {
            "key": self.key(name, value),
            "on_change": lambda: self.update(**{name: convert(self.value(name)), **(also or {})}),
        }

    def selectbox(self, label: str, name: str, value: Any, options: Titles, also: Also = None, **settings: Any) -> None:
        """A list of which one is chosen."""
        st.selectbox(label, list(options), **self._titled(name, value, options, also), **settings)

    def segmented_control(
        self, label: str, name: str, value: Any, options: Titles, also: Also = None, **settings: Any
    ) -> None:
        """A row of buttons of which one is down.

        A browser that is asked before it has drawn the row says that none is: that is no choice, and changes nothing.
        """
        bound = self._titled(name, value, options, also)
        choose = bound.pop("on_change")
        st.segmented_control(
            label,
            list(options),
            required=True,
            on_change=lambda: None if self.value(name) is None else choose(),
            **bound,
            **settings,
        )

    def _titled(self, name: str, value: Any, options: Titles, also: Also) -> dict[str, Any]:
        return {**self.bind(name, value, also=also), "format_func": options.__getitem__}

    def multiselect(self, label: str, name: str, value: Sequence[Any], options: Titles, **settings: Any) -> None:
        """A list of which several are chosen, as a tuple."""
        bound = self.bind(name, list(value), tuple)
        st.multiselect(label, list(options), format_func=options.__getitem__, **bound, **settings)
