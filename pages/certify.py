"""Certify: from a file to verdicts in four steps."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from arml_core.jobs import DamagedFile, StoreError
from pages.components.certify.choices import CHOICES
from pages.components.certify.downloads import show_details, show_downloads
from pages.components.certify.prepare import prepare
from pages.components.certify.problems import damaged, unreachable
from pages.components.certify.progress import show_progress
from pages.components.certify.results import certify_jobs, results_of
from pages.components.certify.sources import find_sources
from pages.components.certify.steps import show_steps
from pages.components.certify.verdicts_step import radius_of, show_verdicts
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.visitor import show_private_notice

stayed = enter_page("certify")
view = CHOICES.load(stayed)
style_page()
st.markdown("Which rows of your table could a small change flip, how small, and what change?")
show_private_notice()
CHOICES.show_notices()

try:
    sources, missing = find_sources(view)
    ready = sources.ready(view.mode)
    prepared = prepare(view, sources) if ready else None
    work = certify_jobs(view, prepared) if prepared is not None and prepared.ready and view.jobs else None

    if "steps" not in view.hide:
        show_steps(view, sources, missing, prepared, work)
    if prepared is not None and work is not None:
        if "steps" not in view.hide:
            st.markdown("**4 · Verdicts**")  # it does not fold: the other steps lead to it
        show_progress(prepared, work)
        results = results_of(prepared, work)
        if results is not None:
            show_verdicts(view, work, results)
            if "downloads" not in view.hide:
                show_downloads(view, sources, prepared, work, results, radius_of(view, results))
            show_details(view, sources, work)
except StoreError as reason:
    st.error(unreachable(reason))
except DamagedFile as reason:
    st.warning(damaged(reason))
CHOICES.publish()
spare_imports_from_collection()
