"""ARML Explorer: the shell. Page settings and navigation; everything else is in pages/."""

import streamlit as st

st.set_page_config(page_title="ARML Explorer", page_icon="🛡️", layout="wide")
st.navigation(
    [
        st.Page("pages/start.py", title="Start", default=True),
    ],
    position="top",
).run()
