"""Results as pictures: pure functions from numbers to plotly figures, their tables and their words."""

from .curves import curves_alt, curves_caption, curves_figure, curves_spec, curves_table
from .decision_plane import Plane, Probe, Window, make_plane, make_probe, window_for
from .front import front_alt, front_figure, front_spec, front_table
from .lines import RobustLine
from .palette import MOST_CLASSES, SHAPE_WORDS, Style, style_for
from .plane_figure import plane_figure, plane_spec
from .plane_table import plane_table
from .plane_words import plane_alt, probe_words, prototype_words, radius_interval
from .shapes import hand_made_components
from .training import (
    eigenvalues_of,
    history_table,
    progress_alt,
    progress_figure,
    smoothed,
    spectrum_alt,
    spectrum_figure,
    training_figure,
    training_table,
)
from .verdicts import verdicts_spec, verdicts_table

__all__ = [
    "MOST_CLASSES",
    "SHAPE_WORDS",
    "Plane",
    "Probe",
    "RobustLine",
    "Style",
    "Window",
    "curves_alt",
    "curves_caption",
    "curves_figure",
    "curves_spec",
    "curves_table",
    "eigenvalues_of",
    "front_alt",
    "front_figure",
    "front_spec",
    "front_table",
    "hand_made_components",
    "history_table",
    "make_plane",
    "make_probe",
    "plane_alt",
    "plane_figure",
    "plane_spec",
    "plane_table",
    "probe_words",
    "progress_alt",
    "progress_figure",
    "prototype_words",
    "radius_interval",
    "smoothed",
    "spectrum_alt",
    "spectrum_figure",
    "style_for",
    "training_figure",
    "training_table",
    "verdicts_spec",
    "verdicts_table",
    "window_for",
]
