"""What a visitor's file calls itself is shown as it is, and formats nothing."""

import pytest

from pages.components.plain import JOINER, plain


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
    assert plain(text) == shown
