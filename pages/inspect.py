"""Inspect: one metric taken apart; one point with its neighbours, its adversarial twin and what is proved about it."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from pages.components.inspect.choices import CHOICES
from pages.components.inspect.controls import row_controls, show_choice, sidebar
from pages.components.inspect.sections import (
    find_another,
    load,
    question_of,
    show_metric_part,
    show_point_part,
    show_references_part,
)
from pages.components.inspect.sources import load_catalogue, resolve
from pages.components.markdown import escaped
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.visitor import show_private_notice

stayed = enter_page("inspect")
view = CHOICES.load(stayed)
catalogue = load_catalogue()
source, missing = resolve(view, catalogue)
with st.sidebar:
    style_page()
    if source is not None:
        sidebar(view, source, catalogue)
CHOICES.show_notices()
if catalogue.problem:
    st.warning(escaped(catalogue.problem))
for notice in missing:
    st.caption(f"ℹ️ {escaped(notice)}")
show_private_notice()
if source is None:
    st.error("There is no dataset on this machine, not even the ones that come with scikit-learn.")
    st.stop()
st.markdown("Take a model apart, or one answer: who voted for it, how far it holds, and what small change ends it.")
show = show_choice(view, source.gives)
prepared = load(source)
if prepared is not None:
    if show == "metric":
        show_metric_part(view, source, prepared)
    elif show == "references":
        show_references_part(view, source, prepared)
    else:
        ask, notices = question_of(view, prepared)
        for notice in notices:
            st.caption(f"ℹ️ {notice}")
        row_controls(view, ask.part, ask.row, len(prepared.data.X_test), len(prepared.data.X_train))
        if not find_another(view, source, prepared, ask):
            show_point_part(view, source, prepared, ask)
CHOICES.publish()
spare_imports_from_collection()
