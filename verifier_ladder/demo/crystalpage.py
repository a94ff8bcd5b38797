"""What the demo of a crystal tells: in the terminal as it happens, and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.demo.crystals import (
    AUDITED,
    ELEMENTS,
    GROUP,
    REWARD,
    CoreRepulsion,
    Energies,
    ForceField,
    Proposal,
    core_repulsion,
    energies,
)
from verifier_ladder.demo.telling import bar, say, say_claims
from verifier_ladder.private import private_text
from verifier_ladder.reward import Reward
from verifier_ladder.summary.amounts import duration
from verifier_ladder.summary.steps import StepMeans
from verifier_ladder.text import hide_password
from verifier_ladder.tiers.fast.crystalgate import DISTANCE, CrystalGate

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

    from verifier_ladder.demo.crystalsearch import Generation, Pair, Tell, Trial
    from verifier_ladder.scheduler.drift import Alarm

TITLE = "Two atoms in one place"
_TOLD_EVERY = 2
_BOTH = ("without the gate", "with it")
_METALS = "Al and Pt"


# ---- The terminal


def introduce(out: Console) -> None:
    """Say what is about to happen."""
    say(out, (
        "An alloy of aluminium and platinum is sought that is as stable as can be: a search\n"
        f"proposes {GROUP} crystals at a time and is told what each earns, by a force field of "
        f"metals (EMT).\n{AUDITED:.0%} of them are audited at a higher level, with the repulsion "
        "of the cores.\n"
        "pays: what the force field says, from 0 to 1.  true: what cores leave of it."
    ))  # fmt: skip


def first(out: Console) -> Tell:
    """Tell of the search without the gate."""
    return _teller(out, "1. Without the gate: whatever is proposed goes to the force field")


def second(out: Console) -> Tell:
    """Tell of the search with it."""
    return _teller(out, "2. The same search behind the gate")


def _teller(out: Console, title: str) -> Tell:
    """Tell every other generation, and every alarm at once."""
    say(out, f"\n{title}", "bold")

    def tell(made: Generation, alarms: Sequence[Alarm]) -> None:
        if alarms or made.step % _TOLD_EVERY == 0:
            no_answer = f", {made.unknown} had no answer" if made.unknown else ""
            say(out, (
                f"   step {made.step:2}   pays {bar(made.pays)}   true {bar(made.true)}   "
                f"{made.impossible:2} of {GROUP} impossible{no_answer}"
            ))  # fmt: skip
        for alarm in alarms:
            told = f"ALARM at step {alarm.last.step}: {alarm.text}"
            say(out, indent(fill(told, out.width - 3), "   "), "bold red")

    return tell


def sum_up(out: Console, made: Pair, page: Path, took: float) -> None:
    """Say what came of it."""
    say(out, "\n3. What the force field paid most", "bold")
    for trial, when in zip(made.both, _BOTH, strict=True):
        say(out, f"   {when + ':':<18} {_best(trial)}")
    say(out, f"   {found(made)}")
    say(out, "\n4. What it cost", "bold")
    for row in costs(made):
        say(out, f"   {row.what:<34} {row.ungated:>30} {row.gated:>30}")
    say(out, "\n5. What this run has shown", "bold")
    say_claims(out, made.claims)
    say(out, f"\nThe page: {page}   ({took:.0f} s)")


def _best(trial: Trial) -> str:
    if trial.best is None:
        return "nothing"
    contact = trial.best.crystal.contact
    return (
        f"{contact.one} and {contact.other} {contact.distance:.2f} Å apart, paid "
        f"{trial.best.reward:.2f}; relaxed by the ladder of stability: {at_rest(trial.at_rest)}"
    )


def at_rest(reward: Reward | None) -> str:
    """What the ladder of stability says."""
    if reward is None or reward.value is None:
        return "not known"
    if reward.is_rejected:
        return f"rejected, {reward.reason}"
    return f"{-reward.value:+.3f} eV an atom above the metals at rest"


def found(made: Pair) -> str:
    """What the force field says of the best crystal without the gate, and what it leaves out."""
    return (
        f"Compared with the metals side by side, the force field gives the first "
        f"{made.found.field:+,.0f} eV an atom; its cores add {made.found.cores:+,.0f}."
    )


class Row(NamedTuple):
    """A line of what both searches cost."""

    what: str
    ungated: str
    gated: str


def costs(made: Pair) -> list[Row]:
    """What each verifier took, and what one impossible crystal did."""
    names = (CrystalGate.name, ForceField.name, CoreRepulsion.name)
    return [
        Row("", *_BOTH),
        *(Row(name, *(_checks(trial, name) for trial in made.both)) for name in names),
        Row("impossible crystals", *(f"{trial.impossible}" for trial in made.both)),
        Row(
            "of them, the force field saw",
            *(f"{trial.let_through}" for trial in made.both),
        ),
        Row("had no answer", *(f"{trial.unknown}" for trial in made.both)),
        Row(
            "to look at one of them took",
            _took(made.ungated, ForceField.name),
            _took(made.gated, CrystalGate.name),
        ),
        Row(
            "first alarm",
            *(f"step {trial.alarm.last.step}" if trial.alarm else "none" for trial in made.both),
        ),
    ]  # fmt: skip


def _took(trial: Trial, name: str) -> str:
    """What one check took, where there was one."""
    cost = trial.cost(name)
    return duration(cost) if cost else "–"


def _checks(trial: Trial, name: str) -> str:
    spent = trial.costs.get(f"{name} 1")
    if spent is None or not spent.checks:
        return "–"
    one = trial.cost(name)
    return f"{spent.checks} × {duration(one)} = {duration(one * spent.checks)}"


# ---- The page


def write(made: Pair, page: Path, ledger: str) -> None:
    """Write the page: one HTML file that needs no network and no script.

    Raises:
        ConfigError: If Jinja2 is not installed, or the file can't be written there.
    """
    from verifier_ladder.report import charts
    from verifier_ladder.report.page import render_page

    curves = [
        (when, trial, charts.steps_chart(_curve(trial), [a.last.step for a in trial.alarms]))
        for when, trial in zip(_BOTH, made.both, strict=True)
    ]
    text = render_page(
        "crystal.html.j2", made=made, title=TITLE, lead=_lead(made), picture=_picture(made),
        curves=curves, costs=costs(made), chart=_chart(), found=found(made), at_rest=at_rest,
        drawings=_drawings(made), both=_BOTH, audited=AUDITED, low=REWARD.low, high=REWARD.high,
        ledger=hide_password(ledger), distance=DISTANCE,
    )  # fmt: skip
    private_text(page, text)


def _curve(trial: Trial) -> list[StepMeans]:
    """What is paid and what is true, as a chart of steps takes them."""
    return [StepMeans(trial.campaign, g.step, g.pays, g.true) for g in trial.generations]


def _lead(made: Pair) -> str:
    if made.ungated.best is None:
        return "Nothing was paid."
    contact, alarm = made.ungated.best.crystal.contact, made.ungated.alarm
    named = (
        f"an alarm named {alarm.stratum} at step {alarm.last.step}" if alarm else "no alarm rang"
    )
    took = _took(made.gated, CrystalGate.name)
    looked = f", each of which was rejected in {took}" if took != "–" else ""
    return (
        f"{contact.one} and {contact.other} {contact.distance:.2f} Å apart: a force field finds "
        f"them {-made.found.field:,.0f} eV an atom more stable than the metals, and pays "
        f"{made.ungated.best.reward:.2f}. A search for stable alloys found such crystals and made "
        f"{made.ungated.impossible} of them; {named}. Behind the gate it made "
        f"{made.gated.impossible}{looked}."
    )


def _drawings(made: Pair) -> list[Markup]:
    from verifier_ladder.report.crystals import draw_crystal
    from verifier_ladder.tiers.fast.crystal import crystal_of

    best = [trial.best for trial in made.both if trial.best is not None]
    return [draw_crystal(crystal_of(each.crystal.text)) for each in best]


# ---- The pair, to scale

_WIDTH, _HEIGHT, _SCALE = 640, 300, 62
"""Of the picture in pixels, and pixels in an Å."""


def _picture(made: Pair) -> Markup:
    """The pair that was paid, and the same two atoms as they touch, to one scale."""
    from markupsafe import Markup

    best = made.ungated.best
    contact = best.crystal.contact if best is not None else Proposal([4.0] * 3, _TOUCHING).contact
    radii = [_radius(symbol) for symbol in (contact.one, contact.other)]
    touching = sum(radii)
    title = (
        f"{contact.one} and {contact.other} {contact.distance:.2f} Å apart, and beside them "
        f"{touching:.2f} Å apart, to scale"
    )
    marks = [
        *_pair(contact.one, contact.other, radii, contact.distance, 165, is_wrong=True),
        *_pair(contact.one, contact.other, radii, touching, 455, is_wrong=False),
        Markup(
            '<line class="ruler" x1="12" x2="{0}" y1="288" y2="288"/>'
            '<text class="tick" x="{1}" y="292">1 Å</text>'
        ).format(12 + _SCALE, 20 + _SCALE),
    ]
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        "<title>{}</title>{}</svg>"
    ).format(_WIDTH, _HEIGHT, title, title, Markup().join(marks))


_TOUCHING = [(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)]


def _radius(symbol: str) -> float:
    from ase.data import atomic_numbers, covalent_radii

    return float(covalent_radii[atomic_numbers[symbol]])


def _pair(
    one: str, other: str, radii: Sequence[float], distance: float, middle: float, *, is_wrong: bool
) -> Iterator[Markup]:
    """Two atoms, their nuclei, and how far apart these are."""
    from markupsafe import Markup

    from verifier_ladder.report.crystals import Ball, circle

    # What both cover together stands in the middle.
    left = middle + _SCALE * (radii[0] - radii[1] - distance) / 2
    ends, y = (left, left + _SCALE * distance), 112.0
    kinds = sorted(ELEMENTS)
    for symbol, radius, x in zip((one, other), radii, ends, strict=True):
        yield circle(Ball(symbol, x, y, _SCALE * radius, kinds.index(symbol)))
    for x in ends:
        yield Markup(
            '<circle class="nucleus" cx="{0}" cy="{1}" r="2.5"/>'
            '<line class="ruler" x1="{0}" x2="{0}" y1="206" y2="218"/>'
        ).format(round(x, 1), y)
    yield Markup(
        '<line class="ruler" x1="{}" x2="{}" y1="212" y2="212"/>'
        '<text class="much{}" x="{}" y="248" text-anchor="middle">{} Å</text>'
        '<text class="name" x="{}" y="270" text-anchor="middle">{}</text>'
    ).format(
        round(ends[0], 1), round(ends[1], 1), " wrong" if is_wrong else "", middle,
        f"{distance:.2f}", middle,
        f"{one} and {other}, as proposed" if is_wrong else f"{one} and {other}, as they touch",
    )  # fmt: skip


# ---- What the force field says of a pair

_LEAST, _MOST, _POINTS = 0.2, 3.2, 61
_LOW, _HIGH = -120.0, 80.0
"""eV an atom; what lies outside is cut off."""


def pair_energies() -> list[tuple[float, Energies]]:
    """What is computed of one atom of each metal, alone in space, by their distance in Å."""
    from ase import Atoms

    step = (_MOST - _LEAST) / (_POINTS - 1)
    away = [_LEAST + n * step for n in range(_POINTS)]
    return [(x, energies(Atoms(ELEMENTS, [(0, 0, 0), (0, 0, x)]))) for x in away]


def _chart() -> Markup:
    from markupsafe import Markup

    from verifier_ladder.report.charts import Frame, ticks

    said = pair_energies()
    frame = Frame(
        ticks(0.0, _MOST), ticks(_LOW, _HIGH), "distance (Å)", "energy of the pair (eV an atom)"
    )
    least = DISTANCE * sum(map(_radius, ELEMENTS))
    top, bottom = frame.y(frame.ys[-1]), frame.y(frame.ys[0])
    field = [(x, found.field) for x, found in said if found.field >= frame.ys[0]]
    whole = [(x, sum(found)) for x, found in said if sum(found) <= frame.ys[-1]]
    marks = [
        Markup('<line class="alarm" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
            frame.x(least), top, bottom
        ),
        Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            frame.x(frame.xs[0]), frame.x(frame.xs[-1]), frame.y(0.0), frame.y(0.0)
        ),
        *(
            Markup('<path class="line {}" d="{}"/>').format(name, frame.path(points))
            for name, points in (("best", whole), ("mean", field))
        ),
    ]
    repelled = core_repulsion(13, 78, 0.3) / 2
    return frame.figure(
        "What the force field says of a pair",
        f"By the force field the energy of {_METALS} falls without end below 0.6 Å; with their "
        f"cores it rises, to {repelled:,.0f} eV an atom at 0.3 Å.", marks,
    )  # fmt: skip
