"""The formula behind what a page shows, folded away."""

from __future__ import annotations

import streamlit as st

RADIUS_FORMULA = r"""
The metric measures $d(x, x') = (x-x')^\top M\,(x-x')$ with $M = G^\top G$. For a point $x$, a training point $x_i$ of
its class and one $x_j$ of another, the smallest step $\delta$ that brings $x$ as near to $x_j$ as to $x_i$ has length

$$\tilde\varepsilon(i,j) = \frac{d(x,x_j) - d(x,x_i)}{2\,\lVert M(x_i-x_j)\rVert_2}.$$

An attacker of a 1-nearest-neighbour classifier must beat **every** $x_i$ with **one** $x_j$; the smallest such step is
the robust radius $\varepsilon^*$. For other norms the dual norm stands below the line, and with K neighbours the
votes are counted.
"""


def show_formula(formula: str, label: str = "The formula") -> None:
    with st.expander(label):
        st.markdown(formula)
