"""Where the computing is done."""

from __future__ import annotations

import streamlit as st
import torch

from arml_core.device import resolve_device


def show_device() -> None:
    """A badge with the device that trainings use."""
    device = resolve_device("auto")
    if device.type == "cuda":
        st.badge(f"Trains on {torch.cuda.get_device_name(device)}", color="green")
    elif device.type == "mps":
        st.badge("Trains on this Mac's GPU", color="green")
    else:
        st.badge("Trains on the CPU", color="blue", help="No CUDA or Apple GPU was found; everything works, slower.")
