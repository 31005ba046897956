"""Text from a user's file or from elsewhere, shown as it is: no formatting, no links, no icons come of it."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~^=&\"':/@])")
_SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
_SPACE = re.compile(r"\s+")
JOINER = "\u2060"


def escaped(text: str) -> str:
    """`text` for a place that reads Markdown, with every sign that could mean something escaped.

    Names between colons would become emoji even so; an invisible joiner keeps them apart.
    """
    one_line = _SPACE.sub(" ", text)
    return _PUNCTUATION.sub(r"\\\1", _SHORTCODE.sub(f":{JOINER}", one_line))
