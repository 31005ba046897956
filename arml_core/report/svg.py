"""Two small charts as plain SVG text; colours and fonts come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ..curves import Curve
from ..numerics.directed_rounding import round_up_to
from ..vocabulary import VERDICTS
from .summary import Histogram

WIDTH, HEIGHT = 620, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 44
TICKS = 5
PATTERNS = """<defs>
<pattern id="undecided" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" class="undecided-back"/><line x1="0" y1="0" x2="0" y2="6" class="undecided-line"/></pattern>
<pattern id="attackable" width="5" height="5" patternUnits="userSpaceOnUse">
<rect width="5" height="5" class="attackable-back"/><circle cx="2.5" cy="2.5" r="1" class="attackable-dot"/></pattern>
</defs>"""
_FILL = {
    "certified": 'class="certified"',
    "undecided": 'fill="url(#undecided)"',
    "attackable": 'fill="url(#attackable)"',
}


def nice_ticks(top: float, count: int = TICKS) -> list[float]:
    """Round numbers from 0 up to about `top`."""
    if not top > 0:
        return [0.0]
    step = round_up_to(top / count, (1, 2, 2.5, 5, 10))
    return [step * k for k in range(int(np.floor(top / step + 1e-9)) + 1)]


class _Axes:
    """From data to places in the picture."""

    def __init__(self, x_top: float, y_top: float) -> None:
        self.x_top, self.y_top = x_top or 1.0, y_top or 1.0

    def x(self, value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / self.x_top, 2)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.y_top, 2)

    def frame(self, x_title: str, y_title: str, y_percent: bool = False) -> str:
        parts = []
        for value in nice_ticks(self.y_top):
            label = f"{value:.0%}" if y_percent else f"{value:g}"
            y = self.y(value)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{label}</text>')
        for value in nice_ticks(self.x_top):
            parts.append(
                f'<text x="{self.x(value)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:.4g}</text>'
            )
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_title)}</text>')
        parts.append(
            f'<text transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_title)}</text>"
        )
        return "".join(parts)

    def radius_mark(self, radius: float) -> str:
        if radius > self.x_top:
            return ""
        x = self.x(radius)
        return f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="mark"/>'


def histogram_svg(histogram: Histogram, radius: float, alt: str) -> str:
    """Bars of row counts over the proven radius, stacked by verdict, with a line at ε."""
    total = np.sum([histogram.counts[name] for name in VERDICTS], axis=0)
    axes = _Axes(float(histogram.edges[-1]), float(total.max()))
    bars = []
    base = np.zeros(len(total))
    for name in reversed(VERDICTS):
        for k, n in enumerate(histogram.counts[name].tolist()):
            if n:
                left, right = axes.x(float(histogram.edges[k])), axes.x(float(histogram.edges[k + 1]))
                top, bottom = axes.y(float(base[k] + n)), axes.y(float(base[k]))
                width = max(right - left - 1, 0.5)
                size = f'x="{left}" y="{top}" width="{width:.2f}" height="{bottom - top:.2f}"'
                bars.append(f"<rect {size} {_FILL[name]}/>")
        base += histogram.counts[name]
    body = PATTERNS + axes.frame("proven radius", "rows") + "".join(bars) + axes.radius_mark(radius)
    return _svg(body, alt)


def curve_svg(curves: Sequence[tuple[str, Curve]], radius: float, top: float, alt: str) -> str:
    """Robust-error staircases up to the radius `top`, each drawn with the class name given with it."""
    axes = _Axes(top, 1.0)
    drawn = []
    for style, curve in curves:
        places = " ".join(f"{axes.x(x)},{axes.y(y)}" for x, y in _steps(curve, top))
        drawn.append(f'<polyline points="{places}" class="{escape(style)}" fill="none"/>')
    body = axes.frame("radius ε", "share of rows", y_percent=True) + "".join(drawn) + axes.radius_mark(radius)
    return _svg(body, alt)


def _steps(curve: Curve, top: float) -> list[tuple[float, float]]:
    """The corners up to `top`; of several steps within a pixel only the last is drawn."""
    radii, errors = curve.radius, curve.error
    shown = radii <= top
    pixel = np.floor(radii[shown] / top * (WIDTH - LEFT - RIGHT))
    last_of_pixel = np.append(pixel[1:] != pixel[:-1], True)
    places: list[tuple[float, float]] = []
    height = 0.0
    for r, e in zip(radii[shown][last_of_pixel].tolist(), errors[shown][last_of_pixel].tolist(), strict=True):
        places += [(r, height), (r, e)] if places else [(r, e)]
        height = e
    return [*places, (top, height)]


def _svg(body: str, alt: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(alt)}">{body}</svg>'
