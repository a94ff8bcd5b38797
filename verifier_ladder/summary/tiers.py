"""Tiers: what became of the candidates of each, and what it took, as lines of a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.status import CampaignStatus, TierStatus
from verifier_ladder.summary.records import TierSummary
from verifier_ladder.summary.subject import Stand
from verifier_ladder.tier import Tier

_OPEN: Final = ("queued", "running", "waiting", "parked", "expired")
"""States of a check that has not ended."""
_ACCEPTABLE: Final = (Stand.ACCEPTED, Stand.ABSTAINED)
"""What is said of those that no verifier has rejected or failed on."""


class TierCounts(NamedTuple):
    """What the distinct candidates of a campaign come to on one tier."""

    stands: Mapping[Stand, int]
    """How many the tier says each of."""
    answers: int
    """Samples whose candidate it has answered."""
    own: int
    """Candidates of which this campaign has paid an answer."""
    checks: int
    """Checks that this campaign paid for and that gave an answer."""
    declined: int
    """Those of them that only declined to judge, where it was recorded what they took."""
    declined_costs: Sequence[float]
    """What these took, by resource."""


def tier_summaries(
    ladder: Mapping[str, Any], status: CampaignStatus, counts: Sequence[TierCounts], formless: int
) -> tuple[TierSummary, ...]:
    """The lines of a campaign's tiers, without wall times and latencies.

    Args:
        ladder: The campaign's ladder, as it is recorded.
        status: Its queue and its accounts.
        counts: Its candidates, for each tier of the status.
        formless: Candidates whose canonical form could not be found, through no fault of theirs.
    """
    acceptable = sum(counts[0].stands.get(s, 0) for s in _ACCEPTABLE) if counts else 0
    return tuple(
        _line(
            ladder, tier, [a for a in status.budgets if a.tier == tier.tier], told,
            acceptable=acceptable, formless=0 if place else formless,
        )
        for place, (tier, told) in enumerate(zip(status.tiers, counts, strict=True))
    )  # fmt: skip


def _line(
    ladder: Mapping[str, Any], status: TierStatus, budgets: Sequence[Account], told: TierCounts,
    *, acceptable: int, formless: int,
) -> TierSummary:  # fmt: skip
    accepted, rejected, abstained, failed = (
        told.stands.get(stand, 0)
        for stand in (Stand.ACCEPTED, Stand.REJECTED, Stand.ABSTAINED, Stand.FAILED)
    )
    # A failed attempt may be queued again: above the fast tier only dead checks have failed.
    if status.tier is not Tier.FAST:
        failed = status.dead + formless
    open_ = {name: getattr(status, name) for name in _OPEN}
    verifiers = tuple(
        f"{v['name']} {v['version']}" for v in ladder.get("verifiers", ())
        if v["tier"] == status.tier.label
    )  # fmt: skip
    # What is at work counts with what is set aside for it: a tier that answers the cheap
    # candidates first, as from a table, has others still open.
    at_work = (status.running + status.waiting) / max(1, len(verifiers))
    settled = [status.settled + status.reserved, *[0.0] * (len(Resource) - 1)]
    for account in budgets:
        settled[account.resource] = account.settled + account.reserved
    return TierSummary(
        tier=status.tier, verifiers=verifiers,
        asked=accepted + rejected + abstained + failed + sum(open_.values()),
        reused=told.answers - told.own, accepted=accepted, rejected=rejected,
        abstained=abstained, failed=failed, checks=told.checks,
        # By the accounts: what runs in this process is measured a batch at a time.
        settled=status.settled, reserved=status.reserved, failed_seconds=status.failed,
        cap=status.cap, paused=status.paused,
        resources={account.resource: account.spent for account in budgets if account.spent},
        mean_seconds=status.settled / told.own if told.own and status.settled else None,
        everything=_if_all_climbed(
            status.tier, acceptable, judged=max(0, told.own + at_work - told.declined),
            settled=[max(0.0, a - b) for a, b in zip(settled, told.declined_costs, strict=True)],
            expected=_declared(ladder, status.tier),
        ),
        **open_,
    )  # fmt: skip


def _declared(ladder: Mapping[str, Any], tier: Tier) -> list[float]:
    """What one candidate was declared to take on a tier, by the ladder as it is recorded."""
    whole = [0.0] * len(Resource)
    for verifier in ladder.get("verifiers", ()):
        if verifier["tier"] == tier.label:
            checks = verifier.get("replicates", 1)
            for place, name in enumerate(Cost.__dataclass_fields__):
                whole[place] += checks * verifier.get("cost", {}).get(name, 0.0)
    return whole


def _if_all_climbed(
    tier: Tier,
    candidates: int,
    *,
    settled: Sequence[float],
    judged: float,
    expected: Sequence[float],
) -> dict[Resource, float | None]:
    """What a tier would have taken, resource by resource.

    Args:
        tier: The tier.
        candidates: How many candidates would have climbed.
        settled: What its answers took, and what is set aside for those at work. Those that only
            declined to judge are left out: they are cheap, and say nothing of what judging takes.
        judged: How many candidates those are; one of two checks is half a candidate.
        expected: What one is declared to take, for a tier that has judged none.

    Returns:
        None for the cpu time of a tier that has measured none and declares none.
    """
    made: dict[Resource, float | None] = {}
    for resource in Resource:
        # No answer takes no cpu time at all: nothing recorded is not known.
        is_measured = judged and (resource is not Resource.CPU_SECONDS or settled[resource] > 0.0)
        mean = settled[resource] / judged if is_measured else expected[resource]
        is_known = mean > 0.0 or resource is not Resource.CPU_SECONDS or tier is Tier.WORLD
        made[resource] = candidates * mean if is_known else None
    return made
