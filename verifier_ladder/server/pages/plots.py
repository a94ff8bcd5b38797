"""Charts of pages: scatters whose outliers lead to their candidates, calibration, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from verifier_ladder.analysis.candidates import StepPoint
from verifier_ladder.analysis.pairs import Apart, Bin, PairSummary
from verifier_ladder.analysis.sides import Side
from verifier_ladder.report.charts import Frame, ticks, words
from verifier_ladder.summary.amounts import plural
from verifier_ladder.text import printable

_WORD = 24
_LETTERS = "ABCDEFGH"


def scatter(pair: PairSummary, address: Callable[[Apart], str]) -> Markup:
    """One tier's score against a dearer one's; those furthest apart have numbers, and lead on.

    Points that fall on the same place are drawn once, so that the page stays small.

    Args:
        pair: What to draw; it has points.
        address: Of a candidate's page.
    """
    xs, ys = [x for x, _ in pair.points], [y for _, y in pair.points]
    if pair.are_alike:
        x_ticks = y_ticks = ticks(min(xs + ys), max(xs + ys))
    else:
        x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    frame = Frame(
        x_ticks, y_ticks, _axis(pair.low, pair.low_unit), _axis(pair.high, pair.high_unit)
    )
    marks = [_diagonal(frame)] if pair.are_alike else []
    marks.append(Markup('<path class="dots {}" d="{}"/>').format(
        pair.high, _dots(frame, pair.points)
    ))  # fmt: skip
    marks += [
        Markup(
            '<a href="{}" aria-label="{}"><circle class="outlier" cx="{}" cy="{}" r="5"/>'
            '<text class="number" x="{}" y="{}">{}</text></a>'
        ).format(
            address(apart), f"{place}: {printable(apart.candidate.label, 60)}",
            frame.x(apart.low), frame.y(apart.high), frame.x(apart.low) + 7,
            frame.y(apart.high) + 4, place,
        )
        for place, apart in enumerate(pair.named, 1)
    ]  # fmt: skip
    title = f"{words(pair.low)} against {words(pair.high)}"
    return frame.figure(title, pair_text(pair), marks, role="group")


def _diagonal(frame: Frame) -> Markup:
    ends = [(frame.xs[0], frame.xs[0]), (frame.xs[-1], frame.xs[-1])]
    return Markup('<path class="diagonal" d="{}"/>').format(frame.path(ends))


def _dots(frame: Frame, points: Iterable[tuple[float, float]]) -> str:
    """A path that is a round dot at each place."""
    places = {(round(frame.x(x), 1), round(frame.y(y), 1)) for x, y in points}
    return "".join(f"M{x:g} {y:g}h0" for x, y in sorted(places))


def pair_text(pair: PairSummary) -> str:
    """How far two tiers agree, in words and numbers."""
    parts = [plural(pair.count, "candidate")]
    if pair.drawn < pair.count:
        parts[0] += f", of which {pair.drawn} were drawn by their keys"
    if pair.correlation is not None:
        parts.append(f"rank correlation {_said(pair.correlation, '.2f')} of {pair.drawn} pairs")
    else:
        parts.append("rank correlation not known")
    if pair.error is not None:
        unit = f" {printable(pair.high_unit, _WORD)}" if pair.high_unit else ""
        parts.append(f"mean absolute difference {_said(pair.error, '.3g')}{unit}")
    return ", ".join(parts)


def calibration_chart(bins: Sequence[Bin], unit: str) -> Markup:
    """What was predicted against what was seen, in parts of equal size, with standard errors."""
    ends = [end for each in bins for end in (each.seen - each.error, each.seen + each.error)]
    values = [*ends, *(each.predicted for each in bins)]
    both = ticks(min(values), max(values))
    frame = Frame(both, both, _axis("predicted", unit), _axis("seen", unit))
    marks = [_diagonal(frame)]
    for each in bins:
        x = frame.x(each.predicted)
        marks.append(Markup(
            '<line class="whisker" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
            '<circle class="dot high_fidelity" cx="{0}" cy="{3}" r="4.5"><title>{4}</title>'
            '</circle>'
        ).format(
            x, frame.y(each.seen - each.error), frame.y(each.seen + each.error),
            frame.y(each.seen),
            f"predicted {each.predicted:.3g}, seen {each.seen:.3g}, {each.count} candidates",
        ))  # fmt: skip
    worst = max(bins, key=lambda each: abs(each.seen - each.predicted))
    described = (
        f"{len(bins)} parts; the furthest off was predicted {worst.predicted:.3g} and seen "
        f"{worst.seen:.3g}"
    ).replace("-", "−")
    return frame.figure("Predicted against seen", described, marks)


def curves_chart(
    sides: Sequence[Side], name: str, value: Callable[[StepPoint], float | None]
) -> Markup:
    """One line for each side, with its letter at the end.

    Args:
        sides: The runs or campaigns; at least one has a value.
        name: What the vertical axis shows.
        value: Picks it of a point.
    """
    lines = [
        [(float(p.step), known) for p in each.curve if (known := value(p)) is not None]
        for each in sides
    ]  # fmt: skip
    points = [point for line in lines for point in line]
    steps, values = [x for x, _ in points], [y for _, y in points]
    frame = Frame(
        ticks(min(0.0, *steps), max(1.0, *steps), least=1.0),
        ticks(min(0.0, *values), max(1.0, *values)), "step", name,
    )  # fmt: skip
    marks, told = [], []
    for place, line in enumerate(lines):
        if line:
            mark = _LETTERS[place]
            x, y = line[-1]
            marks.append(Markup(
                '<path class="line side{0}" d="{1}"/><circle class="end side{0}" cx="{2}" '
                'cy="{3}" r="3.5"/><text class="number" x="{4}" y="{5}">{6}</text>'
            ).format(place, frame.path(line), frame.x(x), frame.y(y), frame.x(x) - 4,
                     frame.y(y) - 8, mark))  # fmt: skip
            told.append(f"{mark} {line[0][1]:.2f} at first and {y:.2f} at last")
    return frame.figure(f"{name} by step", "; ".join(told).replace("-", "−"), marks)


def letter(place: int) -> str:
    """What a side is called in charts and tables.

    Example:
        >>> letter(0)
        'A'
    """
    return _LETTERS[place]


def _axis(name: str, unit: str) -> str:
    said = words(name)
    return f"{said} ({printable(unit, _WORD)})" if unit else said


def _said(value: float, form: str) -> str:
    return format(value, form).replace("-", "−")
