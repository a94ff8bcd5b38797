"""Making a report card out of a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from verifier_ladder.budget import place_label
from verifier_ladder.ledger import Ledger
from verifier_ladder.reportcard.audits import audited
from verifier_ladder.reportcard.card import (
    DECLARED,
    NOT_REPORTED,
    CostEntry,
    ReportCard,
    ToolEntry,
    VerifierEntry,
)
from verifier_ladder.reportcard.cohorts import Cohorts
from verifier_ladder.rollouts.statistics import DECLINED
from verifier_ladder.runs import RunRecord, find_run, read_run
from verifier_ladder.tags import capabilities_of
from verifier_ladder.toolcalls import EVIDENCE, ToolCount


def report_card(
    ledger: Ledger,
    run: str | None = None,
    *,
    campaign: str | None = None,
    at: int | None = None,
    pass_at: float | None = None,
    evaluation: bool | None = None,
) -> ReportCard:
    """Make the report card of a run, while it goes on or years after.

    Everything but the costs is read at one checkpoint; costs are those of the whole campaign now.

    Args:
        ledger: The ledger.
        run: The run; by default the newest that is no evaluation.
        campaign: Its campaign, where several have a run of this name.
        at: Size of a signed checkpoint; by default all that is known now.
        pass_at: The reward that passes; by default 0.5 where rewards lie on a scale from 0 to 1.
        evaluation: Report on the run's evaluation, which is never part of the run's own card.

    Raises:
        ConfigError: If there is no such run, or no such checkpoint.

    Example:
        >>> import verifier_ladder as vl
        >>> exact = vl.wrap(lambda completions: [1.0], name="exact", isolation="inline")
        >>> ledger, ladder = vl.open_ledger(":memory:"), vl.Ladder("l", [exact])
        >>> run = vl.Run("r", environment="arithmetic, one answer each")
        >>> with vl.Campaign.open("c", ladder=ladder, ledger=ledger, run=run) as campaign:
        ...     _ = campaign.score(["4", "5"])
        >>> card = report_card(ledger)
        >>> card.declared["environment"], card.declared["scaffold"]
        ('arithmetic, one answer each', 'not reported')
    """
    record = read_run(ledger, run, campaign=campaign, at=at, evaluation=evaluation)
    begun = find_run(ledger, record.name, record.campaign.name).recorded_at
    threshold = record.usual_threshold() if pass_at is None else pass_at
    cohorts = Cohorts(record, threshold)
    ladder, facts = record.campaign.ladder, record.facts
    return ReportCard(
        run=record.name, campaign=record.campaign.name,
        project=str(facts.get("project") or NOT_REPORTED),
        user=str(facts.get("user") or NOT_REPORTED), labels=dict(facts.get("labels") or {}),
        begun_at=begun, moment=record.moment, declared=_declared(facts),
        ladder=str(ladder["name"]), target=_target(ladder["target"]),
        reward_rule=dict(ladder["reward"]), audit=ladder.get("audit"),
        verifiers=tuple(map(_verifier, ladder["verifiers"])),
        samples=len(record.samples),
        candidates=len({sample.content for sample in record.samples}),
        tasks=len(set(cohorts.task.values())),
        steps=len({sample.step for sample in record.samples}),
        pending=sum(sample.reward.pending for sample in record.samples),
        revised=sum(sample.reward.revision > 0 for sample in record.samples),
        unknown=_unknown(record), pass_at=threshold, is_assumed=pass_at is None,
        whole=cohorts.of("all steps", record.samples), phases=cohorts.phases(),
        audits=audited(record, cohorts, threshold),
        capabilities=cohorts.by(lambda sample: record.tags(sample).capabilities),
        domains=cohorts.by(lambda sample: filter(None, [record.tags(sample).domain])),
        costs=_costs(ledger, record.campaign.name), tools=_tools(record),
    )  # fmt: skip


def _declared(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(facts.get(name) or NOT_REPORTED) for name in DECLARED}


def _target(target: Mapping[str, Any]) -> str:
    unit = f", {target['unit']}" if target["unit"] else ""
    return f"{target['name']}{unit} ({target['direction']})"


def _verifier(spec: Mapping[str, Any]) -> VerifierEntry:
    return VerifierEntry(
        str(spec["name"]), str(spec["version"]), str(spec["tier"]), str(spec["role"]),
        dict(spec["settings"]), dict(spec["tools"]), capabilities_of(spec.get("capabilities")),
        str(spec.get("domain", "")), str(spec["digest"]),
    )  # fmt: skip


def _unknown(record: RunRecord) -> dict[str, int]:
    found = Counter(
        sample.reward.failed_at or DECLINED
        for sample in record.samples
        if sample.reward.value is None
    )
    return dict(found.most_common())


def _tools(record: RunRecord) -> ToolEntry | None:
    """What was counted of the tools that its samples called; of several counts the first."""
    told = (
        (ToolCount.from_json(said.verdict.evidence.get(EVIDENCE)) for said in record.verdicts(one))
        for one in record.samples
    )
    counts = [count for each in told if (count := next(filter(None, each), None))]
    if not counts:
        return None
    budgets = [count.budget for count in counts if count.budget is not None]
    return ToolEntry(
        len(counts), sum(count.calls for count in counts), max(count.calls for count in counts),
        (min(budgets), max(budgets)) if budgets else None,
        sum(count.budget is not None and count.calls > count.budget for count in counts),
        sum(count.failed for count in counts), sum(count.recovered for count in counts),
        sum(count.unanswered for count in counts),
    )  # fmt: skip


def _costs(ledger: Ledger, campaign: str) -> tuple[CostEntry, ...]:
    from verifier_ladder.summary import walls

    at_work = walls(ledger, campaign)
    return tuple(
        CostEntry(
            place_label(account.tier), account.resource.label, account.spent, account.failed,
            account.cap, at_work.get(account.tier),
        )
        for account in ledger.accounts(campaign)
    )  # fmt: skip
