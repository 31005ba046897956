"""Where the computing is done."""

from __future__ import annotations

import streamlit as st

from arml_core.device import device_name, resolve_device


def show_device() -> None:
    """A badge with the device that trainings use."""
    device = resolve_device("auto")
    if device.type == "cpu":
        st.badge("Trains on the CPU", color="blue", help="No CUDA or Apple GPU was found; everything works, slower.")
    else:
        st.badge(f"Trains on {device_name(device)}", color="green")
