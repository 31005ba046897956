"""The three ways in from the Start page."""

from __future__ import annotations

import streamlit as st

CARDS = {
    "playground": (
        "Play",
        "Seven points in the plane. Click, move them, change the metric, and watch the certificate.",
        "Open the playground",
    ),
    "compare": (
        "Compare",
        "Which metric is the safest? Certified and attacked error curves of six metrics, and of yours.",
        "Compare metrics",
    ),
    "certify": ("Certify a file", "Which rows of your table could a small change flip?", "Certify a CSV file"),
}
"""By page: a title, why somebody would go there, and the words of the link."""


def show_start_cards() -> None:
    """Three cards side by side."""
    for column, (page, (title, text, label)) in zip(st.columns(len(CARDS), gap="medium"), CARDS.items(), strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {title}")
            st.markdown(text)
            st.page_link(f"pages/{page}.py", label=label, icon="➡️")
