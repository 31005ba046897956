"""ARML Explorer: the shell. Page settings and navigation; everything else is in pages/."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from pages.components.shell import navigation, tab_title

page = navigation()
st.set_page_config(page_title=tab_title(page), page_icon="🛡️", layout="wide", initial_sidebar_state=344)
page.run()
