"""ARML Explorer: the shell. Page settings and navigation; everything else is in pages/."""

import pages.components.loading  # noqa: F401

# isort: split

import streamlit as st

from pages.components.shell import navigation

st.set_page_config(page_title="ARML Explorer", page_icon="🛡️", layout="wide", initial_sidebar_state=344)
navigation().run()
