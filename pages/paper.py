"""Paper: every table and figure of the paper with ours beside it, and each row of ours computed again on request."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from arml_core.reproduce.tables import Tables
from arml_core.results import shipped
from pages.components.markdown import escaped
from pages.components.paper.choices import CHOICES, SECTIONS, WIDGETS
from pages.components.paper.datasets_and_runtime import show_datasets, show_runtime
from pages.components.paper.figure1 import show_figure1
from pages.components.paper.figures_2_to_4 import show_figure2, show_sensitivity
from pages.components.paper.summary import show_summary
from pages.components.paper.tables import show_table
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.visitor import show_private_notice

stayed = enter_page("paper")
view = CHOICES.load(stayed)
style_page()
st.markdown(
    "*Provably Robust Metric Learning* (Wang, Liu, Yi, Jiang and Hsieh, NeurIPS 2020): its tables and figures, and "
    "beside each number the one that this engine computes."
)
show_private_notice()
CHOICES.show_notices()
if "sections" not in view.hide:
    WIDGETS.segmented_control("Table or figure", "show", view.show, SECTIONS, label_visibility="collapsed")
try:
    tables = Tables.of(shipped())
except (ValueError, OSError) as reason:
    st.error(escaped(f"The results that ship with the project cannot be read: {reason}"))
    tables = Tables({})

if view.show == "summary":
    show_summary(view, tables)
elif view.show in ("table1", "table2"):
    show_table(view, view.show, tables)
elif view.show == "figure1":
    show_figure1(view)
elif view.show == "figure2":
    show_figure2(view, tables)
elif view.show == "sensitivity":
    show_sensitivity(view)
elif view.show == "runtime":
    show_runtime(view)
else:
    show_datasets(view)
CHOICES.publish()
spare_imports_from_collection()
