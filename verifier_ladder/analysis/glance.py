"""A campaign at a glance: its first page, from its index and its accounts, without its entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verifier_ladder.alerts.rules import rules_as_set
from verifier_ladder.analysis.candidates import (
    CandidateIndex,
    Listed,
    Listing,
    Order,
    Reason,
    Totals,
)
from verifier_ladder.analysis.filling import Standing
from verifier_ladder.budget import TOTAL
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, CampaignRow, CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.status import tiers_of
from verifier_ladder.summary.reading import declared, if_all_climbed
from verifier_ladder.summary.records import RewardSummary, Summary, TierSummary
from verifier_ladder.summary.subject import Stand
from verifier_ladder.tier import Tier
from verifier_ladder.unanswered import unanswered_alarm

_LOOKED_AT = 20
"""The best candidates, among which one is looked for that no alarm casts doubt on."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where the work queue of a campaign stood."""

    counts: dict[int, dict[CheckState, int]]
    """Checks by tier and state."""
    parked: dict[int, int]
    """By tier, those that the budget does not pay for."""
    paused: tuple[int, ...]
    """Tiers that start no check."""
    at: float
    """When it was looked at; seconds since 1970."""


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
    """Cpu-seconds that they took."""
    text: str
    """The most frequent reason."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the first page of a campaign says."""

    summary: Summary
    """Numbers by tier; nothing in it needed the entries."""
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


def read_waiting(ledger: Ledger, campaign: str, *, at: float) -> Waiting:
    """Count the work queue of a campaign; it takes time in proportion to its checks."""
    return Waiting(
        ledger.counts(campaign), ledger.parked(campaign), tuple(sorted(ledger.paused(campaign))),
        at,
    )  # fmt: skip


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
    totals, alarms = index.totals(row.name), index.alarms(row.name)
    doubted = frozenset(alarm.stratum for _, alarm in alarms if alarm.casts_doubt)
    winner = next(iter(index.page(Listing(row.name, Order.TRUTH), 1).rows), None)
    best = index.page(Listing(row.name, Order.KNOWN), _LOOKED_AT).rows
    hopeful = next((c for c in best if not _is_doubted(c, totals, doubted)), None)
    unknown, ended = index.unrewarded(row.name)
    unanswered = unanswered_alarm(unknown, ended, rules_as_set())
    sounded = [_sounded(entry, alarm) for entry, alarm in alarms]
    if unanswered is not None:
        sounded.append(
            Sounded(unanswered, unanswered, "", "", None, None, is_gamed=False, entry=None)
        )
    return Glance(
        _summary(ledger, row, totals, waiting, (unknown, ended)), winner,
        None if hopeful is not None and hopeful.truth is not None else hopeful, tuple(sounded),
        boundaries(index.reasons(row.name)), waiting, doubted,
    )  # fmt: skip


def _is_doubted(candidate: Listed, totals: Totals, doubted: frozenset[str]) -> bool:
    """Whether all that is known of it rests on a verifier that is being gamed."""
    if candidate.truth is not None or candidate.known_by is None:
        return False
    return totals.primaries.get(int(Tier.parse(candidate.known_by)), "") in doubted


def _sounded(entry: int, alarm: Alarm) -> Sounded:
    return Sounded(
        alarm.text, alarm.headline, alarm.stratum, alarm.last.run, alarm.last.step,
        alarm.first.step, alarm.is_gamed, entry,
    )  # fmt: skip


def boundaries(reasons: Sequence[Reason]) -> tuple[Boundary, ...]:
    """What failed, by boundary, the most frequent first."""
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        if reason.standing == Standing.FAILED.label:
            found.setdefault(reason.boundary, []).append(reason)
    made = [
        Boundary(name, sum(r.count for r in of), sum(r.seconds for r in of), of[0].text)
        for name, of in found.items()
    ]
    return tuple(sorted(made, key=lambda boundary: -boundary.attempts))


# -- the tiers ---------------------------------------------------------------------------------


def _summary(
    ledger: Ledger, row: CampaignRow, totals: Totals, waiting: Waiting | None,
    unrewarded: tuple[int, int],
) -> Summary:  # fmt: skip
    samples, tiers = totals.count("samples"), _Tiers(ledger, row, totals, waiting)
    return Summary(
        campaign=row.name, ledger=ledger.url, ladder=row.ladder, created_at=row.created_at,
        updated_at=totals.updated_at or row.created_at, entries=totals.count("entries"),
        samples=samples, candidates=totals.count("candidates"), respellings=0,
        target=row.ladder.get("target") or {}, tiers=tuple(map(tiers.summary, tiers_of(row))),
        rewards=RewardSummary(
            count=samples, unknown=unrewarded[0], revised=totals.count("revised")
        ),
        budgets=tiers.others,
    )  # fmt: skip


