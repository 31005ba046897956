"""Start: what this is, one live certificate, three doors, and the words."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from arml_core.figures import plane_alt, plane_figure, probe_words
from arml_core.vocabulary import GLOSSARY
from pages.components.address import put_into_address
from pages.components.chart import show_chart
from pages.components.device import show_device
from pages.components.formula import RADIUS_FORMULA, show_formula
from pages.components.on_demand import on_demand
from pages.components.plane_panel import SEVEN_POINTS, panel_csv_button, panel_of, points_of
from pages.components.running_jobs import show_running_jobs
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.start_cards import show_start_cards
from pages.components.theme import current_style
from pages.components.visitor import show_private_notice

enter_page("start")
style_page()
show_private_notice()

words, picture = st.columns(2, gap="large")
with words:
    st.title("ARML Explorer")
    st.markdown(
        "A nearest-neighbour classifier gives a point the class of the training points closest to it, and a tiny "
        "change of the point may change that answer. A **certificate** proves how far the point can move before any "
        "change of the answer is possible. Here you see such certificates, train metrics that make them larger "
        "(**ARML**), and prove how robust your own data is."
    )
    panel = panel_of("euclidean", SEVEN_POINTS, points_of(SEVEN_POINTS))
    st.info(f"**Computed just now:** {probe_words(panel.plane, panel.probe)}")
    show_device()
with picture:
    show_chart(
        plane_figure(panel.plane, current_style(), panel.probe, height=470, ellipse=False, legend=True),
        key="start_picture",
        alt=plane_alt(panel.plane, panel.probe, "Seven points, Euclidean distance"),
    )
    st.markdown("Look at the yellow disc: every point inside it gets the same answer. The arrow just leaves it.")
    show_formula(RADIUS_FORMULA)
    on_demand("The data behind the picture (CSV)", "start_open_data", lambda: panel_csv_button(panel, "start_csv"))

show_start_cards()

st.subheader("Running jobs")
show_running_jobs()

st.subheader("Glossary")
for left, right in zip(*[iter(GLOSSARY.items())] * 2, strict=True):
    for column, (term, meaning) in zip(st.columns(2, gap="large"), (left, right), strict=True):
        column.markdown(f"**{term}.** {meaning}")
put_into_address({})
spare_imports_from_collection()
