"""The overview of a large campaign in a terminal: what its counters, accounts and queue tell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier_ladder.analysis.overview import Best, Overview
from verifier_ladder.analysis.totals import CampaignCounts, CampaignTotals
from verifier_ladder.budget import place_label
from verifier_ladder.cli import output
from verifier_ladder.summary.amounts import duration, number, plural, shown_in
from verifier_ladder.summary.terminal import cap_text, cases_text, last_run, print_alarms
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from rich.table import Table


def print_overview(told: Overview) -> None:
    """Print an overview: alarms first, then checks, tiers, rewards and failures."""
    console = output.console()
    totals = told.totals
    name, counts = totals.row.name, totals.counts
    console.print(f"\n{printable(name)}", style="bold")
    console.print(f"{plural(counts.samples, 'output')}, counted and not read")
    print_alarms(totals.alarms, console)
    console.print(_checks(counts))
    console.print(_tiers(totals))
    if told.best:
        console.print(_best(told.best, totals.status.tiers[-1].tier))
    waiting = sum(tier.waiting for tier in totals.status.tiers)
    for line in (
        _rewards(counts), _failures(counts), last_run(totals.runs),
        cases_text(waiting, told.cases),
    ):  # fmt: skip
        if line:
            console.print(line)
    console.print(
        "\nWhat is believed of candidates, reasons, agreement of tiers and what looks suspicious: "
        f"`vladder campaign show {shlex.quote(printable(name, None))} --full` reads all of its "
        f"{plural(counts.extent.entries, 'entry', 'entries')}.",
        style="dim", soft_wrap=True,
    )  # fmt: skip


def _checks(counts: CampaignCounts) -> Table:
    """How checks ended, verifier by verifier: checks, where a summary counts candidates."""
    counted = ("passed", "rejected", "no opinion", "failed", "opened")
    made = output.table("checks", "verifier", *counted, right=counted)
    for one in counts.verifiers:
        numbers = (one.accepted, one.rejected, one.abstained, one.failed, one.opened)
        made.add_row(
            "" if one.tier is None else one.tier.label,
            printable(f"{one.verifier} {one.version}", 60),
            *(f"{count:,}" if count else "·" for count in numbers),
        )
    return made


def _tiers(told: CampaignTotals) -> Table:
    """Where the queue and the money of each tier stand."""
    shown = ("queued", "running", "waiting", "parked", "expired", "cpu time")
    made = output.table("tier", *shown, "cpu budget", "besides", right=shown)
    for tier in told.status.tiers:
        counts = (tier.queued, tier.running, tier.waiting, tier.parked, tier.expired)
        besides = [shown_in(r)(amount) for r, amount in told.resources(tier.tier).items()]
        spent = tier.settled + tier.failed
        made.add_row(
            tier.tier.label + (" (paused)" if tier.paused else ""),
            *(f"{count:,}" if count else "·" for count in counts),
            "–" if tier.tier is Tier.WORLD and not spent else duration(spent),
            cap_text(spent, tier.cap, duration),
            ", ".join(besides),
        )  # fmt: skip
    for account in told.status.budgets:
        show = shown_in(account.resource)
        made.add_row(
            f"{place_label(account.tier)}, {account.resource.unit}", *[""] * 5,
            show(account.spent), cap_text(account.spent, account.cap, show), "",
        )  # fmt: skip
    return made


def _best(best: Sequence[Best], top: Tier) -> Table:
    """The best by what the top tier said, where a summary knows what is believed of all."""
    said = "measured" if top is Tier.WORLD else f"by {top.label}"
    made = output.table("best", said, right=(said,))
    for one in best:
        value = number(one.score.value, one.score.uncertainty)
        made.add_row(printable(one.content, 60), f"{value} {printable(one.score.unit)}".strip())
    return made


def _rewards(counts: CampaignCounts) -> str:
    revised = plural(counts.revised, "revision")
    if counts.known is None or counts.waiting is None:
        return f"Rewards: {revised}; how many are known needs --full."
    known = f"{counts.known:,} of {counts.samples:,} are known, {counts.waiting:,} may still come"
    return f"Rewards: {known}; mean {number(counts.rewards.mean)}; {revised}."


def _failures(counts: CampaignCounts) -> str:
    told = [f"{printable(name, 60)} {count:,}" for name, count in counts.failures.items()]
    return f"Failed, by boundary (no reward was lowered): {', '.join(told)}." if told else ""
