"""What the demo of a market tells: in the terminal as it happens, and on a page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.demo.telling import say, say_claims
from verifier_ladder.private import private_text
from verifier_ladder.reward import Reward
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

    from verifier_ladder.demo.market import Forecaster, Market, Price

TITLE = "A forecast that came too late"


class Row(NamedTuple):
    """A forecaster, in words."""

    name: str
    says: str
    when: str
    before: str
    off: str
    settled: str
    after: str
    why: str


def rows(made: Market) -> list[Row]:
    """Everybody who said something, in the order in which they came."""
    return [_row(one, made.price) for one in made.forecasters]


def _row(one: Forecaster, price: Price) -> Row:
    is_forecast = one.after is not None and "not one number" not in one.after.reason
    off = f"{one.error(price):.2f}" if is_forecast else "–"
    why = one.after.reason if one.after is not None and one.after.is_rejected else ""
    return Row(
        one.name, one.says, _when(one.came), _paid(one.before), off, _paid(one.settled),
        _paid(one.after), why.partition(":")[0],
    )  # fmt: skip


def _paid(reward: Reward | None) -> str:
    if reward is None:
        return "–"
    return "none" if reward.value is None else f"{reward.value:.2f}"


def _when(seconds: float) -> str:
    return f"{abs(seconds):.1f} s {'before' if seconds < 0 else 'after'}"


def clock(at: float) -> str:
    """A time of day, in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]


# ---- The terminal


def introduce(out: Console, seconds: float) -> None:
    """Say what is about to happen."""
    say(out, (
        f"A process tells the price of a share, live. What will it be in {seconds:g} s?\n"
        "Forecasts are sealed before that. Afterwards one who has seen the price sends it as his\n"
        "forecast, and another sends a copy of the best. Rewards go from 0 to 1."
    ))  # fmt: skip


def tell_sealed(out: Console, made: Market) -> None:
    """Say who was told what at once, and what proves it."""
    say(out, "\n1. Sealed, and a reward at once: by what the last price says", "bold")
    for row in rows(made):
        say(out, f"   {row.name:<18} {row.before:>5}   {row.says}")
    say(out, f"   {proof_line(made)}")
    say(out, f"\n2. The price at {clock(made.horizon)} UTC is awaited …", "bold")


def tell_price(out: Console, price: Price) -> None:
    """Say what came."""
    say(out, f"   {price.value:.2f}, told at {clock(price.published)}")


def proof_line(made: Market) -> str:
    """The entry that seals the forecasts: its number, hash and time, and the checkpoint's."""
    seal = made.seal
    if seal is None:
        return ""
    ahead = made.horizon - seal.recorded
    return (
        f"entry {seal.entry}, sha256 {seal.sha256[:16]}…, recorded {clock(seal.recorded)} UTC, "
        f"{ahead:.1f} s before the horizon; signed checkpoint over {seal.size} entries, "
        f"the last of {seal.time[11:23]}"
    )


def sum_up(out: Console, made: Market, page: Path, took: float) -> None:
    """Say what came of it."""
    say(out, "\n3. Settled, and what came too late", "bold")
    say(out, f"{'came':>35} {'at once':>8} {'off by':>7} {'settled':>8} {'corrected':>10}")
    for row in rows(made):
        say(out, (
            f"   {row.name:<18} {row.when:>13} {row.before:>8} {row.off:>7} {row.settled:>8} "
            f"{row.after:>10}  {row.why}"
        ).rstrip())  # fmt: skip
    say(out, (
        f"   The exchange corrected {made.price.value:.2f} to {made.correction.value:.2f}: "
        "what was settled was superseded."
    ))  # fmt: skip
    say(out, "\n4. What this run has shown", "bold")
    say_claims(out, made.claims)
    say(out, f"\nThe page: {page}   ({took:.0f} s)")


# ---- The page


def publish(made: Market, page: Path) -> None:
    """Write the checkpoint beside the page, where somebody else could fetch it."""
    if made.seal is not None:
        private_text(_checkpoint(page), made.seal.note)


def _checkpoint(page: Path) -> Path:
    return page.with_name(f"{page.stem}-checkpoint.txt")


def write(made: Market, page: Path, ledger: str) -> None:
    """Write the page: one HTML file that needs no network and no script.

    Raises:
        ConfigError: If Jinja2 is not installed, or the file can't be written there.
    """
    from verifier_ladder.report.page import render_page

    text = render_page(
        "market.html.j2", market=made, rows=rows(made), chart=_chart(made), title=TITLE,
        proof=proof_line(made), lead=_lead(made), clock=clock,
        ledger=hide_password(ledger), checkpoint=_checkpoint(page),
    )  # fmt: skip
    private_text(page, text)


def _lead(made: Market) -> str:
    looks, copies = made.forecasters[-2:]
    best = made.best
    return (
        f"The price at {clock(made.horizon)} UTC was {made.price.value:.2f}. "
        f"“{best.name}” had said it {-best.came:.1f} s earlier, was {best.error(made.price):.2f} "
        f"off and was paid {_paid(best.settled)}. Who sent the price itself {looks.came:.1f} s "
        f"later was paid {_paid(looks.after)}, and so was a copy of “{best.name}”: "
        f"{_paid(copies.after)}."
    )


def _chart(made: Market) -> Markup:
    """The prices, when forecasts were sealed, and what they said of the horizon."""
    from markupsafe import Markup

    from verifier_ladder.report.charts import Frame, ticks

    first = [price for price in made.told if price.vintage == "first"]
    line = [(price.time - made.horizon, price.value) for price in first]
    line = [(at, value) for at, value in line if at <= -line[0][0] / 2]
    said = [one for one in made.honest if one.after is not None]
    middles = [one.forecast.mean for one in said]
    values = [value for _, value in line] + middles
    frame = Frame(
        ticks(line[0][0], max(line[-1][0], 1.0)), ticks(min(values), max(values)),
        "seconds from the horizon", "price (EUR)",
    )  # fmt: skip
    top, bottom = frame.y(frame.ys[-1]), frame.y(frame.ys[0])
    sealed = max(one.came for one in said)
    marks = [
        Markup('<line class="{2}" x1="{0}" x2="{0}" y1="{3}" y2="{1}"/>').format(
            frame.x(at), bottom, name, top
        )
        for at, name in ((sealed, "axis"), (0.0, "alarm"))
    ]
    marks.append(Markup('<path class="line best" d="{}"/>').format(frame.path(line)))
    marks += [
        Markup('<circle class="dot {}" cx="{}" cy="{}" r="5"><title>{}</title></circle>').format(
            "simulation", frame.x(0.0), frame.y(middle), one.name
        )
        for one, middle in zip(said, middles, strict=True)
    ]
    return frame.figure(
        "The price and the forecasts of it",
        "Prices as they were told; a line where the forecasts were sealed, a dashed one at the "
        "horizon, and on it what was forecast.", marks,
    )  # fmt: skip
