"""The live view of a campaign: one line per tier, redrawn in place or told as it changes."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Self

from verifier_ladder.budget import place_label
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.table import Table

    from verifier_ladder.ledger.records import Account
    from verifier_ladder.status import CampaignStatus, TierStatus

_BAR = 12
_WIDE, _NARROW = 92, 78
"""Columns that a bar needs, and that a table needs."""
_COLUMNS = ("done", "running", "queued", "waiting", "parked", "failed")
_PLAIN_EVERY = 5.0
"""Seconds between two lines where nothing can be redrawn."""


class LiveView:
    """Shows where every tier of a campaign stands while it runs.

    In a terminal it redraws a table in place. Elsewhere it prints a plain line when something
    has changed, at most every few seconds.

    Example:
        >>> from rich.console import Console  # doctest: +SKIP
        >>> with LiveView(Console(), "solvation") as view:  # doctest: +SKIP
        ...     view.update(campaign.status())
    """

    def __init__(self, console: Console, title: str) -> None:
        """Prepare the view.

        Args:
            console: Where to draw.
            title: What stands above the table, such as the campaign's name.
        """
        self._console, self._title = console, title
        self._live: Live | None = None
        self._said: tuple[str, float] = ("", float("-inf"))

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def update(self, status: CampaignStatus | None, note: str = "") -> None:
        """Show the newest status.

        Args:
            status: Where the campaign stands; None if only the note is worth showing.
            note: One more line, such as how far scoring has come.
        """
        if self._live is not None:
            self._live.update(Drawing(status, self._title, note), refresh=True)
            return
        text = plain(status, note)
        last, when = self._said
        if text != last and monotonic() - when >= _PLAIN_EVERY:
            self._console.print(text, soft_wrap=True, markup=False)
            self._said = (text, monotonic())

    def __exit__(self, *_: object) -> None:
        """Leave the last drawing on the screen."""
        if self._live is not None:
            self._live.stop()


class Drawing:
    """The status as a table that fits the width: a row per tier, the budget as a bar.

    A narrow terminal gets no bar, and the narrowest one plain lines.
    """

    def __init__(self, status: CampaignStatus | None, title: str, note: str = "") -> None:
        """Prepare to draw a status, or only the note where there is none."""
        self._status, self._title, self._note = status, title, note

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it for this width."""
        from rich.text import Text

        if self._status is None:
            yield Text(f"{self._title}: {self._note}")
        elif options.max_width < _NARROW:
            yield Text(
                "\n".join([self._title, *filter(None, map(_plain_tier, self._status.tiers))])
            )
        else:
            yield Text(self._title)
            yield _table(self._status, has_bar=options.max_width >= _WIDE)
            if self._note:
                yield Text(self._note)


def _table(status: CampaignStatus, *, has_bar: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column("tier", no_wrap=True)
    for name in _COLUMNS:
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("cost of budget", no_wrap=True)
    for tier in status.tiers:
        numbers = [f"{number:,}" if number else "·" for number in _counts(tier)]
        made.add_row(Text(_name(tier)), *numbers, _budget(tier, has_bar=has_bar))
    for account in status.budgets:
        empty = [""] * len(_COLUMNS)
        made.add_row(Text(place_label(account.tier)), *empty, _account(account, has_bar=has_bar))
    return made


def _name(tier: TierStatus) -> str:
    return f"{tier.tier.label} (paused)" if tier.paused else tier.tier.label


def _counts(tier: TierStatus) -> tuple[int, ...]:
    """The numbers of a tier, in the order of the columns."""
    failed = tier.dead + tier.expired
    return (tier.done, tier.running, tier.queued, tier.waiting, tier.parked, failed)


def _budget(tier: TierStatus, *, has_bar: bool) -> str:
    if tier.tier is Tier.WORLD and tier.cap is None:
        return ""
    return _cost(tier.settled + tier.failed, tier.reserved, tier.cap, "s", has_bar=has_bar)


def _account(account: Account, *, has_bar: bool) -> str:
    unit = account.resource.unit
    return _cost(account.spent, account.reserved, account.cap, unit, has_bar=has_bar)


def _cost(spent: float, reserved: float, cap: float | None, unit: str, *, has_bar: bool) -> str:
    amount = f"{spent:.1f}" + (f"+{reserved:.1f}" if reserved else "")
    if cap is None:
        return f"{amount} {unit}"
    text = f"{amount} of {cap:g} {unit}"
    return f"{_bar(spent, reserved, cap)} {text}" if has_bar else text


def _bar(spent: float, reserved: float, cap: float) -> str:
    """What is spent as a thick line, what is reserved as a broken one."""
    if cap <= 0:
        return "━" * _BAR
    thick = min(_BAR, round(spent / cap * _BAR))
    broken = min(_BAR - thick, round(reserved / cap * _BAR))
    return "━" * thick + "╍" * broken + "─" * (_BAR - thick - broken)


def plain(status: CampaignStatus | None, note: str = "") -> str:
    """The status in one line, for logs.

    Example:
        >>> from verifier_ladder.status import CampaignStatus
        >>> plain(CampaignStatus("try", []), "starting")
        'starting'
    """
    parts = [part for part in map(_plain_tier, status.tiers if status else ()) if part]
    return "; ".join([*([note] if note else []), *parts])


def _plain_tier(tier: TierStatus) -> str:
    shown = [f"{n:,} {name}" for name, n in zip(_COLUMNS, _counts(tier), strict=True) if n]
    return f"{_name(tier)}: {', '.join(shown)}" if shown else ""
