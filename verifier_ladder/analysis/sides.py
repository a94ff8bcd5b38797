"""Sides: runs and campaigns, each summed up alike, so that they can stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from verifier_ladder.analysis.candidates import (
    CandidateIndex,
    Listed,
    Listing,
    Order,
    StepPoint,
)
from verifier_ladder.analysis.totals import CampaignCounts, campaign_counts
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.counting import StepCount
from verifier_ladder.ledger.records import CampaignRow, Spend
from verifier_ladder.resource import Resource


@dataclass(frozen=True, slots=True)
class Side:
    """A run, or a whole campaign."""

    campaign: str
    run: str
    """Empty for a whole campaign."""
    samples: int
    revised: int
    known: int | None
    """Rewards that are a number; None where that is not known."""
    mean: float | None
    """Mean of the rewards as they stand."""
    best: Listed | None
    """The best by what the top tier says."""
    unit: str
    spent: Mapping[str, float]
    """By resource; failed attempts included."""
    failed: Mapping[str, float]
    """Spent on attempts that gave no answer, by resource."""
    failures: Mapping[str, int] | None
    """Attempts that gave no answer, by boundary; None for a run, by which they are not counted."""
    curve_of: str
    """The run that the curve is of: of a campaign the newest."""
    curve: tuple[StepPoint, ...]


def side(
    ledger: Ledger, index: CandidateIndex, row: CampaignRow, run: str = "",
    counts: CampaignCounts | None = None,
) -> Side:  # fmt: skip
    """Sum up a run, or a whole campaign; no entry is read for it.

    Args:
        ledger: The ledger.
        index: Its index, however far that has come.
        row: The campaign.
        run: One of its runs; empty for the whole campaign.
        counts: What `campaign_counts` told of the campaign, if that was asked already.
    """
    counts = counts or campaign_counts(ledger, row.name)
    own = [each for each in counts.runs if each.run == run] if run else list(counts.runs)
    rewards = StepCount.together(own)
    newest = next(iter(index.runs(row.name)), "")
    spend = [each for each in ledger.spend(row.name) if not run or each.run == run]
    return Side(
        row.name, run, rewards.samples, rewards.revised,
        None if rewards.unsummed else rewards.known, rewards.mean,
        index.best_of(row.name, run) if run else _best(index, row.name),
        str((row.ladder.get("target") or {}).get("unit", "")),
        _sums((each.resource, each.settled + each.failed) for each in spend),
        _sums((each.resource, each.failed) for each in spend),
        None if run else dict(counts.failures), run or newest,
        tuple(index.curve(row.name, run or newest)),
    )  # fmt: skip


def spent_by_run(spend: Sequence[Spend]) -> dict[str, float]:
    """Cpu-seconds that each run has spent."""
    found: dict[str, float] = {}
    for each in spend:
        if each.resource is Resource.CPU_SECONDS:
            found[each.run] = found.get(each.run, 0.0) + each.settled + each.failed
    return found


def _best(index: CandidateIndex, campaign: str) -> Listed | None:
    return next(iter(index.page(Listing(campaign, Order.TRUTH), 1).rows), None)


def _sums(amounts: Iterable[tuple[Resource, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for resource, amount in amounts:
        if amount:
            found[resource.label] = found.get(resource.label, 0.0) + amount
    return found
