"""How every page looks beyond Streamlit's theme: what has to be readable, and narrow windows."""

from __future__ import annotations

from arml_core.figures import Style

from .chart import PADDING_CSS

STACKED = "stacked"
"""How the key of a container begins whose table becomes a list of paragraphs in a narrow window."""
CSV_CSS = "[data-testid=stElementToolbarButton]:has([aria-label^='Download as CSV']) {display: none;}"
"""Streamlit's button above a table writes cells as they are: a spreadsheet would run a formula in them."""
TEXT_CSS = """
button[data-variant=segmented_control][data-selected]:not([data-disabled]),
[data-testid=stSliderThumbValue] {color: inherit;}
"""
"""White is read on the accent, and the accent is seen on a dark page; as text there it would be too dark."""
HEADING = "page-heading"
"""The class of a page's name. In a wide window the navigation shows it; the heading is for those who listen."""
HEADING_CSS = f"""
h1.{HEADING} {{font-size: 1.5rem; padding: 0;}}
@media (min-width: 641px) {{
  [data-testid=stElementContainer]:has(.{HEADING}) {{
    position: absolute; width: 1px; min-width: 0; height: 1px; overflow: hidden; clip-path: inset(50%);
  }}
}}
"""
STACKED_CSS = f"""
@media (max-width: 640px) {{
  [class*=st-key-{STACKED}] thead {{display: none;}}
  [class*=st-key-{STACKED}] :is(table, tbody, tr, td) {{display: block; width: 100%; border: none;}}
  [class*=st-key-{STACKED}] tbody td:nth-child(n) {{padding: 0 0.4rem 0.2rem;}}
  [class*=st-key-{STACKED}] tr {{padding: 0.6rem 0; border-top: 1px solid rgb(128 128 128 / 40%);}}
}}
"""
SCROLL_CSS = """
[data-testid=stTable] > div {{
  background:
    linear-gradient(to left, {paper} 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, rgb(128 128 128 / 40%), transparent) right / 1.5rem 100% no-repeat scroll;
}}
"""
"""A shade at the right edge of a table that goes on there; at its end the page's own colour covers the shade."""


def page_css(style: Style) -> str:
    """The rules of every page."""
    return PADDING_CSS + CSV_CSS + TEXT_CSS + HEADING_CSS + STACKED_CSS + SCROLL_CSS.format(paper=style.paper)
