"""Axes: round ticks, and the frame that charts draw into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from markupsafe import Markup

WIDTH, HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 12, 46
_STEPS = (1.0, 2.0, 5.0, 10.0)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that cover a range.

    Example:
        >>> ticks(0.0, 9.3)
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    if not (isfinite(low) and isfinite(high)):
        return [0.0, 1.0]
    if high <= low:
        pad = abs(low) * 0.1 or 0.5
        low, high = low - pad, high + pad
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def label(value: float, step: float) -> str:
    """A tick's text: no more digits than its step has."""
    digits = next((d for d in range(6) if abs(round(step, d) - step) < step * 1e-6), 6)
    return f"{value:,.{digits}f}".replace("-", "−").replace(",", "\u202f")


@dataclass(frozen=True)
class Frame:
    """Maps data to the plotting area and draws the axes around it."""

    xs: list[float]
    """Ticks of the horizontal axis."""
    ys: list[float]
    x_name: str
    y_name: str

    def x(self, value: float) -> float:
        """Horizontal place of a value."""
        share = (value - self.xs[0]) / (self.xs[-1] - self.xs[0])
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 2)

    def y(self, value: float) -> float:
        """Vertical place of a value."""
        share = (value - self.ys[0]) / (self.ys[-1] - self.ys[0])
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 2)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        places = [f"{self.x(x)} {self.y(y)}" for x, y in points]
        return "M" + "L".join(places)

    def figure(self, title: str, description: str, marks: Iterable[Markup]) -> Markup:
        """The whole chart: axes, marks, and words for those who can't see it."""
        return Markup(
            '<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{title}">'
            "<title>{title}</title><desc>{description}</desc>{axes}{marks}</svg>"
        ).format(
            w=WIDTH, h=HEIGHT, title=title, description=description,
            axes=self._axes(), marks=Markup().join(marks),
        )  # fmt: skip

    def _axes(self) -> Markup:
        left, right, bottom = _LEFT, WIDTH - _RIGHT, HEIGHT - _BOTTOM
        parts = []
        for value in self.ys:
            y = self.y(value)
            text = label(value, self.ys[1] - self.ys[0])
            parts.append(Markup(
                '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                '<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(left, right, y, y, left - 7, y + 4, text))  # fmt: skip
        for value in self.xs:
            text = label(value, self.xs[1] - self.xs[0])
            parts.append(Markup(
                '<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>'
            ).format(self.x(value), bottom + 18, text))  # fmt: skip
        middle = (left + right) / 2
        parts.append(Markup(
            '<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text class="name" x="{}" y="{}" text-anchor="middle">{}</text>'
            '<text class="name" transform="translate(13 {}) rotate(-90)" '
            'text-anchor="middle">{}</text>'
        ).format(left, right, bottom, bottom, middle, HEIGHT - 8, self.x_name,
                 (bottom + _TOP) / 2, self.y_name))  # fmt: skip
        return Markup().join(parts)
