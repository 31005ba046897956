"""Names from a file or from elsewhere, as a figure may show them."""

from __future__ import annotations


def as_label(name: str, longest: int | None = 28) -> str:
    """A name as plain text, cut to `longest` characters.

    Plotly reads a few tags in labels, and ``%{…}`` in what it shows under the mouse: their brackets are written as
    entities.
    """
    cut = name if longest is None or len(name) <= longest else name[: longest - 1] + "…"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "%&#123;")
