"""Results as pictures: pure functions from numbers to plotly figures, their tables and their words."""

from .draw import plane_figure
from .palette import MOST_CLASSES, SHAPE_WORDS, Style, style_for
from .plane import Plane, Probe, Window, make_plane, make_probe, window_for
from .shapes import hand_made_components
from .words import plane_alt, probe_words

__all__ = [
    "MOST_CLASSES",
    "SHAPE_WORDS",
    "Plane",
    "Probe",
    "Style",
    "Window",
    "hand_made_components",
    "make_plane",
    "make_probe",
    "plane_alt",
    "plane_figure",
    "probe_words",
    "style_for",
    "window_for",
]
