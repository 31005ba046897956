"""The three ways in from the Start page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parents[1]


@dataclass(frozen=True)
class Door:
    """A page, or, as long as that page is not there, the next best thing."""

    title: str
    text: str
    page: str
    label: str
    otherwise: str = ""
    otherwise_query: tuple[tuple[str, str], ...] = ()
    otherwise_label: str = ""
    command: str = ""


DOORS = (
    Door(
        "Play",
        "Seven points in the plane. Click, move them, change the metric, and watch the certificate.",
        "playground",
        "Open the playground",
    ),
    Door(
        "Compare",
        "Which metric is the safest? The same point under several metrics, side by side.",
        "compare",
        "Compare metrics",
        otherwise="playground",
        otherwise_query=(("methods", "euclidean~nca~lmnn~arml"),),
        otherwise_label="Compare four metrics",
    ),
    Door(
        "Certify a file",
        "Which rows of your table could a small change flip?",
        "certify",
        "Certify a CSV file",
        command="python -m arml_core certify --help",
    ),
)


def show_doors() -> None:
    """Three cards side by side."""
    for column, door in zip(st.columns(len(DOORS), gap="medium"), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {door.title}")
            st.markdown(door.text)
            _way_in(door)


def _way_in(door: Door) -> None:
    if (PAGES / f"{door.page}.py").exists():
        st.page_link(f"pages/{door.page}.py", label=door.label, icon="➡️")
    elif door.otherwise:
        query = dict(door.otherwise_query)
        st.page_link(f"pages/{door.otherwise}.py", label=door.otherwise_label, icon="➡️", query_params=query)
    else:
        st.code(door.command, language="bash")