class _Tiers:
    """What the tiers of a campaign add up to; see `summary.reading`, which reads all entries."""

    def __init__(
        self, ledger: Ledger, row: CampaignRow, totals: Totals, waiting: Waiting | None
    ) -> None:
        self.row, self.totals, self.waiting = row, totals, waiting
        accounts = ledger.accounts(row.name)
        used = [a for a in accounts if a.resource is Resource.CPU_SECONDS and a.tier != TOTAL]
        self.cpu = {account.tier: account for account in used}
        self.others = tuple(account for account in accounts if account not in used)

    def summary(self, tier: Tier) -> TierSummary:
        stands = {stand: self.totals.count("stand", tier, stand) for stand in Stand}
        account, own = self._account(tier), self.totals.count("own", tier)
        open_, failed = self._open(tier), stands[Stand.FAILED]
        # A failed attempt may be queued again: above the fast tier only dead checks have failed.
        if self.waiting and tier is not Tier.FAST:
            failed = self.waiting.counts.get(int(tier), {}).get(CheckState.DEAD, 0)
        judged = stands[Stand.ACCEPTED] + stands[Stand.REJECTED] + stands[Stand.ABSTAINED]
        return TierSummary(
            tier=tier, verifiers=tuple(f"{v['name']} {v['version']}" for v in self._asked(tier)),
            asked=judged + failed + sum(open_.values()),
            reused=self.totals.count("answers", tier) - own, accepted=stands[Stand.ACCEPTED],
            rejected=stands[Stand.REJECTED], abstained=stands[Stand.ABSTAINED], failed=failed,
            checks=self.totals.count("checks", tier), settled=account.settled,
            reserved=account.reserved, failed_seconds=account.failed, cap=account.cap,
            wall=None, latency=None,
            paused=self.waiting is not None and int(tier) in self.waiting.paused,
            resources={a.resource: a.spent for a in self.others if a.tier == tier and a.spent},
            mean_seconds=account.settled / own if own and account.settled else None,
            everything=self._everything(tier, open_), **open_,
        )  # fmt: skip

    def _account(self, tier: Tier) -> Account:
        unused = Account(int(tier), Resource.CPU_SECONDS, None, 0.0, 0.0, 0.0, 0)
        return self.cpu.get(int(tier), unused)

    def _asked(self, tier: Tier) -> list[Mapping[str, Any]]:
        return [v for v in self.row.ladder["verifiers"] if v["tier"] == tier.label]

    def _open(self, tier: Tier) -> dict[str, int]:
        """Checks of the work queue that have not ended."""
        states = self.waiting.counts.get(int(tier), {}) if self.waiting else {}
        parked = self.waiting.parked.get(int(tier), 0) if self.waiting else 0
        return {
            "queued": max(0, states.get(CheckState.QUEUED, 0) - parked), "parked": parked,
            "running": states.get(CheckState.LEASED, 0),
            "waiting": states.get(CheckState.WAITING, 0),
            "expired": states.get(CheckState.EXPIRED, 0),
        }  # fmt: skip

    def _everything(self, tier: Tier, open_: Mapping[str, int]) -> dict[Resource, float | None]:
        """What the tier would have taken of every acceptable candidate, as summaries estimate."""
        totals, lowest = self.totals, min(tiers_of(self.row))
        acceptable = sum(
            totals.count("stand", lowest, stand) for stand in (Stand.ACCEPTED, Stand.ABSTAINED)
        )
        settled = [0.0] * len(Resource)
        for each in (self._account(tier), *self.others):
            if each.tier == tier:
                settled[each.resource] = each.settled + each.reserved
        declined = [totals.amounts.get(("declined", tier, int(r)), 0.0) for r in Resource]
        at_work = (open_["running"] + open_["waiting"]) / max(1, len(self._asked(tier)))
        judged = totals.count("own", tier) + at_work - totals.count("declined", tier, -1)
        return if_all_climbed(
            tier, acceptable, judged=max(0, judged),
            settled=[max(0.0, a - b) for a, b in zip(settled, declined, strict=True)],
            expected=declared(self.row.ladder, tier),
        )  # fmt: skip
