"""Which rows a visitor may see, as a condition on the column `scope`."""

from __future__ import annotations

from ..owners import PUBLIC, Visitor


def visible_to(visitor: Visitor) -> tuple[str, tuple[str, ...]]:
    """What :meth:`Visitor.sees` says of one row, as SQL with its values."""
    if not visitor.shared:
        return "1", ()
    return "scope IN (?, ?)", (PUBLIC, visitor.tag)
