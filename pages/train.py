"""Train: datasets × methods × seeds as jobs, live curves, and the evaluation of what was learned."""

import pages.components.loading  # noqa: F401

# isort: split

from dataclasses import replace

import streamlit as st

from arml_core.jobs import StoreError
from pages.components.dataset_options import dataset_options, option_of
from pages.components.markdown import escaped
from pages.components.on_demand import on_demand
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.train.choices import CHOICES
from pages.components.train.detail import show_training
from pages.components.train.evaluate import show_evaluate
from pages.components.train.form import show_form
from pages.components.train.metric_upload import show_upload, show_uploads
from pages.components.train.queue import listed, selected_job, show_queue, warm_up
from pages.components.visitor import read_client, show_private_notice

stayed = enter_page("train")
view = CHOICES.load(stayed)
style_page()
st.markdown(
    "Pick datasets and methods; each training runs in the background, and you may close this page meanwhile. "
    "Then evaluate how robust what was learned is."
)
show_private_notice()
CHOICES.show_notices()
try:
    client = read_client()
    datasets = dataset_options(client)
    jobs = listed()
    gone = [key for key in view.datasets if key not in datasets]
    if gone:
        st.caption("ℹ️ The address names an upload that is not here, or not yours; it was left out.")
        view = replace(view, datasets=tuple(key for key in view.datasets if key in datasets))
    warm_up(client)
    job, notice = selected_job(jobs, client, view.job)
    if notice:
        st.caption(f"ℹ️ {notice}")
except StoreError as reason:
    st.error(escaped(f"The jobs cannot be reached: {reason}"))
    st.stop()

if "form" in view.hide:
    right = st.container()
else:
    left, right = st.columns([2, 3], gap="large")
    with left:
        with st.container(border=True):
            show_form(view, datasets)
        if "upload" not in view.hide:
            on_demand(
                "Upload a metric or references from elsewhere", "train_open_upload", lambda: show_upload(datasets)
            )
        show_uploads(client)
with right:
    if "queue" not in view.hide:
        show_queue(jobs, "" if job is None else job.id)
    if job is not None:
        dataset = option_of(client, datasets, job.dataset)
        with st.container(border=True):
            show_training(job, view, dataset)
            if "evaluate" not in view.hide:
                show_evaluate(job, view, dataset, jobs)
CHOICES.publish()
spare_imports_from_collection()
