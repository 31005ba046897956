"""The three ways in from the Start page."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True)
class Door:
    """A page, and why somebody would go there."""

    title: str
    text: str
    page: str
    label: str


DOORS = (
    Door(
        "Play",
        "Seven points in the plane. Click, move them, change the metric, and watch the certificate.",
        "playground",
        "Open the playground",
    ),
    Door(
        "Compare",
        "Which metric is the safest? Certified and attacked error curves of six metrics, and of yours.",
        "compare",
        "Compare metrics",
    ),
    Door("Certify a file", "Which rows of your table could a small change flip?", "certify", "Certify a CSV file"),
)


def show_doors() -> None:
    """Three cards side by side."""
    for column, door in zip(st.columns(len(DOORS), gap="medium"), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {door.title}")
            st.markdown(door.text)
            st.page_link(f"pages/{door.page}.py", label=door.label, icon="➡️")
