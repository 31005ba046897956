"""Start: what this is, one live certificate, and the ways in."""

import streamlit as st

import arml_core as arml
from arml_core.figures import make_plane, plane_alt, plane_figure, probe_words
from pages.components.certificates import probe_point
from pages.components.shell import require_shell
from pages.components.theme import current_style

ROW = 6  # the middle square

require_shell()
st.title("ARML Explorer")
st.markdown(
    "A nearest-neighbour classifier answers with the class of the training points closest to a question. "
    "Move the question a little and the answer may flip; a **certificate** proves how far it can move before any "
    "flip is possible. This dashboard lets you see, train and prove how robust such a classifier is, and how "
    "**ARML**, a metric learned for robustness, makes it safer."
)

seven = arml.load_dataset("seven_points")
knn = arml.MahalanobisKNN(n_neighbors=1).fit(seven.X_train, seven.y_train)
point, label = seven.X_train[ROW], int(seven.y_train[ROW])
probe = probe_point(knn, (float(point[0]), float(point[1])), norm=2.0, row=ROW, label=label)
plane = make_plane(seven.X_train, seven.y_train, seven.class_names, knn.metric_, 1, left_out=ROW)

picture, words = st.columns([3, 2], gap="large", vertical_alignment="center")
with picture:
    st.plotly_chart(
        plane_figure(plane, current_style(), probe, legend=True),
        key="start_picture",
        theme=None,
        config={"displayModeBar": False},
        alt=plane_alt(plane, probe, "Seven points, Euclidean distance"),
    )
with words:
    st.markdown(f"**A certificate, computed just now.** {probe_words(plane, probe)}")
