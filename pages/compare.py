"""Compare: certified and empirical robust-error curves of any metrics, and what is known at a chosen radius."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from pages.components.compare.catalogue import load_catalogue
from pages.components.compare.charts import make_charts, resolve
from pages.components.compare.choices import CHOICES
from pages.components.compare.controls import choose_view, sidebar
from pages.components.compare.front_form import show_front_form
from pages.components.compare.missing_results import SIGNATURE, show_evaluate_buttons, watch_store
from pages.components.compare.nothing_to_draw import show_empty, show_nothing_fits
from pages.components.compare.panels import current_epsilon, show_charts
from pages.components.markdown import escaped
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.visitor import show_private_notice

stayed = enter_page("compare")
view = CHOICES.load(stayed)
catalogue = load_catalogue()
st.session_state[SIGNATURE] = catalogue.signature
resolved = resolve(view, catalogue)
charts, missing = make_charts(view, resolved, catalogue)

with st.sidebar:
    style_page()
if catalogue.datasets:
    sidebar(view, resolved, catalogue)
CHOICES.show_notices()
if catalogue.problem:
    st.warning(escaped(catalogue.problem))
for notice in resolved.notices:
    st.caption(f"ℹ️ {escaped(notice)}")
if not catalogue.datasets:
    show_empty()
elif not charts:
    show_nothing_fits(resolved)
for sentence in missing:
    st.caption(f"ℹ️ {escaped(sentence)}")
show_evaluate_buttons(view, resolved, charts)
choose_view(view)
if view.view == "front" and "front" not in view.hide:
    show_front_form(resolved, current_epsilon(view, charts) if charts else None)
if charts:
    show_charts(charts, resolved)
show_private_notice()
CHOICES.publish()
watch_store()
spare_imports_from_collection()
