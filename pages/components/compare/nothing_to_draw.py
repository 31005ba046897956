"""What the Compare page says when there is nothing to draw."""

from __future__ import annotations

import streamlit as st

from arml_core.vocabulary import norm_name

from .charts import LIMIT_WORDS, ResolvedView


def show_empty() -> None:
    """No results at all: neither shipped nor computed here."""
    st.markdown("#### No results yet")
    st.markdown(
        "This page draws robust-error curves: for every radius ε the share of points whose answer a step of that "
        "length could change. The results that ship with the project are not in its folder, and nothing was "
        "evaluated here yet."
    )
    st.markdown("Train a metric and evaluate it; its curves appear here while they are computed. Or compute results:")
    st.code("python -m arml_core reproduce table2 --dataset splice", language="bash")
    st.page_link("pages/train.py", label="Train a metric", icon="➡️")
    st.page_link("pages/playground.py", label="Or play with seven points first", icon="➡️")


def show_nothing_fits(resolved: ResolvedView) -> None:
    """There are results, but none for this choice."""
    if not any(found for runs in resolved.evaluations.values() for found in runs.values()):
        st.info("No metric is chosen that has results. Choose some on the left, or evaluate one of yours.", icon="ℹ️")
        return
    threat = f"{norm_name(resolved.norm or 'l2')}, {LIMIT_WORDS[resolved.limit or 'free']}"
    st.info(
        f"Nothing was computed for K = {resolved.k}, {threat}, with this certificate and attack. "
        "Below is what there is; choose it on the left.",
        icon="ℹ️",
    )
