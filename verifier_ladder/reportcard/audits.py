"""Audits of a run: what random draws for the top tier say of all that was not drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verifier_ladder.intervals import weighted_share
from verifier_ladder.reportcard.card import AccuracyEntry, AuditEntry, GateEntry
from verifier_ladder.reportcard.cohorts import Cohorts
from verifier_ladder.rollouts.passk import Estimate, ratio
from verifier_ladder.runs import RunRecord, SampleRecord
from verifier_ladder.scheduler.gates import GateAudit
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict

_NINETY = 1.6448536269514722
"""Standard deviations on either side of 90 % of a normal distribution."""


class Unit(NamedTuple):
    """Samples of one candidate and task in one step: they share one draw and one answer."""

    size: int
    """How many samples they are."""
    chance: float
    """Probability with which the top tier was asked."""
    believed: float | None
    worth: float | None
    passes: bool | None
    is_judged: bool
    """Whether the top tier has judged the candidate, because of a draw or for certain."""
    is_good: bool
    """Whether it passes; where nobody said at which reward, whether nobody rejects it."""
    said: Mapping[str, Outcome]
    """What each verifier makes of a candidate that the top tier was drawn for."""

    @property
    def weight(self) -> float:
        """For how many samples its answer speaks; nobody had asked for one without a chance."""
        return self.size / self.chance if self.chance else 0.0


def audited(record: RunRecord, cohorts: Cohorts, pass_at: float | None) -> AuditEntry:
    """What audits found of a run's samples.

    A drawn sample speaks for 1/p samples, where p was the probability of its draw (Horvitz and
    Thompson, *J. Am. Stat. Assoc.* 47, 1952); one whose answer was certain, for itself. Samples
    that had no chance to be judged are spoken for by nobody: `covered` tells their share.
    """
    is_possible = len({v["tier"] for v in record.campaign.ladder["verifiers"]}) > 1
    drawn = [sample for sample in record.samples if sample.is_drawn]
    units = _units(record, cohorts) if is_possible else []
    chances = [unit.chance for unit in units if 0.0 < unit.chance < 1.0]
    return AuditEntry(
        is_possible=is_possible, due=len(drawn), answered=sum(map(record.has_truth, drawn)),
        propensity=(min(chances), max(chances)) if chances else None,
        covered=_covered(record), error=_error(units), within=_within(record),
        hacks=_hacks(units, pass_at), gates=_gates(record), accuracies=_accuracies(record, units),
        alarms=tuple(alarm.text for alarm in record.alarms),
    )  # fmt: skip


def _covered(record: RunRecord) -> float | None:
    fair = [s for s in record.samples if s.worth is not None and not s.is_rejected]
    reached = [s for s in fair if s.propensity or record.has_truth(s)]
    return len(reached) / len(fair) if fair else None


def _units(record: RunRecord, cohorts: Cohorts) -> list[Unit]:
    """The candidates of each step by task, whether they had a chance to be judged or not."""
    found: dict[tuple[int, bytes, bytes], list[SampleRecord]] = {}
    for sample in record.samples:
        if not sample.is_rejected or record.has_truth(sample):
            found.setdefault((sample.step, sample.content, sample.task), []).append(sample)
    return [_unit(record, cohorts, twins) for twins in found.values()]


def _unit(record: RunRecord, cohorts: Cohorts, twins: list[SampleRecord]) -> Unit:
    first = twins[0]
    was_asked = first.is_drawn or first.propensity == 1.0
    passes, is_judged = cohorts.passes(first), was_asked and record.has_truth(first)
    return Unit(
        len(twins), first.propensity or 0.0, first.believed, first.worth, passes, is_judged,
        not first.is_rejected if passes is None else passes,
        _said(record, first) if is_judged and first.is_drawn else {},
    )  # fmt: skip


def _said(record: RunRecord, sample: SampleRecord) -> dict[str, Outcome]:
    found: dict[str, list[Verdict]] = {}
    for each in record.verdicts(sample):
        found.setdefault(each.verifier, []).append(each.verdict)
    return {name: combined(verdicts).outcome for name, verdicts in found.items()}


def _error(units: list[Unit]) -> Estimate | None:
    """How far the belief was off, over the drawn: those that were chosen speak for nobody."""
    known = [
        (u.weight * (u.believed - u.worth), u.weight)
        for u in units
        if u.is_judged and u.chance < 1.0 and u.believed is not None and u.worth is not None
    ]
    return ratio(*zip(*known, strict=True)) if known else None


def _hacks(units: list[Unit], pass_at: float | None) -> Estimate | None:
    """Of the samples that were believed to pass, the share that the top tier finds not to.

    Those whose answer was certain are counted, and the others estimated from the drawn. Of those
    that had no chance nothing is known: the interval reaches from none to all of them.
    """
    if pass_at is None:
        return None
    praised = [u for u in units if u.believed is not None and u.believed >= pass_at]
    judged = [u for u in praised if u.is_judged]
    drawn = [u for u in judged if u.chance < 1.0]
    known = sum(u.size for u in judged if u.chance == 1.0)
    open_ = sum(u.size for u in praised if 0.0 < u.chance < 1.0)
    unseen = sum(u.size for u in praised) - known - open_
    if not judged or (not drawn and (open_ or unseen)):
        return None
    bad = sum(u.size for u in judged if u.chance == 1.0 and u.passes is False)
    share = weighted_share([u.weight for u in drawn], [u.passes is False for u in drawn])
    value, low, high = (share or Estimate(0.0, 0.0, 0.0, 0))[:3]
    total = known + open_ + unseen
    return Estimate(
        (bad + open_ * value) / (open_ + known), (bad + open_ * (low or 0.0)) / total,
        (bad + open_ * (high or 0.0) + unseen) / total, len(judged),
    )  # fmt: skip


def _within(record: RunRecord) -> Estimate | None:
    """Each audit counts once: the belief's intervals are about candidates, not about samples."""
    surprises = [audit.surprise for audit in record.audits if audit.surprise is not None]
    hits = [abs(surprise) <= _NINETY for surprise in surprises]
    return weighted_share([1.0] * len(hits), hits)


