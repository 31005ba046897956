"""Playground: points in the plane, several metrics side by side, and a certificate wherever you click."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from pages.components.plane_panel import points_of
from pages.components.playground import session
from pages.components.playground.clicks import handle_click
from pages.components.playground.controls import open_sidebar, sidebar
from pages.components.playground.details import show_details
from pages.components.playground.edits import fitted
from pages.components.playground.hints import show_hint, show_lesson, show_notices
from pages.components.playground.panels import show_panels, show_search_longer
from pages.components.playground.picture_clicks import listen
from pages.components.playground.prefetch import prefetch_next, stop_prefetch
from pages.components.shell import enter_page, spare_imports_from_collection, style_page
from pages.components.visitor import show_private_notice

stayed = enter_page("playground")
stop_prefetch()
session.load_view(stayed)
session.update_quietly(fitted(session.current()))
view = session.current()
points = points_of(view)

with st.sidebar:
    style_page()
listen(handle_click)  # before the pictures: a click on them is never lost
show_private_notice()
show_notices()
if view.lesson:
    show_lesson(view)
else:
    show_hint(view)
if not stayed:
    open_sidebar(view, points)
panels = show_panels(view, points, stayed)  # before the rest, so that the browser draws while it is on its way
sidebar(view, points, opened=not stayed)
show_search_longer(view, panels)
show_details(session.current(), points, panels)
session.publish()
prefetch_next(session.current(), points)
spare_imports_from_collection()
