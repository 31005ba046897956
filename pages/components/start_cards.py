"""The three ways in from the Start page."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True)
class StartCard:
    """A page, and why somebody would go there."""

    title: str
    text: str
    page: str
    label: str


CARDS = (
    StartCard(
        "Play",
        "Seven points in the plane. Click, move them, change the metric, and watch the certificate.",
        "playground",
        "Open the playground",
    ),
    StartCard(
        "Compare",
        "Which metric is the safest? Certified and attacked error curves of six metrics, and of yours.",
        "compare",
        "Compare metrics",
    ),
    StartCard("Certify a file", "Which rows of your table could a small change flip?", "certify", "Certify a CSV file"),
)


def show_start_cards() -> None:
    """Three cards side by side."""
    for column, card in zip(st.columns(len(CARDS), gap="medium"), CARDS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {card.title}")
            st.markdown(card.text)
            st.page_link(f"pages/{card.page}.py", label=card.label, icon="➡️")
