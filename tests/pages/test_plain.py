"""What a visitor's file calls itself is shown as it is, and formats nothing."""

import pytest

from pages.components.markdown import JOINER, escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("wine", "wine"),
        ("![x](http://evil) **b**\n# c", r"\!\[x\]\(http\:\/\/evil\) \*\*b\*\* \# c"),
        ("<b>$x$</b>", r"\<b\>\$x\$\<\/b\>"),
        (":smile:", rf"\:{JOINER}smile\:"),
    ],
)
def test_no_sign_means_anything(text, shown) -> None:
    assert escaped(text) == shown