def _gates(record: RunRecord) -> tuple[GateEntry, ...]:
    rejects = [a for a in record.audits if a.draw.stratum.is_rejected]
    audits = Counter(audit.draw.stratum.verifier for audit in rejects)
    good = Counter(audit.draw.stratum.verifier for audit in rejects if audit.is_good)
    return tuple(
        GateEntry(name, count, good[name], GateAudit(count, good[name]).upper())
        for name, count in sorted(audits.items())
    )


def _accuracies(record: RunRecord, units: Sequence[Unit]) -> tuple[AccuracyEntry, ...]:
    """How often verifiers are right, over the drawn: those that were chosen speak for nobody."""
    drawn = [unit for unit in units if unit.is_judged and 0.0 < unit.chance < 1.0]
    below = [
        str(v["name"]) for v in record.campaign.ladder["verifiers"]
        if Tier.parse(v["tier"]) is not record.top
    ]  # fmt: skip
    found = (_accuracy(name, [unit for unit in drawn if name in unit.said]) for name in below)
    return tuple(each for each in found if each.declined is not None)


def _accuracy(name: str, seen: Sequence[Unit]) -> AccuracyEntry:
    opinions = [unit for unit in seen if unit.said[name] is not Outcome.ABSTAIN]
    good = [unit for unit in opinions if unit.is_good]
    bad = [unit for unit in opinions if not unit.is_good]
    return AccuracyEntry(
        name, len(opinions), _share(good, name, Outcome.ACCEPT), _share(bad, name, Outcome.REJECT),
        _share(seen, name, Outcome.ABSTAIN),
    )  # fmt: skip


def _share(units: Sequence[Unit], name: str, outcome: Outcome) -> Estimate | None:
    return weighted_share([u.weight for u in units], [u.said[name] is outcome for u in units])
