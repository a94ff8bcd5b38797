"""The live view of a campaign: one line per tier, redrawn in place or told as it changes."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from verifier_ladder.status import CampaignStatus, TierStatus

_BAR = 18
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
            self._live.update(drawing(status, self._title, note), refresh=True)
            return
        text = plain(status, note)
        last, when = self._said
        if text != last and monotonic() - when >= _PLAIN_EVERY:
            self._console.print(text, soft_wrap=True, markup=False)
            self._said = (text, monotonic())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Leave the last drawing on the screen."""
        if self._live is not None:
            self._live.stop()


def drawing(status: CampaignStatus | None, title: str, note: str = "") -> RenderableType:
    """The status as a table: a row per tier, the budget as a bar."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if status is None:
        return Text(f"{title}: {note}")
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(title), title_justify="left")
    made.add_column("tier", no_wrap=True)
    for name in _COLUMNS:
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("cost against budget", no_wrap=True)
    for tier in status.tiers:
        made.add_row(Text(tier.tier.label), *_counts(tier), _budget(tier))
    return Group(made, Text(note)) if note else made


def _counts(tier: TierStatus) -> list[str]:
    dead = tier.dead + tier.expired
    numbers = (tier.done, tier.running, tier.queued, tier.waiting, tier.parked, dead)
    return [f"{number:,}" if number else "·" for number in numbers]


def _budget(tier: TierStatus) -> str:
    if tier.tier is Tier.WORLD and tier.cap is None:
        return ""
    spent = tier.settled + tier.failed
    amount = f"{spent:.1f} s" + (f" + {tier.reserved:.1f} s reserved" if tier.reserved else "")
    if tier.cap is None:
        return amount
    full = min(1.0, (spent + tier.reserved) / tier.cap) if tier.cap else 1.0
    filled = round(full * _BAR)
    return f"{'━' * filled}{'─' * (_BAR - filled)} {amount} of {tier.cap:g} s"


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
    dead = tier.dead + tier.expired
    numbers = (tier.done, tier.running, tier.queued, tier.waiting, tier.parked, dead)
    shown = [f"{n:,} {name}" for name, n in zip(_COLUMNS, numbers, strict=True) if n]
    return f"{tier.tier.label}: {', '.join(shown)}" if shown else ""
