"""A campaign at a glance: its first page, from its totals and from the lists of its index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from verifier_ladder.analysis.candidates import (
    CandidateIndex,
    CandidateTotals,
    Listed,
    Listing,
    Order,
    Reason,
)
from verifier_ladder.analysis.filling import Standing
from verifier_ladder.analysis.totals import CampaignTotals, alarm_text, campaign_totals
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.counting import boundary_name
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.resource import Resource
from verifier_ladder.status import Waiting
from verifier_ladder.summary.records import RewardSummary, Summary
from verifier_ladder.summary.subject import Stand
from verifier_ladder.summary.tiers import TierCounts, tier_summaries
from verifier_ladder.tier import Tier

_LOOKED_AT = 20
"""The best candidates, among which one is looked for that no alarm casts doubt on."""
_NOT_COUNTED = Waiting()


@dataclass(frozen=True, slots=True)
class Sounded:
    """An alarm, as pages show it."""

    text: str
    headline: str
    verifier: str
    """Whom it is about; empty for what is of the whole campaign."""
    run: str
    step: int | None
    """The step at whose audits it was raised."""
    since: int | None
    """The first suspect step."""
    is_gamed: bool
    """Whether the learner gains by what has changed."""
    entry: int | None


@dataclass(frozen=True, slots=True)
class Boundary:
    """How much failed at one boundary."""

    name: str
    attempts: int
    seconds: float
    """Cpu-seconds that they took, as far as the index has come."""
    text: str
    """The most frequent reason; empty where the index holds none yet."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the first page of a campaign says."""

    totals: CampaignTotals
    summary: Summary
    """Its totals, with the distinct candidates of each tier as far as the index has come."""
    winner: Listed | None
    """The best by what the top tier says."""
    hopeful: Listed | None
    """The best by what is believed, if that is another one and no alarm casts doubt on it."""
    alarms: tuple[Sounded, ...]
    boundaries: tuple[Boundary, ...]
    waiting: Waiting | None
    """None where the work queue was not counted yet."""
    doubted: frozenset[str]
    """Verifiers that audits have found to be gamed: what rests on them alone is in doubt."""


def glance(
    ledger: Ledger, index: CandidateIndex, row: CampaignRow, waiting: Waiting | None
) -> Glance:
    """Put together what the first page of a campaign says.

    Args:
        ledger: The ledger.
        index: Its index, however far that has come.
        row: The campaign.
        waiting: Its work queue; None where it was not counted yet.
    """
    told = campaign_totals(ledger, row.name, waiting or _NOT_COUNTED)
    seen = index.totals(row.name)
    doubted = frozenset(a.stratum for _, a in told.drift if a is not None and a.casts_doubt)
    winner = next(iter(index.page(Listing(row.name, Order.TRUTH), 1).rows), None)
    best = index.page(Listing(row.name, Order.KNOWN), _LOOKED_AT).rows
    hopeful = next((c for c in best if not _is_doubted(c, seen, doubted)), None)
    return Glance(
        told, _summary(told, seen), winner,
        None if hopeful is not None and hopeful.truth is not None else hopeful,
        tuple(_sounded(told)), boundaries(told.counts.failures, index.reasons(row.name)),
        waiting, doubted,
    )  # fmt: skip


def _is_doubted(candidate: Listed, seen: CandidateTotals, doubted: frozenset[str]) -> bool:
    """Whether all that is known of it rests on a verifier that is being gamed."""
    if candidate.truth is not None or candidate.known_by is None:
        return False
    return seen.primaries.get(int(Tier.parse(candidate.known_by)), "") in doubted


def _sounded(told: CampaignTotals) -> Iterator[Sounded]:
    """The alarms, the newest first."""
    for entry, alarm in reversed(told.drift):
        text = alarm_text(entry, alarm)
        if alarm is None:
            yield Sounded(text, text, "", "", None, None, is_gamed=False, entry=entry)
            continue
        yield Sounded(
            text, alarm.headline, alarm.stratum, alarm.last.run, alarm.last.step,
            alarm.first.step, alarm.is_gamed, entry,
        )  # fmt: skip
    if (said := told.counts.unanswered) is not None:
        yield Sounded(said, said, "", "", None, None, is_gamed=False, entry=None)


def boundaries(failures: Mapping[str, int], reasons: Sequence[Reason]) -> tuple[Boundary, ...]:
    """What failed, by boundary, the most frequent first.

    Args:
        failures: How many attempts did, by boundary, as they are counted.
        reasons: Why, as far as the index has come; the most frequent first.
    """
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        if reason.standing == Standing.FAILED.label:
            found.setdefault(boundary_name(reason.boundary), []).append(reason)
    return tuple(
        Boundary(
            name, attempts, sum(r.seconds for r in found.get(name, ())),
            found[name][0].text if name in found else "",
        )
        for name, attempts in failures.items()
    )  # fmt: skip


# -- the tiers ---------------------------------------------------------------------------------


def _summary(told: CampaignTotals, seen: CandidateTotals) -> Summary:
    row, counts = told.row, told.counts
    return Summary(
        campaign=row.name, ledger=told.ledger, ladder=row.ladder, created_at=row.created_at,
        updated_at=told.updated_at, entries=counts.extent.entries, samples=counts.samples,
        candidates=seen.count("candidates"), respellings=0, target=row.ladder.get("target") or {},
        tiers=tier_summaries(
            row.ladder, told.status, [_counts(told, seen, t.tier) for t in told.status.tiers],
            seen.count("formless"),
        ),
        rewards=RewardSummary(
            counts.samples, None if counts.known is None else counts.samples - counts.known,
            counts.rewards.mean, None, counts.revised,
        ),
        alarms=told.alarms, runs=told.runs, budgets=told.status.budgets,
    )  # fmt: skip


def _counts(told: CampaignTotals, seen: CandidateTotals, tier: Tier) -> TierCounts:
    """What the distinct candidates come to on a tier, as far as the index has come."""
    return TierCounts(
        {stand: seen.count("stand", tier, stand) for stand in Stand},
        seen.count("answers", tier), seen.count("own", tier), told.checks(tier),
        seen.count("declined", tier, -1),
        [seen.amounts.get(("declined", tier, int(r)), 0.0) for r in Resource],
    )  # fmt: skip
