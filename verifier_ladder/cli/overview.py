"""The overview of a large campaign in a terminal: what its counters, accounts and queue tell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier_ladder.analysis.overview import Best, Overview
from verifier_ladder.analysis.totals import CampaignCounts, CampaignTotals
from verifier_ladder.budget import place_label
from verifier_ladder.cli import output
from verifier_ladder.status import TierStatus
from verifier_ladder.summary.amounts import duration, number, plural, share, shown_in
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from rich.table import Table

_ALARMS = 2
_CASES = 3


def print_overview(told: Overview) -> None:
    """Print an overview: alarms first, then checks, tiers, rewards and failures."""
    console = output.console()
    totals = told.totals
    name, counts = totals.row.name, totals.counts
    console.print(f"\n{printable(name)}", style="bold")
    console.print(f"{plural(counts.samples, 'output')}, counted and not read")
    alarms = totals.alarms
    for text in alarms[-_ALARMS:]:
        console.print(f"ALARM  {printable(text, 500)}", style="bold red")
    if earlier := len(alarms[:-_ALARMS]):
        console.print(f"       and {plural(earlier, 'earlier alarm')}", style="red")
    console.print(_checks(counts))
    console.print(_tiers(totals))
    if told.best:
        console.print(_best(told.best, totals.status.tiers[-1].tier))
    for line in (*_rewards(counts), *_failures(counts), *_runs(totals), *_cases(told)):
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
            "–" if tier.tier is Tier.WORLD and not spent else duration(spent), _budget(tier),
            ", ".join(besides),
        )  # fmt: skip
    for account in told.status.budgets:
        show = shown_in(account.resource)
        made.add_row(
            f"{place_label(account.tier)}, {account.resource.unit}", *[""] * 5,
            show(account.spent), "no cap" if account.cap is None
            else f"{share(account.spent, account.cap)} of {show(account.cap)}", "",
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


def _budget(tier: TierStatus) -> str:
    if tier.cap is None:
        return "no cap"
    return f"{share(tier.settled + tier.failed, tier.cap)} of {duration(tier.cap)}"


def _rewards(counts: CampaignCounts) -> Sequence[str]:
    revised = plural(counts.revised, "revision")
    if counts.known is None or counts.waiting is None:
        return [f"Rewards: {revised}; how many are known needs --full."]
    known = f"{counts.known:,} of {counts.samples:,} are known, {counts.waiting:,} may still come"
    return [f"Rewards: {known}; mean {number(counts.rewards.mean)}; {revised}."]


def _failures(counts: CampaignCounts) -> Sequence[str]:
    told = [f"{printable(name, 60)} {count:,}" for name, count in counts.failures.items()]
    return [f"Failed, by boundary (no reward was lowered): {', '.join(told)}."] if told else []


def _runs(told: CampaignTotals) -> Sequence[str]:
    if len(told.runs) < 2:  # noqa: PLR2004 - the only one is the campaign
        return []
    run = told.runs[-1]
    found = f"{plural(run.reused, 'answer')} found in the ledger"
    asked = f"{plural(run.samples, 'sample')}, {found}, {plural(run.checks, 'check')} run at once"
    return [f"Last run {printable(run.name, 60)}: {asked}."]


def _cases(told: Overview) -> Sequence[str]:
    waiting = sum(tier.waiting for tier in told.totals.status.tiers)
    names = ", ".join(printable(case.content, 24) for case in told.cases[:_CASES])
    more = ", …" if waiting > _CASES else ""
    cases = plural(waiting, "open case")
    return [f"{cases} for the world to answer: {names}{more}"] if waiting else []
