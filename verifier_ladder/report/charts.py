"""Charts as inline SVG, made here: they need no script, no font and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from markupsafe import Markup

from verifier_ladder.summary.amounts import counted, fixed, plural
from verifier_ladder.summary.records import Agreement, CurvePoint, TierSummary
from verifier_ladder.summary.steps import StepMeans
from verifier_ladder.text import printable

_SECONDS_PER_HOUR = 3600.0
_UNITS = (
    (2 * _SECONDS_PER_HOUR, 1 / _SECONDS_PER_HOUR, "hours"), (1.0, 1.0, "seconds"),
    (1e-3, 1e3, "milliseconds"), (0.0, 1e6, "microseconds"),
)  # fmt: skip
"""From so many cpu-seconds on: how many of a unit a second is, and its name."""


WIDTH, HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 12, 46
_STEPS = (1.0, 2.0, 5.0, 10.0)


def ticks(low: float, high: float, count: int = 5, least: float = 0.0) -> list[float]:
    """Round numbers that cover a range.

    Args:
        low: Where it begins.
        high: Where it ends.
        count: About how many.
        least: The least distance of two; 1 for what is counted.

    Example:
        >>> ticks(0.0, 9.3)
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        >>> ticks(0.0, 2.0, least=1.0)
        [0.0, 1.0, 2.0]
    """
    if not (isfinite(low) and isfinite(high)):
        return [0.0, 1.0]
    if high <= low:
        pad = abs(low) * 0.1 or 0.5
        low, high = low - pad, high + pad
    rough = max((high - low) / count, least)
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

    def figure(
        self, title: str, description: str, marks: Iterable[Markup], role: str = "img"
    ) -> Markup:
        """The whole chart: axes, marks, and words for those who can't see it.

        Args:
            title: What it shows.
            description: The same in a sentence, with its numbers.
            marks: What is drawn inside the axes.
            role: `group` where marks are links, which an image would hide from a keyboard.
        """
        return Markup(
            '<svg class="chart" viewBox="0 0 {w} {h}" role="{role}" aria-label="{title}">'
            "<title>{title}</title><desc>{description}</desc>{axes}{marks}</svg>"
        ).format(
            w=WIDTH, h=HEIGHT, role=role, title=title, description=description,
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


class Segment(NamedTuple):
    """A part of a bar."""

    name: str
    """CSS class, which gives the colour."""
    amount: float
    text: str


def words(tier: object) -> str:
    """A tier's name as prose: `high_fidelity` reads "high fidelity"."""
    return str(getattr(tier, "label", tier)).replace("_", " ")


def bar(segments: Iterable[Segment], whole: float, title: str) -> Markup:
    """A horizontal bar of segments, as long as their share of the whole; it stretches freely."""
    parts, start = [], 0.0
    for segment in segments:
        if segment.amount <= 0 or whole <= 0:
            continue
        width = max(0.35, 100 * segment.amount / whole)
        parts.append(Markup(
            '<rect class="{}" x="{}" width="{}" height="10"><title>{}</title></rect>'
        ).format(segment.name, round(start, 3), round(width, 3), segment.text))  # fmt: skip
        start += width
    return Markup(
        '<svg class="bar" viewBox="0 0 {} 10" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><title>{}</title><rect class="empty" width="{}" height="10"/>{}</svg>'
    ).format(round(max(100.0, start), 3), title, title, max(100.0, start), Markup().join(parts))


def funnel_bar(tier: TierSummary, most: int) -> Markup:
    """What became of the candidates a tier was asked about."""
    name = words(tier.tier)
    segments = [Segment(*part) for part in funnel_parts(tier)]
    told = ", ".join(segment.text for segment in segments if segment.amount)
    return bar(segments, most, f"{name}: {told or 'nobody asked'}")


def funnel_parts(tier: TierSummary) -> list[tuple[str, int, str]]:
    """Class, count and words of each outcome of a tier."""
    going = tier.queued + tier.running
    return [
        (f"ok {tier.tier.label}", tier.accepted, f"{counted(tier.accepted)} passed"),
        ("rejected", tier.rejected, f"{counted(tier.rejected)} rejected"),
        ("abstained", tier.abstained, f"{counted(tier.abstained)} without an opinion"),
        ("failed", tier.failed, f"{counted(tier.failed)} failed"),
        ("waiting", tier.waiting, f"{counted(tier.waiting)} waiting for an answer"),
        ("going", going, f"{counted(going)} in progress"),
        ("parked", tier.parked, f"{counted(tier.parked)} parked for want of budget"),
        ("expired", tier.expired, f"{counted(tier.expired)} expired"),
    ]


def agreement_chart(agreement: Agreement) -> Markup:
    """One tier's score against a dearer tier's; the diagonal is perfect agreement."""
    xs = [x for x, _ in agreement.points]
    ys = [y for _, y in agreement.points]
    alike = agreement.low_unit == agreement.high_unit
    if alike:
        both = ticks(min(xs + ys), max(xs + ys))
        x_ticks = y_ticks = both
    else:
        x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    frame = Frame(
        x_ticks, y_ticks, _axis(words(agreement.low), agreement.low_unit),
        _axis(words(agreement.high), agreement.high_unit),
    )  # fmt: skip
    marks = []
    if alike:
        ends = [(x_ticks[0], x_ticks[0]), (x_ticks[-1], x_ticks[-1])]
        marks.append(Markup('<path class="diagonal" d="{}"/>').format(frame.path(ends)))
    marks += [
        Markup('<circle class="dot {}" cx="{}" cy="{}" r="4"/>').format(
            agreement.high.label, frame.x(x), frame.y(y)
        )
        for x, y in agreement.points
    ]
    title = f"{words(agreement.low)} against {words(agreement.high)}"
    return frame.figure(title, agreement_text(agreement), marks)


def agreement_text(agreement: Agreement) -> str:
    """The numbers of an agreement, in words."""
    parts = [plural(agreement.count, "candidate")]
    if agreement.correlation is not None:
        parts.append(f"rank correlation {fixed(agreement.correlation, 2)}")
    if agreement.error is not None:
        unit = f" {printable(agreement.high_unit)}" if agreement.high_unit else ""
        parts.append(f"mean absolute difference {agreement.error:.2f}{unit}")
    return ", ".join(parts)


def reward_chart(curve: Sequence[CurvePoint]) -> Markup:
    """The best that was known and the mean training reward against what had been spent."""
    best = [(p.seconds, p.best) for p in curve if p.best is not None]
    mean = [(p.seconds, p.mean) for p in curve if p.mean is not None]
    values = [y for _, y in best + mean] or [0.0, 1.0]
    frame, scale = _cost_frame(curve, values, "learner's scale")
    marks = _stairs(frame, best, scale, "best") + _stairs(frame, mean, scale, "mean")
    return frame.figure(
        "What was known against cost",
        "The best that was known of a candidate and the mean training reward, as cpu time was "
        "spent.", marks,
    )  # fmt: skip


def uncertainty_chart(curve: Sequence[CurvePoint]) -> Markup:
    """How unsure the rewards were against what had been spent."""
    points = [(p.seconds, p.uncertainty) for p in curve if p.uncertainty is not None]
    most = max((y for _, y in points), default=0.0)
    frame, scale = _cost_frame(curve, [0.0, most or 1.0], "mean uncertainty of the rewards")
    return frame.figure(
        "Uncertainty against cost",
        "The mean uncertainty of the rewards, as cpu time was spent.",
        _stairs(frame, points, scale, "spread"),
    )  # fmt: skip


def steps_chart(
    steps: Sequence[StepMeans], alarms: Sequence[int], beside: str = "by the shadow"
) -> Markup:
    """What the learner was told, what the shadow or audits say of it, and where an alarm rang.

    Args:
        steps: The steps of a run.
        alarms: Those at which an alarm was raised.
        beside: Who says what stands beside what was told.
    """
    told = [(float(s.step), s.told) for s in steps if s.told is not None]
    shadow = [(float(s.step), s.shadow) for s in steps if s.shadow is not None]
    values = [0.0, 1.0, *(y for _, y in told + shadow)]
    last = max((s.step for s in steps), default=0)
    frame = Frame(
        ticks(0.0, max(last, 1), least=1.0), ticks(min(values), max(values)), "step", "mean reward"
    )  # fmt: skip
    top, bottom = frame.y(frame.ys[-1]), frame.y(frame.ys[0])
    marks = [
        Markup('<line class="alarm" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
            frame.x(step), top, bottom
        )
        for step in sorted(set(alarms)) if 0 <= step <= last
    ]  # fmt: skip
    for points, name in ((shadow, "best"), (told, "mean")):
        if points:
            marks.append(Markup('<path class="line {}" d="{}"/>').format(name, frame.path(points)))
            marks.append(
                Markup('<circle class="end {}" cx="{}" cy="{}" r="3.5"/>').format(
                    name, frame.x(points[-1][0]), frame.y(points[-1][1])
                )
            )
    return frame.figure("Told and true by step", steps_text(steps, beside), marks)


def steps_text(steps: Sequence[StepMeans], beside: str = "by the shadow") -> str:
    """Where both curves begin and end, in words."""
    known = [step for step in steps if step.told is not None and step.shadow is not None]
    rewarded = [step for step in steps if step.told is not None]
    if rewarded and not known:
        return (
            f"told {rewarded[0].told:.2f} at first and {rewarded[-1].told:.2f} at last, and "
            "nobody has looked whether that is so"
        ).replace("-", "−")
    if not known:
        return "nothing is known of any step"
    first, last = known[0], known[-1]
    return (
        f"told {first.told:.2f} at first and {last.told:.2f} at last, {beside} "
        f"{first.shadow:.2f} and {last.shadow:.2f}"
    ).replace("-", "−")


def _cost_frame(
    curve: Sequence[CurvePoint], values: Sequence[float], name: str
) -> tuple[Frame, float]:
    most = max((p.seconds for p in curve), default=0.0)
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if most >= least)
    xs = ticks(0.0, max(most * scale, 1.0))
    return Frame(xs, ticks(min(values), max(values)), f"cpu-{unit} spent", name), scale


def _stairs(
    frame: Frame, points: Sequence[tuple[float, float]], scale: float, name: str
) -> list[Markup]:
    """A line of steps: a value holds until the next one."""
    if not points:
        return []
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners:
            corners.append((x * scale, corners[-1][1]))
        corners.append((x * scale, y))
    last_x, last_y = corners[-1]
    return [Markup(
        '<path class="line {}" d="{}"/><circle class="end {}" cx="{}" cy="{}" r="3.5"/>'
    ).format(name, frame.path(corners), name, frame.x(last_x), frame.y(last_y))]  # fmt: skip


def _axis(name: str, unit: str) -> str:
    return f"{name} ({printable(unit, 24)})" if unit else name
