"""Charts as inline SVG, made here: they need no script, no font and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from verifier_ladder.report.axes import Frame, ticks
from verifier_ladder.summary.amounts import plural
from verifier_ladder.summary.records import Agreement, CurvePoint, TierSummary
from verifier_ladder.text import printable

_SECONDS_PER_HOUR = 3600.0
_LONG = 2 * _SECONDS_PER_HOUR


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
        (f"ok {tier.tier.label}", tier.accepted, f"{tier.accepted} passed"),
        ("rejected", tier.rejected, f"{tier.rejected} rejected"),
        ("abstained", tier.abstained, f"{tier.abstained} without an opinion"),
        ("failed", tier.failed, f"{tier.failed} failed"),
        ("waiting", tier.waiting, f"{tier.waiting} waiting for an answer"),
        ("going", going, f"{going} in progress"),
        ("parked", tier.parked, f"{tier.parked} parked for want of budget"),
        ("expired", tier.expired, f"{tier.expired} expired"),
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
        parts.append(f"r = {agreement.correlation:.2f}".replace("-", "−"))
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
    values = [0.0, *(y for _, y in points)]
    frame, scale = _cost_frame(curve, values, "mean uncertainty of the rewards")
    return frame.figure(
        "Uncertainty against cost",
        "The mean uncertainty of the rewards, as cpu time was spent.",
        _stairs(frame, points, scale, "spread"),
    )  # fmt: skip


def _cost_frame(
    curve: Sequence[CurvePoint], values: Sequence[float], name: str
) -> tuple[Frame, float]:
    most = max((p.seconds for p in curve), default=0.0)
    scale, unit = (1 / _SECONDS_PER_HOUR, "hours") if most > _LONG else (1.0, "seconds")
    xs = ticks(0.0, max(most * scale, 1e-6))
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
