"""Colours and marker shapes: Okabe–Ito, so that colour-blind readers tell them apart, and never colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHAPES = ("triangle-up", "square", "circle", "diamond")
SHAPE_WORDS = ("triangle", "square", "circle", "diamond")
MOST_CLASSES = len(SHAPES)
FONT = '"Source Sans", "Source Sans 3", sans-serif'


@dataclass(frozen=True)
class Style:
    """The colours of one theme. `classes` are for markers, lines and (mixed with the paper) regions."""

    classes: tuple[str, ...]
    region_opacity: float
    ink: str
    muted: str
    paper: str
    grid: str
    certified: str
    attack: str

    def region(self, code: int) -> str:
        """The colour of the region where class `code` is the answer; it hides what it lies on."""
        return mixed(self.classes[code], self.paper, self.region_opacity)

    @property
    def ground(self) -> dict[str, Any]:
        """What the layout of every chart begins with."""
        return {
            "dragmode": False,
            "plot_bgcolor": self.paper,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "color": self.muted},
            "template": "none",
        }


LIGHT = Style(
    classes=("#0072B2", "#D55E00", "#009E73", "#B0558A"),
    region_opacity=0.17,
    ink="#1B1F24",
    muted="#5A626C",
    paper="#FFFFFF",
    grid="#E3E6EA",
    certified="#F0E442",
    attack="#1B1F24",
)
DARK = Style(
    classes=("#56B4E9", "#E69F00", "#2CC298", "#CC79A7"),
    region_opacity=0.24,
    ink="#F2F4F7",
    muted="#AAB2BD",
    paper="#14181D",
    grid="#2C333B",
    certified="#F0E442",
    attack="#F2F4F7",
)


def style_for(dark: bool) -> Style:
    """The colours for the dark or the light theme."""
    return DARK if dark else LIGHT


def verdict_colours(style: Style) -> dict[str, str]:
    """A colour for each verdict; charts add a pattern, so that it is never colour alone."""
    return {"certified": style.classes[0], "undecided": style.muted, "attackable": style.classes[1]}


def with_opacity(colour: str, opacity: float) -> str:
    """A "#rrggbb" colour as "rgba(r,g,b,a)"."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{opacity:g})"


def mixed(colour: str, ground: str, share: float) -> str:
    """What `colour` looks like on `ground` when it covers only that share of it."""
    pairs = zip(_channels(colour), _channels(ground), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue
